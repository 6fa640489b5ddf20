/**
 * The journal: settlements that the store does not hold yet, in files of this process alone.
 *
 * A settlement is written before the client can see the end of its answer, with one call for all of a turn of the event
 * loop: then the kernel has it, and a crash of the process loses nothing; a sync follows for the machine's own crash. Each process has a folder under a
 * lock that dies with it, so that nobody takes a living process's journal for a dead one's. Bytes are bounded: at the
 * bound the gateway takes no new requests, and drops nothing.
 */
import { closeSync, fdatasync, ftruncateSync, mkdirSync, openSync, rmSync, unlinkSync, writeSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../base/clock.ts'
import { processName } from '../base/ids.ts'
import type { Settlement } from '../store/store.ts'
import { Lock } from './lock.ts'
import type { LedgerLog } from './log.ts'
import { encode, SEGMENT_SUFFIX } from './records.ts'

const SEGMENT_BYTES = 8 * 1024 * 1024
/**
 * The active segment is emptied, once the store has all its records, from this size on, or from this part of the bound,
 * which several processes share.
 */
const EMPTY_FROM_BYTES = 1024 * 1024
const EMPTY_FROM_PART = 1 / 64
const SYNC_MS = 100
/** After the disk refused a record it is tried with so much before new requests are taken again. */
const RETRY_MS = 1_000
const PROBE = Buffer.alloc(64 * 1024)

/** One file of the journal. */
export class Segment {
  readonly file: string
  readonly fd: number
  bytes = 0
  /** Settlements that the store does not hold yet. */
  pending = 0

  constructor(file: string) {
    this.file = file
    this.fd = openSync(file, 'a')
  }
}

export interface JournalOptions {
  /** The journal folder of the machine. */
  folder: string
  holder: string
  /** The id of the store that its settlements are for. */
  store: number
  limitBytes: number
  clock: Clock
  log: LedgerLog
}

/** The folder belongs to another process, or was just taken away as one that nobody has. */
export class JournalTaken extends Error {
  override name = 'JournalTaken'
}

export class Journal {
  readonly folder: string
  readonly holder: string
  readonly #o: JournalOptions
  readonly #lock: Lock
  readonly #segments: Segment[] = []
  #active: Segment
  #count = 0
  #bytes = 0
  #entries = 0
  #syncing = false
  #closed = false
  /** The disk refused a record then, and has not been seen to take one since. */
  #failedMs: number | null = null
  /** The active segment may end in half a record, after which nothing must be written. */
  #ragged = false

  /** Throws JournalTaken; and whatever the disk says. */
  constructor(options: JournalOptions) {
    this.#o = options
    this.holder = options.holder
    this.folder = path.join(options.folder, options.holder)
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
    const lock = Lock.take(this.folder)
    if (lock === null) throw new JournalTaken(`the journal ${this.folder} belongs to another process`)
    this.#lock = lock
    try {
      this.#active = this.#next()
    } catch (error) {
      lock.release()
      if ((error as { code?: string }).code !== 'ENOENT') throw error
      throw new JournalTaken(`the journal ${this.folder} was removed as it was made`)
    }
  }

  /** Settlements that the store does not hold yet. */
  get entries(): number {
    return this.#entries
  }

  /**
   * False at the bound, and after the disk refused a record until it is seen to have room. `besideBytes`: what other
   * processes have in the same folder, as the bound is for all together.
   */
  accepts(besideBytes: number): boolean {
    if (this.#closed || this.#bytes + besideBytes >= this.#o.limitBytes) return false
    return this.#failedMs === null || (this.#o.clock.monotonic() - this.#failedMs > RETRY_MS && this.#probe())
  }

  #next(): Segment {
    const segment = new Segment(path.join(this.folder, `${String(++this.#count).padStart(8, '0')}${SEGMENT_SUFFIX}`))
    this.#segments.push(segment)
    return segment
  }

  /** The segment that has them now; null when the disk did not take them whole. Never throws. */
  append(settlements: readonly Settlement[]): Segment | null {
    if (this.#closed) return null
    const record = encode(settlements, this.#o.store)
    try {
      if (this.#ragged || this.#active.bytes >= SEGMENT_BYTES) this.#turnOver()
      this.#write(record)
    } catch (error) {
      this.#refused(error)
      return null
    }
    this.#failedMs = null
    this.#active.bytes += record.length
    this.#active.pending += settlements.length
    this.#bytes += record.length
    this.#entries += settlements.length
    this.#sync()
    return this.#active
  }

  #turnOver(): void {
    const old = this.#active
    this.#active = this.#next()
    this.#ragged = false
    if (old.pending === 0) this.#remove(old)
    else fdatasync(old.fd, error => this.#synced(old, error))
  }

  /** All or nothing: half a record must not stand before the next one. */
  #write(bytes: Buffer): void {
    const { fd } = this.#active
    let written = 0
    try {
      while (written < bytes.length) written += writeSync(fd, bytes, written)
    } catch (error) {
      if (written > 0) this.#cutBack()
      throw error
    }
  }

  #cutBack(): void {
    try {
      ftruncateSync(this.#active.fd, this.#active.bytes)
    } catch {
      this.#ragged = true // then the next one stands in another file; half a record at an end is skipped
    }
  }

  /** Room for some records is written and taken back. */
  #probe(): boolean {
    try {
      if (this.#ragged) this.#turnOver()
      this.#write(PROBE)
      this.#cutBack()
      this.#failedMs = null
      return true
    } catch {
      this.#failedMs = this.#o.clock.monotonic()
      return false
    }
  }

  #refused(error: unknown): void {
    this.#failedMs = this.#o.clock.monotonic()
    this.#o.log.error({ err: error, folder: this.folder }, 'the journal cannot be written: no new requests for now')
  }

  /** The store holds a settlement of this segment. Never throws. */
  applied(segment: Segment): void {
    if (this.#closed) return
    this.#entries--
    if (--segment.pending > 0) return
    if (segment !== this.#active) this.#remove(segment)
    else if (segment.bytes >= Math.min(EMPTY_FROM_BYTES, this.#o.limitBytes * EMPTY_FROM_PART)) this.#empty()
  }

  #empty(): void {
    const { bytes } = this.#active
    this.#active.bytes = 0
    this.#cutBack()
    if (this.#ragged) this.#active.bytes = bytes
    else this.#bytes -= bytes
  }

  /** What cannot be deleted is applied again by whoever finds it, and changes nothing. */
  #remove(segment: Segment): void {
    this.#segments.splice(this.#segments.indexOf(segment), 1)
    this.#bytes -= segment.bytes
    try {
      closeSync(segment.fd)
      unlinkSync(segment.file)
    } catch (error) {
      this.#o.log.error({ err: error, file: segment.file }, 'a file of the journal cannot be deleted')
    }
  }

  /** In groups: one call for all that came since the last. */
  #sync(): void {
    if (this.#syncing) return
    this.#syncing = true
    this.#o.clock.after(SYNC_MS, () => {
      this.#syncing = false
      const active = this.#active
      if (!this.#closed) fdatasync(active.fd, error => this.#synced(active, error))
    })
  }

  #synced(segment: Segment, error: Error | null): void {
    if (error !== null && this.#segments.includes(segment)) this.#refused(error)
  }

  /** `done`: nobody needs it any more. Otherwise it stays for the next process to find. */
  close(done: boolean): void {
    if (this.#closed) return
    this.#closed = true
    for (const segment of this.#segments.splice(0)) closeSync(segment.fd)
    try {
      if (done) rmSync(this.folder, { recursive: true, force: true })
    } catch (error) {
      this.#o.log.error({ err: error, folder: this.folder }, 'the journal cannot be deleted')
    }
    this.#lock.release()
  }
}

/**
 * Whoever looks for journals of dead processes may take a new one for such before it is locked: then under another name.
 */
const NAME_TRIES = 5

/** `holder`: default is a name that no other process has. */
export function newJournal(options: Omit<JournalOptions, 'holder'> & { holder?: string }): Journal {
  for (let tries = 1; ; tries++) {
    try {
      return new Journal({ holder: processName(), ...options })
    } catch (error) {
      if (!(error instanceof JournalTaken) || options.holder !== undefined || tries === NAME_TRIES) throw error
    }
  }
}
