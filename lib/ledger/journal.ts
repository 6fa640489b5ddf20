/**
 * The journal: settlements that the store does not hold yet, in files of this process alone.
 *
 * A record is written with one call before the client can see the end of its answer: then the kernel has it, and a crash
 * of the process loses nothing; a sync in groups follows for the machine's own crash. Each process has a folder under a
 * lock that dies with it, so that nobody takes a living process's journal for a dead one's. Bytes are bounded: at the
 * bound the gateway takes no new requests, and drops nothing.
 */
import {
  closeSync,
  fdatasync,
  ftruncateSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  rmSync,
  unlinkSync,
  writeSync,
} from 'node:fs'
import path from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { crc32 } from 'node:zlib'
import type { Clock } from '../base/clock.ts'
import type { Settlement } from '../store/store.ts'

const SEGMENT_BYTES = 8 * 1024 * 1024
/** An active segment whose records the store all has is emptied from this size on. */
const EMPTY_FROM_BYTES = 1024 * 1024
const SYNC_MS = 100
const RETRY_MS = 1_000

/** One file of the journal. */
export class Segment {
  readonly file: string
  readonly fd: number
  bytes = 0
  /** Records that the store does not hold yet. */
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
  limitBytes: number
  clock: Clock
  log: { error(data: object, message: string): void }
}

export class Journal {
  readonly folder: string
  readonly #o: JournalOptions
  readonly #lock: Lock
  readonly #segments: Segment[] = []
  #active: Segment
  #count = 0
  #bytes = 0
  #entries = 0
  #syncing = false
  #failedMs = Number.NEGATIVE_INFINITY

  constructor(options: JournalOptions) {
    this.#o = options
    this.folder = path.join(options.folder, options.holder)
    mkdirSync(this.folder, { recursive: true, mode: 0o700 })
    const lock = Lock.take(this.folder)
    if (lock === null) throw new Error(`the journal ${this.folder} belongs to another process`)
    this.#lock = lock
    this.#active = this.#next()
  }

  /** Records that the store does not hold yet. */
  get entries(): number {
    return this.#entries
  }

  /** False at the bound, and for a moment after the disk refused a record. */
  get accepting(): boolean {
    return this.#bytes < this.#o.limitBytes && this.#o.clock.monotonic() - this.#failedMs > RETRY_MS
  }

  #next(): Segment {
    const segment = new Segment(path.join(this.folder, `${String(++this.#count).padStart(8, '0')}.log`))
    this.#segments.push(segment)
    return segment
  }

  /** The segment that has the record now; null when the disk took none of it. */
  append(settlement: Settlement): Segment | null {
    const record = encode(settlement)
    let written = 0
    try {
      if (this.#active.bytes >= SEGMENT_BYTES) this.#active = this.#next()
      written = writeSync(this.#active.fd, record)
    } catch (error) {
      this.#refused(error)
      return null
    }
    if (written < record.length) {
      this.#cutBack()
      this.#refused(new Error('short write'))
      return null
    }
    this.#active.bytes += written
    this.#active.pending++
    this.#bytes += written
    this.#entries++
    this.#sync()
    return this.#active
  }

  #refused(error: unknown): void {
    this.#failedMs = this.#o.clock.monotonic()
    this.#o.log.error({ err: error, folder: this.folder }, 'the journal cannot be written: no new requests for now')
  }

  /** Half a record must not stand before the next one. */
  #cutBack(): void {
    try {
      ftruncateSync(this.#active.fd, this.#active.bytes)
    } catch {
      this.#active = this.#next() // then the next one stands in another file; half a record at an end is skipped
    }
  }

  /** The store holds a record of this segment. */
  applied(segment: Segment): void {
    this.#entries--
    if (--segment.pending > 0) return
    if (segment !== this.#active) this.#remove(segment)
    else if (segment.bytes >= EMPTY_FROM_BYTES) {
      ftruncateSync(segment.fd, 0)
      this.#bytes -= segment.bytes
      segment.bytes = 0
    }
  }

  #remove(segment: Segment): void {
    this.#segments.splice(this.#segments.indexOf(segment), 1)
    this.#bytes -= segment.bytes
    closeSync(segment.fd)
    unlinkSync(segment.file)
  }

  /** In groups: one call for all that came since the last. */
  #sync(): void {
    if (this.#syncing) return
    this.#syncing = true
    this.#o.clock.after(SYNC_MS, () => {
      this.#syncing = false
      if (this.#segments.includes(this.#active)) fdatasync(this.#active.fd, () => {}) // a failure shows in the next write
    })
  }

  /** Deletes the journal when the store holds all of it; otherwise it stays for the next process to find. */
  close(): void {
    for (const segment of this.#segments.splice(0)) closeSync(segment.fd)
    if (this.#entries === 0) rmSync(this.folder, { recursive: true, force: true })
    this.#lock.release()
  }
}

/** A lock on a folder that the kernel takes back when the process ends, however it ends. */
export class Lock {
  readonly #db: DatabaseSync

  private constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** null: another process has it. */
  static take(folder: string): Lock | null {
    let db: DatabaseSync | null = null
    try {
      db = new DatabaseSync(path.join(folder, 'lock'))
      db.exec('PRAGMA busy_timeout = 0; BEGIN EXCLUSIVE')
      return new Lock(db)
    } catch {
      db?.close()
      return null
    }
  }

  release(): void {
    this.#db.close()
  }
}

function encode(settlement: Settlement): Buffer {
  const text = JSON.stringify(settlement)
  return Buffer.from(`${checksum(text)} ${text}\n`)
}

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/** All records of a dead process's journal. `torn`: a last record was not written whole. `corrupt`: others that cannot be read. */
export function readJournal(folder: string): { settlements: Settlement[]; torn: boolean; corrupt: number } {
  const settlements: Settlement[] = []
  let torn = false
  let corrupt = 0
  for (const name of readdirSync(folder).sort()) {
    if (!name.endsWith('.log')) continue
    const lines = readFileSync(path.join(folder, name), 'utf8').split('\n')
    const last = lines.pop() ?? ''
    if (last !== '') torn = true
    for (const line of lines) {
      const settlement = decode(line)
      if (settlement === null) corrupt++
      else settlements.push(settlement)
    }
  }
  return { settlements, torn, corrupt }
}

function decode(line: string): Settlement | null {
  const text = line.slice(9)
  return line.slice(0, 8) === checksum(text) ? (JSON.parse(text) as Settlement) : null
}
