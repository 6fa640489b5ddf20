/** Purses nobody has used for a while are given back and forgotten, in memory and in the store. */
import type { Clock } from '../base/clock.ts'
import { Rounds } from '../base/rounds.ts'
import { type Store, StoreUnavailable } from '../store/store.ts'
import type { Leases } from './leases.ts'
import type { LedgerLog } from './log.ts'
import type { Tabs } from './tabs.ts'

const EVERY_MS = 60_000

export interface ForgettingOptions {
  store: Store
  clock: Clock
  log: LedgerLog
  leases: Leases
  tabs: Tabs
  holder: () => string
}

export class Forgetting {
  readonly #o: ForgettingOptions
  readonly #rounds: Rounds

  constructor(options: ForgettingOptions) {
    this.#o = options
    this.#rounds = new Rounds(options.clock, EVERY_MS, () => this.#forget())
  }

  start(): void {
    this.#rounds.start()
  }

  stop(): Promise<void> {
    return this.#rounds.stop()
  }

  /** In the store, the rows of which nothing is left. */
  async #forget(): Promise<void> {
    const { store, leases, tabs, holder, log } = this.#o
    leases.forget()
    tabs.forget()
    try {
      while (!this.#rounds.stopped && (await store.forgetLeases(holder())) > 0);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'forgetting leases failed')
    }
  }
}
