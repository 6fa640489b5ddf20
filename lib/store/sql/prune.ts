/**
 * Deleting old usage rows, in slices. What they charged stays in the books: accounts keep its sum. Up to when rows may be
 * gone is written down with each slice, by the last row that really went.
 */
import { idAt, timeOfId } from '../../base/ids.ts'
import { micro } from '../../base/money.ts'
import type { Driver, Statements } from '../driver.ts'
import { StoreUnavailable } from '../store.ts'
import { integer, text } from './text.ts'

/** The id at which a slice of `limit` rows ends, exclusive. */
async function sliceEnd(tx: Statements, beforeMs: number, limit: number): Promise<string> {
  const sql = 'SELECT request_id FROM usage_rows WHERE request_id < ? ORDER BY request_id LIMIT 1 OFFSET ?'
  const [row] = await tx.query(sql, [idAt(beforeMs), limit])
  return row === undefined ? idAt(beforeMs) : text(row, 'request_id')
}

/** Grouped by a sum, so that no engine reads all of an account's index for the order of it: the slice is a range of the key. */
export const PRUNED_TOTALS =
  'SELECT account_id + 0 AS owner, SUM(charge) AS total, COUNT(*) AS rows_count, MAX(request_id) AS last FROM usage_rows ' +
  'WHERE request_id < ? GROUP BY account_id + 0 ORDER BY owner'

/** No row is deleted from here to the end of the transaction. */
const LOCK_PRUNED = "UPDATE meta SET value = value WHERE name = 'prune'"

/** ms since 1970: rows of requests that began before this may have been deleted, and no more are meanwhile. */
export async function prunedBefore(tx: Statements): Promise<number> {
  await tx.run(LOCK_PRUNED, [])
  const [row] = await tx.query("SELECT value FROM meta WHERE name = 'prune'", [])
  return integer(row!, 'value')
}

async function prune(tx: Statements, beforeMs: number, limit: number): Promise<number> {
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
  const { changes } = await tx.run('DELETE FROM usage_rows WHERE request_id < ?', [end])
  // A journal found late may have brought an old row in between; the next round takes it along.
  if (changes !== counted) throw new StoreUnavailable('pruneUsage: rows came in meanwhile')
  const upTo = timeOfId(last) + 1
  if (changes > 0) await tx.run("UPDATE meta SET value = ? WHERE name = 'prune' AND value < ?", [upTo, upTo])
  return changes
}

export function pruneUsage(driver: Driver, beforeMs: number, limit: number): Promise<number> {
  return driver.transaction('pruneUsage', tx => prune(tx, beforeMs, limit))
}
