/** Journals of processes that ended without closing their books: found by their free locks, applied, and removed. */
import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../base/clock.ts'
import { Rounds } from '../base/rounds.ts'
import { StoreUnavailable } from '../store/store.ts'
import { CORRUPT, countAside, type SetAside, setAside } from './aside.ts'
import { buryWhole } from './bury.ts'
import { Lock } from './lock.ts'
import { firstName } from './names.ts'
import { JournalReader, journalBytes, NotOurs } from './records.ts'
import { type Replayed, type ReplayOptions, replay } from './replay.ts'

const EVERY_MS = 5_000
const BATCH = 500
/** In how many rounds a settlement is tried that the store refuses. */
const REFUSED_ROUNDS = 5
/** How often the other journals are measured. */
const MEASURED_MS = 1_000

/** In the folder while somebody applies it: then the lock's owner is not the process that wrote it. */
const MARK = 'adopting'

export interface OrphansOptions extends ReplayOptions {
  clock: Clock
  /** The folder of this process. */
  own: string
  /** The store's id. */
  storeId: number
}

export class Orphans {
  readonly #o: OrphansOptions
  readonly #rounds: Rounds
  /** One visit at a time: our own lock must not look like a living process's. */
  #turn: Promise<unknown> = Promise.resolve()
  #beside = { bytes: 0, atMs: Number.NEGATIVE_INFINITY }
  /** Journals that are left as they are, by name: each is named in the log once. */
  readonly #left = new Set<string>()
  /** Of journals with records that the store refuses: in how many rounds it has. */
  readonly #refused = new Map<string, number>()

  constructor(options: OrphansOptions) {
    this.#o = options
    this.#rounds = new Rounds(options.clock, EVERY_MS, () => this.#round())
  }

  /** Resolves after the first round, so that a restart serves with true books. */
  async start(): Promise<void> {
    await this.#round()
    this.#rounds.start()
  }

  /** What waits for people to decide on this machine; `journals`: those of a newer version or of another store. */
  get setAside(): SetAside & { journals: number } {
    return { ...countAside(this.#o.folder), journals: this.#left.size }
  }

  /** Bytes of all other journals here that are for this store, those of live processes included. */
  besideBytes(): number {
    const now = this.#o.clock.monotonic()
    if (now - this.#beside.atMs < MEASURED_MS) return this.#beside.bytes
    const { folder } = this.#o
    const names = this.#names().filter(name => !this.#left.has(name))
    const bytes = names.reduce((sum, name) => sum + journalBytes(path.join(folder, name)), 0)
    this.#beside = { bytes, atMs: now }
    return bytes
  }

  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  /** A failure is for the next round. */
  async #round(): Promise<void> {
    try {
      for (const name of this.#names()) if (!this.#rounds.stopped) await this.#visit(name)
    } catch (error) {
      this.#failed(error, this.#o.folder)
    }
  }

  #names(): string[] {
    const { folder, own } = this.#o
    return readdirSync(folder).filter(name => path.join(folder, name) !== own && !name.includes(CORRUPT))
  }

  #visit(name: string): Promise<boolean> {
    const visit = this.#turn.then(() => this.#look(path.join(this.#o.folder, name), name))
    this.#turn = visit
    return visit
  }

  /** False: there is no such journal here, or its process lives. Never rejects. */
  async #look(folder: string, name: string): Promise<boolean> {
    if (!isFolder(folder)) return false
    const lock = Lock.take(folder)
    if (lock === null) return existsSync(path.join(folder, MARK))
    try {
      mark(folder)
      if (!isFolder(folder)) return false // another process was faster
      await this.#adopt(folder, name)
      return true
    } catch (error) {
      if (error instanceof NotOurs) this.#leave(name, folder, error.message)
      else this.#failed(error, folder)
      return true
    } finally {
      lock.release()
    }
  }

  /** Its leases stay as well: what it has charged must not look free. */
  #leave(name: string, folder: string, reason: string): void {
    if (this.#left.has(name)) return
    this.#left.add(name)
    this.#o.log.error({ folder, reason }, 'a journal is left as it is')
  }

  #failed(error: unknown, folder: string): void {
    if (!(error instanceof StoreUnavailable))
      this.#o.log.error({ err: error, folder }, 'a journal could not be applied')
  }

  /**
   * A silent process's leases go back. When its journal is here and free, the journal first: money that it has charged
   * already must not look free in between.
   */
  async bury(holder: string, beat: number): Promise<void> {
    if (!(await this.#visit(firstName(holder)))) await this.#bury(holder, beat)
  }

  #bury(holder: string, beat?: number): Promise<boolean> {
    return buryWhole(this.#o, holder, beat, () => this.#rounds.stopped)
  }

  async #adopt(folder: string, name: string): Promise<void> {
    const { store, storeId, log } = this.#o
    const journal = new JournalReader(folder, storeId)
    const so: Replayed = { records: 0, applied: 0, refused: [] }
    for (const settlements of journal.pieces())
      for (let i = 0; i < settlements.length; i += BATCH) {
        if (this.#rounds.stopped) return
        await replay(this.#o, settlements.slice(i, i + BATCH), so)
      }
    if (so.refused.length > 0 && !this.#refusedForGood(name, so)) return
    for (const settlement of so.refused) setAside(this.#o, settlement, 'refused')
    for (const { id } of await store.holders()) if (firstName(id) === name && !(await this.#bury(id))) return
    const { torn, corrupt } = journal
    const found = { holder: name, records: so.records, applied: so.applied, torn, corrupt }
    if (corrupt > 0) {
      // what can be read is in the books; what cannot is kept for people to look at
      const kept = `${folder}${CORRUPT}${this.#o.clock.now()}`
      renameSync(folder, kept)
      log.error({ ...found, kept }, 'records of a journal cannot be read')
      return
    }
    rmSync(folder, { recursive: true, force: true })
    log.info(found, 'applied the journal of a process that has ended')
  }

  /** False also when the store took none of several: then the store is at fault, and will take them when it is well. */
  #refusedForGood(name: string, { records, refused }: Replayed): boolean {
    const rounds = (this.#refused.get(name) ?? 0) + 1
    this.#refused.set(name, rounds)
    const ids = refused.slice(0, 3).map(({ row }) => row.requestId)
    this.#o.log.error({ holder: name, records, refused: refused.length, ids, rounds }, 'the store refuses settlements')
    if (rounds < REFUSED_ROUNDS || (records > 1 && refused.length === records)) return false
    this.#refused.delete(name)
    return true
  }
}

/** On a full disk there is none, and all it would have done is to keep another process from being hasty. */
function mark(folder: string): void {
  try {
    closeSync(openSync(path.join(folder, MARK), 'a'))
  } catch {}
}

const isFolder = (folder: string): boolean => statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false
