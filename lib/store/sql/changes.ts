/**
 * The list of changes by which processes learn that something in their caches is out of date. Each process polls it for
 * numbers above the last that it has seen. A change gets its number from a counter row, which stays locked until the
 * transaction commits, so numbers become visible in order and without gaps. An auto-numbered column would not do: its
 * numbers can become visible out of order, and a reader would skip the late one.
 */
import type { Driver, Statements } from '../driver.ts'
import type { Change } from '../types.ts'
import { integer, text } from './text.ts'

const KEPT = 10_000
const PRUNE_EVERY = 256

/** Call this last in a transaction, because from here on every other transaction that records a change waits. */
export async function recordChange(tx: Statements, kind: Change['kind'], ref: string): Promise<void> {
  await tx.run("UPDATE meta SET value = value + 1 WHERE name = 'changes'", [])
  const [counter] = await tx.query("SELECT value FROM meta WHERE name = 'changes'", [])
  const seq = integer(counter!, 'value')
  await tx.run('INSERT INTO changes (seq, kind, ref) VALUES (?, ?, ?)', [seq, kind, ref])
  if (seq % PRUNE_EVERY === 0) await tx.run('DELETE FROM changes WHERE seq <= ?', [seq - KEPT])
}

export async function changeSeq(driver: Driver): Promise<number> {
  const [counter] = await driver.query('changes', "SELECT value FROM meta WHERE name = 'changes'", [])
  return integer(counter!, 'value')
}

/**
 * See `Store.changesSince`. The query includes the row `seq` itself: when it is missing, rows after it may have been
 * deleted too (or the URL leads to another store by now), and the result is null.
 */
export async function changesSince(driver: Driver, seq: number): Promise<Change[] | null> {
  const rows = await driver.query('changes', 'SELECT seq, kind, ref FROM changes WHERE seq >= ? ORDER BY seq', [seq])
  const changes = rows.map(row => ({
    seq: integer(row, 'seq'),
    kind: text(row, 'kind') as Change['kind'],
    ref: text(row, 'ref'),
  }))
  if (seq > 0) return changes.shift()?.seq === seq ? changes : null
  return changes.length === 0 || changes[0]!.seq === 1 ? changes : null
}
