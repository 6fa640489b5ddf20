/**
 * Puts the sums of usage right where they are not what the rows of the log come to, which would be an error of this program
 * or of a hand. Only hours that lie wholly after the last pruning are compared, because of earlier ones rows are missing.
 *
 * Settlements go on meanwhile. Each one inserts rows and raises sums in one transaction, so the difference between the two
 * is the same before and after it: one statement reads the difference of an hour, and an upsert adds it to the sums. The
 * lock of pruning keeps a second rebuild, and pruning itself, from doing so at the same time.
 */
import { HOUR_MS } from '../../base/clock.ts'
import type { Dialect, Driver, Param, Row, Transaction } from '../base/driver.ts'
import { FIRST_BYTE_BOUNDS_MS, LINE_SUMS, ROW_COUNTS } from './rows.ts'
import { FIRST_BYTE_BUCKETS, GRAIN, SUM_COLUMNS, SUM_KEY, DAY_HOURS, dayOf, hourOf, raiseSums } from './sums.ts'
import { SUMS_OF_MODELS } from './models.ts'
import { prunedBefore } from './prune.ts'
import { count, integer, orNull, text } from '../base/text.ts'

const NAMES = SUM_KEY.slice(2).join(', ')
const TRAITS = SUM_KEY.slice(4).join(', ')

/** What one row of the log adds to each of the sums. */
export const OF_ROW: Record<string, string> = {
  requests: "CASE WHEN outcome = 'attempt' THEN 0 ELSE 1 END",
  cost: 'COALESCE(cost, 0)',
  uncosted: 'CASE WHEN cost IS NULL THEN charge ELSE 0 END',
  first_byte_ms: 'COALESCE(first_byte_ms, 0)',
  ...Object.fromEntries(['charge', ...ROW_COUNTS, ...LINE_SUMS].map(name => [name, name])),
  ...Object.fromEntries(
    FIRST_BYTE_BUCKETS.map((name, i) => {
      const above = i === 0 ? 'first_byte_ms IS NOT NULL' : `first_byte_ms > ${FIRST_BYTE_BOUNDS_MS[i - 1]}`
      const below = i === FIRST_BYTE_BOUNDS_MS.length ? '' : ` AND first_byte_ms <= ${FIRST_BYTE_BOUNDS_MS[i]}`
      return [name, `CASE WHEN ${above}${below} THEN 1 ELSE 0 END`]
    }),
  ),
}

const totals = (of: (column: string) => string) => SUM_COLUMNS.map(name => `SUM(${of(name)}) AS ${name}`).join(', ')

/** Before the names of differences: engines do not agree whether HAVING means a column or what is named after it. */
const LESS = 'less_'

/** `plus` less `minus`, by name, where it is not nothing. */
const difference = (plus: string, minus: string): string =>
  `SELECT ${NAMES}, ${SUM_COLUMNS.map(name => `SUM(${name}) AS ${LESS}${name}`).join(', ')} ` +
  `FROM (${plus} UNION ALL ${minus}) AS two ` +
  `GROUP BY ${NAMES} HAVING ${SUM_COLUMNS.map(name => `SUM(${name}) <> 0`).join(' OR ')} ORDER BY ${NAMES}`

const LESS_SUMS = `SELECT ${NAMES}, ${SUM_COLUMNS.map(name => `-${name} AS ${name}`).join(', ')} FROM usage_sums WHERE grain = ? AND hour_no = ?`
/** The rows of an hour less its sums. */
const OF_HOUR = difference(
  `SELECT ${NAMES}, ${totals(name => OF_ROW[name] as string)} FROM usage_log WHERE at_ms >= ? AND at_ms < ? GROUP BY ${NAMES}`,
  LESS_SUMS,
)
/** The hours of a day less the day's sums. */
const OF_DAY = difference(
  `SELECT ${NAMES}, ${totals(name => name)} FROM usage_sums WHERE grain = ${GRAIN.hour} AND hour_no >= ? AND hour_no < ? GROUP BY ${NAMES}`,
  LESS_SUMS,
)
/** The hours or days of an account's keys less those of the account. */
const ofAccount = (grain: number) =>
  difference(
    `SELECT account_id, 0 AS key_id, model, group_name, '' AS channel, protocol, outcome, ${totals(name => name)} ` +
      `FROM usage_sums WHERE grain = ${grain} AND hour_no = ? GROUP BY account_id, model, group_name, protocol, outcome`,
    LESS_SUMS,
  )
