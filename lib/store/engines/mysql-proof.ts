/**
 * A test of the engine that every start runs. Engines that speak MySQL's protocol may give weaker guarantees than MySQL
 * (isolation, row locks, unique keys, counts of changed rows) without saying so in any answer. So each start tries
 * every guarantee on which the books rest, with two connections and two rows of its own. These rows are in `meta`, a
 * table that every version of the schema has, under a name that no other process uses. docs/engines.md lists the
 * guarantees.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { DuplicateKey, type Transaction } from '../base/driver.ts'
import { RunAgain } from './mysql-errors.ts'

/** One connection on which the test itself begins and ends transactions. */
export interface ProofSession extends Pick<Transaction, 'query' | 'run'> {
  /** Begins a transaction at the isolation level that the driver uses for transactions, or for snapshots. */
  begin(level?: 'snapshot'): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** A statement without an answer after this time is taken to be waiting for a lock. */
const BLOCKED_MS = 25
const PREFIX = 'proof.'
/** A process that is killed during the test leaves its rows behind; a later start deletes rows older than a day. */
const KEPT_MS = 86_400_000

const INSERT = 'INSERT INTO meta (name, value) VALUES (?, 0)'
const READ = 'SELECT value FROM meta WHERE name = ?'
const SET = 'UPDATE meta SET value = ? WHERE name = ?'
const SET_IF = 'UPDATE meta SET value = ? WHERE name = ? AND value = ?'
const DELETE = 'DELETE FROM meta WHERE name IN (?, ?)'
const DELETE_OLD = `DELETE FROM meta WHERE name >= '${PREFIX}' AND name < ?`

/** Row names sort by the time of the test, because DELETE_OLD deletes a range of names. */
const nameAt = (ms: number): string => PREFIX + ms.toString(36).padStart(9, '0')

/** A plain Error, because no program handles it: the operator reads the message and chooses another engine. */
const broken = (promise: string, seen: string): Error =>
  new Error(`store: the books cannot be kept on this engine: ${promise}, but ${seen}`)

type Outcome = number | 'refused'

/** How many rows a statement changed, or that the engine refused it because of the other transaction. */
const outcomeOf = (work: Promise<{ changes: number }>): Promise<Outcome> =>
  work.then(
    ({ changes }) => changes,
    error => {
      if (error instanceof RunAgain || error instanceof DuplicateKey) return 'refused'
      throw error
    },
  )

class Proof {
  readonly #one: ProofSession
  readonly #two: ProofSession
  readonly #row = `${nameAt(Date.now())}.${randomBytes(8).toString('hex')}`
  readonly #other = `${this.#row}.b`

  constructor(one: ProofSession, two: ProofSession) {
    this.#one = one
    this.#two = two
  }

  async run(): Promise<void> {
    await this.#counts()
    await this.#locks()
    await this.#keys()
    await this.#rollback()
    await this.#levels()
    await this.#one.begin()
    await this.#one.run(DELETE_OLD, [nameAt(Date.now() - KEPT_MS)])
    await this.#one.commit()
  }

