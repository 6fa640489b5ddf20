/**
 * Wall-clock time for request ids. A request id begins with the time, by which rows are pruned and by which the store
 * decides whether a settlement's row may have been pruned; so a machine with a wrong clock would do harm. Once a minute
 * this file compares the clock with the store's. Where they differ by more than five minutes, it uses the store's time,
 * and the log and a metric say so.
 */
import type { Clock } from '../base/clock.ts'
import { Rounds } from '../base/rounds.ts'
import type { Store } from '../store/store.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import type { LedgerLog } from './log.ts'

const EVERY_MS = 60_000
const FAR_MS = 300_000
/** An answer that took longer than this is too inexact to compare the clocks by. */
const SLOW_MS = 5_000

interface WallTimeOptions {
  store: Store
  clock: Clock
  log: LedgerLog
}

export class WallTime {
  readonly #o: WallTimeOptions
  readonly #rounds: Rounds
  /** The store's time minus this machine's at the last comparison, in ms. */
  skewMs = 0
  /** `skewMs` where the two clocks are far apart, else 0. */
  #offsetMs = 0

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
    return this.#o.clock.now() + this.#offsetMs
  }

  /** The store's time. Periods of limits begin by it on all gateways, to about a second. */
  storeNow(): number {
    return this.#o.clock.now() + this.skewMs
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
      this.#offsetMs = this.#far ? this.skewMs : 0
      if (this.#far && !wasFar)
        log.error({ skewMs: this.skewMs }, "this machine's clock is far from the store's: the store's time is used")
      if (!this.#far && wasFar) log.info({ skewMs: this.skewMs }, "this machine's clock is near the store's again")
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error }, "the store's time cannot be read")
    }
  }
}
