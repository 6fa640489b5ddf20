/** The SQL of a page of the usage log: which rows a filter means, and which index holds them in order. */
import type { Dialect, Param } from '../driver.ts'
import type { UsageFilter, UsageOwner, UsageTraits } from '../types.ts'
import { indexName } from '../tables.ts'
import { USAGE_LOG } from '../usage-tables.ts'
import { USAGE_COLUMNS } from './usage-rows.ts'

/** Rows that are looked through before the sums are asked. */
const LOOKED_THROUGH = 4_000

/** The part of the log that a page begins in: rows before this place. */
export interface Place {
  atMs: number
  seq: number
}

export type Condition = readonly [sql: string, ...params: Param[]]

const TRAITS: Record<keyof UsageTraits, string> = {
  model: 'model',
  group: 'group_name',
  channel: 'channel',
  protocol: 'protocol',
  outcome: 'outcome',
}

/** What a filter asks of the columns that the log and its sums have in common, and that have no index. */
export const traitConditions = (filter: UsageTraits): Condition[] =>
  (Object.keys(TRAITS) as (keyof UsageTraits)[]).flatMap(name => {
    const value = filter[name]
    return value === undefined ? [] : [[`${TRAITS[name]} = ?`, value] as const]
  })

export const ownerConditions = ({ accountId, keyId, attempts }: UsageOwner): Condition[] => [
  ...(accountId === undefined ? [] : [['account_id = ?', accountId] as const]),
  ...(keyId === undefined ? [] : [['key_id = ?', keyId] as const]),
  ...(attempts === 'without' ? [["outcome <> 'attempt'"] as const] : []),
]

export const timeConditions = (
  { fromMs, toMs }: Pick<UsageFilter, 'fromMs' | 'toMs'>,
  before: Place | null,
): Condition[] => [
  ...(fromMs === undefined ? [] : [['at_ms >= ?', fromMs] as const]),
  ...(toMs === undefined ? [] : [['at_ms < ?', toMs] as const]),
  ...(before === null
    ? []
    : ([
        ['at_ms <= ?', before.atMs],
        ['(at_ms < ? OR seq < ?)', before.atMs, before.seq],
      ] as const)),
]

export const whereOf = (all: readonly Condition[]): string =>
  all.length === 0 ? '' : `WHERE ${all.map(([sql]) => sql).join(' AND ')} `
export const paramsOf = (all: readonly Condition[]): Param[] => all.flatMap(([, ...params]) => params)

const ORDER = 'ORDER BY at_ms DESC, seq DESC LIMIT ?'

/** One range of one index, read in its order. The planner is told, as it would have to know how rare each value is. */
function indexFor({ accountId, keyId }: UsageFilter): string {
  if (keyId !== undefined) return indexName(USAGE_LOG, ['key_id', 'at_ms'])
  if (accountId !== undefined) return indexName(USAGE_LOG, ['account_id', 'at_ms', 'seq', 'charge'])
  return indexName(USAGE_LOG, ['at_ms'])
}

/** The filter's rows before a place. `traits` may be left to the caller. */
export function usagePage(
  filter: UsageFilter,
  before: Place | null,
  traits: readonly Condition[],
  dialect: Dialect,
): [sql: string, params: Param[]] {
  const ranges = [...ownerConditions(filter), ...timeConditions(filter, before)]
  const from = `FROM usage_log ${dialect.using(indexFor(filter))} `
  const all = [...ranges, ...traits]
  return [`SELECT ${USAGE_COLUMNS} ${from}${whereOf(all)}${ORDER}`, [...paramsOf(all), filter.limit]]
}

/** The numbers of those that have the traits among the newest rows of the filter. */
export function lookThrough(
  filter: UsageFilter,
  before: Place | null,
  traits: readonly Condition[],
  dialect: Dialect,
): [sql: string, params: Param[]] {
  const ranges = [...ownerConditions(filter), ...timeConditions(filter, before)]
  const columns = ['at_ms', 'seq', ...Object.values(TRAITS)].join(', ')
  const newest = `SELECT ${columns} FROM usage_log ${dialect.using(indexFor(filter))} ${whereOf(ranges)}${ORDER}`
  return [
    `SELECT seq FROM (${newest}) newest ${whereOf(traits)}${ORDER}`,
    [...paramsOf(ranges), LOOKED_THROUGH, ...paramsOf(traits), filter.limit],
  ]
}
