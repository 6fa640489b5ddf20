/** The sentences on the receipt of a request and in the list of refusals, in both languages. */
import type { ErrorName } from '../../base/errors.ts'
import type { Basis, End, UsageRow } from '../../terms/usage-row.ts'
import { decimal } from '../../base/money.ts'
import { both, type Words } from '../error.ts'

/** A ratio has thousandths. */
const THOUSANDTH = 1000

/** The ratio by which the output of a client that left was multiplied, with three places at most; null = by nothing. */
export const ratioText = ({ hiddenRatio }: Pick<UsageRow, 'hiddenRatio'>): string | null =>
  hiddenRatio === null ? null : String(decimal(hiddenRatio * THOUSANDTH))

export const END_WORDS: Record<End, Words> = {
  completed: both('回答已完整返回。', 'The answer is complete.'),
  client_gone: both(
    '客户端提前断开。为了得到真实用量，网关会继续读取上游一段时间；若上游已收到请求且未拒绝，至少收取估算的输入费用。',
    'The client left. The gateway read the upstream on for a while to learn the real usage; if the upstream had the request and had not refused it, at least the estimated input is charged.',
  ),
  upstream_error: both(
    '上游返回错误。没有向客户端转发任何内容的请求不收费。',
    'The upstream answered with an error. A request of which nothing was relayed costs nothing.',
  ),
  upstream_cut: both(
    '上游中途断开。只收取断开前上游报告的用量，或已转发的内容，取较大者。',
    'The upstream broke off. What it had reported until then, or what was relayed, whichever is more, is charged.',
  ),
}

/** Says what the charge of a request rests on. */
export function restsOn({ basis, hiddenRatio }: Pick<UsageRow, 'basis' | 'hiddenRatio'>): Words {
  if (hiddenRatio === null) return RESTS_ON[basis]
  const times = ratioText({ hiddenRatio })
  return both(
    `客户端提前断开，上游没有报告用量：输出按网关收到的内容计数，再乘以${times}。该系数来自此模型最近的完整回答：上游报告的输出与可见内容之比，因为模型的一部分思考不显示。`,
    `The client left before the upstream reported its usage: the output is what the gateway had received, × ${times}. That is by how much more this model's last whole answers used than was seen of them, because models think where nobody sees it.`,
  )
}

const RESTS_ON: Record<Basis, Words> = {
  reported: both('按上游报告的用量收费。', 'The charge rests on the usage that the upstream reported.'),
  counted: both(
    '上游没有报告用量，按网关的计数收费：输入为估算，输出按实际转发的内容计。',
    'The upstream reported no usage, so the gateway counted: the input is estimated, the output is what was relayed.',
  ),
  none: both('未收费。', 'Nothing was charged.'),
}

/** Stands beside a charge that is below what the upstream reported. */
export const BOUNDED: Words = both(
  '上游报告的用量更多，按本请求可能产生的上限收费。',
  'The upstream reported more; charged to the bound of what the request can have caused.',
)

interface Reason {
  why: Words
  todo: Words
}
const ASK = both('若仍然出现，请把请求编号发给运营方。', 'If it happens again, send the request id to the operator.')
const WAIT = both('请稍后重试。', 'Try again in a moment.')
const TOP_UP = both('请充值，或减小请求的最大输出。', 'Top up the account, or ask for a smaller maximum output.')
const BODY = both('请检查客户端发送的请求体。', 'Check the body that your client sends.')

