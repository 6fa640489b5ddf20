/**
 * The ledger of one process, the door of this room. `reserve` sets money aside in memory, out of leases that the store
 * has granted (`lease.ts`); `settle` charges it, first in the journal and then in the store (`journal.ts`,
 * `settler.ts`). For each purse, open holds ≤ leased here, and all leases ≤ credit − spent. So on any number of
 * gateways the open holds of an account never exceed its balance. The same is true of a key's cap and an account's
 * budget, which have purses of their own (`leases.ts`). docs/ledger.md explains the whole.
 *
 * After a kill -9:
 * - Kept is every settlement whose record was written (`journal.ts`). A process on the same machine finds the lock of the journal free
 *   and sends the settlements to the store, which knows those that it has already (`recovery.ts`).
 * - The leases go back to their purses after that. Where no process on that machine sees to it, another process does when the
 *   counter of the dead one has stood still for 120 s (`heartbeat.ts`).
 * - Lost are the holds, which are in memory alone, and with them the charges of all answers whose record was not written. Their
 *   clients saw no end of them, so they are not charged, also where the upstream takes money for them.
 * - Lost are breakers and rests (`lib/channels`) as the process knew them: the next one begins without any.
 */
import { invariant } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { type Micro, ZERO } from '../base/money.ts'
import { StoreHealth, whenLate } from '../store/health.ts'
import type { Store } from '../store/store.ts'
import { accountPurse, keyPurse, type PurseId } from '../store/books/purses.ts'
import type { Change } from '../store/base/changes.ts'
import type { Settlement } from '../store/books/settlement.ts'
import type { UsageRow } from '../terms/usage-row.ts'
import type { Limit, Account, Key } from '../terms/records.ts'
import { accountRefusal, capRefusal, Hold, type HoldRefusal, limitsOf, NO_LIMITS, tryAll } from './hold.ts'
import { type Journal, newJournal } from './journal.ts'
import { type Lease, type LeaseResult, MONEY_WAIT_MS } from './lease.ts'
import { Leases, Tabs } from './leases.ts'
import { Heartbeat } from './heartbeat.ts'
import type { LedgerLog } from './log.ts'
import { Recovery } from './recovery.ts'
import { wantOwnRecords } from './records.ts'
import { Settler } from './settler.ts'
import { WallTime } from './wall-time.ts'

export { Hold, type HoldRefusal } from './hold.ts'
export { LEASE_RESULTS, type LeaseResult, MONEY_WAIT_MS } from './lease.ts'

/** The amount that is asked of a cap's purse when only a look at it is needed: the request will need some of it. */
const LIKELY_NEED = 1_000_000
const NO_ROWS: readonly UsageRow[] = []
/** The parts that the leases pay of a row without a charge. */
const UNPAID = { fromAccountLease: ZERO, fromKeyLease: ZERO, limits: [] }
const FLUSH_WAIT_MS = 500
/** A stop waits this long for the store. Settlements that the store has not taken by then stay in the journal. */
const STOP_WAIT_MS = 10_000

/** The parts of the account and the key that pay which the ledger needs to know. */
type Budgeted = Pick<Account, 'id' | 'budget'>
type Capped = Pick<Key, 'id' | 'cap'>

interface LedgerOptions {
  store: Store
  clock: Clock
  log: LedgerLog
  /** The journal folder of the machine. */
  folder: string
  limitBytes: number
  /** The id of this process in the store and the name of its journal; by default a random one. */
  holder?: string
}

/** Whoever waits for a group: acts unless it is closed meanwhile, and throws nothing. */
export interface Waiting {
  ifOpen(act: () => void): void
}

const ALWAYS_OPEN: Waiting = { ifOpen: act => act() }

/**
 * Group commit for the journal: the settlements of one turn of the event loop are written together, with one call at
 * the end of the turn. Under load one write serves many settlements, and an idle process adds no delay. The last bytes
 * of an answer wait for the write of its group (`whenKept`).
 */
export class CommitGroup {
  readonly settlements: Settlement[] = []
  /** True once the journal or the store has every settlement of the group. */
  kept = false
  readonly #acts: (() => void)[] = []
  /** Who waits for each act: a list beside the other takes less memory than a closure for each. */
  readonly #waiting: Waiting[] = []

  /** Acts once the group is kept, or at once when it is, in the order of the calls. */
  whenKept(act: () => void, waiting = ALWAYS_OPEN): void {
    if (this.kept) waiting.ifOpen(act)
    else {
      this.#acts.push(act)
      this.#waiting.push(waiting)
    }
  }

