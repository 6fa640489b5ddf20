/**
 * The ledger of one process, the door of this room. `reserve` sets money aside in memory, out of leases that the store
 * has granted (`lease.ts`); `settle` charges it, first in the journal and then in the store (`journal.ts`,
 * `settler.ts`). For each purse, open holds ≤ leased here, and all leases ≤ credit − spent. So on any number of
 * gateways the open holds of an account never exceed its balance. The same is true of a key's cap and an account's
 * budget, which have purses of their own (`limit-leases.ts`). docs/ledger.md explains the whole.
 */
import type { Clock } from '../base/clock.ts'
import { type Micro, ZERO } from '../base/money.ts'
import { StoreHealth, whenLate } from '../store/health.ts'
import type { Change, PurseId, Store } from '../store/store.ts'
import type { UsageRow } from '../terms/records.ts'
import { CommitGroup } from './commit-group.ts'
import { Forgetting } from './forget.ts'
import type { Hold, Refusal } from './hold.ts'
import { type Budgeted, type Capped, Holds } from './holds.ts'
import { type Journal, newJournal } from './journal.ts'
import { type LeaseResult, MONEY_WAIT_MS } from './lease.ts'
import { Leases } from './leases.ts'
import { LifeSign } from './life-sign.ts'
import { LimitLeases } from './limit-leases.ts'
import type { LedgerLog } from './log.ts'
import { Orphans } from './orphans.ts'
import { wantOwnRecords } from './records.ts'
import { Settler } from './settler.ts'
import { Tabs } from './tabs.ts'
import { WallTime } from './wall-time.ts'

export type { CommitGroup } from './commit-group.ts'
export { Hold, type Refusal } from './hold.ts'
export { LEASE_RESULTS, type LeaseResult, MONEY_WAIT_MS } from './lease.ts'

/** What is asked of a cap's purse when only a look at it is needed: the request will need some of it. */
const LIKELY_NEED = 1_000_000
const NO_ROWS: readonly UsageRow[] = []
/** What the leases pay for a row without a charge. */
const UNPAID = { fromAccountLease: ZERO, fromKeyLease: ZERO, limits: [] }
const FLUSH_WAIT_MS = 500
/** How long a stop waits for the store. Settlements that the store has not taken by then stay in the journal. */
const STOP_WAIT_MS = 10_000

export interface LedgerOptions {
  store: Store
  clock: Clock
  log: LedgerLog
  /** The journal folder of the machine. */
  folder: string
  limitBytes: number
  /** This process's id in the store and the name of its journal; by default a random one. */
  holder?: string
}

export class Ledger {
  readonly #clock: Clock
  readonly #log: LedgerLog
  readonly #journal: Journal
  readonly #settler: Settler
  readonly orphans: Orphans
  readonly #life: LifeSign
  /** Wall-clock time: this machine's, or the store's when the two are far apart. */
  readonly wall: WallTime
  /** Whether the store answers. What waits for it on a request's path asks through this. */
  readonly health: StoreHealth
  /** How many calls for leases have ended, by what came of them. */
  readonly leaseCalls: Record<LeaseResult, number> = { granted: 0, nothing: 0, failed: 0 }
  /** How many are under way. */
  leaseCallsOpen = 0
  readonly #leases: Leases
  readonly #limits: LimitLeases
  readonly #tabs: Tabs
  readonly #forgetting: Forgetting
  readonly #holds: Holds
  /** The settlements of this turn of the event loop that are not in the journal yet. */
  #group: CommitGroup | null = null
  #stopping = false

