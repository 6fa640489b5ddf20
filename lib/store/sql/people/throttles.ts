/** Counters of tries that failed, which all gateways share, and the deletion of rows that nobody needs any more. */
import type { Driver, Row } from '../../driver.ts'
import type { Counter } from '../../people-records.ts'
import { integer, marks, text } from '../text.ts'

const NONE: Counter = { failures: 0, lastMs: 0, untilMs: 0 }

const toCounter = (row: Row): Counter => ({
  failures: integer(row, 'failures'),
  lastMs: integer(row, 'last_ms'),
  untilMs: integer(row, 'until_ms'),
})

/** Rows are made and locked in the order of their ids, before they are read: two tries at once count as two. */
export const count = <T>(
  driver: Driver,
  ids: readonly string[],
  change: (counters: Counter[]) => { result: T; counters: Counter[] | null },
): Promise<T> =>
  driver.transaction('throttle', async tx => {
    const insert = `INSERT ${driver.dialect.ignore} INTO throttles (id, failures, last_ms, until_ms) VALUES (?, 0, 0, 0)`
    for (const id of [...ids].sort()) {
      await tx.run(insert, [id])
      await tx.run('UPDATE throttles SET failures = failures WHERE id = ?', [id])
    }
    const rows = await tx.query(
      `SELECT id, failures, last_ms, until_ms FROM throttles WHERE id IN (${marks(ids.length)})`,
      [...ids],
    )
    const found = new Map(rows.map(row => [text(row, 'id'), toCounter(row)]))
    const { result, counters } = change(ids.map(id => found.get(id) ?? NONE))
    const update = 'UPDATE throttles SET failures = ?, last_ms = ?, until_ms = ? WHERE id = ?'
    for (const [i, id] of ids.entries()) {
      const counter = counters?.[i]
      if (counter !== undefined) await tx.run(update, [counter.failures, counter.lastMs, counter.untilMs, id])
    }
    return result
  })

const DAY_MS = 86_400_000
/** No session outlives this, see the operations on sessions. */
const SESSION_MS = 30 * DAY_MS
const DEVICE_MS = 400 * DAY_MS

export async function prune(driver: Driver, atMs: number, limit: number): Promise<number> {
  const old: [table: string, key: string, column: string, beforeMs: number][] = [
    ['sessions', 'id', 'created_at_ms', atMs - SESSION_MS],
    ['people_links', 'id', 'expires_at_ms', atMs - DAY_MS],
    ['devices', 'hash', 'seen_at_ms', atMs - DEVICE_MS],
    ['throttles', 'id', 'last_ms', atMs - DAY_MS],
    ['personal_tokens', 'id', 'expires_at_ms', atMs - SESSION_MS],
  ]
  let deleted = 0
  for (const [table, key, column, beforeMs] of old) {
    const select = `SELECT ${key} AS id FROM ${table} WHERE ${column} < ? ORDER BY ${column} LIMIT ?`
    const rows = await driver.query('prune', select, [beforeMs, limit])
    for (const { id } of rows) {
      const remove = `DELETE FROM ${table} WHERE ${key} = ? AND ${column} < ?`
      deleted += (await driver.run('prune', remove, [id as string | number, beforeMs])).changes
    }
  }
  return deleted
}
