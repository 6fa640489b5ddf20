/**
 * The settler writes this process's settlements to the journal and moves them into the store. What waits in memory are the same
 * bytes that the journal has on disk, which is read only after a crash. Batches of up to 512 are sent one at a time, each in one
 * transaction. A batch without an answer is sent again, which is idempotent by request id.
 *
 * When the store refuses a batch with an error of its own, its settlements are read back and halved until those at fault are
 * found; they go to the end of the queue and do not hold up the others.
 */
import type { Clock } from '../base/clock.ts'
import type { Store } from '../store/store.ts'
import { accountPurse, keyPurse, type PurseId } from '../store/books/purses.ts'
import { type Settled, type Settlement, settlementsOf } from '../store/books/settlement.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import { setAside } from './dead-letters.ts'
import type { Journal, Segment } from './journal.ts'
import type { LedgerLog } from './log.ts'
import { RecordBuffer } from './records.ts'

/** The longest wait before a settlement is sent: with the store's own time it must be in the books within a second. */
const FLUSH_MS = 920
/**
 * A batch of this size is sent without waiting for more: the more there are, the less each has of the transaction and of the sums
 * that they share. A power of two, because only such INSERTs are kept prepared.
 */
const BATCH = 512
/** The largest batch, with the last commit group and what came while another was sent. Adding up still more of them at once would block the event loop. */
const LARGEST_BATCH = 640
const FIRST_RETRY_MS = 100
const LONGEST_RETRY_MS = 5_000

/** What a batch has of one commit group. */
interface Part {
  record: Buffer
  settlements: number
  /** The segment of the journal that has it; null when the journal could not be written. */
  segment: Segment | null
  /** Called when it is kept, for one that the journal could not take: its clients are waiting for that. */
  keep: (() => void) | null
}

/** Settlements that are sent together, as bytes. Nothing else of them stays in memory but a few sums. */
class SettlementBatch {
  readonly records: RecordBuffer
  readonly parts: Part[] = []
  settlements = 0
  readonly sums: Sums = { charged: new Map(), unpaid: new Map() }
  /** When its oldest settlement came. */
  readonly atMs: number
  /** True once it has been sent: the store may have it, even if no answer came. */
  sent = false

  constructor(atMs: number, records: RecordBuffer) {
    this.atMs = atMs
    this.records = records
  }

  add(settlements: readonly Settlement[], store: number): Part {
    const record = this.records.add(settlements, store)
    const part: Part = { record, settlements: settlements.length, segment: null, keep: null }
    this.parts.push(part)
    this.settlements += settlements.length
    for (const settlement of settlements) addTo(this.sums, settlement)
    return part
  }

  /** The settlements themselves, each with its part. They are read back from the bytes. */
  read(): Piece[] {
    return this.parts.flatMap(part => settlementsOf(part.record).map(settlement => ({ settlement, part })))
  }
}

/** One settlement of a part, when a batch has to be taken apart. */
interface Piece {
  settlement: Settlement
  part: Part
}

/** Sums of charges by purse. */
interface Sums {
  /** All charges to the purses of keys and of limits. */
  charged: Map<PurseId, number>
  /** What no lease pays. */
  unpaid: Map<PurseId, number>
}

function addTo({ charged, unpaid }: Sums, { row, fromAccountLease, fromKeyLease, limits }: Settlement): void {
  const { charge } = row
  if (charge === 0) return
  const key = keyPurse(row.keyId)
  raise(charged, key, charge)
  if (fromAccountLease < charge) raise(unpaid, accountPurse(row.accountId), charge - fromAccountLease)
  if (fromKeyLease < charge) raise(unpaid, key, charge - fromKeyLease)
  for (const { purse, fromLease } of limits) {
    raise(charged, purse, charge)
    if (fromLease < charge) raise(unpaid, purse, charge - fromLease)
  }
}

const raise = (sums: Map<PurseId, number>, purse: PurseId, amount: number) =>
  sums.set(purse, (sums.get(purse) ?? 0) + amount)

