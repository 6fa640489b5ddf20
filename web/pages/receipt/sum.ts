/** The arithmetic of a receipt, in whole numbers of any size: what the page "recompute" does. */

/** Places of the decimals with which lines are computed. */
const PLACES = 18
const UNIT = 10n ** BigInt(PLACES)
/** From CNY × 10^-18 to micro-CNY. */
const MICRO = 10n ** 12n

interface Product {
  count: number
  price: string
  tier: string
  /** How many pieces the price is for. */
  per: number
}

/** A decimal as a whole number of 10^-18. */
function scaled(decimal: string): bigint {
  const [whole = '0', places = ''] = decimal.split('.')
  return BigInt(whole + places.padEnd(PLACES, '0').slice(0, PLACES))
}

/** The charge in micro-CNY: the sum of count × price × tier, times the multiplier, rounded up once. */
export function chargeOf(lines: readonly Product[], multiplier: string): bigint {
  let sum = 0n
  for (const { count, price, tier, per } of lines)
    sum += (BigInt(Math.round(count)) * scaled(price) * scaled(tier)) / UNIT / BigInt(per)
  const divisor = UNIT * MICRO
  return (sum * scaled(multiplier) + divisor - 1n) / divisor
}

/** A charge with six places as micro-CNY. */
export const microOf = (charge: string): bigint => BigInt(charge.replace('.', ''))
