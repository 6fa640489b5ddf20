/**
 * The journal: the write-ahead log of settlements that are not in the store yet. Each process has a journal of its own,
 * a folder of append-only files ("segments"). A record is written before the client can see the end of its answer.
 *
 * After write() the record is in the kernel's page cache, so a crash or kill of the process loses nothing. fdatasync
 * begins at most 100 ms later. A loss of power, or a crash of the whole machine, before it is done loses the charges that it
 * was to sync. The folder is synced when a file was made in it, because otherwise such a crash could lose the file itself.
 *
 * A segment that has its full size, or is an hour old, is followed by another, and is deleted once the store has all its settlements. A
 * file is made and deleted outside the main thread, because both wait for the disk while it is busy with a sync (30 ms were seen).
 *
 * The folder is locked, and the kernel releases the lock when the process ends: a free lock means that the journal is a dead
 * process's (`recovery.ts`). The bytes of all journals on the machine are bounded: at the bound the gateway refuses new requests, and
 * drops no record.
 */
import path from 'node:path'
import {
  close,
  closeSync,
  fdatasync,
  fsync,
  ftruncateSync,
  mkdirSync,
  open,
  openSync,
  rmSync,
  unlink,
  writeSync,
} from 'node:fs'
import { type Clock, HOUR_MS } from '../base/clock.ts'
import { processName } from '../base/ids.ts'
import type { LedgerLog } from './log.ts'
import { SEGMENT_SUFFIX } from './records.ts'
import { DatabaseSync } from 'node:sqlite'

/**
 * A segment is full at SEGMENT_BYTES, or at SEGMENT_PART of the bound where that is less: several processes share the bound, and none of
 * them should fill it with one file.
 */
const SEGMENT_BYTES = 2 * 1024 * 1024
const SEGMENT_PART = 1 / 64
/**
 * Segments are followed by others at least so often: what a crash leaves is sent again, and once its usage rows are pruned, which are at
 * least a day old then, nobody can tell whether it counts.
 */
const RENEW_MS = HOUR_MS
const SYNC_MS = 100
/** After the disk refused a record, a write of TRIAL every RETRY_MS finds out whether it has room again. */
const RETRY_MS = 1_000
const TRIAL = Buffer.alloc(64 * 1024)
/** What is tried again each RETRY_MS, without harm to anybody, is told once in this time. */
const SILENT_MS = 60_000

/** One file of the journal, open for appending. */
export class Segment {
  readonly file: string
  readonly fd: number
  bytes = 0
  /** The number of its settlements that are not in the store yet. */
  pending = 0

  constructor(file: string, fd: number) {
    this.file = file
    this.fd = fd
  }
}

interface JournalOptions {
  folder: string
  holder: string
  /** The id of the store that the settlements are for; every record names it. */
  store: number
  limitBytes: number
  clock: Clock
  log: LedgerLog
}

/** The folder is locked by another process, or another process removed it before it was locked. */
export class JournalTaken extends Error {
  override name = 'JournalTaken'
}

export class Journal {
  readonly folder: string
  readonly holder: string
  readonly #o: JournalOptions
  /** null = the folder was made again, and another process has locked it. */
  #lock: Lock | null
  readonly #segments: Segment[] = []
  /** The segment to which records are appended; the last of `#segments`. */
  #active: Segment
  /** The number of segments that were made, or are being made; the newest file is named by it. */
  #count = 0
  /** The bytes of all segments. */
  #bytes = 0
  #entries = 0
  /** True while an fdatasync is planned. */
  #syncPlanned = false
  /** True while the segment that follows the active one is made. */
  #opening = false
  #cancelRenewal: () => void = () => {}
  #closed = false
  /** The time at which the disk last refused a record (monotonic ms); null once a write has succeeded since. */
  #failedMs: number | null = null
  /** True when the active segment may end in half a record: nothing may be appended to it any more. */
  #torn = false
  /** True when the folder is gone: a write to its open file succeeds, and nobody would find the record. */
  #isGone = false
  /** Folders that could not be opened to be synced, which is tried again. */
  readonly #unsynced = new Set<string>()
  /** What is tried again is not told before this time (monotonic ms). */
  #sayAgainMs = Number.NEGATIVE_INFINITY

  /** Creates and locks the folder. Throws JournalTaken, and errors of the file system. */
  constructor(options: JournalOptions) {
    this.#o = options
    this.holder = options.holder
    this.folder = path.join(options.folder, options.holder)
    const lock = lockedFolder(this.folder)
    this.#lock = lock
    try {
      this.#active = this.#openNow()
      this.#syncFolder(options.folder)
      this.#planRenewal()
    } catch (error) {
      lock.release()
      if ((error as { code?: string }).code !== 'ENOENT') throw error
      throw new JournalTaken(`the journal ${this.folder} was removed as it was made`)
    }
  }