/** Every error of the gateway is here, because each may be the reason of a refusal. */
export const REASONS: Record<ErrorName, Reason> = {
  url: {
    why: both('请求地址不存在。', 'There is no such address.'),
    todo: both('请检查客户端的基础地址。', 'Check the base address in your client.'),
  },
  key: {
    why: both(
      '密钥无效、已停用、已过期或额度已用完。',
      'The key is not valid: disabled, expired, or its cap is used up.',
    ),
    todo: both('请在“密钥”页查看其状态和限额。', 'Look at the state and the cap of the key on the page Keys.'),
  },
  ip: {
    why: both('请求来自该密钥不允许的 IP。', 'The request came from an IP that the key does not allow.'),
    todo: both('请在密钥的 IP 列表中加入此 IP。', 'Add this IP to the list of the key.'),
  },
  banned: {
    why: both('账户已被封禁。', 'The account is banned.'),
    todo: both('请联系运营方。', 'Ask the operator.'),
  },
  group: {
    why: both('账户无权使用该密钥的分组。', 'The account may not use the group of this key.'),
    todo: both('请为密钥选择其他分组。', 'Choose another group for the key.'),
  },
  rate: {
    why: both('短时间内请求过多。', 'There were too many requests in a short time.'),
    todo: both('请降低频率，或请运营方提高限制。', 'Send fewer, or ask the operator for a higher limit.'),
  },
  concurrency: {
    why: both('同时进行的请求过多。', 'Too many requests were open at once.'),
    todo: both('请减少并发，或请运营方提高限制。', 'Keep fewer open, or ask the operator for a higher limit.'),
  },
  too_large: {
    why: both('请求体过大。', 'The body is too large.'),
    todo: both('请减小图片或文件，或缩短对话。', 'Send smaller pictures or files, or a shorter conversation.'),
  },
  encoding: {
    why: both('请求体的压缩方式不受支持。', 'The body is compressed in a way that is not supported.'),
    todo: both('请使用 zstd、gzip、deflate 或 br，或不压缩。', 'Use zstd, gzip, deflate or br, or no compression.'),
  },
  not_json: { why: both('请求体不是有效的 JSON 对象。', 'The body is no valid JSON object.'), todo: BODY },
  field: { why: both('请求体中有一个字段无效。', 'A field of the body is not valid.'), todo: BODY },
  tool: {
    why: both(
      '请求中有一个由上游运行的工具，而该模型没有此工具的价格。',
      'The request names a tool that the upstream runs, and the model has no price for it.',
    ),
    todo: both(
      '请去掉该工具（错误中 param 所指），或请运营方为其定价。',
      'Leave out the tool that `param` of the error names, or ask the operator for a price.',
    ),
  },
  untranslatable: {
    why: both(
      '该模型经协议转换提供，请求中有一个字段无法转换。',
      'The model is served by translation, and a field of the request cannot be translated.',
    ),
    todo: both(
      '请去掉该字段，或使用该模型的原生协议。',
      'Leave the field out, or use a protocol that the model speaks itself.',
    ),
  },
  background: {
    why: both('不支持 background 模式。', 'The mode `background` is not offered.'),
    todo: both('请去掉 background 字段。', 'Leave the field `background` out.'),
  },
  no_model: {
    why: both('请求没有指定模型。', 'The request names no model.'),
    todo: both('请在客户端设置模型名称。', 'Set the name of a model in your client.'),
  },
  answer_unknown: {
    why: both('没有找到要继续的回答。', 'The answer that was to be continued was not found.'),
    todo: both('请开始新的对话。', 'Begin a new conversation.'),
  },
  generation_unknown: {
    why: both('没有找到这个请求，或它尚未结算。', 'The request was not found, or is not settled yet.'),
    todo: both('请稍后再试，并使用发出该请求的密钥。', 'Try again in a moment, with the key that made the request.'),
  },
  model_restricted: {
    why: both('该密钥不允许使用这个模型。', 'The key may not use this model.'),
    todo: both('请修改密钥的模型列表。', 'Change the list of models of the key.'),
  },
  model_unknown: {
    why: both('没有这个模型。', 'There is no such model.'),
    todo: both('请从模型目录复制准确名称。', 'Copy the exact name from the catalogue.'),
  },
  no_channel: {
    why: both('该分组在此协议下不提供这个模型。', 'The group does not offer this model on this protocol.'),
    todo: both('请换用其他分组、协议或模型。', 'Use another group, protocol or model.'),
  },
  channels_resting: { why: both('模型暂时不可用。', 'The model is unavailable for a moment.'), todo: WAIT },
  saturated: { why: both('上游繁忙。', 'The upstreams are busy.'), todo: WAIT },
  unpriced: {
    why: both('模型尚未定价。', 'The model has no price yet.'),
    todo: both('请联系运营方开启该模型。', 'Ask the operator to offer it.'),
  },
  quota: {
    why: both('余额或预算已用完。', 'The balance or the budget is used up.'),
    todo: both('请充值，或提高预算。', 'Top up the account, or raise its budget.'),
  },
  estimate: {
    why: both(
      '可用余额不足以预扣该请求的最高费用。',
      'What is available does not cover the most that the request can cost.',
    ),
    todo: TOP_UP,
  },
  upgrade: {
    why: both('不支持 WebSocket。', 'WebSocket is not offered.'),
    todo: both('请改用 HTTP。', 'Use HTTP.'),
  },
  loop: { why: both('请求回到了网关自身。', 'An upstream of the gateway led back to it.'), todo: ASK },
  internal: { why: both('网关内部错误。', 'The gateway failed.'), todo: ASK },
  upstream: { why: both('上游请求失败。', 'The upstream failed.'), todo: WAIT },
  unavailable: { why: both('服务暂时不可用。', 'The service is unavailable for a moment.'), todo: WAIT },
  timeout: { why: both('上游响应超时。', 'The upstream did not answer in time.'), todo: WAIT },
}

const OTHER: Reason = { why: both('请求被拒绝。', 'The request was refused.'), todo: ASK }

/** A reason of an earlier version of the program may have no words any more. */
export const reasonWords = (name: string): Reason => (Object.hasOwn(REASONS, name) ? REASONS[name as ErrorName] : OTHER)
