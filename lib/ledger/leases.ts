/**
 * The leases of this process, by purse. A lease is made when it is first needed, and once a minute those that no request has used for a
 * while are given back and forgotten: in memory, so that their number stays bounded by the purses in use, and as rows of the store.
 *
 * A limit that renews (a cap or budget) has a purse for each period, so at the beginning of a period every request would need a lease of
 * a new purse. For the limits in use this process asks for these leases shortly before, some at a time. So hardly a request waits for the
 * store at midnight, and when the store goes away around midnight, requests go on as far as the prepared leases reach. A limit that was
 * not used in the minutes before midnight, or whose lease could not be had because the store was away all that time, needs the store: its
 * requests are refused until it answers.
 */
import { type Micro, micro, ZERO } from '../base/money.ts'
import { type Every, type Period, periodAt, periodName } from '../base/periods.ts'
import { Rounds } from '../base/rounds.ts'
import { limitPurse, type PurseId } from '../store/books/purses.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import { everyAt, type Limit } from '../terms/records.ts'
import { Lease, type LeaseOptions } from './lease.ts'

/** `k`: the cap of a key. `b`: the budget of an account. */
type LimitKind = 'k' | 'b'

const FORGET_MS = 60_000
/** A purse is kept for so long after its period: longer than requests last, and than a wrong clock goes unnoticed. */
const KEPT_MS = 7 * 86_400_000

const PREPARE_MS = 5_000
/**
 * The leases of the next period are asked for so long before the end of the running one. A lease that is not used for a minute is
 * given back, so an earlier time would be of no use.
 */
const AHEAD_MS = 45_000
/** The most calls of the store at once. */
const AT_ONCE = 8

interface LeasesOptions extends LeaseOptions {
  tabs: Tabs
  /** The store's time, as this process knows it, in ms since 1970. */
  now: () => number
}

interface NamedPeriod {
  period: Period
  name: string
}

export class Leases {
  readonly #o: LeasesOptions
  readonly #leases = new Map<PurseId, Lease>()
  readonly #preparing: Rounds
  readonly #forgetting: Rounds
  /** The two periods of each kind that were computed last: the running one and perhaps the next. */
  readonly #periods: Record<Every, NamedPeriod[]> = { day: [], week: [], month: [] }

  constructor(options: LeasesOptions) {
    this.#o = options
    this.#preparing = new Rounds(options.clock, PREPARE_MS, () => this.#prepare())
    this.#forgetting = new Rounds(options.clock, FORGET_MS, () => this.#forget())
  }

  start(): void {
    this.#forgetting.start()
    this.#preparing.start()
  }

  async stop(): Promise<void> {
    await this.#forgetting.stop()
    await this.#preparing.stop()
  }

  of(purse: PurseId): Lease {
    let lease = this.#leases.get(purse)
    if (lease === undefined) this.#leases.set(purse, (lease = new Lease(purse, this.#o)))
    return lease
  }

  find(purse: PurseId): Lease | undefined {
    return this.#leases.get(purse)
  }

  /** Settlements are in the books, of which these purses have paid so much, because no lease did. */
  booked(unpaid: ReadonlyMap<PurseId, number>): void {
    for (const [purse, amount] of unpaid) this.find(purse)?.booked(amount)
  }

