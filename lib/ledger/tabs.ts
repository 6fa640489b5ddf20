/**
 * Tabs: leases for keys without a cap. Such a key's spending is only recorded, never limited, so no hold needs a lease
 * of its purse. Without one, however, every batch of settlements would write the purse's row. So a busy key gets a
 * lease of its purse, its tab, which pays its charges; then a settlement lowers only rows of `leases`, in the statement
 * that lowers the account's lease anyway. A key that is seldom used has no tab, and its charges go to the purse
 * directly.
 */
import { type Micro, micro, ZERO } from '../base/money.ts'
import { type PurseId, StoreUnavailable } from '../store/store.ts'
import type { LeaseOptions } from './lease.ts'

/** A renewal asks for as much as this time's charges; it begins when less than RENEW_MS' charges are left. */
const AHEAD_MS = 60_000
const RENEW_MS = 10_000
/** A key is busy after this many charges; its rate of charges is known this long after the first. */
const BUSY_CHARGES = 8
const KNOWN_MS = 2_000
/** The pause after the store has failed to grant. */
const PAUSE_MS = 5_000
const MOST = 500_000_000_000_000

interface Tab {
  leased: number
  charges: number
  /** The sum of the charges since `sinceMs`, which is the time of the last grant or of the first charge. */
  charged: number
  sinceMs: number
  asking: boolean
  askFromMs: number
  used: boolean
}

export class Tabs {
  readonly #o: LeaseOptions
  readonly #tabs = new Map<PurseId, Tab>()
  #returning: Promise<void> = Promise.resolve()

  constructor(options: LeaseOptions) {
    this.#o = options
  }

  /** Notes a charge and returns how much of it the tab pays; the purse pays the rest. */
  charge(purse: PurseId, charge: Micro): Micro {
    if (charge === 0) return ZERO
    const now = this.#o.clock.monotonic()
    let tab = this.#tabs.get(purse)
    if (tab === undefined) {
      tab = { leased: 0, charges: 0, charged: 0, sinceMs: now, asking: false, askFromMs: now + KNOWN_MS, used: true }
      this.#tabs.set(purse, tab)
    }
    const paid = Math.min(charge, tab.leased)
    tab.leased -= paid
    tab.charges++
    tab.charged += charge
    tab.used = true
    if (tab.charges >= BUSY_CHARGES && !tab.asking && now >= tab.askFromMs && this.#o.health.takesWrites) {
      const perMs = tab.charged / Math.max(KNOWN_MS, now - tab.sinceMs)
      if (tab.leased < perMs * RENEW_MS) void this.#renew(purse, tab, Math.min(MOST, Math.ceil(perMs * AHEAD_MS)))
    }
    return micro(paid)
  }

  async #renew(purse: PurseId, tab: Tab, want: number): Promise<void> {
    tab.asking = true
    await this.#returning
    const holder = this.#o.holder()
    try {
      const { granted } = await this.#o.store.books.lease(purse, holder, ZERO, micro(want), false)
      if (holder === this.#o.holder()) tab.leased += granted // else the recovery of the old id has given it back
      tab.charged = 0
      tab.sinceMs = this.#o.clock.monotonic()
      tab.askFromMs = tab.sinceMs + KNOWN_MS
      if (this.#tabs.get(purse) !== tab) this.#giveBack(purse, tab) // closed during the call
    } catch {
      tab.askFromMs = this.#o.clock.monotonic() + PAUSE_MS // charges go on without it
    } finally {
      tab.asking = false
    }
  }

  /** Gives a tab back: because the key has got a cap, or because another process has recalled its purse. */
  close(purse: PurseId): void {
    const tab = this.#tabs.get(purse)
    if (tab === undefined) return
    this.#tabs.delete(purse)
    this.#giveBack(purse, tab)
  }

  #giveBack(purse: PurseId, tab: Tab): void {
    const amount = tab.leased
    tab.leased = 0
    if (amount === 0) return
    const holder = this.#o.holder()
    this.#returning = this.#returning.then(() => this.#return(purse, holder, amount))
  }

  async #return(purse: PurseId, holder: string, amount: number): Promise<void> {
    try {
      await this.#o.store.books.giveBack(purse, holder, micro(amount))
    } catch (error) {
      // the store completes the give-back when the engine is back
      if (!(error instanceof StoreUnavailable)) this.#o.log.error({ err: error, purse }, 'the store failed at a lease')
    }
  }

  /** Gives back the tabs that were not used since the last call. */
  forget(): void {
    for (const [purse, tab] of this.#tabs) {
      if (!tab.used && !tab.asking) this.close(purse)
      tab.used = false
    }
  }

  /** Empties all tabs: this process was taken for dead, so the store has given all its leases back. */
  lost(): void {
    for (const tab of this.#tabs.values()) tab.leased = 0
  }
}