  keep = (): void => {
    // an act may add another one, which then runs at the end of this loop
    for (let i = 0; i < this.#acts.length; i++) this.#waiting[i]!.ifOpen(this.#acts[i]!)
    this.kept = true
  }
}

export class Ledger {
  readonly #clock: Clock
  readonly #log: LedgerLog
  readonly #journal: Journal
  readonly #settler: Settler
  readonly recovery: Recovery
  readonly #life: Heartbeat
  /** Wall-clock time: this machine's, or the store's when the two are far apart. */
  readonly wall: WallTime
  /** Tells whether the store answers. Everything that waits for it on a request's path asks through this. */
  readonly health: StoreHealth
  /** The number of calls for leases that have ended, by what came of them. */
  readonly leaseCalls: Record<LeaseResult, number> = { granted: 0, nothing: 0, failed: 0 }
  /** The number of such calls under way. */
  leaseCallsOpen = 0
  readonly #leases: Leases
  readonly #tabs: Tabs
  #holdsOpen = 0
  /** The settlements of this turn of the event loop that are not in the journal yet. */
  #group: CommitGroup | null = null
  #stopping = false

  private constructor({ store, clock, log, folder }: LedgerOptions, storeId: number, journal: Journal) {
    this.#clock = clock
    this.#log = log
    this.#journal = journal
    this.#settler = new Settler({ store, journal, clock, log, folder, onBooked: unpaid => this.#leases.booked(unpaid) })
    this.wall = new WallTime({ store, clock, log })
    this.recovery = new Recovery({ store, clock, log, folder, own: journal.folder, storeId })
    this.#life = new Heartbeat({
      store,
      clock,
      log,
      holder: journal.holder,
      held: this.held,
      onLost: () => this.#lost(),
      recover: (id, beat) => this.recovery.recover(id, beat),
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
    this.#tabs = new Tabs(options)
    this.#leases = new Leases({ ...options, tabs: this.#tabs, now: () => this.wall.storeNow() })
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
      await ledger.recovery.start()
    } catch (error) {
      await ledger.wall.stop()
      await ledger.#life.stop()
      journal.close(await ledger.#life.leave())
      throw error
    }
    ledger.#leases.start()
    return ledger
  }

  /** The present id of this process in the store. */
  get holder(): string {
    return this.#life.holder
  }

  /** False when new requests must be refused: the journal is full or unwritable, or the leases may be gone (fenced). */
  get accepting(): boolean {
    const nowMs = this.#clock.monotonic()
    return !this.#stopping && this.#journal.accepts(this.recovery.besideBytes(nowMs)) && !this.#life.isFenced(nowMs)
  }

  /** True when there is money that can be held without asking the store. */
  get hasLeases(): boolean {
    return this.#leases.any
  }

  /** True when no other process is registered, as far as this one has heard. */
  get alone(): boolean {
    return this.#life.alone
  }

  /** True when another process may recall money that is leased here. */
  get mayBeRecalled(): boolean {
    return this.#leases.any && !this.alone
  }

  get journalEntries(): number {
    return this.#journal.entries
  }

  get settlementLagMs(): number {
    return this.#settler.lagMs
  }

  get holdsOpen(): number {
    return this.#holdsOpen
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
  ): Hold | HoldRefusal | Promise<Hold | HoldRefusal> {
    const purse = this.#leases.of(accountPurse(account.id))
    const cap = key.cap === null ? null : this.#capOf(key.id, key.cap)
    const budget = account.budget === null ? null : this.#leases.ofLimit('b', account.id, account.budget)
    const nowMs = this.#clock.monotonic()
    if (tryAll(purse, cap, budget, amount, nowMs)) return this.#opened(purse, cap, budget, amount)
    return this.#reserveSlowly(purse, cap, budget, amount, nowMs + withinMs)
  }

  #capOf(keyId: number, cap: Limit): Lease {
    const lease = this.#leases.ofLimit('k', keyId, cap)
    if (cap.every === null) this.#tabs.close(lease.purse) // a key that has just got a cap for ever may still have a tab
    return lease
  }

