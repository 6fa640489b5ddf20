/** Orders, proofs and refunds as tests make them. */
import { micro } from '../../lib/base/money.ts'
import type { Act } from '../../lib/base/people.ts'
import type { NewOrder, NewRefund, OrderBounds } from '../../lib/store/payments/types.ts'
import type { Proof } from '../../lib/terms/pay.ts'

export const ACT: Act = { actor: { kind: 'user', userId: 1, name: 'a@b.cn', ip: '::1' }, operation: 'orders.create' }
export const LOOSE: OrderBounds = {
  open: 1_000,
  failed: 1_000,
  begun: 1_000,
  anHour: null,
  anHourOfAll: null,
  aDay: micro(Number.MAX_SAFE_INTEGER),
}
export const FEN = 10_000

let count = 0
export const orderId = (): string => `T${String(++count).padStart(26, '0')}`

export const newOrder = (accountId: number, change: Partial<NewOrder> = {}): NewOrder => ({
  id: orderId(),
  accountId,
  userId: 1,
  method: 'alipay',
  amount: micro(500 * FEN),
  asked: 500,
  currency: 'CNY',
  rate: null,
  merchant: '2088',
  sandbox: false,
  expiresAtMs: 10_000,
  checkAtMs: 1_000,
  ...change,
})

export const proofOf = (order: string, transactionId: string, change: Partial<Proof> = {}): Proof => ({
  method: 'alipay',
  transactionId,
  orderId: order,
  amount: 500,
  currency: 'CNY',
  source: 'callback',
  digest: '0'.repeat(64),
  paidAtMs: null,
  actor: '',
  note: '',
  ...change,
})

export const newRefund = (order: string, id: string, fen: number, change: Partial<NewRefund> = {}): NewRefund => ({
  id,
  method: 'alipay',
  orderId: order,
  kind: 'refund',
  amount: micro(fen * FEN),
  reason: 'asked for 要求退款',
  providerId: null,
  ...change,
})
