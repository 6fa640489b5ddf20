/** Why orders, refunds and resolutions are refused, in the words of people who read it. */
import type { Micro } from '../base/money.ts'
import { OperationError, type Words } from '../operations/error.ts'
import type { OrderMethod, Refund } from '../terms/pay.ts'

/** Most orders of an account that can still be paid. */
export const MOST_OPEN = 5
/** Most orders of an account in an hour that a provider has refused. */
export const MOST_FAILED = 10

export const NO_ORDER: Words = { en: 'There is no such order', zh: '没有这个订单' }

export const notConfigured = (method: OrderMethod): Words => ({
  en: `${method} is not configured here any more`,
  zh: `此处已不再配置 ${method}`,
})

export const NO_RATE = () =>
  new OperationError('conflict', {
    en: 'method: there is no exchange rate at the moment, use another way to pay',
    zh: 'method:暂无汇率,请使用其他支付方式',
  })

export const NO_REASON = () => wrong('reason', { en: 'a reason', zh: '原因' })

export const RESOLVED = () =>
  new OperationError('conflict', { en: 'the exception is resolved already', zh: '该异常已处理' })

export const NOT_HELD = () => new OperationError('conflict', { en: 'the order is not held', zh: '该订单未被暂缓入账' })

export const ANOTHER_AMOUNT = () =>
  new OperationError('conflict', {
    en: 'reference: another amount was refunded under it',
    zh: 'reference:已用于另一金额的退款',
  })

export const SMALLEST: Words = {
  en: 'an amount worth a cent at least of the currency that was paid',
  zh: '至少相当于付款货币一分钱的金额',
}

export function sameRefund(known: Refund, amount: Micro): Refund {
  if (known.amount !== amount) throw ANOTHER_AMOUNT()
  return known
}

export const wrong = (field: string, expected: Words): OperationError =>
  new OperationError('invalid', { en: `${field}: expected ${expected.en}`, zh: `${field}:应为${expected.zh}` }, {}, [
    { field, expected },
  ])

export const TOO_MUCH = () =>
  wrong('amount', {
    en: 'less: the provider does not take so much at once',
    zh: '更小的金额,支付服务商单笔不支持这么多',
  })

const TOO_MANY = {
  open: {
    en: `at most ${MOST_OPEN} orders may be open: pay one, or wait until one expires`,
    zh: `最多可有 ${MOST_OPEN} 个未支付订单,请先支付或等待其过期`,
  },
  failed: {
    en: 'the provider has refused several orders: use another way to pay, or try again in an hour',
    zh: '支付服务商已拒绝多个订单,请换一种支付方式,或一小时后再试',
  },
  anHour: { en: 'too many orders of this kind in an hour: try again later', zh: '一小时内此类订单过多,请稍后再试' },
  anHourOfAll: { en: 'too many orders of this kind at the moment: try again later', zh: '当前此类订单过多,请稍后再试' },
  aDay: { en: 'the orders of a day would be more than is allowed', zh: '超过每日充值限额' },
}

export const tooMany = (bound: keyof typeof TOO_MANY): OperationError =>
  new OperationError('throttled', TOO_MANY[bound])
