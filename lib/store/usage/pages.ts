/**
 * Reads pages of the usage log, newest first by arrival; rows of one millisecond are in the order of their booking.
 *
 * A page of everything, of an account or of a key is one range of an index. A filter by model, group, channel, protocol
 * or outcome has no index: the newest rows are looked through first, which is enough where matching rows are frequent.
 * Where they are rare, the sums tell in which hours which keys have such rows, and only these ranges are read.
 */
import { HOUR_MS } from '../../base/clock.ts'
import { DISPUTE_OPEN_MS, type UsageFilter, type UsageOwner, type UsageTraits } from './queries.ts'
import { idAt } from '../../base/ids.ts'
import type { Dialect, Driver, Param, ReadingDriver, Transaction } from '../base/driver.ts'
import { type BookedRow, USAGE_COLUMNS, USAGE_LOG, toBookedRow } from './rows.ts'
import { indexName } from '../base/tables.ts'
import { integer, binds, compared, inOrder, padded, whereGiven } from '../base/text.ts'
import { attemptIds, timeOfId } from '../../base/ids.ts'
import { DAY_HOURS, GRAIN, dayOf, hourOf } from './sums.ts'

/** Rows that are looked through before the sums are asked. */
const LOOKED_THROUGH = 4_000

/** Where a page begins in the log: with the rows before this place, or with those behind it where the oldest come first. */
export interface LogPlace {
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
  place: LogPlace | null,
  ascending = false,
): Condition[] => [
  ...(fromMs === undefined ? [] : [['at_ms >= ?', fromMs] as const]),
  ...(toMs === undefined ? [] : [['at_ms < ?', toMs] as const]),
  ...(place === null ? [] : [compared(['at_ms', 'seq'], ascending ? '>' : '<', [place.atMs, place.seq])]),
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

type PageQuery = (
  filter: UsageFilter,
  before: LogPlace | null,
  traits: readonly Condition[],
  dialect: Dialect,
) => [sql: string, params: Param[]]

/** The filter's rows before a place. `traits` may be left to the caller. */
export const usagePage: PageQuery = (filter, before, traits, dialect) => {
  const ranges = [...ownerConditions(filter), ...timeConditions(filter, before)]
  const from = `FROM usage_log ${dialect.using(indexFor(filter))} `
  const all = [...ranges, ...traits]
  return [`SELECT ${USAGE_COLUMNS} ${from}${whereOf(all)}${ORDER}`, [...paramsOf(all), filter.limit]]
}

/** The numbers of those that have the traits among the newest rows of the filter. */
const lookThrough: PageQuery = (filter, before, traits, dialect) => {
  const ranges = [...ownerConditions(filter), ...timeConditions(filter, before)]
  const columns = ['at_ms', 'seq', ...Object.values(TRAITS)].join(', ')
  const newest = `SELECT ${columns} FROM usage_log ${dialect.using(indexFor(filter))} ${whereOf(ranges)}${ORDER}`
  return [
    `SELECT seq FROM (${newest}) newest ${whereOf(traits)}${ORDER}`,
    [...paramsOf(ranges), LOOKED_THROUGH, ...paramsOf(traits), filter.limit],
  ]
}

/** More hours or days than that are asked for as a range. */
const MOST_NAMED = 1_024

/** A range of hours, `to` exclusive. */
interface Hours {
  from: number
  to: number
}

/**
 * Every `step`th hour of a range. One account has few rows in each hour, so that its hours are better named than searched.
 */
export function hourConditions({ from, to }: Hours, step: number, ofOne: boolean): Condition[] {
  const count = Math.ceil((to - from) / step)
  if (!ofOne || count > MOST_NAMED || count <= 0)
    return [
      ['hour_no >= ?', from],
      ['hour_no < ?', to],
    ]
  const hours = padded(Array.from({ length: count }, (_, i) => from + i * step))
  return [[`hour_no IN (${binds(hours.length)})`, ...hours]]
}

/** How many days one statement asks for. */
const DAYS = 32
/** When so many keys have rows in one hour, one statement reads the hour for all keys, instead of one statement for each key. */
const MANY_KEYS = 16
/** A time (ms since 1970) that is later than that of any row. */
const MOST_MS = 2 ** 50

const isOfAccount = (more: readonly Condition[]) => more.some(([sql]) => sql === 'account_id = ?')

function sumsWith(tx: Transaction, grain: number, hours: Hours, more: readonly Condition[], rest: string) {
  const step = grain === GRAIN.hour || grain === GRAIN.accountHour ? 1 : DAY_HOURS
  const all: Condition[] = [['grain = ?', grain], ...hourConditions(hours, step, isOfAccount(more)), ...more]
  return (columns: string, ...last: Param[]) =>
    tx.query(`SELECT ${columns} FROM usage_sums ${whereOf(all)}${rest}`, [...paramsOf(all), ...last])
}

/** Yields the days that have rows which fit, as the number of their first hour. */
async function* daysWith(
  tx: Transaction,
  grain: number,
  { from, to }: Hours,
  more: readonly Condition[],
  ascending: boolean,
): AsyncGenerator<number> {
  for (const left = { from: dayOf(from), to }; ; ) {
    const ask = sumsWith(tx, grain, left, more, `GROUP BY hour_no ${inOrder(['hour_no'], ascending)} LIMIT ?`)
    const days = (await ask('hour_no', DAYS)).map(row => integer(row, 'hour_no'))
    yield* days
    if (days.length < DAYS) return
    const last = days.at(-1) as number
    if (ascending) left.from = last + DAY_HOURS
    else left.to = last
  }
}

/** For each hour that has rows which fit: the keys that have them. */
async function hoursWith(
  tx: Transaction,
  grain: number,
  hours: Hours,
  more: readonly Condition[],
  ascending: boolean,
): Promise<Map<number, number[]>> {
  const ask = sumsWith(tx, grain, hours, more, `GROUP BY hour_no, key_id ${inOrder(['hour_no'], ascending)}, key_id`)
  const keys = new Map<number, number[]>()
  for (const row of await ask('hour_no, key_id')) {
    const hour = integer(row, 'hour_no')
    const list = keys.get(hour)
    if (list === undefined) keys.set(hour, [integer(row, 'key_id')])
    else list.push(integer(row, 'key_id'))
  }
  return keys
}

/** When the oldest row of the log arrived (ms since 1970); null = the log is empty. */
async function oldestMs(tx: Transaction): Promise<number | null> {
  const [row] = await tx.query('SELECT at_ms FROM usage_log ORDER BY at_ms LIMIT 1', [])
  return row === undefined ? null : integer(row, 'at_ms')
}

/** The last hour that the sums may have. */
async function lastHour(tx: Transaction): Promise<number> {
  const sql = 'SELECT MAX(hour_no) AS last FROM usage_sums WHERE grain = ?'
  const [row] = await tx.query(sql, [GRAIN.dayOfAll])
  return row === undefined || row['last'] === null ? 0 : integer(row, 'last') + DAY_HOURS - 1
}

async function rowsOfHour(
  tx: Transaction,
  asked: UsageFilter,
  before: LogPlace | null,
  keys: FittingHour['keys'],
  dialect: Dialect,
): Promise<BookedRow[]> {
  const { accountId: _, ...rest } = asked
  const parts = keys !== null && keys.length < MANY_KEYS ? keys.map(keyId => ({ ...rest, keyId })) : [asked]
  const rows: BookedRow[] = []
  for (const part of parts) {
    const page = usagePage(part, before, traitConditions(asked), dialect)
    rows.push(...(await tx.query(...page)).map(toBookedRow))
  }
  return rows.sort((a, b) => timeOfId(b.requestId) - timeOfId(a.requestId) || b.seq - a.seq)
}

interface FittingHour {
  hour: number
  /** The keys that have the rows; null = that is not known, because the account may have thousands. */
  keys: readonly number[] | null
}

/** The sums that are asked. Those of an account know neither its keys nor channels. */
function grainsFor(more: readonly Condition[]): { days: number; hours: number } {
  const asks = (name: string) => more.some(([sql]) => sql.startsWith(`${name} `))
  if (asks('account_id') && !asks('key_id') && !asks('channel'))
    return { days: GRAIN.accountDay, hours: GRAIN.accountHour }
  return { days: asks('account_id') || asks('key_id') ? GRAIN.day : GRAIN.dayOfAll, hours: GRAIN.hour }
}

/** The hours that have rows which fit, newest first unless `ascending`, from a place on. `more`: what the sums are asked for. */
export async function* fittingHours(
  tx: Transaction,
  { fromMs, toMs = MOST_MS }: Pick<UsageFilter, 'fromMs' | 'toMs'>,
  place: LogPlace | null,
  more: readonly Condition[],
  ascending = false,
): AsyncGenerator<FittingHour> {
  const oldest = await oldestMs(tx)
  if (oldest === null) return
  const begin = Math.max(oldest, ascending ? (place?.atMs ?? 0) : 0)
  const end = Math.min(toMs, (ascending ? MOST_MS : (place?.atMs ?? MOST_MS)) + 1)
  const range: Hours = {
    from: hourOf(Math.max(fromMs ?? begin, begin)),
    to: Math.min(hourOf(end - 1), await lastHour(tx)) + 1,
  }
  const { days, hours } = grainsFor(more)
  for await (const day of daysWith(tx, days, range, more, ascending)) {
    const within = { from: Math.max(range.from, day), to: Math.min(range.to, day + DAY_HOURS) }
    for (const [hour, keys] of await hoursWith(tx, hours, within, more, ascending))
      yield { hour, keys: hours === GRAIN.hour ? keys : null }
  }
}

async function rarePage(
  tx: Transaction,
  filter: UsageFilter,
  before: LogPlace | null,
  dialect: Dialect,
): Promise<BookedRow[]> {
  const { fromMs = 0, toMs = MOST_MS } = filter
  const found: BookedRow[] = []
  const more = [...ownerConditions(filter), ...traitConditions(filter)]
  for await (const { hour, keys } of fittingHours(tx, filter, before, more)) {
    const ofHour = { fromMs: Math.max(fromMs, hour * HOUR_MS), toMs: Math.min(toMs, (hour + 1) * HOUR_MS) }
    found.push(...(await rowsOfHour(tx, { ...filter, ...ofHour }, before, keys, dialect)))
    if (found.length >= filter.limit) return found.slice(0, filter.limit)
  }
  return found
}

/** Rows in a slice of an export. */
const SLICE = 1_000

/**
 * The filter without its account when it names a key too, because the index by key then finds the rows. null when the
 * key belongs to another account, so that no row can match.
 */
async function narrowed(tx: Transaction, filter: UsageFilter): Promise<UsageFilter | null> {
  const { accountId, ...rest } = filter
  if (accountId === undefined || rest.keyId === undefined) return filter
  const [key] = await tx.query('SELECT account_id FROM api_keys WHERE id = ?', [rest.keyId])
  return key !== undefined && integer(key, 'account_id') === accountId ? rest : null
}

/**
 * Where the request stands after which a page begins, among those of the account where one is given; null = the page is the first. A request
 * that is not in the log stands before its millisecond.
 */
export async function logPlaceOf(tx: Transaction, after: string | undefined, accountId?: number) {
  if (after === undefined) return null
  const [where, values] = whereGiven(['request_id = ?', after], ['account_id = ?', accountId])
  const [row] = await tx.query(`SELECT at_ms, seq FROM usage_log ${where}`, values)
  if (row === undefined) return { atMs: timeOfId(after), seq: 0 }
  return { atMs: integer(row, 'at_ms'), seq: integer(row, 'seq') }
}

async function readRows(tx: Transaction, seqs: readonly number[]): Promise<BookedRow[]> {
  if (seqs.length === 0) return []
  const sql = `SELECT ${USAGE_COLUMNS} FROM usage_log WHERE seq IN (${binds(padded(seqs).length)}) ORDER BY at_ms DESC, seq DESC`
  return (await tx.query(sql, padded(seqs))).map(toBookedRow)
}

async function ofOneRequest(tx: Transaction, filter: UsageFilter, requestId: string): Promise<BookedRow[]> {
  const all = [
    ['request_id = ?', requestId] as const,
    ...ownerConditions(filter),
    ...timeConditions(filter, await logPlaceOf(tx, filter.after)),
    ...traitConditions(filter),
  ]
  return (await tx.query(`SELECT ${USAGE_COLUMNS} FROM usage_log ${whereOf(all)}`, paramsOf(all))).map(toBookedRow)
}

/** The ids of those that are open, as rows of the name `disputed_id`. */
const openDisputes = (nowMs: number): Condition => [
  "SELECT request_id AS disputed_id FROM disputes WHERE state = 'open' AND request_id >= ?",
  idAt(nowMs - DISPUTE_OPEN_MS),
]

/** There are few disputes, so all that are open are looked through. */
async function disputedPage(tx: Transaction, filter: UsageFilter, dialect: Dialect): Promise<BookedRow[]> {
  const [now] = await tx.query(`SELECT ${dialect.nowMs} AS now`, [])
  const [open, ...since] = openDisputes(integer(now!, 'now'))
  const all = [
    ...ownerConditions(filter),
    ...timeConditions(filter, null),
    ...traitConditions(filter),
    ...(filter.after === undefined ? [] : [['request_id < ?', filter.after] as const]),
  ]
  const from = `FROM (${open}) open_disputes JOIN usage_log ON request_id = disputed_id `
  const sql = `SELECT ${USAGE_COLUMNS} ${from}${whereOf(all)}ORDER BY request_id DESC LIMIT ?`
  return (await tx.query(sql, [...since, ...paramsOf(all), filter.limit])).map(toBookedRow)
}

/** The attempts of a request that have rows of their own, in the order in which they were given up. */
export const attemptsOf = (driver: Driver, requestId: string): Promise<BookedRow[]> =>
  driver.snapshot('attemptsOf', async tx => {
    const sql = `SELECT ${USAGE_COLUMNS} FROM usage_log WHERE request_id > ? AND request_id < ? ORDER BY seq`
    return (await tx.query(sql, attemptIds(requestId))).map(toBookedRow)
  })

async function readPage(
  tx: Transaction,
  filter: UsageFilter,
  before: LogPlace | null,
  dialect: Dialect,
): Promise<BookedRow[]> {
  const traits = traitConditions(filter)
  if (traits.length === 0) return (await tx.query(...usagePage(filter, before, [], dialect))).map(toBookedRow)
  const found = await tx.query(...lookThrough(filter, before, traits, dialect))
  if (found.length < filter.limit) return rarePage(tx, filter, before, dialect)
  const seqs = found.map(row => integer(row, 'seq'))
  return readRows(tx, seqs)
}

/** Newest first. */
export const readUsage = (driver: ReadingDriver, asked: UsageFilter): Promise<BookedRow[]> =>
  driver.snapshot('usage', async tx => {
    if (asked.requestId !== undefined) return ofOneRequest(tx, asked, asked.requestId)
    if (asked.disputed !== undefined) return disputedPage(tx, asked, driver.dialect)
    const filter = await narrowed(tx, asked)
    return filter === null ? [] : readPage(tx, filter, await logPlaceOf(tx, filter.after), driver.dialect)
  })

/**
 * All rows of a filter, newest first, in slices. A slice is read when the caller asks for it. Between two slices nothing is held in the store: rows that come or are pruned meanwhile
 * are in it or not.
 */
export async function* usageSlices(
  driver: ReadingDriver,
  asked: Omit<UsageFilter, 'limit'>,
): AsyncGenerator<BookedRow[]> {
  const slice = { ...asked, limit: SLICE }
  if (asked.requestId !== undefined) {
    yield await readUsage(driver, slice)
    return
  }
  for (let before: LogPlace | null | undefined; ; ) {
    const rows: BookedRow[] = await driver.snapshot('usageSlices', async tx => {
      const filter = await narrowed(tx, slice)
      if (filter === null) return []
      if (before === undefined) before = await logPlaceOf(tx, filter.after)
      return readPage(tx, filter, before, driver.dialect)
    })
    yield rows
    const last = rows.at(-1)
    if (last === undefined || rows.length < SLICE) return
    before = { atMs: timeOfId(last.requestId), seq: last.seq }
  }
}
