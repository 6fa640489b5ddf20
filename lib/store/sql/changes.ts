/**
 * The list of changes that other processes follow. A change's number comes from a counter whose row stays locked until
 * the changing transaction commits: numbers appear in order and without gaps, so a reader that has seen N has seen all
 * below. (An auto-numbered column promises neither.)
 */
import type { Driver, Statements } from '../driver.ts'
import type { Change } from '../store.ts'
import { integer, text } from './text.ts'

const KEPT = 10_000
const PRUNE_EVERY = 256

/** Call last in a transaction: every other change waits from here on. */
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

/** The row that the reader saw last is read again: when it is gone, so may be others (or the store is another one). */
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
