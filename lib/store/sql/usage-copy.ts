/**
 * Moves the rows of `usage_rows`, the usage log of earlier versions, into `usage_log`, and adds them up. A log of millions
 * is moved in transactions of some thousand rows, so that a migration which breaks off goes on where it was. Two processes
 * that migrate at once take turns: each transaction first locks the schema's version. How far the copy has come is the
 * newest request in `usage_log`, because nobody writes there before the migration is done. Earlier versions of the
 * program cannot write meanwhile: the table that they know is gone, so their settlements wait in their journals.
 */
import { timeOfId } from '../../base/ids.ts'
import { NOT_RECORDED, type UsageRow } from '../../terms/records.ts'
import type { Driver, Row, Statements } from '../driver.ts'
import { GRAIN, NO_HOUR, SUM_COLUMNS } from '../usage-tables.ts'
import { raiseSums, sumsOf } from './sums.ts'
import { integer, integerOrNull, money, text, textOrNull } from './text.ts'
import { insertBooked } from './usage-rows.ts'

/** The name of `usage_rows` while it is copied. */
export const OLD_LOG = 'usage_rows_old'
const SLICE = 2_000
const LOCK = "UPDATE meta SET value = value WHERE name = 'schema'"
const VERSION = "SELECT value FROM meta WHERE name = 'schema'"

const oldRow = (row: Row): UsageRow => ({
  ...NOT_RECORDED,
  requestId: text(row, 'request_id'),
  accountId: integer(row, 'account_id'),
  keyId: integer(row, 'key_id'),
  group: text(row, 'group_name'),
  protocol: text(row, 'protocol') as UsageRow['protocol'],
  model: text(row, 'model'),
  channel: text(row, 'channel'),
  status: integer(row, 'status'),
  end: text(row, 'ended') as UsageRow['end'],
  basis: text(row, 'basis') as UsageRow['basis'],
  charge: money(row, 'charge'),
  firstByteMs: integerOrNull(row, 'first_byte_ms'),
  durationMs: integer(row, 'duration_ms'),
  answerId: textOrNull(row, 'answer_id'),
  upstreamKey: textOrNull(row, 'upstream_key'),
  input: integer(row, 'input'),
  cache_read: integer(row, 'cache_read'),
  cache_write_5m: integer(row, 'cache_write_5m'),
  cache_write_1h: integer(row, 'cache_write_1h'),
  output: integer(row, 'output'),
  images: integer(row, 'images'),
})

/** Nobody wrote down when old rows were booked: it was soon after they ended. */
const bookedAtMs = (row: UsageRow): number => timeOfId(row.requestId) + row.durationMs

/**
 * What was charged by rows that are pruned already, as sums of no hour: the sums of an account are then those of its rows
 * and of what was pruned, now and later. Reports leave it out.
 */
async function sumPruned(tx: Statements, driver: Driver): Promise<void> {
  const [there] = await tx.query('SELECT account_id FROM usage_sums WHERE hour_no = ? LIMIT 1', [NO_HOUR])
  if (there !== undefined) return
  const pruned = await tx.query('SELECT id, archived FROM accounts WHERE archived <> 0 ORDER BY id', [])
  const sumOf = (grain: number, accountId: number, charge: number) => {
    const values = SUM_COLUMNS.map(column => (column === 'charge' ? charge : null))
    return [grain, NO_HOUR, accountId, 0, '', '', '', '', '', ...values]
  }
  const ofEach = (grain: number) => pruned.map(row => sumOf(grain, integer(row, 'id'), integer(row, 'archived')))
  const all = pruned.reduce((sum, row) => sum + integer(row, 'archived'), 0)
  const sums = [
    ...[GRAIN.hour, GRAIN.day, GRAIN.keyDay, GRAIN.accountHour, GRAIN.accountDay].flatMap(ofEach),
    sumOf(GRAIN.dayOfAll, 0, all),
  ]
  await raiseSums(tx, driver.dialect, sums)
}

/** True: there is nothing left to copy, or another process has migrated further than to `version`. */
async function copySlice(tx: Statements, driver: Driver, version: number): Promise<boolean> {
  await tx.run(LOCK, [])
  const [schema] = await tx.query(VERSION, [])
  if (integer(schema!, 'value') > version) return true
  const [newest] = await tx.query('SELECT MAX(request_id) AS newest FROM usage_log', [])
  const after = textOrNull(newest!, 'newest')
  const sql = `SELECT * FROM ${OLD_LOG} WHERE request_id > ? ORDER BY request_id LIMIT ${SLICE}`
  const rows = (await tx.query(sql, [after ?? ''])).map(oldRow)
  if (after === null) await sumPruned(tx, driver)
  if (rows.length === 0) return true
  await insertBooked(tx, rows, bookedAtMs)
  await raiseSums(tx, driver.dialect, sumsOf(rows))
  return rows.length < SLICE
}

/** `version`: of the schema, while the copy is under way. */
export async function copyUsage(driver: Driver, version: number): Promise<void> {
  while (!(await driver.transaction('migrate', tx => copySlice(tx, driver, version))));
}
