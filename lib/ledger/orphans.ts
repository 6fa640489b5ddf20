/** Journals of processes that ended without closing their books: found by their free locks, applied, and removed. */
import { readdirSync, rmSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Clock } from '../base/clock.ts'
import type { Store } from '../store/store.ts'
import { StoreUnavailable } from '../store/store.ts'
import { Lock, readJournal } from './journal.ts'

const EVERY_MS = 5_000
const BATCH = 500

export interface OrphansOptions {
  store: Store
  clock: Clock
  log: { info(data: object, message: string): void; error(data: object, message: string): void }
  folder: string
  /** The folder of this process. */
  own: string
}

export class Orphans {
  readonly #o: OrphansOptions
  #cancel: (() => void) | null = null
  #running: Promise<void> = Promise.resolve()
  #stopped = false

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

  async #round(): Promise<void> {
    for (const name of readdirSync(this.#o.folder)) {
      const folder = path.join(this.#o.folder, name)
      if (this.#stopped || folder === this.#o.own || !statSync(folder, { throwIfNoEntry: false })?.isDirectory())
        continue
      const lock = Lock.take(folder)
      if (lock === null) continue // its process lives
      try {
        await this.#adopt(folder, name)
      } catch (error) {
        if (!(error instanceof StoreUnavailable))
          this.#o.log.error({ err: error, folder }, 'a journal could not be applied')
      } finally {
        lock.release()
      }
    }
  }

  async #adopt(folder: string, holder: string): Promise<void> {
    const { store, log } = this.#o
    const { settlements, torn, corrupt } = readJournal(folder)
    let applied = 0
    for (let i = 0; i < settlements.length; i += BATCH) applied += await store.settle(settlements.slice(i, i + BATCH))
    await store.bury(holder)
    const found = { holder, records: settlements.length, applied, torn, corrupt }
    if (corrupt > 0) {
      // what can be read is in the books; what cannot is kept for people to look at
      log.error(found, `records of a journal cannot be read: see ${folder}.corrupt`)
      const { renameSync } = await import('node:fs')
      renameSync(folder, `${folder}.corrupt-${Date.now()}`)
      return
    }
    rmSync(folder, { recursive: true, force: true })
    log.info(found, 'applied the journal of a process that has ended')
  }
}
