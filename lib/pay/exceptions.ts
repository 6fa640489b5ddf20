/**
 * What does not fit and waits for a person: how it is written down, and which of it a person may credit. That is a verified payment
 * of an order that did not fit it, where the order has no other one; never more is credited than was received.
 */
import { randomBytes } from 'node:crypto'
import { invariant } from '../base/assert.ts'
import { type Micro, micro } from '../base/money.ts'
import { type Act, GATEWAY } from '../base/people.ts'
import type { HoldConfig } from '../config/pay-schema.ts'
import type { OperationDeps } from '../operations/deps.ts'
import { OperationError, type Words } from '../operations/error.ts'
import type { NewException } from '../store/payments/types.ts'
import type { Store } from '../store/store.ts'
import { ID_DIGITS, idOfText } from '../terms/chain.ts'
import type { Order, OrderMethod, OrderState, PayException, PayExceptionKind, ProofSource } from '../terms/pay.ts'

/** What is counted of payments. */
interface PayCounts {
  /** An order was credited this long after the proof was stored. */
  credited(method: OrderMethod, ms: number): void
  /** A proof came by asking: the callback was lost, or is late. */
  repaired(method: OrderMethod, source: ProofSource): void
  exception(method: OrderMethod, kind: PayExceptionKind): void
}

export interface PayDeps extends OperationDeps {
  counts: PayCounts
  /** When new payments of a method are held, by the config in force; undefined = never. */
  hold: (method: OrderMethod) => HoldConfig | undefined
}

/**
 * `open`: an exception was written. `held`: the order is credited later. `early`: the notice is about money that is not credited yet, so it must come again.
 */
export type Taken = 'credited' | 'held' | 'known' | 'open' | 'early' | 'ended' | 'none'

/** What a provider proved, the gateway books in its name. */
export const provider = (method: OrderMethod, operation: string): Act => ({
  actor: { ...GATEWAY, name: method },
  operation,
})

/** Stores what a person has to look at, once. */
export async function raise({ store, counts, log }: PayDeps, exception: NewException): Promise<'open'> {
  if (await store.pay.raiseException(exception)) {
    const { method, kind, orderId, detail } = exception
    counts.exception(method, kind)
    log.error({ method, kind, order: orderId, detail }, 'a payment needs a person to look at it')
  }
  return 'open'
}

/** Kinds that are about a payment of an order here. The provider says that the money is there. */
const CREDITABLE = ['amount', 'currency', 'merchant'] as const
/** `paid` is left behind by a crash between the proof and the credit. */
const WAITING: readonly OrderState[] = ['created', 'pending', 'expired', 'failed', 'paid']

export const PAID_OTHERWISE: Words = {
  en: 'the order has another payment: refund this one at the provider',
  zh: '该订单已有另一笔付款：请在支付服务商处退还这一笔',
}
export const NOT_BOOKED: Words = {
  en: 'the ledger has another entry under the reference of this order, or the balance cannot hold its money',
  zh: '账本中已有同一编号的另一条记录，或余额无法容纳',
}
const NO_PAYMENT: Words = {
  en: 'this exception cannot be credited: it is about no payment of an order here',
  zh: '此异常无法入账：它不是此处某个订单的付款',
}
const NO_RATE: Words = {
  en: 'there is no rate of this currency for the order: refund it at the provider',
  zh: '该订单没有此货币的汇率：请在支付服务商处退款',
}
export const NO_RATE_YET: Words = { en: 'there is no rate for this transfer yet', zh: '该转账尚无汇率' }
const TOO_SMALL: Words = { en: 'the payment is worth less than a fen', zh: '这笔付款不足一分钱' }

/** `received`: in the smallest unit of `currency`; `worth`: what is credited for it. */
type Creditable =
  | { order: Order; transactionId: string; received: number; currency: string; worth: Micro }
  | { why: Words }

/** `order`: the one that the exception names; null = there is none. */
export function creditable(found: PayException, order: Order | null): Creditable {
  const { kind, transactionId, amount: received, currency } = found
  if (kind === 'chain' && order?.method === 'usdt') return creditableTransfer(order)
  if (!(CREDITABLE as readonly string[]).includes(kind) || order === null) return { why: NO_PAYMENT }
  if (transactionId === null || received === null || currency === null) return { why: NO_PAYMENT }
  if (currency !== 'CNY' && currency !== order.currency) return { why: NO_RATE }
  // A payment that is stored is credited whatever its currency: with the amount of the order when it is what was asked for.
  const whole = received === order.asked && currency === order.currency
  const amount = whole ? order.amount : worth(received, currency === 'CNY' ? null : order.rate)
  if (amount <= 0) return { why: TOO_SMALL }
  return WAITING.includes(order.state)
    ? { order, transactionId, received, currency, worth: amount }
    : { why: PAID_OTHERWISE }
}

