/**
 * The settler moves this process's settlements into the store, from a queue in memory; the journal has the same
 * settlements on disk and is read only after a crash. Batches of up to 512 are sent one at a time, each in one
 * transaction. A batch without an answer is sent again, which is idempotent by request id.
 *
 * When the store refuses a batch with an error of its own, the batch is halved until the refused settlements are found;
 * they go to the end of the queue and do not hold up the others. The work per call does not depend on the length of
 * the queue.
 */
import type { Clock } from '../base/clock.ts'
import type { Store } from '../store/store.ts'
import { keyPurse, type PurseId } from '../store/books/purses.ts'
import type { Settled, Settlement } from '../store/books/settle.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import { setAside } from './dead-letters.ts'
import type { Journal, Segment } from './journal.ts'
import type { LedgerLog } from './log.ts'

/** The longest wait before a settlement is sent: with the store's own time it must be in the books within a second. */
const FLUSH_MS = 920
/** A batch of this size is sent without waiting for more. A power of two, because only such INSERTs are kept prepared. */
const BATCH = 256
/** The largest batch: when more wait, they share more rows of the sums. Adding up still more of them at once would block the event loop. */
const LARGEST_BATCH = 512
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 5_000

interface Entry {
  settlement: Settlement
  /** The segment of the journal that has it; null when the journal could not be written. */
  segment: Segment | null
  atMs: number
  /** Called when the settlement is kept, for one that the journal could not take: its client is waiting for that. */
  done: (() => void) | null
  /** True once it has been sent: the store may have it, even if no answer came. */
  sent: boolean
}

export interface SettlerOptions {
  store: Store
  journal: Journal
  clock: Clock
  log: LedgerLog
  /** The journal folder of the machine. */
  folder: string
  /** A settlement is in the books, or set aside. */
  onBooked?: (settlement: Settlement) => void
}

export class Settler {
  readonly #o: SettlerOptions
  #queue: Entry[] = []
  /** The index of the oldest entry; the entries before it are finished and removed later. */
  #head = 0
  /** The sum of the waiting charges, by the purses of keys and of limits. */
  readonly #charged = new Map<PurseId, number>()
  /** The waiting entries that are not in the journal. */
  readonly #unjournaled = new Set<Entry>()
  #cancel: (() => void) | null = null
  #running: Promise<void> | null = null
  #stopped = false
  /** Ends the pause between two tries early. */
  #wake: () => void = () => {}

  constructor(options: SettlerOptions) {
    this.#o = options
  }