  /** The id of the store that the settlements are for. */
  get store(): number {
    return this.#o.store
  }

  /** The number of settlements that are not in the store yet. */
  get entries(): number {
    return this.#entries
  }

  /**
   * Whether new requests may be admitted. False at the bound in bytes, and after a failed write until the disk has room
   * again, which this call tries at most once in RETRY_MS. `besideBytes` is the size of the machine's other journals, because
   * the bound is for all of them together.
   */
  accepts(besideBytes: number): boolean {
    if (this.#closed || this.#bytes + besideBytes >= this.#o.limitBytes) return false
    return this.#failedMs === null || (this.#o.clock.monotonic() - this.#failedMs > RETRY_MS && this.#hasRoomAgain())
  }

  #planRenewal(): void {
    this.#cancelRenewal = this.#o.clock.after(RENEW_MS, () => {
      if (this.#active.bytes > 0) this.#openNext()
      this.#planRenewal()
    })
  }

  #nextFile(): string {
    return path.join(this.folder, `${String(++this.#count).padStart(8, '0')}${SEGMENT_SUFFIX}`)
  }

  #addSegment(file: string, fd: number): Segment {
    const segment = new Segment(file, fd)
    this.#segments.push(segment)
    this.#syncFolder(this.folder)
    return segment
  }

  #openNow(): Segment {
    const file = this.#nextFile()
    return this.#addSegment(file, openSync(file, 'a'))
  }

  /** Makes the segment that follows the active one; until there is one, records are appended to the one that is full. */
  #openNext(): void {
    if (this.#opening || this.#closed || this.#isGone) return
    this.#opening = true
    const followed = this.#active
    const file = this.#nextFile()
    const count = this.#count
    open(file, 'a', (error, fd) => {
      if (error !== null) {
        if (this.#closed) return // its folder may be gone, and no file is needed
        this.#tryLater('no further file of the journal can be made: records go on to the full one', error, () =>
          this.#retryOpenNext(followed),
        )
        return
      }
      this.#opening = false
      // a failed write has moved the journal to a later file, or it was closed: nothing will be appended to this one
      if (this.#closed || this.#count !== count) return this.#delete(file, fd)
      this.#switchTo(this.#addSegment(file, fd))
    })
  }

  #retryOpenNext(followed: Segment): void {
    this.#opening = false
    if (this.#active === followed) this.#openNext()
  }

  /**
   * Writes a record of so many settlements: when this returns, a crash of the process loses none of them. Returns the record's segment, or
   * null when the disk refused it, or the journal is closed or its folder gone. Never throws.
   */
  append(record: Buffer, settlements: number): Segment | null {
    if (this.#closed || this.#isGone) return null
    try {
      if (this.#torn) this.#switchTo(this.#openNow())
      this.#write(record)
    } catch (error) {
      this.#noteFailure(error)
      return null
    }
    this.#failedMs = null
    this.#active.bytes += record.length
    this.#active.pending += settlements
    this.#bytes += record.length
    this.#entries += settlements
    this.#planSync()
    if (this.#active.bytes >= this.#segmentBytes) this.#openNext()
    return this.#active
  }

  get #segmentBytes(): number {
    return Math.min(SEGMENT_BYTES, this.#o.limitBytes * SEGMENT_PART)
  }

  #switchTo(next: Segment): void {
    const old = this.#active
    this.#active = next
    this.#torn = false
    if (old.pending === 0) this.#remove(old)
    else fdatasync(old.fd, error => this.#synced(old, error))
  }

  /**
   * Writes all bytes or throws. After a partial write it truncates the file, so that no half record precedes another.
   */
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
      this.#torn = true // the next record goes to another file; readers skip half a record at the end of a file
    }
  }

  /** Tries whether the disk has room, by writing some bytes and truncating them away. A folder that is gone is made again. */
  #hasRoomAgain(): boolean {
    try {
      if (this.#isGone) this.#makeAgain()
      if (this.#torn) this.#switchTo(this.#openNow())
      this.#write(TRIAL)
      this.#cutBack()
      this.#failedMs = null
      return true
    } catch (error) {
      this.#refuse(error)
      return false
    }
  }

  /** The settlements of earlier files wait in memory for the store; only a crash before it has them would lose them. */
  #makeAgain(): void {
    this.#lock?.release()
    this.#lock = null
    this.#lock = lockedFolder(this.folder)
    this.#switchTo(this.#openNow())
    this.#isGone = false
    this.#syncFolder(this.#o.folder)
  }

  #refuse(error: unknown): void {
    this.#failedMs = this.#o.clock.monotonic()
    if ((error as { code?: string }).code === 'ENOENT') this.#isGone = true
  }

  #noteFailure(error: unknown): void {
    this.#refuse(error)
    this.#o.log.error({ err: error, folder: this.folder }, 'the journal cannot be written: no new requests for now')
  }

  /**
   * Something failed that no record needs now: requests go on, within the bound in bytes, and it is tried again. Only where the folder is
   * gone, what is appended would be found by nobody.
   */
  #tryLater(what: string, error: NodeJS.ErrnoException, act: () => void): void {
    const nowMs = this.#o.clock.monotonic()
    if (error.code === 'ENOENT') {
      if (!this.#isGone) this.#noteFailure(error)
    } else if (nowMs >= this.#sayAgainMs) {
      this.#sayAgainMs = nowMs + SILENT_MS
      this.#o.log.error({ err: error, folder: this.folder }, `${what}, and it is tried again each second`)
    }
    this.#o.clock.after(RETRY_MS, act)
  }

  /** Notes that so many settlements of this segment are in the store now; a segment with none left is deleted. Never throws. */
  applied(segment: Segment, settlements: number): void {
    if (this.#closed) return
    this.#entries -= settlements
    segment.pending -= settlements
    if (segment.pending === 0 && segment !== this.#active) this.#remove(segment)
  }

  #remove(segment: Segment): void {
    this.#segments.splice(this.#segments.indexOf(segment), 1)
    this.#bytes -= segment.bytes
    this.#delete(segment.file, segment.fd)
  }

  /** A file that cannot be deleted is applied again by the process that finds it, which is idempotent. */
  #delete(file: string, fd: number): void {
    close(fd, () =>
      unlink(file, error => {
        if (error !== null && error.code !== 'ENOENT' && !this.#closed)
          this.#o.log.error({ err: error, file }, 'a file of the journal cannot be deleted')
      }),
    )
  }

  /** Plans one fdatasync for all records of the next SYNC_MS. */
  #planSync(): void {
    if (this.#syncPlanned) return
    this.#syncPlanned = true
    this.#o.clock.after(SYNC_MS, () => {
      this.#syncPlanned = false
      const active = this.#active
      if (!this.#closed) fdatasync(active.fd, error => this.#synced(active, error))
    })
  }

  #synced(segment: Segment, error: Error | null): void {
    if (error !== null && this.#segments.includes(segment)) this.#noteFailure(error)
  }

  /** Makes sure, in the background, that what was made in a folder is still there after a crash of the machine. */
  #syncFolder(folder: string): void {
    if (this.#closed || this.#unsynced.has(folder)) return
    open(folder, 'r', (error, fd) => {
      if (error !== null) {
        if (this.#closed) return
        this.#unsynced.add(folder)
        const what =
          'a folder of the journal cannot be synced, so that a crash of the machine could lose its newest file'
        return this.#tryLater(what, error, () => {
          this.#unsynced.delete(folder)
          this.#syncFolder(folder)
        })
      }
      fsync(fd, error => {
        if (error !== null && !this.#closed) this.#noteFailure(error)
        close(fd, () => {})
      })
    })
  }

  /** Closes the files and releases the lock. `done` deletes the folder; otherwise another process applies it later. */
  close(done: boolean): void {
    if (this.#closed) return
    this.#closed = true
    this.#cancelRenewal()
    for (const segment of this.#segments.splice(0)) closeSync(segment.fd)
    try {
      // again, because a file that was just being made may come into the folder meanwhile
      if (done) rmSync(this.folder, { recursive: true, force: true, maxRetries: 2 })
    } catch (error) {
      this.#o.log.error({ err: error, folder: this.folder }, 'the journal cannot be deleted')
    }
    this.#lock?.release()
  }
}

/** Makes the folder where there is none, and locks it. */
function lockedFolder(folder: string): Lock {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const lock = Lock.take(folder)
  if (lock === null) throw new JournalTaken(`the journal ${folder} belongs to another process`)
  return lock
}

/**
 * A process that looks for journals of dead processes may lock a new folder before its owner does. Then the owner tries
 * again under another name, this many times.
 */
const NAME_TRIES = 5

/** Makes a journal, by default under a random name. Throws as the constructor does. */
export function newJournal(options: Omit<JournalOptions, 'holder'> & { holder?: string }): Journal {
  for (let tries = 1; ; tries++) {
    try {
      return new Journal({ holder: processName(), ...options })
    } catch (error) {
      if (!(error instanceof JournalTaken) || options.holder !== undefined || tries === NAME_TRIES) throw error
    }
  }
}

/**
 * A lock on a folder that the kernel releases when the process ends, however it ends. It is the exclusive lock of an empty SQLite database in
 * the file `lock`, because Node itself has no file locks.
 */
export class Lock {
  readonly #db: DatabaseSync

  private constructor(db: DatabaseSync) {
    this.#db = db
  }

  /** null when another process has the lock, or the folder does not exist. Never waits. */
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
