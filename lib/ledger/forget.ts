/**
 * Once a minute, gives back the leases that no request has used for a while, and forgets them: in memory, so that the
 * number of leases stays bounded by the purses in use, and as rows of the store. It also has the store delete the purses
 * of periods that ended long ago.
 */
import type { Clock } from '../base/clock.ts'
import { Rounds } from '../base/rounds.ts'
import type { StoreHealth } from '../store/health.ts'
import { type Store, StoreUnavailable } from '../store/store.ts'
import type { Leases } from './leases.ts'
import type { LedgerLog } from './log.ts'
import type { Tabs } from './tabs.ts'

const EVERY_MS = 60_000
/** How long a purse is kept after its period: longer than requests last, and than a wrong clock goes unnoticed. */
const KEPT_MS = 7 * 86_400_000

export interface ForgettingOptions {
  store: Store
  clock: Clock
  log: LedgerLog
  health: StoreHealth
  leases: Leases
  tabs: Tabs
  holder: () => string
  /** The store's time. */
  now: () => number
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

  /** The store deletes rows of leases that are empty; one that is given back just now may go only in the next round. */
  async #forget(): Promise<void> {
    const { store, leases, tabs, holder, log, now, health } = this.#o
    if (health.state !== 'ok') return // what is leased is all that can be spent now
    leases.forget()
    tabs.forget()
    try {
      while (!this.#rounds.stopped && (await store.forgetLeases(holder())) > 0);
      while (!this.#rounds.stopped && (await store.forgetPurses(now() - KEPT_MS)) > 0);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'forgetting leases failed')
    }
  }
}
