/**
 * The table of errors: one row for each error that the gateway itself answers with. Status and texts are promised to
 * clients byte for byte. `renderError` puts a row into the JSON envelope and appends the request id to its text.
 * `docs/errors.md` lists the same rows, and a test compares the two.
 */
export interface ErrorRow {
  status: number
  /** The Chinese text. `docs/errors.md` shows what its arguments are. */
  text: (...args: string[]) => string
  /** The English text, where there is one, for clients whose first language is English. */
  english?: string
  type: 'gateway_api_error' | 'invalid_request_error'
  /** The `param` in the envelope; without it the envelope has none. A function of the arguments of the text. */
  param?: string | ((...args: string[]) => string)
  /**
   * `never`: a retry cannot help, and the answer says `x-should-retry: false`. `later`: `retry-after` says when to
   * retry. `maybe`: the client decides.
   */
  retry: 'never' | 'later' | 'maybe'
  /** Name and value of a header that says what would be taken. */
  header?: readonly [string, string]
  /** Nothing was refused: clients ask again and again until there is an answer. It counts in no list of refusals. */
  isLookUp?: true
}

const row = (
  status: number,
  retry: ErrorRow['retry'],
  text: string | ErrorRow['text'],
  english?: string,
): ErrorRow => ({
  status,
  text: typeof text === 'string' ? () => text : text,
  ...(english === undefined ? {} : { english }),
  type: 'gateway_api_error',
  retry,
})

export const ERRORS = {
  url: {
    status: 404,
    text: (method, path, instead = '') => `Invalid URL (${method} ${path})${instead}`,
    type: 'invalid_request_error',
    param: '',
    retry: 'never',
  },
  key: row(401, 'never', '无效的令牌', 'Invalid token'),
  ip: row(403, 'never', '您的 IP 不在令牌允许访问的列表中'),
  banned: row(403, 'never', '用户已被封禁'),
  group: row(403, 'never', group => `无权访问 ${group} 分组`),
  rate: row(429, 'later', (minutes, requests) => `您已达到请求数限制:${minutes}分钟内最多请求${requests}次`),
  concurrency: row(429, 'later', limit => `您已达到并发数限制:最多同时进行${limit}个请求`),
  too_large: row(413, 'never', size => `请求体超过限制:最大${size}`),
  encoding: {
    ...row(415, 'never', '不支持此请求体编码(content-encoding)', 'this content-encoding of the body is not supported'),
    header: ['accept-encoding', 'zstd, gzip, deflate, br'],
  },
  not_json: row(400, 'never', '请求体不是有效的JSON对象'),
  field: row(400, 'never', field => `请求体字段无效:${field}`),
  tool: { ...row(400, 'never', '请求体字段无效:tools'), param: name => name },
  background: row(400, 'never', '不支持background模式'),
  no_model: row(400, 'never', '未指定模型名称,模型名称不能为空'),
  answer_unknown: {
    ...row(404, 'never', '未找到之前的响应'),
    type: 'invalid_request_error',
    param: 'previous_response_id',
  },
  generation_unknown: { ...row(404, 'later', id => `未找到请求 ${id},可能尚未结算`), isLookUp: true },
  model_restricted: row(403, 'never', model => `该令牌无权访问模型 ${model}`),
  model_unknown: row(404, 'never', model => `模型 ${model} 不存在`),
  no_channel: row(400, 'never', (group, model) => `分组 ${group} 下模型 ${model} 无可用渠道(distributor)`),
  channels_resting: row(503, 'later', (group, model) => `分组 ${group} 下模型 ${model} 无可用渠道(distributor)`),
  saturated: row(429, 'later', '当前分组上游负载已饱和,请稍后再试'),
  untranslatable: {
    ...row(400, 'never', field => `该模型经协议转换提供,不支持参数 ${field}`),
    // the member of the body in which it stands
    param: (field = '') => /^\w*/.exec(field)?.[0] ?? '',
  },
  unpriced: row(400, 'never', model => `模型 ${model} 的价格尚未由管理员配置,暂时无法使用,请联系站点管理员开启该模型`),
  quota: row(403, 'never', available => `用户额度不足, 剩余额度: ¥${available}`),
  estimate: row(
    403,
    'never',
    (available, need) => `预扣费额度失败, 用户剩余额度: ¥${available}, 需要预扣费额度: ¥${need}`,
  ),
  upgrade: row(426, 'never', '不支持WebSocket,请使用HTTP请求'),
  loop: row(508, 'never', '请求回到了网关自身,请联系站点管理员检查上游地址'),
  internal: row(500, 'maybe', '网关内部错误'),
  upstream: row(502, 'maybe', '上游请求失败'),
  unavailable: row(503, 'later', '服务暂时不可用,请稍后再试'),
  timeout: row(504, 'maybe', '上游响应超时'),
} satisfies Record<string, ErrorRow>

export type ErrorName = keyof typeof ERRORS

export const errorText = (name: ErrorName, args: string[], english: boolean): string => {
  const error: ErrorRow = ERRORS[name]
  return english && error.english !== undefined ? error.english : error.text(...args)
}

/**
 * The error envelope as JSON text. `args` are the arguments of the row's text. `messages`: the client speaks the
 * messages protocol, whose envelope also has a top-level `type`.
 */
export function renderError(
  name: ErrorName,
  args: string[],
  requestId: string,
  english: boolean,
  messages: boolean,
): string {
  const error: ErrorRow = ERRORS[name]
  const message = JSON.stringify(`${errorText(name, args, english)} (request id: ${requestId})`)
  const named = typeof error.param === 'function' ? error.param(...args) : error.param
  const param = named === undefined ? '' : `,"param":${JSON.stringify(named)}`
  return `{${messages ? '"type":"error",' : ''}"error":{"code":"","message":${message},"type":"${error.type}"${param}}}`
}
