/**
 * Moves settlements from the journal into the store, in batches: one transaction each, one under way at a time. A batch
 * whose answer is lost is sent again until there is one; the store knows by request id what it has.
 */
import type { Clock } from '../base/clock.ts'
import { type Settlement, type Store, StoreUnavailable } from '../store/store.ts'
import type { Journal, Segment } from './journal.ts'

/** With the store's own time, within the second in which a settlement must show. */
const FLUSH_MS = 920
const BATCH = 500
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 5_000

interface Entry {
  settlement: Settlement
  /** null: the journal could not be written, and somebody waits for the store instead. */
  segment: Segment | null
  atMs: number
  done: (() => void) | null
}

export class Settler {
  readonly #store: Store
  readonly #journal: Journal
  readonly #clock: Clock
  readonly #log: { error(data: object, message: string): void; warn(data: object, message: string): void }
  readonly #queue: Entry[] = []
  #cancel: (() => void) | null = null
  #running: Promise<void> | null = null

  constructor(options: {
    store: Store
    journal: Journal
    clock: Clock
    log: { error(data: object, message: string): void; warn(data: object, message: string): void }
  }) {
    this.#store = options.store
    this.#journal = options.journal
    this.#clock = options.clock
    this.#log = options.log
  }

  /** `done` is called when the store has it. */
  add(settlement: Settlement, segment: Segment | null, done: (() => void) | null): void {
    this.#queue.push({ settlement, segment, atMs: this.#clock.monotonic(), done })
    if (this.#queue.length >= BATCH || done !== null) this.flush()
    else if (this.#cancel === null && this.#running === null)
      this.#cancel = this.#clock.after(FLUSH_MS, () => this.flush())
  }

  /** Begins at once, if it has not begun. */
  flush(): void {
    this.#cancel?.()
    this.#cancel = null
    if (this.#running !== null || this.#queue.length === 0) return
    this.#running = this.#run().finally(() => {
      this.#running = null
      if (this.#queue.length > 0) this.#cancel ??= this.#clock.after(FLUSH_MS, () => this.flush())
    })
  }

  /** Until the store has everything there is, however long it takes. */
  async drain(): Promise<void> {
    while (this.#queue.length > 0 || this.#running !== null) {
      this.flush()
      await this.#running
    }
  }

  get lagMs(): number {
    const oldest = this.#queue[0]
    return oldest === undefined ? 0 : this.#clock.monotonic() - oldest.atMs
  }

  /** What is there now, in batches; what comes meanwhile waits for the next time, unless it is much. */
  async #run(): Promise<void> {
    do {
      const batch = this.#queue.slice(0, BATCH)
      await this.#apply(batch)
      this.#queue.splice(0, batch.length)
      for (const { segment, done } of batch) {
        if (segment !== null) this.#journal.applied(segment)
        done?.()
      }
    } while (this.#queue.length >= BATCH)
  }

  async #apply(batch: readonly Entry[]): Promise<void> {
    const settlements = batch.map(entry => entry.settlement)
    for (let waitMs = FIRST_RETRY_MS; ; waitMs = Math.min(LONGEST_RETRY_MS, waitMs * 2)) {
      try {
        await this.#store.settle(settlements)
        return
      } catch (error) {
        if (error instanceof StoreUnavailable)
          this.#log.warn({ err: error.message, waiting: this.#queue.length }, 'settling waits for the store')
        else this.#log.error({ err: error }, 'settling failed, and will be tried again')
        await new Promise<void>(resolve => this.#clock.after(waitMs, resolve))
      }
    }
  }
}