  /** True when a lease has money, so that some requests can be served without the store. */
  get any(): boolean {
    for (const lease of this.#leases.values()) if (lease.leased > 0) return true
    return false
  }

  /** The sum of the open holds of all accounts; holds of keys and budgets are parts of these. */
  get heldTotal(): Micro {
    let sum = 0
    for (const lease of this.#leases.values()) if (lease.purse.startsWith('a')) sum += lease.held
    return micro(sum)
  }

  /** The sum of the open holds of each purse that has any. */
  held(): Map<PurseId, Micro> {
    const held = new Map<PurseId, Micro>()
    for (const lease of this.#leases.values()) if (lease.held > 0) held.set(lease.purse, micro(lease.held))
    return held
  }

  /** Empties all leases: this process was taken for dead, and the store has given them back. */
  lost(): void {
    for (const lease of this.#leases.values()) lease.lost()
  }

  /** The store deletes rows of leases that are empty; one that is given back just now may go only in the next round. */
  async #forget(): Promise<void> {
    const { store, tabs, holder, log, now, health } = this.#o
    if (health.state !== 'ok') return // what is leased is all that can be spent now
    for (const lease of this.#leases.values()) {
      if (!lease.unusedSinceLastAsked()) continue
      if (lease.leased > 0) lease.giveBackIdle()
      else this.#leases.delete(lease.purse)
    }
    tabs.forget()
    try {
      while (!this.#forgetting.stopped && (await store.holders.forgetLeases(holder())) > 0);
      while (!this.#forgetting.stopped && (await store.books.forgetPurses(now() - KEPT_MS)) > 0);
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) log.error({ err: error }, 'forgetting leases failed')
    }
  }

  // --- caps and budgets

  /** The lease that a request now needs for a cap or budget. */
  ofLimit(kind: LimitKind, id: number, limit: Limit): Lease {
    const lease = this.of(this.limitPurse(kind, id, limit))
    lease.limit = limit
    return lease
  }

  /** The purse in which a limit counts now, or at another moment. */
  limitPurse(kind: LimitKind, id: number, limit: Limit, atMs?: number): PurseId {
    if (limit.every === null) return limitPurse(kind, id, null)
    const moment = atMs ?? this.#o.now()
    return limitPurse(kind, id, this.#periodAt(everyAt(limit, moment) as Every, moment).name)
  }

  #periodAt(every: Every, atMs: number): NamedPeriod {
    for (const known of this.#periods[every])
      if (atMs >= known.period.beginMs && atMs < known.period.endMs) return known
    const period = periodAt(every, atMs, this.#o.store.zone)
    const named = { period, name: periodName(period) }
    this.#periods[every] = [named, ...this.#periods[every].slice(0, 1)]
    return named
  }

  /** Asks for leases of the next periods, where they are near. Never rejects. */
  async #prepare(): Promise<void> {
    const due = this.#due()
    const next = async () => {
      for (let pair = due.pop(); pair !== undefined && !this.#preparing.stopped; pair = due.pop())
        await pair[1].prepare(pair[0].ahead)
    }
    await Promise.all(Array.from({ length: AT_ONCE }, next))
  }

  /** The leases of limits whose period ends soon, each with the lease of the next period. */
  #due(): [lease: Lease, next: Lease][] {
    const soon = this.#o.now() + AHEAD_MS
    const due: [Lease, Lease][] = []
    for (const lease of [...this.#leases.values()]) {
      const { limit, purse } = lease
      if (limit === null || limit.every === null) continue
      const [kind, id] = [purse[0] as LimitKind, Number.parseInt(purse.slice(1), 10)]
      if (purse !== this.limitPurse(kind, id, limit)) continue // of an earlier period, or prepared already
      const nextPurse = this.limitPurse(kind, id, limit, soon)
      if (nextPurse === purse) continue
      const next = this.of(nextPurse)
      if (next.known === null) due.push([lease, next])
    }
    return due
  }
}

// --- keys without a cap

/** A renewal asks for as much as this time's charges; it begins when less than TAB_RENEW_MS' charges are left. */
const TAB_AHEAD_MS = 60_000
const TAB_RENEW_MS = 10_000
/** A key is busy after this many charges; its rate of charges is known this long after the first. */
const BUSY_CHARGES = 8
const KNOWN_MS = 2_000
/** The pause after the store has failed to grant. */
const TAB_PAUSE_MS = 5_000
const MOST_TAB = 500_000_000_000_000

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

/**
 * Tabs: leases for keys without a cap. Such a key's spending is only recorded, never limited, so no hold needs a
 * lease of its purse. Without one, however, every batch of settlements would write the purse's row. So a busy key
 * gets a lease of its purse, its tab, which pays its charges; then a settlement lowers only rows of `leases`, in the
 * statement that lowers the account's lease anyway. A key that is seldom used has no tab, and its charges go to the
 * purse directly.
 */
export class Tabs {
  readonly #o: LeaseOptions
  readonly #tabs = new Map<PurseId, Tab>()
  #returning: Promise<void> = Promise.resolve()

  constructor(options: LeaseOptions) {
    this.#o = options
  }

  /** Notes a charge and returns how much of it the tab pays; the purse pays the rest. */
  charge(purse: PurseId, charge: Micro, now: number): Micro {
    if (charge === 0) return ZERO
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
      if (tab.leased < perMs * TAB_RENEW_MS)
        void this.#renew(purse, tab, Math.min(MOST_TAB, Math.ceil(perMs * TAB_AHEAD_MS)))
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
      tab.askFromMs = this.#o.clock.monotonic() + TAB_PAUSE_MS // charges go on without it
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
