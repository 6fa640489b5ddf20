/**
 * The list of changes by which processes learn that something in their caches is out of date. Each process polls it for
 * numbers above the last that it has seen. A change gets its number from a counter row, which stays locked until the
 * transaction commits, so numbers become visible in order and without gaps. An auto-numbered column would not do: its
 * numbers can become visible out of order, and a reader would skip the late one.
 */
import type { Table } from './tables.ts'
import type { Driver, Transaction } from './driver.ts'
import { integer, text } from './text.ts'

export const CHANGES: Table = { name: 'changes', columns: { seq: 'int', kind: 'code', ref: 'code' }, key: ['seq'] }

/**
 * A message to all processes: something that they cache has changed, unused leases are wanted back (`recall`), or a process may have leases
 * from now on (`holder`).
 */
export interface Change {
  seq: number
  kind: 'key' | 'account' | 'catalog' | 'recall' | 'holder'
  /** For a key its hash, for an account, a process or a recalled purse its id, for the catalogue empty. */
  ref: string
}

const KEPT = 10_000
/** Two writes so close to each other may have the same time: there are file systems that count in steps of two seconds. */
const WRITTEN_AT_ONCE_MS = 2_500
/**
 * How many questions in a row are answered without the engine. A commit is written first and seen only when the disk has it: where that
 * takes longer than the time above, nothing is written when it comes to be seen.
 */
const MOST_UNASKED = 5
const PRUNE_EVERY = 256

const INSERT = { into: 'INSERT INTO changes (seq, kind, ref)', row: '(?, ?, ?)' }

/**
 * Call this last in a transaction, because from here on every other transaction that records a change waits: as long for many changes as
 * for one.
 */
export async function recordChanges(tx: Transaction, kind: Change['kind'], refs: readonly string[]): Promise<void> {
  if (refs.length === 0) return
  await tx.run("UPDATE meta SET value = value + ? WHERE name = 'changes'", [refs.length])
  const [counter] = await tx.query("SELECT value FROM meta WHERE name = 'changes'", [])
  const last = integer(counter!, 'value')
  const before = last - refs.length
  const rows = refs.map((ref, i) => [before + 1 + i, kind, ref])
  await tx.insert(INSERT, rows)
  if (Math.floor(before / PRUNE_EVERY) < Math.floor(last / PRUNE_EVERY))
    await tx.run('DELETE FROM changes WHERE seq <= ?', [last - KEPT])
}

export const recordChange = (tx: Transaction, kind: Change['kind'], ref: string): Promise<void> =>
  recordChanges(tx, kind, [ref])

/** What has changed, as processes ask for it. */
export class ChangeStore {
  readonly #driver: Driver
  /** The number after which nothing was found, and when the store had last been written to by then; null = it is not known. */
  #nothing: { after: number; writtenMs: number } | null = null
  #unasked = 0

  constructor(driver: Driver) {
    this.#driver = driver
  }

  /** The number of the newest change; 0 before the first. */
  async seq(): Promise<number> {
    const [counter] = await this.#driver.query('changes', "SELECT value FROM meta WHERE name = 'changes'", [])
    return integer(counter!, 'value')
  }

  /**
   * The changes after number `seq`, oldest first; null when some are deleted and the caller must reload everything. The engine is not
   * asked each time while nobody has written anything, because each question wakes an idle process and its thread.
   */
  async since(seq: number): Promise<Change[] | null> {
    const writtenMs = this.#driver.writtenMs?.() ?? null
    const isSame = writtenMs !== null && this.#nothing?.after === seq && this.#nothing.writtenMs === writtenMs
    if (isSame && this.#unasked++ < MOST_UNASKED) return []
    this.#unasked = 0
    const isOver = writtenMs !== null && writtenMs < Date.now() - WRITTEN_AT_ONCE_MS
    const changes = await this.#read(seq)
    this.#nothing = isOver && changes?.length === 0 ? { after: seq, writtenMs } : null
    return changes
  }

  async #read(seq: number): Promise<Change[] | null> {
    const rows = await this.#driver.query('changes', 'SELECT seq, kind, ref FROM changes WHERE seq >= ? ORDER BY seq', [
      seq,
    ])
    const changes = rows.map(row => ({
      seq: integer(row, 'seq'),
      kind: text(row, 'kind') as Change['kind'],
      ref: text(row, 'ref'),
    }))
    if (seq > 0) return changes.shift()?.seq === seq ? changes : null
    return changes.length === 0 || changes[0]!.seq === 1 ? changes : null
  }
}
