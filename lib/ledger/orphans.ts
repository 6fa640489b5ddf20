/** Journals of processes that ended without closing their books: found by their free locks, applied, and removed. */
import { closeSync, existsSync, openSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../base/clock.ts'
import { StoreUnavailable } from '../store/store.ts'
import { Lock } from './lock.ts'
import { firstName } from './names.ts'
import { NewerRecord, readJournal } from './records.ts'
import { type ReplayOptions, replay } from './replay.ts'

const EVERY_MS = 5_000
const BATCH = 500
/** A journal whose records could not all be read: people look at it. */
const CORRUPT = '.corrupt-'

/** In the folder while somebody applies it: then the lock's owner is not the process that wrote it. */
const MARK = 'adopting'

export interface OrphansOptions extends ReplayOptions {
  clock: Clock
  /** The folder of this process. */
  own: string
}

export class Orphans {
  readonly #o: OrphansOptions
  #cancel: (() => void) | null = null
  #running: Promise<void> = Promise.resolve()
  /** One visit at a time: our own lock must not look like a living process's. */
  #turn: Promise<unknown> = Promise.resolve()
  #stopped = false
  /** Journals that are left as they are, by name: each is named in the log once. */
  readonly #left = new Set<string>()

  constructor(options: OrphansOptions) {
    this.#o = options
  }

  /** Resolves after the first round, so that a restart serves with true books. */
  async start(): Promise<void> {
    await this.#round()
    this.#schedule()
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#running
  }

  #schedule(): void {
    if (this.#stopped) return
    this.#cancel = this.#o.clock.after(EVERY_MS, () => {
      this.#running = this.#round().then(() => this.#schedule())
    })
  }

  /** A failure is for the next round. */
  async #round(): Promise<void> {
    try {
      for (const name of this.#names()) if (!this.#stopped) await this.#visit(name)
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
      if (error instanceof NewerRecord) this.#leave(name, folder, error.message)
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
    if (!(await this.#visit(firstName(holder)))) await this.#o.store.bury(holder, beat)
  }

  async #adopt(folder: string, name: string): Promise<void> {
    const { store, log } = this.#o
    const { settlements, torn, corrupt } = readJournal(folder)
    let applied = 0
    for (let i = 0; i < settlements.length; i += BATCH)
      applied += await replay(this.#o, settlements.slice(i, i + BATCH))
    for (const { id } of await store.holders()) if (firstName(id) === name) await store.bury(id)
    const found = { holder: name, records: settlements.length, applied, torn, corrupt }
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
}

/** On a full disk there is none, and all it would have done is to keep another process from being hasty. */
function mark(folder: string): void {
  try {
    closeSync(openSync(path.join(folder, MARK), 'a'))
  } catch {}
}

const isFolder = (folder: string): boolean => statSync(folder, { throwIfNoEntry: false })?.isDirectory() ?? false
