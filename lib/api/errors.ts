/**
 * The table of errors with which the API itself refuses a call, before its operation runs or when that fails, and what a
 * caller is told of any failure. Pages act on the codes; people read the texts. What an operation refuses has the name of its
 * fault as code.
 */
import { conflictOf, OperationError, type OperationFault } from '../operations/error.ts'
import { SignedOut, StoreConflict, StoreUnavailable } from '../store/base/errors.ts'
import type { Language, Words } from '../base/people.ts'
import { BodyFault } from '../base/request-body.ts'

interface ApiErrorRow {
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
      zh: `请求来自${from}，而控制台的地址是${ours}`,
      en: `The request comes from ${from}, and the address of the console is ${ours}`,
    }),
  },
  not_json_type: row(415, '请求体的类型必须是application/json', 'The type of the body must be application/json'),
  not_json: row(400, '请求体不是有效的JSON对象', 'The body is not a valid JSON object'),
  too_large: {
    status: 413,
    words: most => ({ zh: `请求体超过限制：最大${most}`, en: `The body is larger than ${most}` }),
  },
  too_slow: row(408, '请求体接收超时', 'The body did not come in time'),
  too_many_calls: row(429, '请求过于频繁，请稍后再试', 'Too many calls: try again later'),
  busy: row(429, '同时进行的查询过多，请稍后再试', 'Too many reports are being made: try again later', 2),
  signed_out: row(401, '请先登录', 'Sign in first'),
  token_refused: row(401, '访问令牌无效', 'The token is not valid'),
  session_only: row(403, '访问令牌不能执行此操作', 'Tokens may not make this call'),
  scope: row(403, '访问令牌的权限不足', 'The token may not do this'),
  role: row(403, '您在该账户中的角色不能执行此操作', 'Your role in this account may not do this'),
  view_as: row(403, '以用户身份查看时不能执行此操作', 'This cannot be done while viewing as another person'),
  operators_only: row(403, '仅限运营人员', 'Only operators may do this'),
  second_factor: row(403, '请先启用两步验证', 'Switch on a second factor first'),
  step_up: row(403, '请再次验证身份', 'Prove again that it is you'),
  unavailable: row(503, '服务暂时不可用，请稍后再试', 'Not available at the moment: try again later', 2),
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

interface ToldError {
  status: number
  told: ErrorWords
  /** Whole seconds. */
  retryAfterS: string | null
  /** True for a fault of ours, which the log must show. */
  isFault: boolean
}

/** `mostBody`: the bound on bodies, in words. */
export function refusalOf(error: unknown, language: Language, mostBody: string): ToldError {
  const refusal = phrased(error, language, mostBody)
  return { ...refusal, told: { ...refusal.told, message: asSentence(refusal.told.message) } }
}

function phrased(error: unknown, language: Language, mostBody: string): ToldError {
  if (error instanceof OperationError) return ofOperation(error, language)
  if (error instanceof SignedOut) return ofRow(new ApiError('signed_out'), language)
  if (error instanceof StoreConflict) return ofOperation(conflictOf(error), language)
  if (error instanceof ApiError) return ofRow(error, language)
  if (error instanceof BodyFault) return ofRow(new ApiError(error.what, [mostBody]), language)
  if (error instanceof StoreUnavailable) return ofRow(new ApiError('unavailable'), language)
  return { ...ofRow(new ApiError('internal'), language), isFault: true }
}

function ofOperation({ fault, message, words, details, fields }: OperationError, language: Language): ToldError {
  const told = {
    code: fault,
    message: words?.[language] ?? message,
    details,
    fields: fields.map(({ field, expected }) => ({ field, expected: expected[language] })),
  }
  return { status: STATUS_OF_FAULT[fault], told, retryAfterS: details['retry_after'] ?? null, isFault: false }
}

function ofRow({ code, args, retryAfterS }: ApiError, language: Language): ToldError {
  const row: ApiErrorRow = API_ERRORS[code]
  const afterS = retryAfterS ?? row.retryAfterS
  return {
    status: row.status,
    told: { code, message: row.words(...args)[language] },
    retryAfterS: afterS === undefined ? null : String(afterS),
    isFault: false,
  }
}

const HAN = /\p{Script=Han}/u
/** A phrase that begins with the name of a field, which stays as it is written. */
const NAMED = /^[^\s:]+: /
const ENDED = /[.!?。！？…]$/

export function asSentence(phrase: string): string {
  const isChinese = HAN.test(phrase)
  const begun = isChinese
    ? phrase
    : NAMED.test(phrase)
      ? `Field ${phrase}`
      : phrase.charAt(0).toUpperCase() + phrase.slice(1)
  return ENDED.test(begun) ? begun : `${begun}${isChinese ? '。' : '.'}`
}

/** What an error tells, before it stands in its envelope. */
interface ErrorWords {
  code: string
  message: string
  /** Facts beside the message, for programs. */
  details?: Readonly<Record<string, string>>
  fields?: readonly { field: string; expected: string }[]
}

export const envelope = ({ code, message, details, fields }: ErrorWords, requestId: string): string =>
  JSON.stringify({
    error: {
      code,
      message: `${message} (request id: ${requestId})`,
      type: 'gateway_api_error',
      ...(fields === undefined || fields.length === 0 ? {} : { fields }),
      ...details,
    },
  })
