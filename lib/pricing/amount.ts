/**
 * Sums lines of a receipt: `count × price × tier` over all lines, times a factor (the group's multiplier), rounded up
 * once. A charge is made by this function, so that its receipt recomputes it.
 *
 * Prices are micro-CNY per million tokens, which is pico-CNY per token, so a sum of tokens × prices is a whole number
 * of pico-CNY. The factor is kept as a fraction in lowest terms.
 *
 * Plain numbers are exact as long as `pico × numerator` is a safe integer (below 2^53). Every step before it is a sum
 * or a product of whole numbers that are not negative, so none of them can have been rounded when the result is safe.
 * The last step divides N by D: if N / D is no whole number it is at least 1 / D away from one, and that is more than
 * the rounding error of the division, so rounding up, or down, is exact too. Larger values are computed with BigInt, and so are
 * lines with a tier.
 */
import { type Micro, micro } from '../base/money.ts'
import { isByPiece } from '../protocols/words/usage.ts'
import type { Line } from '../terms/records.ts'

export const MILLIONTHS = 1_000_000
/** The largest result, 500 million CNY: more than any balance, and the most that the ledger can set aside at once. */
const MOST_MICRO = 500_000_000_000_000

export interface Factor {
  readonly numerator: number
  /** Times the pico-CNY in a micro-CNY. */
  readonly denominator: number
}

export function factorOf(millionths: number): Factor {
  const common = greatestCommonDivisor(millionths, MILLIONTHS)
  return { numerator: millionths / common, denominator: (MILLIONTHS / common) * MILLIONTHS }
}

export function amountOf(lines: readonly Line[], factor: Factor): Micro {
  let pico = 0
  for (const line of lines) {
    if (line.tier !== MILLIONTHS) return bigAmountOf(lines, factor)
    pico += line.count * line.price * (isByPiece(line.class) ? MILLIONTHS : 1)
  }
  return isExact(pico, factor) ? roundUp(pico, factor) : bigAmountOf(lines, factor)
}

function bigAmountOf(lines: readonly Line[], { numerator, denominator }: Factor): Micro {
  let sum = 0n
  for (const { class: name, count, price, tier } of lines)
    sum += BigInt(count) * BigInt(price) * BigInt(tier) * (isByPiece(name) ? BigInt(MILLIONTHS) : 1n)
  return bigQuotient(sum * BigInt(numerator), BigInt(denominator) * BigInt(MILLIONTHS), 'up')
}

/** The same of a sum in pico-CNY that is too large for `isExact`. */
export const amountOfBigPico = (pico: bigint, { numerator, denominator }: Factor, round: 'up' | 'down'): Micro =>
  bigQuotient(pico * BigInt(numerator), BigInt(denominator), round)

export const isExact = (pico: number, { numerator }: Factor): boolean =>
  Number.isSafeInteger(pico) && Number.isSafeInteger(pico * numerator)

export const roundUp = (pico: number, { numerator, denominator }: Factor): Micro =>
  micro(Math.min(MOST_MICRO, Math.ceil((pico * numerator) / denominator)))

export const roundDown = (pico: number, { numerator, denominator }: Factor): Micro =>
  micro(Math.min(MOST_MICRO, Math.floor((pico * numerator) / denominator)))

function bigQuotient(dividend: bigint, divisor: bigint, round: 'up' | 'down'): Micro {
  const micros = (dividend + (round === 'up' ? divisor - 1n : 0n)) / divisor
  return micro(micros > MOST_MICRO ? MOST_MICRO : Number(micros))
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