  get #waiting(): number {
    return this.#queue.length - this.#head
  }

  /** Queues a settlement. `done` is for one without `segment`: it is called when the journal or the store has it. */
  add(settlement: Settlement, segment: Segment | null, done: (() => void) | null): void {
    const entry = { settlement, segment, atMs: this.#o.clock.monotonic(), done, sent: false }
    this.#queue.push(entry)
    this.#count(settlement, 1)
    if (segment === null) this.#unjournaled.add(entry)
    if (this.#waiting >= BATCH || done !== null) this.flush()
    else if (this.#cancel === null && this.#running === null) this.#flushLater()
  }

  #count({ row, limits }: Settlement, sign: 1 | -1): void {
    this.#countIn(keyPurse(row.keyId), sign * row.charge)
    for (const { purse } of limits) this.#countIn(purse, sign * row.charge)
  }

  #countIn(purse: PurseId, charge: number): void {
    const sum = (this.#charged.get(purse) ?? 0) + charge
    if (sum === 0) this.#charged.delete(purse)
    else this.#charged.set(purse, sum)
  }

  #flushLater(): void {
    this.#cancel = this.#o.clock.after(FLUSH_MS, () => this.flush())
  }

  /** Starts to send now, unless it is sending already. */
  flush(): void {
    this.#cancel?.()
    this.#cancel = null
    if (this.#stopped || this.#running !== null || this.#waiting === 0) return
    this.#running = this.#run().then(() => {
      this.#running = null
      if (this.#waiting > 0 && this.#cancel === null) this.#flushLater()
    })
  }

  /** Sends what waits; false = nothing does. Throws StoreUnavailable when nothing is sent any more. */
  async sendAll(): Promise<boolean> {
    if (this.#stopped) throw new StoreUnavailable('settlements wait for the next start')
    if (this.#waiting === 0 && this.#running === null) return false
    this.flush()
    await this.#running
    return true
  }

  /** The store is back after an outage: what waits for the next try is sent now. */
  hurry(): void {
    this.#wake()
  }

  /** Resolves when the store has everything, however long that takes, or when `stop` gives up. */
  async drain(): Promise<void> {
    while (!this.#stopped && (this.#waiting > 0 || this.#running !== null)) {
      this.flush()
      await this.#running
    }
  }

  /**
   * Sends what is left for at most `withinMs`. True when the store has everything. The rest is in the journal; what the
   * journal cannot take either goes to the log.
   */
  async stop(withinMs: number): Promise<boolean> {
    const cancel = this.#o.clock.after(withinMs, () => this.#giveUp())
    await this.drain()
    cancel()
    this.#giveUp()
    this.#keepInJournal()
    for (const { settlement } of this.#unjournaled) {
      this.#o.log.error({ settlement }, 'neither journal nor store took this settlement: it is only here')
    }
    return this.#waiting === 0
  }

  #giveUp(): void {
    this.#stopped = true
    this.#cancel?.()
    this.#wake()
  }

  /** The charges to the purse of a key or a limit that may not be in the store yet. */
  unsettledOf(purse: PurseId): number {
    return this.#charged.get(purse) ?? 0
  }

  /** The age of the oldest settlement that waits, in ms. */
  get lagMs(): number {
    const oldest = this.#queue[this.#head]
    return oldest === undefined ? 0 : this.#o.clock.monotonic() - oldest.atMs
  }

  /** Sends batches until less than a full one waits and the last one succeeded, or until `stop`. Never rejects. */
  async #run(): Promise<void> {
    let waitMs = FIRST_RETRY_MS
    let again = false
    do {
      const batch = this.#queue.slice(this.#head, this.#head + LARGEST_BATCH)
      const left = await this.#apply(batch)
      again = left.length > 0
      if (left !== batch) this.#passed(batch.length, left)
      if (!again || this.#stopped) continue
      await this.#pause(waitMs)
      waitMs = Math.min(LONGEST_RETRY_MS, waitMs * 2)
      this.#keepInJournal()
    } while (!this.#stopped && (again || this.#waiting >= BATCH))
  }

  /** Removes the oldest `count` entries from the queue, and puts those `left` at its end. */
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

  /** Sends a batch. Returns the entries to send again; that is `batch` itself when the store is unavailable. */
  async #apply(batch: readonly Entry[]): Promise<readonly Entry[]> {
    const again = batch.some(entry => entry.sent)
    const first = new Set(batch.filter(entry => !entry.sent).map(entry => entry.settlement))
    for (const entry of batch) entry.sent = true
    let settled: Settled
    try {
      settled = await this.#o.store.books.settle(
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
   * Sets aside what was not counted. A settlement that is sent for the first time and is in the store already cannot be
   * a repetition: another request has its id, so it is a clash too.
   */
  #setAside({ repeated, clashing, unsure }: Settled, first: ReadonlySet<Settlement>): void {
    for (const settlement of unsure) setAside(this.#o, settlement, 'unsure')
    for (const settlement of clashing) setAside(this.#o, settlement, 'clash')
    for (const settlement of repeated) if (first.has(settlement)) setAside(this.#o, settlement, 'clash')
  }

  #done(entry: Entry): void {
    this.#count(entry.settlement, -1)
    this.#o.onBooked?.(entry.settlement)
    this.#unjournaled.delete(entry)
    if (entry.segment !== null) this.#o.journal.applied(entry.segment)
    entry.done?.()
  }

  /** Halves a batch that the store refused, to find the settlements at fault. Returns the entries to send again. */
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

  /** Tries the journal again for entries that it could not take: the disk may have room before the store answers. */
  #keepInJournal(): void {
    for (const entry of this.#unjournaled) {
      entry.segment = this.#o.journal.append([entry.settlement])
      if (entry.segment === null) return
      this.#unjournaled.delete(entry)
      entry.done?.()
      entry.done = null
    }
  }
}
