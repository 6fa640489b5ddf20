/** Purses nobody has used for a while are given back and forgotten, in memory and in the store. */
import type { Clock } from '../base/clock.ts'
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
  #cancel: (() => void) | null = null
  #running: Promise<void> = Promise.resolve()
  #stopped = false

  constructor(options: ForgettingOptions) {
    this.#o = options
  }

  start(): void {
    if (this.#stopped) return
    this.#cancel = this.#o.clock.after(EVERY_MS, () => {
      this.#o.leases.forget()
      this.#o.tabs.forget()
      this.#running = this.#rows().then(() => this.start())
    })
  }

  async stop(): Promise<void> {
    this.#stopped = true
    this.#cancel?.()
    await this.#running
  }

  /** Of which nothing is left. */
  async #rows(): Promise<void> {
    const { store, holder, log } = this.#o
    try {
      while (!this.#stopped && (await store.forgetLeases(holder())) > 0);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'forgetting leases failed')
    }
  }
}
