/**
 * Moves settlements from the journal into the store, in batches: one transaction each, one under way at a time. A batch
 * whose answer is lost is sent again until there is one; the store knows by request id what it has. What the store
 * refuses for a reason nobody has thought of does not keep the others waiting.
 */
import type { Clock } from '../base/clock.ts'
import { keyPurse, type PurseId, type Settlement, StoreUnavailable } from '../store/store.ts'
import type { Journal, Segment } from './journal.ts'
import { type ReplayOptions, replay } from './replay.ts'

/** With the store's own time, within the second in which a settlement must show. */
const FLUSH_MS = 920
/** More at once would hold up the event loop while they are handed over; a power of two is a statement that is kept. */
const BATCH = 256
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 5_000

interface Entry {
  settlement: Settlement
  /** null: the journal could not be written, and somebody waits for the store instead. */
  segment: Segment | null
  atMs: number
  done: (() => void) | null
}

export interface SettlerOptions extends ReplayOptions {
  journal: Journal
  clock: Clock
}

export class Settler {
  readonly #o: SettlerOptions
  #queue: Entry[] = []
  #cancel: (() => void) | null = null
  #running: Promise<void> | null = null
  #stopped = false
  /** Ends a pause between two tries. */
  #wake: () => void = () => {}

  constructor(options: SettlerOptions) {
    this.#o = options
  }

  /** `done` is called when the journal or the store has it. */
  add(settlement: Settlement, segment: Segment | null, done: (() => void) | null): void {
    this.#queue.push({ settlement, segment, atMs: this.#o.clock.monotonic(), done })
    if (this.#queue.length >= BATCH || done !== null) this.flush()
    else if (this.#cancel === null && this.#running === null) this.#flushLater()
  }

  #flushLater(): void {
    this.#cancel = this.#o.clock.after(FLUSH_MS, () => this.flush())
  }

  /** Begins at once, if it has not begun. */
  flush(): void {
    this.#cancel?.()
    this.#cancel = null
    if (this.#stopped || this.#running !== null || this.#queue.length === 0) return
    this.#running = this.#run().then(() => {
      this.#running = null
      if (this.#queue.length > 0 && this.#cancel === null) this.#flushLater()
    })
  }

  /** Until the store has everything there is, however long it takes. */
  async drain(): Promise<void> {
    while (!this.#stopped && (this.#queue.length > 0 || this.#running !== null)) {
      this.flush()
      await this.#running
    }
  }

  /** Gives up after a while; true: the store has everything. What it does not have is in the journal, or logged. */
  async stop(withinMs: number): Promise<boolean> {
    const cancel = this.#o.clock.after(withinMs, () => this.#giveUp())
    await this.drain()
    cancel()
    this.#giveUp()
    this.#keepInJournal()
    for (const { settlement, segment } of this.#queue) {
      if (segment !== null) continue
      this.#o.log.error({ settlement }, 'neither journal nor store took this settlement: it is only here')
    }
    return this.#queue.length === 0
  }

  #giveUp(): void {
    this.#stopped = true
    this.#cancel?.()
    this.#wake()
  }

  /** Charged to a key's purse, and not surely in the store yet. */
  unsettledOf(purse: PurseId): number {
    let sum = 0
    for (const { settlement } of this.#queue) if (keyPurse(settlement.row.keyId) === purse) sum += settlement.row.charge
    return sum
  }

  get lagMs(): number {
    const oldest = this.#queue[0]
    return oldest === undefined ? 0 : this.#o.clock.monotonic() - oldest.atMs
  }

  /** What is there now, in batches; what comes meanwhile waits for the next time, unless it is much. Never rejects. */
  async #run(): Promise<void> {
    let waitMs = FIRST_RETRY_MS
    let again = false
    do {
      const batch = this.#queue.slice(0, BATCH)
      const left = await this.#apply(batch, again)
      again = left.length > 0
      this.#queue = [...this.#queue.slice(batch.length), ...left]
      if (!again || this.#stopped) continue
      await this.#pause(waitMs)
      waitMs = Math.min(LONGEST_RETRY_MS, waitMs * 2)
      this.#keepInJournal()
    } while (!this.#stopped && (again || this.#queue.length >= BATCH))
  }

  #pause(ms: number): Promise<void> {
    return new Promise(resolve => {
      const cancel = this.#o.clock.after(ms, resolve)
      this.#wake = () => {
        cancel()
        resolve()
      }
    })
  }

  /** Returns what the store does not surely have. */
  async #apply(batch: readonly Entry[], again: boolean): Promise<readonly Entry[]> {
    const settlements = batch.map(entry => entry.settlement)
    try {
      await (again ? replay(this.#o, settlements) : this.#o.store.settle(settlements))
    } catch (error) {
      return this.#failed(batch, error)
    }
    for (const { segment, done } of batch) {
      if (segment !== null) this.#o.journal.applied(segment)
      done?.()
    }
    return []
  }

  /** One that the store cannot take is found by halving, so that the others pass. */
  async #failed(batch: readonly Entry[], error: unknown): Promise<readonly Entry[]> {
    const { log } = this.#o
    if (error instanceof StoreUnavailable) {
      log.warn({ err: error.message, waiting: this.#queue.length }, 'settling waits for the store')
      return batch
    }
    const ids = batch.slice(0, 3).map(({ settlement }) => settlement.row.requestId)
    log.error({ err: error, settlements: batch.length, ids }, 'settling failed, and will be tried again')
    if (batch.length === 1) return batch
    const half = Math.ceil(batch.length / 2)
    const first = await this.#apply(batch.slice(0, half), true)
    return [...first, ...(await this.#apply(batch.slice(half), true))]
  }

  /** The disk may have room again before the store answers. */
  #keepInJournal(): void {
    for (const entry of this.#queue) {
      if (entry.segment !== null) continue
      entry.segment = this.#o.journal.append([entry.settlement])
      if (entry.segment === null) return
      entry.done?.()
      entry.done = null
    }
  }
}
