/**
 * An engine that speaks MySQL's protocol may keep fewer promises than MySQL does, and nothing in its answers tells. So
 * each start tries, on two connections and on rows of its own, everything on which the books rest. The rows stand in
 * `meta`, which every version of the schema has, under a name that no other process uses.
 */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { DuplicateKey, type Statements } from './driver.ts'
import { RunAgain } from './mysql-errors.ts'

/** One connection. */
export interface Session extends Statements {
  /** Of the level that transactions have, or of that of snapshots. */
  begin(level?: 'snapshot'): Promise<void>
  commit(): Promise<void>
  rollback(): Promise<void>
}

/** An engine that takes no locks answers in this time; one that does keeps the statement waiting. */
const BLOCKED_MS = 25
const PREFIX = 'proof.'
/** What a process that was killed in the middle leaves behind is deleted after a day. */
const KEPT_MS = 86_400_000

const INSERT = 'INSERT INTO meta (name, value) VALUES (?, 0)'
const READ = 'SELECT value FROM meta WHERE name = ?'
const SET = 'UPDATE meta SET value = ? WHERE name = ?'
const SET_IF = 'UPDATE meta SET value = ? WHERE name = ? AND value = ?'
const DELETE = 'DELETE FROM meta WHERE name IN (?, ?)'
const DELETE_OLD = `DELETE FROM meta WHERE name >= '${PREFIX}' AND name < ?`

/** Sorts by time, as DELETE_OLD needs it. */
const nameAt = (ms: number): string => PREFIX + ms.toString(36).padStart(9, '0')

/** Its class is plain: the message is for the operator, who chose the engine. */
const broken = (promise: string, seen: string): Error =>
  new Error(`store: the books cannot be kept on this engine: ${promise}, but ${seen}`)

type Outcome = number | 'refused'

/** Rows that a statement changed, or that the engine refused it for the other transaction's sake. */
const outcomeOf = (work: Promise<{ changes: number }>): Promise<Outcome> =>
  work.then(
    ({ changes }) => changes,
    error => {
      if (error instanceof RunAgain || error instanceof DuplicateKey) return 'refused'
      throw error
    },
  )

class Proof {
  readonly #one: Session
  readonly #two: Session
  readonly #row = `${nameAt(Date.now())}.${randomBytes(8).toString('hex')}`
  readonly #other = `${this.#row}.b`

  constructor(one: Session, two: Session) {
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

  /** Leaves nothing open, and no row. */
  async clear(): Promise<void> {
    await Promise.all([this.#one.rollback(), this.#two.rollback()])
    await this.#one.begin()
    await this.#one.run(DELETE, [this.#row, this.#other])
    await this.#one.commit()
  }

  async #read(session: Session): Promise<number> {
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

  /** The second change begins while the first is open, and asks for what the first takes away. */
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
    // Engines that take no locks may refuse the second transaction when it commits: it would run again.
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

  /** What makes a request count once. */
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

  /** What others commit meanwhile: a transaction sees it, a snapshot does not. */
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

/** Throws, in words for the operator, when a promise is broken; what the engine itself throws passes through. */
export async function proveEngine(one: Session, two: Session): Promise<void> {
  const proof = new Proof(one, two)
  try {
    await proof.run()
  } finally {
    await proof.clear().catch(() => {}) // what is left is deleted by a later start
  }
}
