/**
 * The table of errors with which the API itself refuses a call, before its operation runs or when that fails. Pages act
 * on the codes; people read the texts. What an operation refuses has the name of its fault as code.
 */
import type { OperationFault } from '../operations/error.ts'
import type { Words } from '../base/people.ts'

export interface ApiErrorRow {
  status: number
  words: (...args: string[]) => Words
  /** After how many seconds another try may help. */
  retryAfterS?: number
}

const row = (status: number, zh: string, en: string, retryAfterS?: number): ApiErrorRow => ({
  status,
  words: () => ({ zh, en }),
  ...(retryAfterS === undefined ? {} : { retryAfterS }),
})

export const API_ERRORS = {
  no_such_call: row(404, '没有这个接口', 'There is no such call'),
  method_not_allowed: row(405, '该接口不支持此方法', 'This call does not exist with this method'),
  /** The account or the row of the path does not exist, or is not for this caller, who must not learn which. */
  missing: row(404, '未找到', 'Not found'),
  not_a_page: row(403, '该接口不能作为网页打开', 'This call cannot be opened as a page'),
  cross_origin: {
    status: 403,
    words: (from, ours) => ({
      zh: `请求来自${from},而控制台的地址是${ours}`,
      en: `The request comes from ${from}, and the address of the console is ${ours}`,
    }),
  },
  not_json_type: row(415, '请求体的类型必须是application/json', 'The type of the body must be application/json'),
  not_json: row(400, '请求体不是有效的JSON对象', 'The body is not a valid JSON object'),
  too_large: {
    status: 413,
    words: most => ({ zh: `请求体超过限制:最大${most}`, en: `The body is larger than ${most}` }),
  },
  too_slow: row(408, '请求体接收超时', 'The body did not come in time'),
  too_many_calls: row(429, '请求过于频繁,请稍后再试', 'Too many calls: try again later'),
  busy: row(429, '同时进行的查询过多,请稍后再试', 'Too many reports are being made: try again later', 2),
  signed_out: row(401, '请先登录', 'Sign in first'),
  token_refused: row(401, '访问令牌无效', 'The token is not valid'),
  session_only: row(403, '访问令牌不能执行此操作', 'Tokens may not make this call'),
  scope: row(403, '访问令牌的权限不足', 'The token may not do this'),
  role: row(403, '您在该账户中的角色不能执行此操作', 'Your role in this account may not do this'),
  view_as: row(403, '以用户身份查看时不能执行此操作', 'This cannot be done while viewing as another person'),
  operators_only: row(403, '仅限运营人员', 'Only operators may do this'),
  second_factor: row(403, '请先启用两步验证', 'Switch on a second factor first'),
  step_up: row(403, '请再次验证身份', 'Prove again that it is you'),
  unavailable: row(503, '服务暂时不可用,请稍后再试', 'Not available at the moment: try again later', 2),
  internal: row(500, '网关内部错误', 'The gateway failed'),
} as const satisfies Record<string, ApiErrorRow>

export type ApiErrorCode = keyof typeof API_ERRORS

/** Refuses a call with a row of the table; `args` fill its text. */
export class ApiError extends Error {
  override name = 'ApiError'
  readonly code: ApiErrorCode
  readonly args: readonly string[]
  /** Instead of what the row says. */
  readonly retryAfterS: number | undefined

  constructor(code: ApiErrorCode, args: readonly string[] = [], retryAfterS?: number) {
    super(code)
    this.code = code
    this.args = args
    this.retryAfterS = retryAfterS
  }
}

export const STATUS_OF_FAULT: Record<OperationFault, number> = {
  invalid: 400,
  missing: 404,
  conflict: 409,
  full: 409,
  forbidden: 403,
  throttled: 429,
  gone: 410,
}