  #opened(account: Lease, cap: Lease | null, budget: Lease | null, amount: number): Hold {
    this.#holdsOpen++
    account.users++
    if (cap !== null) cap.users++
    if (budget !== null) budget.users++
    return new Hold(account, cap, budget, amount)
  }

  async #reserveSlowly(
    account: Lease,
    cap: Lease | null,
    budget: Lease | null,
    amount: Micro,
    untilMs: number,
  ): Promise<Hold | HoldRefusal> {
    const denial = await account.hold(amount, untilMs)
    if (denial !== null) return accountRefusal(denial, amount)
    if (cap !== null) cap = this.#again(cap)
    const capDenial = cap === null ? null : await cap.hold(amount, untilMs)
    if (capDenial !== null) {
      account.release(amount)
      const { limit, purse } = cap as Lease
      return capRefusal(capDenial, (limit as Limit).amount, amount, this.#settler.unsettledOf(purse))
    }
    if (budget !== null) budget = this.#again(budget)
    const budgetDenial = budget === null ? null : await budget.hold(amount, untilMs)
    if (budgetDenial === null) return this.#opened(account, cap, budget, amount)
    account.release(amount)
    cap?.release(amount)
    return accountRefusal(budgetDenial, amount)
  }

  /** The lease itself, or the one of its purse that was made when it had been forgotten during a wait. */
  #again({ purse, limit }: Lease): Lease {
    const lease = this.#leases.of(purse)
    lease.limit ??= limit
    return lease
  }

  /** Enlarges an open hold out of memory. False when the leases have too little; then `growLater` can ask the store. */
  grow(hold: Hold, amount: Micro): boolean {
    const nowMs = this.#clock.monotonic()
    if (this.#life.isFenced(nowMs) || hold.resolved || !tryAll(hold.account, hold.cap, hold.budget, amount, nowMs))
      return false
    hold.amount += amount
    return true
  }

  /** Lowers an open hold to `amount`. */
  shrink(hold: Hold, amount: Micro): void {
    const less = hold.amount - amount
    invariant(!hold.resolved && less >= 0, 'only an open hold shrinks')
    hold.amount = amount
    for (const lease of [hold.account, hold.cap, hold.budget]) lease?.release(less)
  }

  /**
   * Enlarges an open hold, asking the store. False when the money does not suffice, the store does not answer within
   * `withinMs`, or the hold was resolved.
   */
  async growLater(hold: Hold, amount: Micro, withinMs: number = MONEY_WAIT_MS): Promise<boolean> {
    if (this.#life.isFenced(this.#clock.monotonic())) return false
    const held: Lease[] = []
    let all = true
    const untilMs = this.#clock.monotonic() + withinMs
    for (const lease of [hold.account, hold.cap, hold.budget]) {
      if (lease === null) continue
      all = (await lease.hold(amount, untilMs)) === null
      if (!all) break
      held.push(lease)
    }
    if (!all || hold.resolved) {
      for (const lease of held) lease.release(amount)
      return false
    }
    hold.amount += amount
    return true
  }

  /** True when a key's cap is used up, as far as this process knows; null = it knows nothing of the running period. */
  capUsedUp({ id, cap }: Capped): boolean | null {
    if (cap === null) return false
    const lease = this.#leases.find(this.#leases.limitPurse('k', id, cap))
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
      void this.#leases.ofLimit('k', id, cap).prepare(LIKELY_NEED).then(resolve).finally(cancel)
    })
  }

  // --- resolves

  /**
   * Ends the hold with the charge `row.charge`. The end of the answer must wait for the group's `whenKept`. `attempts`: rows
   * of attempts, which are charged nothing.
   */
  settle(hold: Hold, row: UsageRow, attempts: readonly UsageRow[] = NO_ROWS): CommitGroup {
    const group = (this.#group ??= this.#begun())
    const { holder } = this.#life
    group.settlements.push(this.#charged(hold, row, holder))
    for (const attempt of attempts) group.settlements.push({ row: attempt, holder, ...UNPAID })
    return group
  }

  #begun(): CommitGroup {
    this.#clock.soon(() => this.write())
    return new CommitGroup()
  }

  /** Writes the settlements of this turn to the journal now, instead of at the end of the turn. */
  write(): void {
    const group = this.#group
    if (group === null) return
    this.#group = null
    this.#settler.add(group.settlements, group.keep)
  }

  /** Ends the hold without a charge. */
  void(hold: Hold): void {
    this.#resolve(hold)
    hold.account.release(hold.amount)
    hold.cap?.release(hold.amount)
    hold.budget?.release(hold.amount)
  }

  /** Ends the hold with the charge of its row, which names how much of it each lease pays. */
  #charged(hold: Hold, row: UsageRow, holder: string): Settlement {
    this.#resolve(hold)
    const { account, cap, budget, amount } = hold
    const { charge } = row
    const key = keyPurse(row.keyId)
    const forEver = cap !== null && cap.purse === key
    const nowMs = this.#clock.monotonic()
    const fromCap = cap === null ? ZERO : cap.charge(amount, charge, nowMs)
    return {
      row,
      holder,
      fromAccountLease: account.charge(amount, charge, nowMs),
      fromKeyLease: forEver ? fromCap : this.#tabs.charge(key, charge, nowMs),
      limits:
        cap === null && budget === null
          ? NO_LIMITS
          : limitsOf(forEver ? null : cap, fromCap, budget, budget?.charge(amount, charge, nowMs) ?? ZERO),
    }
  }

  #resolve(hold: Hold): void {
    invariant(!hold.resolved, 'a hold is resolved once')
    hold.resolved = true
    this.#holdsOpen--
    hold.account.users--
    if (hold.cap !== null) hold.cap.users--
    if (hold.budget !== null) hold.budget.users--
  }

  /** Sends what waits, this turn's charges included, which are not in their group before the turn ends. */
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
    if (change.kind === 'holder') this.#life.registered(change.ref)
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
    await this.recovery.stop()
    const settled = await this.#settler.stop(STOP_WAIT_MS)
    await this.#leases.stop()
    await this.wall.stop()
    await this.#life.stop()
    const closed = settled && (await this.#life.leave())
    this.#journal.close(closed)
    if (this.holdsOpen > 0) this.#log.warn({ open: this.holdsOpen }, 'holds were open at the end')
    const { folder } = this.#journal
    if (!closed) this.#log.warn({ folder }, 'the store is away: the next start closes these books')
  }
}
