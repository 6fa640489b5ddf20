/**
 * The sums of usage: rows added up by the hour and by the day, and by the day of all accounts together. A batch of rows raises them in the transaction that inserts
 * the rows, with one upsert for each key that the batch touches. All gateways raise the keys in the same order, so that
 * two transactions never wait for each other, and as the last statement, so that they wait briefly.
 *
 * Days begin at midnight of UTC+8. A report over whole days of that zone reads days only; of other zones, and of parts of
 * days, it reads hours.
 */
import { timeOfId } from '../../base/ids.ts'
import { outcomeOf } from '../../terms/outcome.ts'
import type { UsageRow } from '../../terms/records.ts'
import type { Dialect, Param, Statements } from '../driver.ts'
import { LINE_SUMS, ROW_COUNTS } from '../usage-sums.ts'
import { FIRST_BYTE_BOUNDS_MS, FIRST_BYTE_BUCKETS, GRAIN, SUM_COLUMNS, SUM_KEY } from '../usage-tables.ts'
import { lineSums, storedNames } from './usage-rows.ts'

export const HOUR_MS = 3_600_000
export const DAY_HOURS = 24
/** Days of the sums begin at midnight of the zone that is so many hours ahead of UTC. */
export const DAY_OFFSET_HOURS = 8

export const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS)
/** The first hour of the day in which an hour is. */
export const dayOf = (hour: number): number =>
  Math.floor((hour + DAY_OFFSET_HOURS) / DAY_HOURS) * DAY_HOURS - DAY_OFFSET_HOURS

const COLUMNS = [...SUM_KEY, ...SUM_COLUMNS]
const FIRST_SUM = SUM_KEY.length
const AT = new Map(SUM_COLUMNS.map((name, i) => [name, FIRST_SUM + i]))
const at = (name: string) => AT.get(name) as number
const FIRST_BUCKET = at(FIRST_BYTE_BUCKETS[0] as string)
const FIRST_OF_LINES = at(LINE_SUMS[0] as string)

/** Adds a row to `sums`, which has the columns of `usage_sums`. */
function addRow(sums: number[], row: UsageRow): void {
  const add = (index: number, value: number) => {
    sums[index] = (sums[index] as number) + value
  }
  add(FIRST_SUM, 1)
  for (const name of ROW_COUNTS) add(at(name), row[name])
  add(at('charge'), row.charge)
  add(at('cost'), row.cost ?? 0)
  if (row.lines.length > 0) {
    for (const [i, count] of lineSums(row).entries()) add(FIRST_OF_LINES + i, count)
  }
  if (row.firstByteMs === null) return
  const ms = Math.round(row.firstByteMs)
  add(at('first_byte_ms'), ms)
  const bucket = FIRST_BYTE_BOUNDS_MS.findIndex(bound => ms <= bound)
  add(FIRST_BUCKET + (bucket === -1 ? FIRST_BYTE_BOUNDS_MS.length : bucket), 1)
}

type Key = readonly [number, number, number, number, string, string, string, string, string]

function keysOf(row: UsageRow): Key[] {
  const { model, group, channel } = storedNames(row)
  const hour = hourOf(timeOfId(row.requestId))
  const day = dayOf(hour)
  const names = [model, group, channel, row.protocol, outcomeOf(row)] as const
  return [
    [GRAIN.hour, hour, row.accountId, row.keyId, ...names],
    [GRAIN.day, day, row.accountId, row.keyId, ...names],
    [GRAIN.dayOfAll, day, 0, 0, ...names],
  ]
}

function compare(a: readonly Param[], b: readonly Param[]): number {
  for (let i = 0; i < FIRST_SUM; i++) {
    const [x, y] = [a[i] as string, b[i] as string]
    if (x !== y) return x < y ? -1 : 1
  }
  return 0
}

/** What the rows come to, in the order of the keys: values of all columns. */
export function sumsOf(rows: readonly UsageRow[]): Param[][] {
  const sums = new Map<string, (string | number)[]>()
  for (const row of rows) {
    for (const key of keysOf(row)) {
      const name = JSON.stringify(key)
      let values = sums.get(name)
      if (values === undefined) sums.set(name, (values = [...key, ...SUM_COLUMNS.map(() => 0)]))
      addRow(values as number[], row)
    }
  }
  return [...sums.values()]
    .sort(compare)
    .map(values => values.map((value, i) => (i >= FIRST_SUM && value === 0 ? null : value)))
}

/** Adds `sums`, which are in the order of their keys, to those that are there. */
export const raiseSums = (tx: Statements, dialect: Dialect, sums: readonly (readonly Param[])[]): Promise<void> =>
  tx.insert(
    {
      into: `INSERT INTO usage_sums (${COLUMNS.join(', ')})`,
      row: `(${COLUMNS.map(() => '?').join(', ')})`,
      end: dialect.raise(SUM_KEY, SUM_COLUMNS),
    },
    sums,
  )
