/**
 * Reports over the sums of usage: totals by day or hour, model, key, account, group, channel and protocol. A period is
 * covered by whole days of the sums as far as possible, and by hours where it is not: at its ends, and everywhere when the
 * report is by hour, or by days of a zone whose days are not those of the sums. A period is cut where the zone's clocks
 * change. For one account or key the hours are named one by one, because the key of the sums begins with them.
 */
import { HOUR_MS } from '../../base/clock.ts'
import {
  type Largest,
  type LargestQuery,
  type SummaryBy,
  type SummaryQuery,
  SummaryRefused,
  type SummaryRow,
} from './queries.ts'
import { type ZoneSpan, segments } from './segments.ts'
import { DAY_HOURS, DAY_OFFSET_HOURS, FIRST_BYTE_BUCKETS, GRAIN, dayOf, hourOf } from './sums.ts'
import { timeOfId } from '../../base/ids.ts'
import type { Driver, Param, Row, Transaction } from '../base/driver.ts'
import { REPORTED_SUMS, type ReportedSum } from './rows.ts'
import { OF_ROW } from './rebuild.ts'
import { count, integer, binds, padded, text } from '../base/text.ts'
import { type Condition, whereOf, hourConditions, ownerConditions, paramsOf, traitConditions } from './pages.ts'

/** A part of a segment, and the sums from which it is read. */
interface Part extends ZoneSpan {
  grain: (typeof GRAIN)[keyof typeof GRAIN]
}

/** Whole days from the sums of days, and the rest from those of hours. */
function parts(segment: ZoneSpan, days: Part['grain'] | null, hours: Part['grain']): Part[] {
  const { from, to } = segment
  const first = dayOf(from + DAY_HOURS - 1)
  const last = dayOf(to)
  if (days === null || first >= last) return [{ ...segment, grain: hours }]
  const all = [
    { ...segment, to: first, grain: hours },
    { ...segment, from: first, to: last, grain: days },
    { ...segment, from: last, grain: hours },
  ]
  return all.filter(part => part.from < part.to)
}

const MOST_ROWS = 10_000
/** Longest periods, in hours: of reports by hour, by day, and without either. */
const MOST_HOURS = { hour: 32 * DAY_HOURS, day: 3 * 366 * DAY_HOURS, period: 40 * 366 * DAY_HOURS }

const COLUMNS: Record<Exclude<SummaryBy, 'day' | 'hour'>, string> = {
  model: 'model',
  key: 'key_id',
  account: 'account_id',
  group: 'group_name',
  channel: 'channel',
  protocol: 'protocol',
}

const BUCKETS: Partial<Record<SummaryBy, string>> = {
  hour: 'hour_no AS bucket',
  // The first hour of a day in the zone, counted in the zone's own hours.
  day: `(hour_no + ?) - (hour_no + ?) % ${DAY_HOURS} AS bucket`,
}

/** One row of the log as the sums would have it. */
const OF_LOG =
  `SELECT ${GRAIN.hour} AS grain, ? AS hour_no, account_id, key_id, model, group_name, channel, protocol, outcome, ` +
  `${REPORTED_SUMS.map(name => `${OF_ROW[name]} AS ${name}`).join(', ')} FROM usage_log WHERE request_id = ?`

const ERRORS = "SUM(CASE WHEN outcome = 'upstream' THEN requests ELSE 0 END) AS errors"
/** What an upstream falsely reports may cost more, in sum, than a number can tell. */
const MOST_COST = Number.MAX_SAFE_INTEGER
/** SQLite adds integers up to what a column takes, and fails beyond it; a sum of numbers with a point has no such end. */
const SUM_OF_COST = 'SUM(cost * 1.0)'
const COST = `CAST(CASE WHEN ${SUM_OF_COST} > ${MOST_COST} THEN ${MOST_COST} ELSE ${SUM_OF_COST} END AS SIGNED) AS cost`
const SUMS = [...REPORTED_SUMS.map(name => (name === 'cost' ? COST : `SUM(${name}) AS ${name}`)), ERRORS].join(', ')
const SHOWN = [...REPORTED_SUMS, 'errors'] as const
const BRIEF = ['requests', 'charge'] as const
const BRIEF_SUMS = BRIEF.map(name => `SUM(${name}) AS ${name}`).join(', ')

const HOURLY: ReadonlySet<number> = new Set([GRAIN.hour, GRAIN.accountHour])

const FIRST_BYTES = ['first_byte_ms', ...FIRST_BYTE_BUCKETS].map(name => `, SUM(${name}) AS ${name}`).join('')

