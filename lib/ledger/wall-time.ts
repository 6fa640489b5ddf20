/**
 * Wall time for request ids, which say when a row was made and, after pruning, whether it may have been deleted. A clock
 * that is far from the store's is not believed: the store's time is used in its place, and the log and a metric say so.
 */
import type { Clock } from '../base/clock.ts'
import { Rounds } from '../base/rounds.ts'
import { type Store, StoreUnavailable } from '../store/store.ts'
import type { LedgerLog } from './log.ts'

const EVERY_MS = 60_000
const FAR_MS = 300_000
/** After a longer wait for the answer, the store's time in it is too old to compare. */
const SLOW_MS = 5_000

export interface WallTimeOptions {
  store: Store
  clock: Clock
  log: LedgerLog
}

export class WallTime {
  readonly #o: WallTimeOptions
  readonly #rounds: Rounds
  /** The store's time less ours, as last seen. */
  skewMs = 0

  constructor(options: WallTimeOptions) {
    this.#o = options
    this.#rounds = new Rounds(options.clock, EVERY_MS, () => this.#look())
  }

  async start(): Promise<void> {
    await this.#look()
    this.#rounds.start()
  }

  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  get #far(): boolean {
    return Math.abs(this.skewMs) > FAR_MS
  }

  now(): number {
    return this.#o.clock.now() + (this.#far ? this.skewMs : 0)
  }

  async #look(): Promise<void> {
    const { store, clock, log } = this.#o
    try {
      const began = clock.monotonic()
      const stored = await store.now()
      const tookMs = clock.monotonic() - began
      if (stored === null || tookMs > SLOW_MS) return
      const wasFar = this.#far
      this.skewMs = Math.round(stored - (clock.now() - tookMs / 2))
      if (this.#far && !wasFar)
        log.error({ skewMs: this.skewMs }, "this machine's clock is far from the store's: the store's time is used")
      if (!this.#far && wasFar) log.info({ skewMs: this.skewMs }, "this machine's clock is near the store's again")
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error }, "the store's time cannot be read")
    }
  }
}
