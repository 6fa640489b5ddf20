/** Numbers of orders and refunds, and amounts in the smallest unit of a currency. */
import { randomBytes } from 'node:crypto'
import { invariant } from '../base/assert.ts'
import { type Micro, micro } from '../base/money.ts'
import { ID_DIGITS, idOfText } from '../terms/deposits.ts'

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
