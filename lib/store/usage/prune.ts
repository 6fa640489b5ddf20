/**
 * Deletes old usage rows, some at a time. Each transaction adds the charges of the rows that it deletes to the
 * accounts' `archived` sums, so that the books still add up. It also records, in the row `prune` of `meta`, up to which
 * moment rows have been deleted: a settlement that is sent again and is older than that cannot be recognized any more
 * (`settle.ts`).
 */
import { idAt, timeOfId } from '../../base/ids.ts'
import { type Micro, micro } from '../../base/money.ts'
import type { Driver, Transaction } from '../base/driver.ts'
import { StoreUnavailable } from '../base/errors.ts'
import { integer, money, text } from '../base/text.ts'

/** The id before which at most `limit` rows are, all of requests before `beforeMs`. */
async function sliceEnd(tx: Transaction, beforeMs: number, limit: number): Promise<string> {
  const sql = 'SELECT request_id FROM usage_log WHERE request_id < ? ORDER BY request_id LIMIT 1 OFFSET ?'
  const [row] = await tx.query(sql, [idAt(beforeMs), limit])
  return row === undefined ? idAt(beforeMs) : text(row, 'request_id')
}

/**
 * Grouped by `account_id + 0`, an expression, because for a plain column the planner may choose the index by account
 * and read all of it. This way it reads only a range of the request ids.
 */
export const PRUNED_TOTALS =
  'SELECT account_id + 0 AS owner, SUM(charge) AS total, COUNT(*) AS rows_count, MAX(request_id) AS last FROM usage_log ' +
  'WHERE request_id < ? GROUP BY account_id + 0 ORDER BY owner'

/** Takes the lock of pruning: until the transaction ends, no other one deletes usage rows. */
const LOCK_PRUNED = "UPDATE meta SET value = value WHERE name = 'prune'"

/**
 * The moment (ms since 1970) before which usage rows may have been deleted. It takes the lock of pruning, so the answer
 * stays true until the transaction ends.
 */
export async function prunedBefore(tx: Transaction): Promise<number> {
  await tx.run(LOCK_PRUNED, [])
  return readPrunedUpTo(tx)
}

/** The moment of `prunedBefore`, read without the lock: by the time it is used, more may have been deleted. */
export const prunedUpTo = (driver: Driver): Promise<number> =>
  readPrunedUpTo({ query: (sql, params) => driver.query('prunedBefore', sql, params) })

async function readPrunedUpTo(tx: Pick<Transaction, 'query'>): Promise<number> {
  const [row] = await tx.query("SELECT value FROM meta WHERE name = 'prune'", [])
  return integer(row!, 'value')
}

async function prune(tx: Transaction, beforeMs: number, limit: number): Promise<number> {
  await tx.run(LOCK_PRUNED, []) // one at a time over all processes
  const end = await sliceEnd(tx, beforeMs, limit)
  const totals = await tx.query(PRUNED_TOTALS, [end])
  let counted = 0
  let last = ''
  for (const row of totals) {
    if (text(row, 'last') > last) last = text(row, 'last')
    counted += integer(row, 'rows_count')
    const total = micro(integer(row, 'total'))
    await tx.run('UPDATE accounts SET archived = archived + ? WHERE id = ?', [total, integer(row, 'owner')])
  }
  const { changes } = await tx.run('DELETE FROM usage_log WHERE request_id < ?', [end])
  // An old journal that is applied at this moment may insert a row between the sum and the DELETE. Then everything is
  // rolled back, and the next round counts that row too.
  if (changes !== counted) throw new StoreUnavailable('pruneUsage: rows came in meanwhile')
  const upTo = timeOfId(last) + 1
  if (changes > 0) await tx.run("UPDATE meta SET value = ? WHERE name = 'prune' AND value < ?", [upTo, upTo])
  return changes
}

/** Deletes up to `limit` rows of requests before `beforeMs`, keeps their charges as sums, and returns how many. */
export function pruneUsage(driver: Driver, beforeMs: number, limit: number): Promise<number> {
  return driver.transaction('pruneUsage', tx => prune(tx, beforeMs, limit))
}

/** What `pruneUsage` would delete in all. */
export async function prunable(driver: Driver, beforeMs: number): Promise<{ rows: number; charge: Micro }> {
  const sql = 'SELECT COUNT(*) AS rows_count, COALESCE(SUM(charge), 0) AS total FROM usage_log WHERE request_id < ?'
  const [row] = await driver.snapshot('prunable', tx => tx.query(sql, [idAt(beforeMs)]))
  return { rows: integer(row!, 'rows_count'), charge: money(row!, 'total') }
}