  private constructor({ store, clock, log, folder }: LedgerOptions, storeId: number, journal: Journal) {
    this.#clock = clock
    this.#log = log
    this.#journal = journal
    this.#settler = new Settler({ store, journal, clock, log, folder, onBooked: one => this.#leases.booked(one) })
    this.wall = new WallTime({ store, clock, log })
    this.orphans = new Orphans({ store, clock, log, folder, own: journal.folder, storeId })
    this.#life = new LifeSign({
      store,
      clock,
      log,
      holder: journal.holder,
      held: this.held,
      onLost: () => this.#lost(),
      bury: (id, beat) => this.orphans.bury(id, beat),
    })
    this.health = new StoreHealth({ store, clock })
    this.health.onBack(() => this.#settler.hurry())
    const options = {
      store,
      clock,
      log,
      health: this.health,
      holder: () => this.#life.holder,
      book: () => this.#book(),
      counts: (what: 'begun' | LeaseResult) => {
        if (what === 'begun') this.leaseCallsOpen++
        else {
          this.leaseCallsOpen--
          this.leaseCalls[what]++
        }
      },
    }
    const leases = (this.#leases = new Leases(options))
    const now = () => this.wall.storeNow()
    const limits = (this.#limits = new LimitLeases({ ...options, leases, now }))
    const tabs = (this.#tabs = new Tabs(options))
    this.#holds = new Holds({ clock, leases, limits, tabs, unsettledOf: purse => this.#settler.unsettledOf(purse) })
    this.#forgetting = new Forgetting({ ...options, leases, tabs, now })
  }

  /** Makes a journal, registers with the store, and applies the journals of dead processes before it resolves. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const storeId = await options.store.id()
    wantOwnRecords(options.folder)
    const journal = newJournal({ ...options, store: storeId })
    const ledger = new Ledger(options, storeId, journal)
    try {
      await ledger.wall.start()
      await ledger.#life.start()
      await ledger.orphans.start()
    } catch (error) {
      await ledger.wall.stop()
      await ledger.#life.stop()
      journal.close(await ledger.#life.leave())
      throw error
    }
    ledger.#forgetting.start()
    ledger.#limits.start()
    return ledger
  }

  /** This process's present id in the store. */
  get holder(): string {
    return this.#life.holder
  }

  /** False when new requests must be refused: the journal is full or unwritable, or the leases may be gone (fenced). */
  get accepting(): boolean {
    return !this.#stopping && this.#journal.accepts(this.orphans.besideBytes()) && !this.#life.fenced
  }

  /** Whether there is money that can be held without asking the store. */
  get hasLeases(): boolean {
    return this.#leases.any
  }

  get journalEntries(): number {
    return this.#journal.entries
  }

  get settlementLagMs(): number {
    return this.#settler.lagMs
  }

  get holdsOpen(): number {
    return this.#holds.open
  }

  /** The sum of the open holds of all accounts. */
  get heldTotal(): Micro {
    return this.#leases.heldTotal
  }

  /** Open holds per purse. */
  held = (): Map<PurseId, Micro> => this.#leases.held()

  // --- holds

  /**
   * Holds `amount`. The result is a promise only when a lease has too little and the store must be asked. It then resolves
   * within `withinMs`.
   */
  reserve(
    account: Budgeted,
    key: Capped,
    amount: Micro,
    withinMs: number = MONEY_WAIT_MS,
  ): Hold | Refusal | Promise<Hold | Refusal> {
    return this.#holds.reserve(account, key, amount, withinMs)
  }

  /** Enlarges an open hold out of memory. False when the leases have too little; then `growLater` can ask the store. */
  grow(hold: Hold, amount: Micro): boolean {
    return !this.#life.fenced && this.#holds.grow(hold, amount)
  }

  /** Lowers an open hold to `amount`. */
  shrink(hold: Hold, amount: Micro): void {
    this.#holds.shrink(hold, amount)
  }

  /** Enlarges an open hold, asking the store for at most `withinMs`. False when the money does not suffice or the hold was resolved. */
  async growLater(hold: Hold, amount: Micro, withinMs: number = MONEY_WAIT_MS): Promise<boolean> {
    return !this.#life.fenced && (await this.#holds.growLater(hold, amount, withinMs))
  }

  /** Whether a key's cap is used up, as far as this process knows; null = it knows nothing of the running period. */
  capUsedUp({ id, cap }: Capped): boolean | null {
    if (cap === null) return false
    const lease = this.#leases.find(this.#limits.purse('k', id, cap))
    if (lease === undefined || lease.known === null) return cap.every === null ? false : null
    return lease.known.spent + lease.chargedSince >= cap.amount
  }

  /**
   * Asks the store what a cap's purse has, with a lease for the request that is coming. Resolves within `withinMs`, also
   * when there was no answer.
   */
  learnCap({ id, cap }: Capped, withinMs: number = MONEY_WAIT_MS): Promise<void> {
    if (cap === null) return Promise.resolve()
    return new Promise(resolve => {
      const cancel = whenLate(this.#clock, withinMs, resolve)
      void this.#limits.of('k', id, cap).prepare(LIKELY_NEED).then(resolve).finally(cancel)
    })
  }

  // --- resolves

  /**
   * Ends the hold with the charge `row.charge`. The end of the answer must wait for the group's `whenKept`. `attempts`: rows
   * of attempts, which are charged nothing.
   */
  settle(hold: Hold, row: UsageRow, attempts: readonly UsageRow[] = NO_ROWS): CommitGroup {
    if (this.#group === null) this.#clock.soon(() => this.write())
    const group = (this.#group ??= new CommitGroup())
    const paid = this.#holds.charge(hold, row.keyId, row.charge)
    const { holder } = this.#life
    group.settlements.push({ row, holder, ...paid })
    for (const attempt of attempts) group.settlements.push({ row: attempt, holder, ...UNPAID })
    return group
  }

  /** Writes the settlements of this turn to the journal now, instead of at the end of the turn. */
  write(): void {
    const group = this.#group
    if (group === null) return
    this.#group = null
    const segment = this.#journal.append(group.settlements)
    const done = segment === null ? group.keepOneByOne() : null
    if (done === null) group.keep()
    for (const settlement of group.settlements) this.#settler.add(settlement, segment, done)
  }

  /** Ends the hold without a charge. */
  void(hold: Hold): void {
    this.#holds.void(hold)
  }

  /** What this turn has charged is not in its group before the turn ends. */
  async #book(): Promise<boolean> {
    await Promise.resolve()
    this.write()
    return this.#settler.sendAll()
  }

  /** Moves all settlements into the store. Resolves when they are there, or after FLUSH_WAIT_MS while it goes on. */
  flush(): Promise<void> {
    this.write()
    return new Promise(resolve => {
      const cancel = this.#clock.after(FLUSH_WAIT_MS, resolve)
      void this.#settler.drain().then(() => {
        cancel()
        resolve()
      })
    })
  }

  // --- life

  onChange(change: Change): void {
    if (change.kind !== 'recall') return
    this.#leases.find(change.ref as PurseId)?.recalled()
    this.#tabs.close(change.ref as PurseId)
  }

  #lost(): void {
    this.#leases.lost()
    this.#tabs.lost()
  }

  /**
   * Refuses new requests, moves all settlements into the store and gives the leases back. What the store does not take
   * within STOP_WAIT_MS stays in the journal, for the next start.
   */
  async stop(): Promise<void> {
    this.#stopping = true
    this.health.stop()
    this.write()
    await this.orphans.stop()
    const settled = await this.#settler.stop(STOP_WAIT_MS)
    await this.#forgetting.stop()
    await this.#limits.stop()
    await this.wall.stop()
    await this.#life.stop()
    const closed = settled && (await this.#life.leave())
    this.#journal.close(closed)
    if (this.holdsOpen > 0) this.#log.warn({ open: this.holdsOpen }, 'holds were open at the end')
    const { folder } = this.#journal
    if (!closed) this.#log.warn({ folder }, 'the store is away: the next start closes these books')
  }
}