interface SettlerOptions {
  store: Store
  journal: Journal
  clock: Clock
  log: LedgerLog
  /** The journal folder of the machine. */
  folder: string
  /** Settlements are in the books, or set aside: what of their charges no lease paid. */
  onBooked?: (unpaid: ReadonlyMap<PurseId, number>) => void
}

export class Settler {
  readonly #o: SettlerOptions
  /** The batches that wait, the oldest first. New settlements come into the last one, unless it is full or was sent. */
  readonly #queue: SettlementBatch[] = []
  /** The number of settlements in the queue. */
  #waiting = 0
  /** The parts that are not in the journal. */
  readonly #unjournaled = new Set<Part>()
  /** A buffer of a batch that is in the books, for the next one. */
  #spare: RecordBuffer | null = null
  #cancel: (() => void) | null = null
  #running: Promise<void> | null = null
  #stopped = false
  /** Ends the pause between two tries early. */
  #wake: () => void = () => {}

  constructor(options: SettlerOptions) {
    this.#o = options
  }

  /** Writes the settlements of a commit group to the journal and queues them. `keep` is called when journal or store has all of them. */
  add(settlements: readonly Settlement[], keep: () => void): void {
    const { journal } = this.#o
    const part = this.#batchFor(settlements.length).add(settlements, journal.store)
    part.segment = journal.append(part.record, settlements.length)
    this.#waiting += settlements.length
    if (part.segment === null) {
      part.keep = keep
      this.#unjournaled.add(part)
    } else keep()
    if (this.#waiting >= BATCH || part.segment === null) this.flush()
    else if (this.#cancel === null && this.#running === null) this.#flushLater()
  }

  #batchFor(settlements: number): SettlementBatch {
    const last = this.#queue.at(-1)
    if (last !== undefined && !last.sent && last.settlements + settlements <= LARGEST_BATCH) return last
    const batch = new SettlementBatch(this.#o.clock.monotonic(), this.#spare ?? new RecordBuffer())
    this.#spare = null
    this.#queue.push(batch)
    return batch
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
    for (const { record } of this.#unjournaled)
      for (const settlement of settlementsOf(record))
        this.#o.log.error({ settlement }, 'neither journal nor store took this settlement: it is only here')
    return this.#waiting === 0
  }

  #giveUp(): void {
    this.#stopped = true
    this.#cancel?.()
    this.#wake()
  }

  /** The charges to the purse of a key or a limit that may not be in the store yet. */
  unsettledOf(purse: PurseId): number {
    return this.#queue.reduce((sum, batch) => sum + (batch.sums.charged.get(purse) ?? 0), 0)
  }

  /** The age of the oldest settlement that waits, in ms. */
  get lagMs(): number {
    const oldest = this.#queue[0]
    return oldest === undefined ? 0 : this.#o.clock.monotonic() - oldest.atMs
  }

  /** Sends batches until less than a full one waits, and after a failure until nothing does, or until `stop`. Never rejects. */
  async #run(): Promise<void> {
    let waitMs = FIRST_RETRY_MS
    let isBehind = false
    do {
      const batch = this.#queue[0] as SettlementBatch
      const left = await this.#apply(batch)
      if (left !== batch) {
        this.#queue.shift()
        if (left !== null) this.#queue.push(left)
        else if (batch.records.clear()) this.#spare = batch.records
      }
      if (left === null || this.#stopped) continue
      isBehind = true
      await this.#pause(waitMs)
      waitMs = Math.min(LONGEST_RETRY_MS, waitMs * 2)
      this.#keepInJournal()
    } while (!this.#stopped && this.#waiting > 0 && (isBehind || this.#waiting >= BATCH))
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

  /** Sends a batch. Returns what of it is to be sent again: the batch itself when the store is unavailable; null = nothing. */
  async #apply(batch: SettlementBatch): Promise<SettlementBatch | null> {
    const again = batch.sent
    batch.sent = true
    try {
      this.#setAside(await this.#o.store.books.settle(batch.records.bytes, again), again)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) return this.#applyInPieces(batch, error)
      this.#unavailable(error)
      return batch
    }
    for (const part of batch.parts) this.#done(part, part.settlements)
    this.#booked(batch.settlements, batch.sums)
    return null
  }

  /**
   * Sets aside what was not counted. A settlement that is sent for the first time and is in the store already cannot be
   * a repetition: another request has its id, so it is a clash too.
   */
  #setAside({ repeated, clashing, unsure }: Settled, again: boolean): void {
    for (const settlement of unsure) setAside(this.#o, settlement, 'unsure')
    for (const settlement of clashing) setAside(this.#o, settlement, 'clash')
    if (!again) for (const settlement of repeated) setAside(this.#o, settlement, 'clash')
  }

  #booked(settlements: number, { unpaid }: Sums): void {
    this.#waiting -= settlements
    if (unpaid.size > 0) this.#o.onBooked?.(unpaid)
  }

  #done(part: Part, settlements: number): void {
    if (part.segment !== null) this.#o.journal.applied(part.segment, settlements)
    this.#release(part, settlements)
  }

  /** Notes that so many settlements of a part are kept. When all are, their clients may see their ends. */
  #release(part: Part, settlements: number): void {
    part.settlements -= settlements
    if (part.settlements > 0) return
    this.#unjournaled.delete(part)
    part.keep?.()
    part.keep = null
  }

  #unavailable(error: Error): void {
    this.#o.log.warn({ err: error.message, waiting: this.#waiting }, 'settling waits for the store')
  }

  /** Books what the store takes of a batch that it refused as a whole, and returns the rest as another batch. */
  async #applyInPieces(batch: SettlementBatch, error: unknown): Promise<SettlementBatch | null> {
    const left = new SettlementBatch(batch.atMs, new RecordBuffer())
    left.sent = true
    await this.#halve(batch.read(), error, left)
    return left.settlements > 0 ? left : null
  }

