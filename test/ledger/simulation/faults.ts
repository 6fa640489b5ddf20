/** A process's connection to the database, and what can go wrong with it: everything that the store must bear. */
import {
  CommitUncertain,
  type Driver,
  type Param,
  PING,
  PING_PARAMS,
  type Row,
  type RunResult,
  type Transaction,
} from '../../../lib/store/base/driver.ts'
import { StoreUnavailable } from '../../../lib/store/base/errors.ts'
import type { Random } from '../../support/random.ts'
import type { ProcessClock } from './timeline.ts'

const RUNS = 6
/** How often somebody looks whether the database goes on. */
const LOOK_MS = 50

/** Chances of each fault for one call. */
export interface FaultRates {
  refused: number
  lostCommit: number
  lostAnswer: number
  deadlock: number
  slow: number
  unexpected: number
}

export const NO_FAULTS: FaultRates = { refused: 0, lostCommit: 0, lostAnswer: 0, deadlock: 0, slow: 0, unexpected: 0 }

/** The network between processes and the database. */
export interface Network {
  rates: FaultRates
  /**
   * Nobody reaches the database. `hangs`: one is told so only after a time-out. `stops`: it stands still, and when it goes
   * on it does what it was asked before, and answers.
   */
  down: 'no' | 'refuses' | 'hangs' | 'stops'
  /** After so long without an answer a call fails. */
  timeoutMs: number
  /** Calls of this name fail, and only they: a table is locked, or broken. */
  sick: string | null
  /** Longest pause of a slow call, before and after. */
  slowMs: number
  /** When the database was last away for all. */
  awayMs: number
  /** When the last such time began. */
  goneMs: number
  /** After each burial, before anything else happens. */
  buried: () => void
  /** At the end of each transaction that books an entry. */
  booked: () => void
}

class Deadlock extends Error {}

export class FaultyDriver implements Driver {
  readonly beside = null
  readonly dialect
  readonly timeoutMs: number
  readonly #database: Driver
  readonly #network: Network
  readonly #random: Random
  readonly #clock: ProcessClock
  /** This process alone does not reach the database. */
  cut = false
  /** When the database last answered its life sign. */
  beatMs = 0

  constructor(database: Driver, network: Network, random: Random, clock: ProcessClock) {
    this.dialect = database.dialect
    this.#database = database
    this.#network = network
    this.timeoutMs = network.timeoutMs
    this.#random = random
    this.#clock = clock
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => this.#clock.after(ms, resolve))
  }

  /** A dead process does nothing any more and hears no answer. */
  #alive(): Promise<void> | void {
    if (this.#clock.dead) return new Promise(() => {})
  }

  #happens(fault: keyof FaultRates): boolean {
    const rate = this.#network.rates[fault]
    return rate > 0 && this.#random.next() < rate
  }

  async #reach(op: string): Promise<void> {
    await this.#alive()
    if (this.#happens('slow')) await this.#pause(this.#random.int(1, this.#network.slowMs))
    await this.#alive()
    await this.#stands()
    if (this.cut || this.#network.down !== 'no') {
      if (this.#network.down === 'hangs') await this.#pause(this.timeoutMs)
      throw new StoreUnavailable('no way to the database')
    }
    if (this.#network.sick === op) throw new StoreUnavailable(`${op}: lock wait timeout exceeded (1205)`)
    if (this.#happens('refused')) throw new StoreUnavailable('too many connections')
    if (this.#happens('unexpected')) throw new Error('something nobody has thought of')
  }

  /** Waits while the database stands still, but not longer than a call may take. */
  async #stands(): Promise<void> {
    for (let waitedMs = 0; this.#network.down === 'stops' && waitedMs < this.timeoutMs; waitedMs += LOOK_MS)
      await this.#pause(LOOK_MS)
    await this.#alive()
  }

  async #answer<T>(value: T): Promise<T> {
    if (this.#happens('slow')) await this.#pause(this.#random.int(1, this.#network.slowMs))
    await this.#alive()
    return value
  }

  async query(op: string, sql: string, params: readonly Param[]): Promise<Row[]> {
    await this.#reach(op)
    return this.#answer(await this.#database.query(op, sql, params))
  }

  async ping(): Promise<void> {
    await this.run('ping', PING, PING_PARAMS)
  }

  run(op: string, sql: string, params: readonly Param[]): Promise<RunResult> {
    return this.transaction(op, tx => tx.run(sql, params))
  }

  async transaction<T>(op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> {
    await this.#reach(op)
    for (let run = 1; ; run++) {
      try {
        return await this.#answer(await this.#once(op, fn))
      } catch (error) {
        if (!(error instanceof Deadlock)) {
          await this.#alive()
          throw error
        }
        if (run === RUNS) throw new StoreUnavailable('deadlock found when trying to get lock (1213)')
      }
    }
  }

  /** A lost COMMIT is rolled back; a lost answer to one is not, and the process cannot tell them apart. */
  async #once<T>(op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> {
    const lost = new CommitUncertain('the connection broke at COMMIT')
    const value = await this.#database.transaction(op, async tx => {
      const value = await fn(tx)
      if (op === 'addEntry') this.#network.booked()
      if (this.#happens('deadlock')) throw new Deadlock()
      if (this.#happens('lostCommit')) throw lost
      return value
    })
    if (op === 'bury') this.#network.buried()
    if (op === 'beat' || op === 'register') this.beatMs = this.#clock.monotonic()
    if (this.#happens('lostAnswer')) throw lost
    await this.#stands()
    if (this.#network.down === 'stops') throw lost
    return value
  }

  snapshot<T>(op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#reach(op).then(() => this.#database.snapshot(op, fn))
  }

  prove(): Promise<void> {
    return this.#database.prove()
  }

  script(statements: readonly string[]): Promise<void> {
    return this.#database.script(statements)
  }

  async close(): Promise<void> {}
}
