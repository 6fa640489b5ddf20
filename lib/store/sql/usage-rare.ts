/**
 * Reads a page of the usage log with a filter that few of its rows fit, without reading all the other rows. The table of sums
 * (`usage_sums`) says how many rows each key has in each hour, by model, group, channel, protocol and outcome. So three steps
 * find the page: the days that have fitting rows; within them the hours, newest first, and the keys that have the rows; and
 * then the rows of only these keys in these hours (of one account, of all its keys). The search ends at the oldest row that is not pruned, because the sums stay
 * when rows are pruned. For one account the days and hours are named one by one, because the key of the sums begins with them.
 */
import { timeOfId } from '../../base/ids.ts'
import type { Dialect, Param, Statements } from '../driver.ts'
import type { BookedRow, UsageFilter } from '../types.ts'
import { GRAIN } from '../usage-tables.ts'
import { DAY_HOURS, dayOf, HOUR_MS, hourOf } from './sums.ts'
import { integer } from './text.ts'
import { type Hours, hourConditions } from './usage-hours.ts'
import {
  type Condition,
  ownerConditions,
  type Place,
  paramsOf,
  traitConditions,
  usagePage,
  whereOf,
} from './usage-page.ts'
import { toBookedRow } from './usage-rows.ts'

/** How many days one statement asks for. */
const DAYS = 32
/** When so many keys have rows in one hour, one statement reads the hour for all keys, instead of one statement for each key. */
const MANY_KEYS = 16
/** A time (ms since 1970) that is later than that of any row. */
const MOST_MS = 2 ** 50

const isOfAccount = (more: readonly Condition[]) => more.some(([sql]) => sql === 'account_id = ?')

function sumsWith(tx: Statements, grain: number, hours: Hours, more: readonly Condition[], rest: string) {
  const step = grain === GRAIN.hour || grain === GRAIN.accountHour ? 1 : DAY_HOURS
  const all: Condition[] = [['grain = ?', grain], ...hourConditions(hours, step, isOfAccount(more)), ...more]
  return (columns: string, ...last: Param[]) =>
    tx.query(`SELECT ${columns} FROM usage_sums ${whereOf(all)}${rest}`, [...paramsOf(all), ...last])
}

/** Yields the days that have rows which fit, newest first, as the number of their first hour. */
async function* daysWith(
  tx: Statements,
  grain: number,
  { from, to }: Hours,
  more: readonly Condition[],
): AsyncGenerator<number> {
  for (let before = to; ; ) {
    const ask = sumsWith(
      tx,
      grain,
      { from: dayOf(from), to: before },
      more,
      'GROUP BY hour_no ORDER BY hour_no DESC LIMIT ?',
    )
    const days = (await ask('hour_no', DAYS)).map(row => integer(row, 'hour_no'))
    yield* days
    if (days.length < DAYS) return
    before = days.at(-1) as number
  }
}

/** For each hour that has rows which fit, newest first: the keys that have them. */
async function hoursWith(
  tx: Statements,
  grain: number,
  hours: Hours,
  more: readonly Condition[],
): Promise<Map<number, number[]>> {
  const ask = sumsWith(tx, grain, hours, more, 'GROUP BY hour_no, key_id ORDER BY hour_no DESC, key_id')
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
async function oldestMs(tx: Statements): Promise<number | null> {
  const [row] = await tx.query('SELECT at_ms FROM usage_log ORDER BY at_ms LIMIT 1', [])
  return row === undefined ? null : integer(row, 'at_ms')
}

/** The last hour that the sums may have. */
async function lastHour(tx: Statements): Promise<number> {
  const sql = 'SELECT MAX(hour_no) AS last FROM usage_sums WHERE grain = ?'
  const [row] = await tx.query(sql, [GRAIN.dayOfAll])
  return row === undefined || row['last'] === null ? 0 : integer(row, 'last') + DAY_HOURS - 1
}

async function rowsOfHour(
  tx: Statements,
  asked: UsageFilter,
  before: Place | null,
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

export interface FittingHour {
  hour: number
  /** The keys that have the rows; null = that is not known, because the account may have thousands. */
  keys: readonly number[] | null
}

/** Of which sums the question is asked. Those of an account know neither its keys nor channels. */
function grainsFor(more: readonly Condition[]): { days: number; hours: number } {
  const asks = (name: string) => more.some(([sql]) => sql.startsWith(`${name} `))
  if (asks('account_id') && !asks('key_id') && !asks('channel'))
    return { days: GRAIN.accountDay, hours: GRAIN.accountHour }
  return { days: asks('account_id') || asks('key_id') ? GRAIN.day : GRAIN.dayOfAll, hours: GRAIN.hour }
}

/** The hours that have rows which fit, newest first, from a place on. `more`: what the sums are asked for. */
export async function* fittingHours(
  tx: Statements,
  { fromMs, toMs = MOST_MS }: Pick<UsageFilter, 'fromMs' | 'toMs'>,
  before: Place | null,
  more: readonly Condition[],
): AsyncGenerator<FittingHour> {
  const oldest = await oldestMs(tx)
  if (oldest === null) return
  const end = Math.min(toMs, (before?.atMs ?? MOST_MS) + 1)
  const range: Hours = {
    from: hourOf(Math.max(fromMs ?? oldest, oldest)),
    to: Math.min(hourOf(end - 1), await lastHour(tx)) + 1,
  }
  const { days, hours } = grainsFor(more)
  for await (const day of daysWith(tx, days, range, more)) {
    const within = { from: Math.max(range.from, day), to: Math.min(range.to, day + DAY_HOURS) }
    for (const [hour, keys] of await hoursWith(tx, hours, within, more))
      yield { hour, keys: hours === GRAIN.hour ? keys : null }
  }
}

export async function rarePage(
  tx: Statements,
  filter: UsageFilter,
  before: Place | null,
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
