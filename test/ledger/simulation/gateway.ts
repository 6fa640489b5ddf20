/** One gateway process of a simulation: its clock, its way to the database, its ledger; started, stopped and killed. */
import path from 'node:path'
import { Ledger } from '../../../lib/ledger/ledger.ts'
import { Sealer } from '../../../lib/store/catalogue/sealer.ts'
import { Store } from '../../../lib/store/store.ts'
import type { PurseId } from '../../../lib/store/books/purses.ts'
import type { Random } from '../../support/random.ts'
import { Broken } from './books.ts'
import type { Database } from './database.ts'
import type { Disk } from './disk.ts'
import { FaultyDriver, type Network } from './faults.ts'
import { ProcessClock, running, type Timeline } from './timeline.ts'
import { traced } from './traced.ts'

const FOLLOW_MS = 290

export interface Surroundings {
  timeline: Timeline
  database: Database
  network: Network
  disk: Disk
  random: Random
  /** All processes are on one host, so that every journal is in everybody's reach. */
  oneHost: boolean
  /** Leases that one step of a burial ends. */
  slice: number
  tracing: boolean
  note(text: string): void
}

export class Gateway {
  readonly name: string
  readonly host: string
  readonly clock: ProcessClock
  readonly driver: FaultyDriver
  readonly #store: Store
  readonly #around: Surroundings
  readonly #journalLimit: number
  state: 'starting' | 'up' | 'stopping' | 'down' = 'starting'
  ledger: Ledger | null = null
  #changeSeq = 0

  constructor(name: string, host: string, journalLimit: number, around: Surroundings) {
    this.name = name
    this.host = host
    this.#around = around
    this.#journalLimit = journalLimit
    this.clock = new ProcessClock(around.timeline, around.random.pick([0, 0, -1_500, 1_500]))
    this.driver = new FaultyDriver(around.database, around.network, around.random, this.clock)
    const store = new Store(this.driver, new Sealer('simulated'), () => {}, { slice: around.slice })
    this.#watchLeases(store)
    this.#store = around.tracing ? traced(store, text => around.note(`  ${name}: ${text}`)) : store
  }

  /**
   * One call a purse at a time, and none while the store is known to be away: else they pile up. A key without a cap has
   * its purse leased by its tab too.
   */
  #watchLeases(store: Store): void {
    const underWay = new Set<PurseId>()
    const lease = store.books.lease.bind(store.books)
    store.books.lease = async (purse, ...asked) => {
      if (this.ledger?.health.takesWrites === false) this.#crash(`${purse} is asked for while the store is away`)
      if (/^k\d+$/.test(purse)) return lease(purse, ...asked)
      if (underWay.has(purse)) this.#crash(`${purse} is asked for twice at once`)
      underWay.add(purse)
      try {
        return await lease(purse, ...asked)
      } finally {
        underWay.delete(purse)
      }
    }
  }

  #crash(message: string): void {
    this.#around.timeline.crashes.push(new Broken(`${this.name}: ${message}`))
  }

  get journalInReach(): boolean {
    return this.#around.oneHost
  }

  get folder(): string {
    return path.join(this.#around.disk.root, this.host, this.name)
  }

  /** As a service manager does: what fails to start is a process that ended. */
  start(): void {
    running.run(this.clock, () => {
      this.#open().then(
        () => {
          this.state = 'up'
          this.#follow()
        },
        error => {
          this.#around.note(`${this.name} did not start: ${error}`)
          this.kill(Buffer.alloc(0))
        },
      )
    })
  }

  async #open(): Promise<void> {
    this.#changeSeq = await this.#store.changes.seq()
    this.ledger = await Ledger.open({
      store: this.#store,
      clock: this.clock,
      log: this.#log(),
      folder: this.#around.disk.host(this.host),
      limitBytes: this.#journalLimit,
      holder: this.name,
    })
  }

  #log() {
    const say = (level: string) => (data: object, message: string) => {
      const { err } = data as { err?: unknown }
      this.#around.note(`${this.name} ${level}: ${message} ${err === undefined ? JSON.stringify(data) : String(err)}`)
    }
    return { info: say('info'), warn: say('warn'), error: say('error') }
  }

  /** What other processes ask for comes with the store's changes. */
  #follow(): void {
    this.clock.after(FOLLOW_MS, () => {
      this.#changes()
        .catch(() => {})
        .then(() => this.#follow())
    })
  }

  async #changes(): Promise<void> {
    if (this.#around.database.changeSeq === this.#changeSeq) return // nothing to see, and it would take most of the time
    const changes = await this.#store.changes.since(this.#changeSeq)
    if (changes === null) this.#changeSeq = await this.#store.changes.seq()
    for (const change of changes ?? []) {
      this.#changeSeq = change.seq
      this.ledger?.onChange(change)
    }
  }

  /** `ended` is called when the process has. */
  stop(ended: () => void): void {
    this.state = 'stopping'
    running.run(this.clock, () => {
      this.ledger?.stop().then(
        () => {
          this.kill(Buffer.alloc(0))
          ended()
        },
        error => this.#around.timeline.crashes.push(error),
      )
    })
  }

  kill(torn: Buffer): void {
    this.state = 'down'
    this.clock.kill()
    this.#around.disk.kill(this.clock, this.folder, torn)
  }
}
