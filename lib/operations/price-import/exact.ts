/**
 * Exact decimal numbers, for prices that are converted from another currency: floating-point numbers would be off by a
 * little, and rounding up would make that visible.
 */

/** `digits` / 10 ^ `places`. */
export interface Exact {
  digits: bigint
  places: number
}

const NUMBER = /^(\d{1,30})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,2}))?$/
const MILLIONTHS = 6
/** Amounts above it, in millionths, are no prices: the schema of prices has nine digits before the point. */
const MOST = 10n ** 15n

/** Reads a decimal of 0 or more, with or without exponent, from a text or a number; null = it is none. */
export function exact(value: unknown): Exact | null {
  const m = typeof value === 'number' || typeof value === 'string' ? NUMBER.exec(String(value)) : null
  if (m === null) return null
  const digits = BigInt(m[1]! + (m[2] ?? ''))
  const places = (m[2] ?? '').length - Number(m[3] ?? 0)
  return places < 0 ? { digits: digits * 10n ** BigInt(-places), places: 0 } : { digits, places }
}

export const ONE: Exact = { digits: 1n, places: 0 }
export const MILLION: Exact = { digits: 1_000_000n, places: 0 }

export const times = (a: Exact, b: Exact): Exact => ({ digits: a.digits * b.digits, places: a.places + b.places })

const power = (places: number): bigint => 10n ** BigInt(places)

/** Below 0, 0 or above, as `a` is less than, equal to or more than `b`. */
export function compare(a: Exact, b: Exact): number {
  const difference = a.digits * power(b.places) - b.digits * power(a.places)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

export const largest = (list: readonly Exact[]): Exact =>
  list.reduce((most, one) => (compare(one, most) > 0 ? one : most))

/** `dividend` / `divisor` as a decimal of at most six places, rounded up; so nothing above 0 becomes 0. null = too large. */
export function ratio(dividend: Exact, divisor: Exact): string | null {
  const over = dividend.digits * power(divisor.places + MILLIONTHS)
  const under = divisor.digits * power(dividend.places)
  return decimal((over + under - 1n) / under)
}

/** The number as a decimal of at most six places, rounded up in the same way. */
export const roundedUp = (value: Exact): string | null => ratio(value, ONE)

function decimal(millionths: bigint): string | null {
  if (millionths >= MOST) return null
  const text = String(millionths).padStart(MILLIONTHS + 1, '0')
  return `${text.slice(0, -MILLIONTHS)}.${text.slice(-MILLIONTHS)}`.replace(/\.?0+$/, '')
}