/** Lists of what is wanted. An empty list would want nothing: `summary` answers that without asking. */
function amongConditions({ keyIds, models, groups }: SummaryQuery): Condition[] {
  const all: [column: string, list: readonly Param[] | undefined][] = [
    ['key_id', keyIds],
    ['model', models],
    ['group_name', groups],
  ]
  return all.flatMap(([column, list]) => {
    if (list === undefined) return []
    const values = padded(list)
    return [[`${column} IN (${binds(values.length)})`, ...values] as const]
  })
}

const conditionsOf = (query: SummaryQuery, part: Part): Condition[] => [
  ['grain = ?', part.grain],
  ...hourConditions(part, HOURLY.has(part.grain) ? 1 : DAY_HOURS, query.accountId !== undefined),
  ...ownerConditions(query),
  ...amongConditions(query),
  ...traitConditions(query),
]

function statement(query: SummaryQuery, part: Part): [sql: string, params: Param[]] {
  const bucket = query.by.find(by => by in BUCKETS)
  const columns = query.by.flatMap(by => (by in BUCKETS ? [] : [COLUMNS[by as keyof typeof COLUMNS]]))
  const all = conditionsOf(query, part)
  const shown = [...(bucket === undefined ? [] : [BUCKETS[bucket] as string]), ...columns]
  const sums = query.brief === true ? BRIEF_SUMS : query.firstBytes === true ? SUMS + FIRST_BYTES : SUMS
  const groups = [...(bucket === undefined ? [] : ['bucket']), ...columns]
  const { requestId } = query
  const sql =
    `SELECT ${[...shown, sums].join(', ')} FROM ${requestId === undefined ? 'usage_sums' : `(${OF_LOG}) AS one`} ` +
    `${whereOf(all)}${groups.length === 0 ? '' : `GROUP BY ${groups.join(', ')} `}LIMIT ${MOST_ROWS + 1}`
  const shift = bucket === 'day' ? [part.offset, part.offset] : []
  return [sql, [...shift, ...(requestId === undefined ? [] : [part.from, requestId]), ...paramsOf(all)]]
}

const NONE = Object.fromEntries(REPORTED_SUMS.map(name => [name, 0])) as Record<ReportedSum, number>

class Report {
  readonly #query: SummaryQuery
  readonly #rows = new Map<string, SummaryRow>()

  constructor(query: SummaryQuery) {
    this.#query = query
  }

  add(row: Row, { offset }: Part): void {
    const { brief, firstBytes: timed } = this.#query
    if (count(row, 'requests') === 0 && (brief === true || count(row, 'cost') === 0)) return
    const by = this.#query.by.map(name => {
      if (name === 'hour') return integer(row, 'bucket') * HOUR_MS
      if (name === 'day') return new Date(integer(row, 'bucket') * HOUR_MS).toISOString().slice(0, 10)
      const column = COLUMNS[name]
      return name === 'key' || name === 'account' ? integer(row, column) : text(row, column)
    })
    const id = JSON.stringify(by)
    let there = this.#rows.get(id)
    if (there === undefined) {
      there = { by, offset, errors: 0, ...NONE }
      if (timed === true) there.firstBytes = { sumMs: 0, buckets: FIRST_BYTE_BUCKETS.map(() => 0) }
      this.#rows.set(id, there)
      if (this.#rows.size > MOST_ROWS) throw new SummaryRefused('rows', `a report of at most ${MOST_ROWS} rows`)
    }
    for (const name of brief === true ? BRIEF : SHOWN) there[name] = Math.min(MOST_COST, there[name] + count(row, name))
    const { firstBytes } = there
    if (firstBytes === undefined) return
    firstBytes.sumMs += count(row, 'first_byte_ms')
    FIRST_BYTE_BUCKETS.forEach((name, i) => {
      firstBytes.buckets[i]! += count(row, name)
    })
  }

  rows(): SummaryRow[] {
    return [...this.#rows.values()].sort(({ by: a }, { by: b }) => {
      const i = a.findIndex((value, i) => value !== b[i])
      return i === -1 ? 0 : (a[i] as string) < (b[i] as string) ? -1 : 1
    })
  }
}

/** Whether only the sums of keys tell what is asked; those of accounts and of all are far fewer. */
const needsKeys = ({ by, keyId, keyIds, channel, requestId }: SummaryQuery): boolean =>
  [keyId, keyIds, channel, requestId].some(one => one !== undefined) || by.includes('key') || by.includes('channel')

const hoursFor = (query: SummaryQuery): Part['grain'] => (needsKeys(query) ? GRAIN.hour : GRAIN.accountHour)

/** Whether a report asks only who used something on which day, and not what. */
const asksNothingOfUse = ({ by, models, groups, model, group, protocol, channel, requestId }: SummaryQuery): boolean =>
  by.every(name => name === 'key' || name === 'account' || name === 'day') &&
  [models, groups, model, group, protocol, channel, requestId].every(one => one === undefined)

