/** Why orders, refunds and resolutions are refused, in the words of people who read it. */
import type { Micro } from '../base/money.ts'
import { OperationError, type Words } from '../operations/error.ts'
import type { OrderMethod, Refund } from '../terms/pay.ts'

/** Most orders of an account that can still be paid. */
export const MOST_OPEN = 5
/** Most orders of an account in an hour that a provider has refused. */
export const MOST_FAILED = 10

/** Most orders of an account in an hour: each is a question to a provider, also where it takes the place of another. */
export const MOST_BEGUN = 30

export const NO_ORDER: Words = { en: 'There is no such order', zh: '没有这个订单' }

export const notConfigured = (method: OrderMethod): Words => ({
  en: `${method} is not configured here any more`,
  zh: `此处已不再配置 ${method}`,
})

export const NO_RATE = () =>
  new OperationError('conflict', {
    en: 'method: there is no exchange rate at the moment, use another way to pay',
    zh: 'method：暂无汇率，请使用其他支付方式',
  })

export const NO_REASON = () => wrong('reason', { en: 'a reason', zh: '原因' })

export const RESOLVED = () =>
  new OperationError('conflict', { en: 'the exception is resolved already', zh: '该异常已处理' })

export const NOT_HELD = () => new OperationError('conflict', { en: 'the order is not held', zh: '该订单未被暂缓入账' })

export const ANOTHER_AMOUNT = () =>
  new OperationError('conflict', {
    en: 'reference: another amount or receiver stands under it',
    zh: 'reference：已用于另一金额或另一地址的退款',
  })

export const SMALLEST: Words = {
  en: 'an amount worth a cent at least of the currency that was paid, or 0.0001 USDT',
  zh: '至少相当于付款货币一分钱或 0.0001 USDT 的金额',
}

export function sameRefund(known: Refund, amount: Micro, receiver: string | null): Refund {
  if (known.amount !== amount || known.receiver !== receiver) throw ANOTHER_AMOUNT()
  return known
}

export const wrong = (field: string, expected: Words): OperationError =>
  new OperationError('invalid', { en: `${field}: expected ${expected.en}`, zh: `${field}：应为${expected.zh}` }, {}, [
    { field, expected },
  ])

export const TOO_MUCH = () =>
  wrong('amount', {
    en: 'less: the provider does not take so much at once',
    zh: '更小的金额，支付服务商单笔不支持这么多',
  })

const TOO_MANY = {
  open: {
    en: `at most ${MOST_OPEN} orders may be open, and none of them can be cancelled now: pay one, or wait until one expires`,
    zh: `最多可有 ${MOST_OPEN} 个未支付订单，且暂时都无法取消，请先支付或等待其过期`,
  },
  begun: { en: 'too many orders in an hour: try again later', zh: '一小时内订单过多，请稍后再试' },
  failed: {
    en: 'the provider has refused several orders: use another way to pay, or try again in an hour',
    zh: '支付服务商已拒绝多个订单，请换一种支付方式，或一小时后再试',
  },
  anHour: { en: 'too many orders of this kind in an hour: try again later', zh: '一小时内此类订单过多，请稍后再试' },
  anHourOfAll: {
    en: 'too many orders of this kind at the moment: try again later',
    zh: '当前此类订单过多，请稍后再试',
  },
  aDay: { en: 'the orders of a day would be more than is allowed', zh: '超过每日充值限额' },
}

export const tooMany = (bound: keyof typeof TOO_MANY): OperationError =>
  new OperationError('throttled', TOO_MANY[bound])

const fault = (kind: 'missing' | 'conflict' | 'invalid', en: string, zh: string) => () =>
  new OperationError(kind, { en, zh })

export const NOT_NOW = fault(
  'conflict',
  'the payment provider does not answer: the order cannot be cancelled now, try again in a moment',
  '支付服务商没有回答，暂时无法取消订单，请稍后再试',
)
export const NO_USDT = fault('missing', 'USDT is not offered', '未开通 USDT 充值')
export const NO_REFUND = fault('missing', 'There is no such refund', '没有这笔退款')
export const NOT_CONFIRMED = fault(
  'conflict',
  'the other node does not say that this transfer stands in this block: it cannot be credited',
  '另一节点未确认该区块中有此转账，无法入账',
)
export const DECIDE_FIRST = fault(
  'conflict',
  'an exception of this order waits for a decision: resolve it',
  '该订单有待处理的异常，请先处理',
)
export const COUNTS_ELSEWHERE = fault(
  'conflict',
  'this transaction counts already, as it stood in another block: close this',
  '该交易已按另一区块中的记录计入，请关闭',
)
export const OWN_RECEIVER = fault(
  'invalid',
  'receiver: it is an address of an account here, and the tokens would be credited again',
  'receiver：这是本站的充值地址，退款会再次入账',
)
export const NOBODYS = fault(
  'invalid',
  'receiver: it is the contract of the token, which nobody could take the tokens from',
  'receiver：这是代币合约地址，转入后无法取回',
)
export const NO_RECEIVER = () =>
  wrong('receiver', { en: 'the address that the payer has named', zh: '付款人提供的地址' })
export const RECEIVER_KNOWN = fault(
  'invalid',
  'receiver: the provider sends the money to where it came from',
  'receiver：款项由支付服务商原路退回',
)
export const ONE_OF_TWO = fault(
  'invalid',
  'tx: expected the transaction that sent the tokens, or else a reason why they are not sent',
  'tx：应为转出代币的交易哈希，或填写未转出的原因',
)
export const NOT_FINAL = fault(
  'conflict',
  'tx: no node knows this transaction in a final block yet: try again in a minute',
  'tx：尚无节点在最终确认的区块中查到此交易，请稍后再试',
)
export const OTHER_TRANSFER = (tokens: string) =>
  fault(
    'conflict',
    `tx: it did not send ${tokens} USDT to the receiver of this refund`,
    `tx：该交易未向此退款的收款地址转出 ${tokens} USDT`,
  )()
export const USED = fault('conflict', 'tx: it stands at another refund', 'tx：此交易已用于另一笔退款')
export const ENDED = fault('conflict', 'this refund has ended otherwise', '此退款已以其他方式结束')