const OF_ACCOUNT_HOUR = ofAccount(GRAIN.hour)
const OF_ACCOUNT_DAY = ofAccount(GRAIN.day)
/** The days of the keys less what each key comes to. */
const OF_KEY_DAY = difference(
  `SELECT account_id, key_id, '' AS model, '' AS group_name, '' AS channel, '' AS protocol, outcome, ` +
    `${totals(name => name)} FROM usage_sums WHERE grain = ${GRAIN.day} AND hour_no = ? GROUP BY account_id, key_id, outcome`,
  LESS_SUMS,
)
/** The days of the keys less the day of all. */
const OF_ALL = difference(
  `SELECT 0 AS account_id, 0 AS key_id, ${TRAITS}, ${totals(name => name)} FROM usage_sums WHERE grain = ${GRAIN.day} AND hour_no = ? GROUP BY ${TRAITS}`,
  LESS_SUMS,
)

/** The hours of the keys less the hours of models. */
const OF_MODELS = difference(SUMS_OF_MODELS, LESS_SUMS)

async function correct(tx: Transaction, dialect: Dialect, grain: number, start: number, rows: Row[]): Promise<number> {
  const sums = rows.map((row): Param[] => [
    grain,
    start,
    integer(row, 'account_id'),
    integer(row, 'key_id'),
    ...SUM_KEY.slice(4).map(name => text(row, name)),
    ...SUM_COLUMNS.map(name => orNull(count(row, LESS + name))),
  ])
  await raiseSums(tx, dialect, sums)
  return sums.length
}

/** The first hour from `from` on that has rows or sums; null when there is none. */
async function nextHour(tx: Transaction, from: number): Promise<number | null> {
  const [row] = await tx.query('SELECT MIN(at_ms) AS first FROM usage_log WHERE at_ms >= ?', [from * HOUR_MS])
  const [sum] = await tx.query('SELECT MIN(hour_no) AS first FROM usage_sums WHERE grain = 1 AND hour_no >= ?', [from])
  const hours = [
    ...(row?.['first'] == null ? [] : [hourOf(integer(row, 'first'))]),
    ...(sum?.['first'] == null ? [] : [integer(sum, 'first')]),
  ]
  return hours.length === 0 ? null : Math.min(...hours)
}

interface Step {
  /** Sums that were wrong. */
  corrected: number
  /** The hour with which the next step begins; null: there is none. */
  next: number | null
}

/** The next hour that has anything, and its day when another day follows. */
async function step(tx: Transaction, dialect: Dialect, from: number): Promise<Step> {
  const whole = Math.ceil((await prunedBefore(tx)) / HOUR_MS)
  const hour = await nextHour(tx, Math.max(from, whole))
  if (hour === null) return { corrected: 0, next: null }
  const day = dayOf(hour)
  let corrected = 0
  for (const [grain, start, sql, params] of [
    [GRAIN.hour, hour, OF_HOUR, [hour * HOUR_MS, (hour + 1) * HOUR_MS]],
    [GRAIN.day, day, OF_DAY, [day, day + DAY_HOURS]],
    [GRAIN.keyDay, day, OF_KEY_DAY, [day]],
    [GRAIN.accountHour, hour, OF_ACCOUNT_HOUR, [hour]],
    [GRAIN.accountDay, day, OF_ACCOUNT_DAY, [day]],
    [GRAIN.dayOfAll, day, OF_ALL, [day]],
    [GRAIN.hourOfModel, hour, OF_MODELS, [hour]],
  ] as const) {
    corrected += await correct(tx, dialect, grain, start, await tx.query(sql, [...params, grain, start]))
  }
  return { corrected, next: hour + 1 }
}

/** Puts sums right that are not what the rows come to, and returns how many were wrong. */
export async function rebuildSums(driver: Driver): Promise<number> {
  let corrected = 0
  for (let from: number | null = 0; from !== null; ) {
    const start: number = from
    const done: Step = await driver.transaction('rebuildSums', tx => step(tx, driver.dialect, start))
    corrected += done.corrected
    from = done.next
  }
  return corrected
}