  /** Halves settlements that the store refused, to find those at fault. What is to be sent again goes to `left`. */
  async #halve(some: readonly Piece[], error: unknown, left: SettlementBatch): Promise<void> {
    const ids = some.slice(0, 3).map(({ settlement }) => settlement.row.requestId)
    this.#o.log.error({ err: error, settlements: some.length, ids }, 'settling failed, and will be tried again')
    if (some.length === 1) return this.#leave(some, left)
    const half = Math.ceil(some.length / 2)
    for (const pieces of [some.slice(0, half), some.slice(half)]) await this.#applyPieces(pieces, left)
  }

  async #applyPieces(pieces: readonly Piece[], left: SettlementBatch): Promise<void> {
    const settlements = pieces.map(({ settlement }) => settlement)
    try {
      this.#setAside(await this.#o.store.books.settle(settlements, true), true)
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) return this.#halve(pieces, error, left)
      this.#unavailable(error)
      return this.#leave(pieces, left)
    }
    for (const { part } of pieces) this.#done(part, 1)
    const sums: Sums = { charged: new Map(), unpaid: new Map() }
    for (const settlement of settlements) addTo(sums, settlement)
    this.#booked(pieces.length, sums)
  }

  #leave(pieces: readonly Piece[], left: SettlementBatch): void {
    for (const { settlement, part } of pieces) {
      const own = left.add([settlement], this.#o.journal.store)
      own.segment = part.segment
      if (!this.#unjournaled.has(part)) continue
      own.keep = () => this.#release(part, 1)
      this.#unjournaled.add(own)
    }
    for (const { part } of pieces) this.#unjournaled.delete(part)
  }

  /** Tries the journal again for what it could not take: the disk may have room before the store answers. */
  #keepInJournal(): void {
    for (const part of this.#unjournaled) {
      part.segment = this.#o.journal.append(part.record, part.settlements)
      if (part.segment === null) return
      this.#unjournaled.delete(part)
      part.keep?.()
      part.keep = null
    }
  }
}
