/** Sums of usage as the people of an account see them. What upstreams take is not in it. */
import { formatMicro, type Micro } from '../../base/money.ts'
import { FIRST_BYTE_BOUNDS_MS } from '../../store/usage/rows.ts'
import type { SummaryRow } from '../../store/usage/queries.ts'

const COUNTS = [
  'requests',
  'input',
  'cache_read',
  'cache_write_5m',
  'cache_write_1h',
  'output',
  'images',
  'searches',
  'seconds',
  'characters',
  'tool_calls',
] as const

/** Sums that can be added up. */
export interface Sums extends Record<(typeof COUNTS)[number] | 'errors' | 'charge', number> {
  firstBytes: { sumMs: number; buckets: number[] }
}

export function addUp(rows: readonly SummaryRow[]): Sums {
  const none = Object.fromEntries([...COUNTS, 'errors', 'charge'].map(name => [name, 0]))
  const sums = { ...none, firstBytes: { sumMs: 0, buckets: [] as number[] } } as unknown as Sums
  for (const row of rows) {
    for (const name of [...COUNTS, 'errors', 'charge'] as const) sums[name] += row[name]
    sums.firstBytes.sumMs += row.firstBytes?.sumMs ?? 0
    row.firstBytes?.buckets.forEach((count, i) => {
      sums.firstBytes.buckets[i] = (sums.firstBytes.buckets[i] ?? 0) + count
    })
  }
  return sums
}

/** What is left of sums without a part of them. */
export function takeAway(all: Sums, part: Sums): Sums {
  const left = { ...all, firstBytes: { sumMs: all.firstBytes.sumMs - part.firstBytes.sumMs, buckets: [] as number[] } }
  for (const name of [...COUNTS, 'errors', 'charge'] as const) left[name] -= part[name]
  left.firstBytes.buckets = all.firstBytes.buckets.map((count, i) => count - (part.firstBytes.buckets[i] ?? 0))
  return left
}

/** A share with four places; null of nothing. */
const share = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000

/** The time that a share of the answers did not exceed, as exactly as the buckets tell; null without answers. */
export function quantileOf(buckets: readonly number[], of: number): number | null {
  const all = buckets.reduce((sum, count) => sum + count, 0)
  if (all === 0) return null
  let left = all * of
  for (const [i, count] of buckets.entries()) {
    const to = FIRST_BYTE_BOUNDS_MS[i]
    if (to === undefined) break
    const from = FIRST_BYTE_BOUNDS_MS[i - 1] ?? 0
    if (count > 0 && left <= count) return Math.round(from + ((to - from) * left) / count)
    left -= count
  }
  return FIRST_BYTE_BOUNDS_MS.at(-1) as number
}

const HALF = 0.5
const MOST = 0.95

export function shownTotals(sums: Sums) {
  const { errors, charge, firstBytes, ...counts } = sums
  const prompt = counts.input + counts.cache_read + counts.cache_write_5m + counts.cache_write_1h
  const answered = firstBytes.buckets.reduce((sum, count) => sum + count, 0)
  return {
    ...counts,
    failed: errors,
    failed_share: share(errors, counts.requests),
    charge: formatMicro(charge as Micro),
    cache_hit_share: share(counts.cache_read, prompt),
    first_byte_ms: answered === 0 ? null : Math.round(firstBytes.sumMs / answered),
    first_byte_p50_ms: quantileOf(firstBytes.buckets, HALF),
    first_byte_p95_ms: quantileOf(firstBytes.buckets, MOST),
  }
}
