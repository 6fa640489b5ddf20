/**
 * What keys without a cap use up. It must be written down but nothing hangs on it, so a busy key's charges are leased
 * ahead like money: then settling them is part of the statement that lowers the account's lease anyway. A key that is
 * seldom used is not worth a lease: its charges raise the purse directly.
 */
import { type Micro, micro, ZERO } from '../base/money.ts'
import { type PurseId, StoreUnavailable } from '../store/store.ts'
import type { LeaseOptions } from './lease.ts'

/** A tab is sized for so long of charges, and renewed when less than that is left. */
const AHEAD_MS = 60_000
const RENEW_MS = 10_000
/** From so many charges on, and so long after the first, it is known how busy a key is. */
const BUSY_CHARGES = 8
const KNOWN_MS = 2_000
/** A store that says no, or nothing, is left alone for so long. */
const PAUSE_MS = 5_000
const MOST = 500_000_000_000_000

interface Tab {
  leased: number
  charges: number
  /** Since the last grant, or the first charge. */
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

  /** What of the charge the tab pays; the rest goes to the purse without lease. */
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
    if (tab.charges >= BUSY_CHARGES && !tab.asking && now >= tab.askFromMs) {
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
      const { granted } = await this.#o.store.lease(purse, holder, ZERO, micro(want), false)
      if (holder === this.#o.holder()) tab.leased += granted // else it went back when this process was taken for dead
      tab.charged = 0
      tab.sinceMs = this.#o.clock.monotonic()
      tab.askFromMs = tab.sinceMs + KNOWN_MS
      if (this.#tabs.get(purse) !== tab) this.#giveBack(purse, tab) // closed meanwhile
    } catch {
      tab.askFromMs = this.#o.clock.monotonic() + PAUSE_MS // charges go on without it
    } finally {
      tab.asking = false
    }
  }

  /** The key has a cap now, or somebody asks for what its purse has promised. */
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
      await this.#o.store.giveBack(purse, holder, micro(amount))
    } catch (error) {
      // the store finishes it when it is back
      if (!(error instanceof StoreUnavailable)) this.#o.log.error({ err: error, purse }, 'the store failed at a lease')
    }
  }

  /** Call now and then: tabs that were not used since the last time go back. */
  forget(): void {
    for (const [purse, tab] of this.#tabs) {
      if (!tab.used && !tab.asking) this.close(purse)
      tab.used = false
    }
  }

  /** The store has taken all leases of this process back. */
  lost(): void {
    for (const tab of this.#tabs.values()) tab.leased = 0
  }
}