/** A transfer about which nodes disagreed, or that is worth too much to be credited without a person. */
function creditableTransfer(order: Order): Creditable {
  const { reference: transactionId, asked: received, currency, amount } = order
  if (!WAITING.includes(order.state)) return { why: PAID_OTHERWISE }
  if (amount === Number.MAX_SAFE_INTEGER) return { why: NOT_BOOKED }
  return amount <= 0 ? { why: NO_RATE_YET } : { order, transactionId, received, currency, worth: amount }
}

const SENT_BACK: Words = {
  en: 'money of this order was sent back at the provider: send the rest back there too',
  zh: '该订单的款项已在支付服务商处退回：请将余款也在该处退回',
}

/** Whether the provider has sent back money of an order that is not credited: what is left of it, nobody here knows. */
export const wentBack = async ({ pay }: Pick<Store, 'pay'>, orderId: string): Promise<boolean> =>
  (await pay.exceptions({ orderId, kind: 'refund_unknown', limit: 1 })).length > 0

/** Throws when it has. */
export async function checkNotSentBack(store: Pick<Store, 'pay'>, orderId: string): Promise<void> {
  if (await wentBack(store, orderId)) throw new OperationError('conflict', SENT_BACK)
}

const TIME_LENGTH = 10
const RANDOM_LENGTH = 16

/** A letter and a ULID: 48 bits of time and 80 random bits. Nobody can guess one. */
function numbered(letter: 'T' | 'R', nowMs: number): string {
  let time = ''
  for (let rest = Math.max(0, Math.floor(nowMs)), i = 0; i < TIME_LENGTH; i++) {
    time = ID_DIGITS[rest % 32] + time
    rest = Math.floor(rest / 32)
  }
  return letter + time + [...randomBytes(RANDOM_LENGTH)].map(byte => ID_DIGITS[byte % 32]).join('')
}

export const newOrderId = (nowMs: number): string => numbered('T', nowMs)
export const newRefundId = (nowMs: number): string => numbered('R', nowMs)
/** The number of the refund that a caller names by a reference: the same reference of the same order is the same refund. */
export const refundIdOf = (orderId: string, reference: string): string => idOfText('R', `${orderId} ${reference}`)
export const isOrderId = (text: string): boolean => /^T[0-9A-HJKMNP-TV-Z]{26}$/.test(text)
/** Our own number of a refund; null = it was not begun here. */
export const ourRefund = (number: string): string | null => (/^R[0-9A-HJKMNP-TV-Z]{26}$/.test(number) ? number : null)

/** Micro-CNY in one fen. */
export const FEN = 10_000
/** Smallest units in one unit of every currency that an order may have. */
const CENTS = 100n

export const isWholeFen = (amount: Micro): boolean => amount % FEN === 0

/** What the provider is asked for. `rate`: CNY in millionths for one unit, null = the currency is CNY. Rounded up. */
export function askedFor(amount: Micro, rate: number | null): number {
  if (rate === null) return amount / FEN
  invariant(rate > 0, `a rate of ${rate}`)
  return Number((BigInt(amount) * CENTS + BigInt(rate) - 1n) / BigInt(rate))
}

/** What money in the order's currency is worth. Rounded down, so that nobody is credited more than was received. */
export function worth(asked: number, rate: number | null): Micro {
  if (rate === null) return micro(asked * FEN)
  return micro(Number((BigInt(asked) * BigInt(rate)) / CENTS))
}

/** The most of an amount that is believed, whoever names it: a fen less than a billion. */
const MOST_CENTS = 99_999_999_999
export const isCents = (value: unknown): value is number =>
  typeof value === 'number' && Number.isInteger(value) && value >= 0 && value <= MOST_CENTS

/** The last second of the year 9998: a later time, in seconds since 1970, is none. */
export const LATEST_S = 253_370_764_799

const YUAN = /^(\d{1,9})(?:\.(\d{1,2}))?$/

/** Fen of a text of yuan such as `12.3`; null when it is no such text. No floating point comes near it. */
export function fenOf(yuan: unknown): number | null {
  const m = typeof yuan === 'string' ? YUAN.exec(yuan) : null
  return m === null ? null : Number(m[1]) * 100 + Number((m[2] ?? '').padEnd(2, '0'))
}

export const yuanOf = (fen: number): string => `${Math.floor(fen / 100)}.${String(fen % 100).padStart(2, '0')}`
