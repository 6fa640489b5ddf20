/**
 * When and from which address keys were last used. A request leaves its note here when it is over; once a minute the newest
 * notes of all keys are written to the store together. What is not written when the process dies is lost, which harms nobody:
 * it is shown to people, and nothing is decided by it.
 */
import type { Clock } from '../base/clock.ts'
import { Rounds } from '../base/rounds.ts'
import { type KeyUse, type Store, StoreUnavailable } from '../store/store.ts'
import type { Logger } from '../base/log.ts'

const WRITE_MS = 60_000
/** Notes of further keys are dropped until the next write. */
const MOST_KEYS = 100_000

interface Parts {
  store: Pick<Store, 'recordKeyUses'>
  clock: Clock
  log: Logger
}

export class KeyUses {
  readonly #parts: Parts
  readonly #rounds: Rounds
  #notes = new Map<number, KeyUse>()

  constructor(parts: Parts) {
    this.#parts = parts
    this.#rounds = new Rounds(parts.clock, WRITE_MS, () => this.#write())
  }

  start(): void {
    this.#rounds.start()
  }

  /** Writes what is left. */
  async stop(): Promise<void> {
    await this.#rounds.stop()
    await this.#write()
  }

  note(keyId: number, ip: string): void {
    const atMs = this.#parts.clock.now()
    const there = this.#notes.get(keyId)
    if (there !== undefined) {
      there.atMs = atMs
      there.ip = ip
    } else if (this.#notes.size < MOST_KEYS) this.#notes.set(keyId, { keyId, atMs, ip })
  }

  async #write(): Promise<void> {
    const notes = this.#notes
    if (notes.size === 0) return
    this.#notes = new Map()
    try {
      await this.#parts.store.recordKeyUses([...notes.values()])
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) this.#parts.log.error({ err: error }, 'uses of keys are not kept')
    }
  }
}
