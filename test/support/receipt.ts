/** The charge of a row, recomputed from its lines alone, in whole numbers of any size. */
import type { UsageRow } from '../../lib/terms/usage-row.ts'

const PIECES = ['image', 'web_search', 'request', 'second']
const MILLION = 1_000_000n

/** In micro-CNY, rounded up once. */
export function chargeOfLines({ lines, multiplier }: Pick<UsageRow, 'lines' | 'multiplier'>): bigint {
  let sum = 0n
  for (const { class: name, count, price, tier } of lines)
    sum += BigInt(count) * BigInt(price) * BigInt(tier) * (PIECES.includes(name) ? MILLION : 1n)
  const divisor = MILLION ** 3n
  return (sum * BigInt(multiplier ?? 0) + divisor - 1n) / divisor
}
