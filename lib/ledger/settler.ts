/**
 * Moves settlements from the journal into the store, in batches: one transaction each, one under way at a time. A batch
 * whose answer is lost is sent again until there is one; the store knows by request id what it has. What the store
 * refuses for a reason nobody has thought of does not keep the others waiting. However many wait, nothing here goes through
 * all of them at once.
 */
import type { Clock } from '../base/clock.ts'
import { keyPurse, type PurseId, type Settled, type Settlement, StoreUnavailable } from '../store/store.ts'
import { setAside } from './aside.ts'
import type { Journal, Segment } from './journal.ts'
import type { ReplayOptions } from './replay.ts'

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
  /** The store may have it: nobody knows what became of the batch it was in. */
  sent: boolean
}

export interface SettlerOptions extends ReplayOptions {
  journal: Journal
  clock: Clock
}

export class Settler {
  readonly #o: SettlerOptions
  #queue: Entry[] = []
  /** Where in the queue the oldest is: what stands before is done with. */
  #head = 0
  /** Charged by key purse, of those that wait. */
  readonly #charged = new Map<PurseId, number>()
  /** Those that the journal has not taken. */
  readonly #homeless = new Set<Entry>()
  #cancel: (() => void) | null = null
  #running: Promise<void> | null = null
  #stopped = false
  /** Ends a pause between two tries. */
  #wake: () => void = () => {}

  constructor(options: SettlerOptions) {
    this.#o = options
  }

  get #waiting(): number {
    return this.#queue.length - this.#head
  }

  /** `done` is called when the journal or the store has it. */
  add(settlement: Settlement, segment: Segment | null, done: (() => void) | null): void {
    const entry = { settlement, segment, atMs: this.#o.clock.monotonic(), done, sent: false }
    this.#queue.push(entry)
    this.#count(settlement, 1)
    if (segment === null) this.#homeless.add(entry)
    if (this.#waiting >= BATCH || done !== null) this.flush()
    else if (this.#cancel === null && this.#running === null) this.#flushLater()
  }

  #count({ row }: Settlement, sign: 1 | -1): void {
    const purse = keyPurse(row.keyId)
    const sum = (this.#charged.get(purse) ?? 0) + sign * row.charge
    if (sum === 0) this.#charged.delete(purse)
    else this.#charged.set(purse, sum)
  }

  #flushLater(): void {
    this.#cancel = this.#o.clock.after(FLUSH_MS, () => this.flush())
  }

  /** Begins at once, if it has not begun. */
  flush(): void {
    this.#cancel?.()
    this.#cancel = null
    if (this.#stopped || this.#running !== null || this.#waiting === 0) return
    this.#running = this.#run().then(() => {
      this.#running = null
      if (this.#waiting > 0 && this.#cancel === null) this.#flushLater()
    })
  }

  /** Until the store has everything there is, however long it takes. */
  async drain(): Promise<void> {
    while (!this.#stopped && (this.#waiting > 0 || this.#running !== null)) {
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
    for (const { settlement } of this.#homeless) {
      this.#o.log.error({ settlement }, 'neither journal nor store took this settlement: it is only here')
    }
    return this.#waiting === 0
  }

  #giveUp(): void {
    this.#stopped = true
    this.#cancel?.()
    this.#wake()
  }

  /** Charged to a key's purse, and not surely in the store yet. */
  unsettledOf(purse: PurseId): number {
    return this.#charged.get(purse) ?? 0
  }

  get lagMs(): number {
    const oldest = this.#queue[this.#head]
    return oldest === undefined ? 0 : this.#o.clock.monotonic() - oldest.atMs
  }

  /** What is there now, in batches; what comes meanwhile waits for the next time, unless it is much. Never rejects. */
  async #run(): Promise<void> {
    let waitMs = FIRST_RETRY_MS
    let again = false
    do {
      const batch = this.#queue.slice(this.#head, this.#head + BATCH)
      const left = await this.#apply(batch)
      again = left.length > 0
      if (left !== batch) this.#passed(batch.length, left)
      if (!again || this.#stopped) continue
      await this.#pause(waitMs)
      waitMs = Math.min(LONGEST_RETRY_MS, waitMs * 2)
      this.#keepInJournal()
    } while (!this.#stopped && (again || this.#waiting >= BATCH))
  }

  /** The oldest `count` are done with, except those `left`, which are tried again behind all others. */
  #passed(count: number, left: readonly Entry[]): void {
    this.#head += count
    this.#queue.push(...left)
    if (this.#head < this.#queue.length / 2) return
    this.#queue = this.#queue.slice(this.#head)
    this.#head = 0
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

  /** Returns what the store does not surely have; the batch itself when it is away. */
  async #apply(batch: readonly Entry[]): Promise<readonly Entry[]> {
    const again = batch.some(entry => entry.sent)
    const first = new Set(batch.filter(entry => !entry.sent).map(entry => entry.settlement))
    for (const entry of batch) entry.sent = true
    let settled: Settled
    try {
      settled = await this.#o.store.settle(
        batch.map(entry => entry.settlement),
        again,
      )
      this.#setAside(settled, first)
    } catch (error) {
      return this.#failed(batch, error)
    }
    for (const entry of batch) this.#done(entry)
    return []
  }

  /**
   * A settlement that the store has although it was never sent has the id of another request: it must not go free for
   * that.
   */
  #setAside({ repeated, clashing, unsure }: Settled, first: ReadonlySet<Settlement>): void {
    for (const settlement of unsure) setAside(this.#o, settlement, 'unsure')
    for (const settlement of clashing) setAside(this.#o, settlement, 'clash')
    for (const settlement of repeated) if (first.has(settlement)) setAside(this.#o, settlement, 'clash')
  }

  #done(entry: Entry): void {
    this.#count(entry.settlement, -1)
    this.#homeless.delete(entry)
    if (entry.segment !== null) this.#o.journal.applied(entry.segment)
    entry.done?.()
  }

  /** One that the store cannot take is found by halving, so that the others pass. */
  async #failed(batch: readonly Entry[], error: unknown): Promise<readonly Entry[]> {
    const { log } = this.#o
    if (error instanceof StoreUnavailable) {
      log.warn({ err: error.message, waiting: this.#waiting }, 'settling waits for the store')
      return batch
    }
    const ids = batch.slice(0, 3).map(({ settlement }) => settlement.row.requestId)
    log.error({ err: error, settlements: batch.length, ids }, 'settling failed, and will be tried again')
    if (batch.length === 1) return batch
    const half = Math.ceil(batch.length / 2)
    const first = await this.#apply(batch.slice(0, half))
    return [...first, ...(await this.#apply(batch.slice(half)))]
  }

  /** The disk may have room again before the store answers. */
  #keepInJournal(): void {
    for (const entry of this.#homeless) {
      entry.segment = this.#o.journal.append([entry.settlement])
      if (entry.segment === null) return
      this.#homeless.delete(entry)
      entry.done?.()
      entry.done = null
    }
  }
}