  /** Rolls both transactions back and deletes the two rows. */
  async clear(): Promise<void> {
    await Promise.all([this.#one.rollback(), this.#two.rollback()])
    await this.#one.begin()
    await this.#one.run(DELETE, [this.#row, this.#other])
    await this.#one.commit()
  }

  async #read(session: ProofSession): Promise<number> {
    const [row] = await session.query(READ, [this.#row])
    return Number(row?.['value'])
  }

  async #expectChanges(what: string, expected: number, sql: string, params: (string | number)[]): Promise<void> {
    const { changes } = await this.#one.run(sql, params)
    if (changes !== expected) throw broken(`${what} must count as ${expected}`, `it counted as ${changes}`)
  }

  async #counts(): Promise<void> {
    const [row, other] = [this.#row, this.#other]
    await this.#one.begin()
    await this.#expectChanges('an inserted row', 1, INSERT, [row])
    await this.#one.run(INSERT, [other])
    await this.#expectChanges('a row that matches, also when it keeps its value,', 1, SET, [0, row])
    await this.#expectChanges('a change of two rows', 2, 'UPDATE meta SET value = 0 WHERE name IN (?, ?)', [row, other])
    await this.#expectChanges('a change that matches no row', 0, SET_IF, [5, row, 4])
    await this.#expectChanges('a deleted row', 1, DELETE, [other, other])
    await this.#one.commit()
    if ((await this.#read(this.#two)) !== 0)
      throw broken('a committed row must be there for everybody', 'another connection does not see it')
  }

  /**
   * Two conditional updates of one row: the second begins while the first is not committed, and its condition is true
   * only before the first. Exactly one of them may take effect, as of two processes that want the last money of a
   * purse.
   */
  async #locks(): Promise<void> {
    await this.#one.begin()
    await this.#one.run(SET, [1, this.#row])
    await this.#two.begin()
    await this.#unseen()
    const second = outcomeOf(this.#two.run(SET_IF, [2, this.#row, 0]))
    second.catch(() => {}) // is heard below
    const waited = (await Promise.race([second, sleep(BLOCKED_MS)])) === undefined
    await this.#one.commit()
    const counted = await second
    // An engine with optimistic concurrency refuses the second transaction at its COMMIT, which is as good as a lock.
    const passed = (await outcomeOf(this.#two.commit().then(() => ({ changes: 1 })))) !== 'refused'
    if (!passed) await this.#two.rollback()
    if (counted !== 'refused' && passed && !(waited && counted === 0)) {
      throw waited
        ? broken(
            'a conditional change must see what the change before it left',
            'it changed a row that did not fulfil its condition any more',
          )
        : broken(
            'a row changed in an open transaction must keep the same change on another connection waiting, or have it refused',
            'both went through',
          )
    }
    const value = await this.#read(this.#two)
    if (value !== 1) throw broken('what was committed first must be there', `its row holds ${value} and not 1`)
  }

  async #unseen(): Promise<void> {
    const promise = 'what is not committed must be neither seen by other connections nor waited for by their reads'
    const level = 'the isolation level is not READ COMMITTED, or the tables know no transactions'
    const value = await this.#read(this.#two).catch(error => {
      throw error instanceof RunAgain ? broken(promise, `a read waited (${level})`) : error
    })
    if (value !== 0) throw broken(promise, `another connection read it (${level})`)
  }

  /** Two inserts of one key in two open transactions: at most one may commit. This makes a request count once. */
  async #keys(): Promise<void> {
    await this.#one.begin()
    await this.#one.run(INSERT, [this.#other])
    await this.#two.begin()
    const second = outcomeOf(this.#two.run(INSERT, [this.#other]))
    second.catch(() => {}) // is heard below
    await Promise.race([second, sleep(BLOCKED_MS)])
    await this.#one.commit()
    const inserted = await second
    const passed = (await outcomeOf(this.#two.commit().then(() => ({ changes: 1 })))) !== 'refused'
    if (!passed) await this.#two.rollback()
    if (inserted !== 'refused' && passed)
      throw broken('a row whose key is there already must be refused', 'two transactions inserted the same one')
  }

  async #rollback(): Promise<void> {
    await this.#one.begin()
    await this.#one.run(SET, [7, this.#row])
    await this.#one.rollback()
    const value = await this.#read(this.#two)
    if (value !== 1) throw broken('a change that is rolled back must leave nothing', `its row holds ${value} and not 1`)
  }

  /**
   * A row is changed by another connection between two reads: a transaction must see the change, a snapshot must not.
   */
  async #levels(): Promise<void> {
    for (const [level, from, seen, promise] of [
      [undefined, 1, 2, 'a transaction must read what others have committed meanwhile (READ COMMITTED)'],
      ['snapshot', 2, 2, 'a snapshot must read the books of one moment (REPEATABLE READ)'],
    ] as const) {
      await this.#one.begin(level)
      await this.#read(this.#one)
      await this.#two.begin()
      await this.#two.run(SET, [from + 1, this.#row])
      await this.#two.commit()
      const value = await this.#read(this.#one)
      await this.#one.commit()
      if (value !== seen) throw broken(promise, `it read ${value} and not ${seen}`)
    }
  }
}

/** Throws an Error for the operator when the engine breaks a promise. Errors of the engine itself pass through. */
export async function proveEngine(one: ProofSession, two: ProofSession): Promise<void> {
  const proof = new Proof(one, two)
  try {
    await proof.run()
  } finally {
    await proof.clear().catch(() => {}) // a later start deletes rows that are left
  }
}
