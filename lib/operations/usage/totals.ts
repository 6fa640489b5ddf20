/** Sums of usage as people of an account and operators see them. What upstreams take is for operators only. */
import { z } from 'zod'
import { formatMicro, type Micro } from '../../base/money.ts'
import { hourInZone } from '../../base/zone.ts'
import { FIRST_BYTE_BOUNDS_MS } from '../../store/usage/rows.ts'
import type { SummaryBy, SummaryRow } from '../../store/usage/queries.ts'
import { both, type Words } from '../error.ts'
import { moneyText, shareOrNull, usageCounts, wholeCount, wholeMs } from '../fields.ts'
import { COUNT_WORDS } from './columns.ts'
import type { SummaryFigure } from './filters.ts'

const HEADS = {
  requests: both('请求数', 'Requests'),
  failed: both('失败', 'Failed'),
  ...COUNT_WORDS,
  searches: both('搜索', 'Searches'),
  seconds: both('秒', 'Seconds'),
  characters: both('字符', 'Characters'),
  tool_calls: both('工具调用', 'Tool calls'),
  first_byte_ms: both('首字节平均（毫秒）', 'First byte, mean (ms)'),
  first_byte_p50_up_to_ms: both('半数首字节不超过（毫秒）', 'Half of the first bytes within (ms)'),
  first_byte_p95_up_to_ms: both('95%首字节不超过（毫秒）', '95 % of the first bytes within (ms)'),
  charge: both('费用（元）', 'Charge (CNY)'),
} satisfies { [name in keyof TotalsAnswer]?: Words }

/** The columns of a file of sums, with their heads. */
export const TOTAL_HEADS = Object.entries(HEADS) as [keyof typeof HEADS, Words][]

/** The sums that a chart and a table show. */
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
const ADDED = [...COUNTS, 'errors', 'charge'] as const

/** Sums that can be added up. */
export interface Sums extends Record<(typeof ADDED)[number], number> {
  firstBytes: { sumMs: number; buckets: number[] }
}

export function addUp(rows: readonly SummaryRow[]): Sums {
  const none = Object.fromEntries(ADDED.map(name => [name, 0]))
  const sums = { ...none, firstBytes: { sumMs: 0, buckets: [] as number[] } } as unknown as Sums
  for (const row of rows) {
    for (const name of ADDED) sums[name] += row[name]
    sums.firstBytes.sumMs += row.firstBytes?.sumMs ?? 0
    row.firstBytes?.buckets.forEach((count, i) => {
      sums.firstBytes.buckets[i] = (sums.firstBytes.buckets[i] ?? 0) + count
    })
  }
  return sums
}

export function takeAway(all: Sums, part: Sums): Sums {
  const { sumMs, buckets } = all.firstBytes
  const firstBytes = {
    sumMs: sumMs - part.firstBytes.sumMs,
    buckets: buckets.map((count, i) => count - (part.firstBytes.buckets[i] ?? 0)),
  }
  const left = { ...all, firstBytes }
  for (const name of ADDED) left[name] -= part[name]
  return left
}

/** A share with four places; null of nothing. */
const share = (part: number, whole: number): number | null =>
  whole === 0 ? null : Math.round((part / whole) * 10_000) / 10_000

/**
 * The least bound within which a share of the answers stayed. It is no measured time: buckets tell nothing finer. null = there
 * are no answers, or the share took longer than the last bound.
 */
export function boundOf(buckets: readonly number[], of: number): number | null {
  const wanted = buckets.reduce((sum, count) => sum + count, 0) * of
  if (wanted === 0) return null
  let within = 0
  return FIRST_BYTE_BOUNDS_MS.find((_, i) => (within += buckets[i] ?? 0) >= wanted) ?? null
}

const HALF = 0.5
const MOST = 0.95

export const totalFields = {
  requests: wholeCount,
  ...usageCounts,
  searches: wholeCount,
  seconds: z.number(),
  characters: wholeCount,
  tool_calls: wholeCount,
  failed: wholeCount,
  failed_share: shareOrNull,
  charge: moneyText,
  cache_hit_share: shareOrNull,
  first_byte_ms: wholeMs.nullable(),
  first_byte_p50_up_to_ms: wholeMs.nullable(),
  first_byte_p95_up_to_ms: wholeMs.nullable(),
}
export type TotalsAnswer = z.output<z.ZodObject<typeof totalFields>>

export function ownTotals({ errors, charge, firstBytes, ...counts }: Sums): TotalsAnswer {
  const prompt = counts.input + counts.cache_read + counts.cache_write_5m + counts.cache_write_1h
  const answered = firstBytes.buckets.reduce((sum, count) => sum + count, 0)
  return {
    ...counts,
    failed: errors,
    failed_share: share(errors, counts.requests),
    charge: formatMicro(charge as Micro),
    cache_hit_share: share(counts.cache_read, prompt),
    first_byte_ms: answered === 0 ? null : Math.round(firstBytes.sumMs / answered),
    first_byte_p50_up_to_ms: boundOf(firstBytes.buckets, HALF),
    first_byte_p95_up_to_ms: boundOf(firstBytes.buckets, MOST),
  }
}

/** `by` names the values of `row.by`; `accounts` are the names of accounts by their ids. */
export function operatorsTotals(by: readonly SummaryBy[], row: SummaryRow, accounts: ReadonlyMap<number, string>) {
  const { by: values, offset, charge, cost, uncosted, ...sums } = row
  const costed = charge - uncosted
  const isUnknown = costed === 0 && cost === 0 && charge > 0
  const named = by.map((name, i): [string, unknown] => {
    const value = values[i] as string | number
    if (name === 'hour') return [name, hourInZone(value as number, offset)]
    return [name, name === 'account' ? accounts.get(value as number) : value]
  })
  return {
    ...Object.fromEntries(named),
    ...sums,
    pieces: sums.images,
    charge: formatMicro(charge as Micro),
    cost: isUnknown ? null : formatMicro(cost as Micro),
    // what is not known is no profit: both sides of the margin are those of requests whose cost is known
    margin: isUnknown ? null : formatMicro((costed - cost) as Micro),
    cost_known_share: share(costed, charge),
  }
}

/** What is not known stands last, whichever way. */
export function sortedTotals(
  rows: readonly ReturnType<typeof operatorsTotals>[],
  sort: SummaryFigure | `-${SummaryFigure}`,
) {
  const figure = sort.replace('-', '') as SummaryFigure
  const sign = sort.startsWith('-') ? -1 : 1
  const of = (row: (typeof rows)[number]) => (row[figure] === null ? Infinity : sign * Number(row[figure]))
  return rows.toSorted((a, b) => (of(a) === of(b) ? 0 : of(a) - of(b)))
}