function daysFor(query: SummaryQuery): Part['grain'] {
  const { by, accountId, keyId, keyIds } = query
  const ofOwners = [accountId, keyId, keyIds].some(owner => owner !== undefined) || by.includes('key')
  if (!ofOwners && !by.includes('account')) return GRAIN.dayOfAll
  if (!needsKeys(query)) return GRAIN.accountDay
  return asksNothingOfUse(query) ? GRAIN.keyDay : GRAIN.day
}

/** The hours from the first to the last one asked for; null when the sums have none of them. */
async function hoursOf(
  tx: Transaction,
  { fromMs, toMs, requestId }: SummaryQuery,
): Promise<{ from: number; to: number } | null> {
  const asked = {
    from: fromMs === undefined ? Number.NEGATIVE_INFINITY : hourOf(fromMs),
    to: toMs === undefined ? Number.POSITIVE_INFINITY : Math.ceil(toMs / HOUR_MS),
  }
  if (requestId !== undefined) {
    const hour = hourOf(timeOfId(requestId))
    return asked.from <= hour && hour < asked.to ? { from: hour, to: hour + 1 } : null
  }
  const sql = 'SELECT MIN(hour_no) AS first, MAX(hour_no) AS last FROM usage_sums WHERE grain = ?'
  const [row] = await tx.query(sql, [GRAIN.dayOfAll])
  if (row === undefined || row['first'] === null) return null
  const from = Math.max(integer(row, 'first'), asked.from)
  const to = Math.min(integer(row, 'last') + DAY_HOURS, asked.to)
  return from < to ? { from, to } : null
}

function checkLength({ from, to }: { from: number; to: number }, mostHours: number): void {
  if (to - from > mostHours) throw new SummaryRefused('period', `a period of at most ${mostHours / DAY_HOURS} days`)
}

async function read(tx: Transaction, query: SummaryQuery): Promise<SummaryRow[]> {
  const hours = await hoursOf(tx, query)
  if (hours === null) return []
  const bucket = query.by.find(by => by === 'hour' || by === 'day') ?? 'period'
  checkLength(hours, MOST_HOURS[bucket])
  const report = new Report(query)
  const { from, to } = hours
  for (const segment of bucket === 'period' ? [{ from, to, offset: 0 }] : segments(query.zone, from, to)) {
    const daysServe = bucket === 'period' || (bucket === 'day' && segment.offset === DAY_OFFSET_HOURS)
    for (const part of parts(segment, daysServe ? daysFor(query) : null, hoursFor(query))) {
      for (const row of await tx.query(...statement(query, part))) report.add(row, part)
    }
  }
  return report.rows()
}

/**
 * The stacks of a report with the highest charges, and how many there are. An account may have ten thousand keys, of which a page
 * shows a hundred: the engine leaves out the others.
 */
export function largestSums(driver: Driver, query: LargestQuery, limit: number): Promise<Largest> {
  if (query.keyIds?.length === 0) return Promise.resolve({ values: [], count: 0 })
  return driver.snapshot('largestSums', async tx => {
    const hours = await hoursOf(tx, query)
    if (hours === null) return { values: [], count: 0 }
    checkLength(hours, MOST_HOURS.period)
    const column = COLUMNS[query.by[0]]
    const all = parts({ ...hours, offset: 0 }, daysFor(query), hoursFor(query)).map(part => conditionsOf(query, part))
    const sums = all.map(one => `SELECT ${column}, requests, charge FROM usage_sums ${whereOf(one)}`)
    const rows = await tx.query(
      `SELECT ${column}, COUNT(*) OVER () AS stacks FROM (${sums.join(' UNION ALL ')}) AS parts GROUP BY ${column} ` +
        `HAVING SUM(requests) > 0 ORDER BY SUM(charge) DESC, SUM(requests) DESC, ${column} LIMIT ?`,
      [...all.flatMap(paramsOf), limit],
    )
    const values = rows.map(row => (query.by[0] === 'key' ? integer(row, column) : text(row, column)))
    return { values, count: rows[0] === undefined ? 0 : integer(rows[0], 'stacks') }
  })
}

/** Totals of usage, in the order of `by`. Throws SummaryRefused. */
export function summary(driver: Driver, query: SummaryQuery): Promise<SummaryRow[]> {
  if ([query.keyIds, query.models, query.groups].some(list => list?.length === 0)) return Promise.resolve([])
  return driver.snapshot('summary', async tx => {
    if (query.keyId === undefined) return read(tx, query)
    const [key] = await tx.query('SELECT account_id FROM api_keys WHERE id = ?', [query.keyId])
    if (key === undefined) return []
    const accountId = integer(key, 'account_id')
    if (query.accountId !== undefined && query.accountId !== accountId) return []
    return read(tx, { ...query, accountId })
  })
}
