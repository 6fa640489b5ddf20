/**
 * The ledger of one process, the door of this room. `reserve` sets money aside in memory, out of leases that the store
 * has granted (`lease.ts`); `settle` charges it, first in the journal and then in the store (`journal.ts`,
 * `settler.ts`). For each purse, open holds ≤ leased here, and all leases ≤ credit − spent. So on any number of
 * gateways the open holds of an account never exceed its balance. The same is true of a key's cap and an account's
 * budget, which have purses of their own (`limits.ts`). docs/ledger.md explains the whole.
 */
import { invariant } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { type Micro, ZERO } from '../base/money.ts'
import { accountPurse, type Change, keyPurse, type PurseId, type Settlement, type Store } from '../store/store.ts'
import type { Limit } from '../terms/limits.ts'
import type { Account, Key, UsageRow } from '../terms/records.ts'
import { CommitGroup } from './commit-group.ts'
import { Forgetting } from './forget.ts'
import { accountRefusal, capRefusal, Hold, type Refusal } from './hold.ts'
import { type Journal, newJournal } from './journal.ts'
import type { Lease } from './lease.ts'
import { Leases } from './leases.ts'
import { LifeSign } from './life-sign.ts'
import { LimitLeases } from './limits.ts'
import type { LedgerLog } from './log.ts'
import { Orphans } from './orphans.ts'
import { Settler } from './settler.ts'
import { Tabs } from './tabs.ts'
import { WallTime } from './wall-time.ts'

export type { CommitGroup } from './commit-group.ts'
export { Hold, type Refusal } from './hold.ts'

/** What is asked of a cap's purse when only a look at it is needed: the request will need some of it. */
const LIKELY_NEED = 1_000_000
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

/** What the ledger needs to know of the account and the key that pay. */
export type Budgeted = Pick<Account, 'id' | 'budget'>
export type Capped = Pick<Key, 'id' | 'cap'>

export class Ledger {
  readonly #clock: Clock
  readonly #log: LedgerLog
  readonly #journal: Journal
  readonly #settler: Settler
  readonly orphans: Orphans
  readonly #life: LifeSign
  /** Wall-clock time: this machine's, or the store's when the two are far apart. */
  readonly wall: WallTime
  readonly #leases: Leases
  readonly #limits: LimitLeases
  readonly #tabs: Tabs
  readonly #forgetting: Forgetting
  #open = 0
  /** The settlements of this turn of the event loop that are not in the journal yet. */
  #group: CommitGroup | null = null
  #stopping = false

  private constructor({ store, clock, log, folder }: LedgerOptions, storeId: number, journal: Journal) {
    this.#clock = clock
    this.#log = log
    this.#journal = journal
    this.#settler = new Settler({ store, journal, clock, log, folder })
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
    const options = { store, clock, log, holder: () => this.#life.holder }
    const leases = (this.#leases = new Leases(options))
    const now = () => this.wall.storeNow()
    this.#limits = new LimitLeases({ ...options, leases, now })
    const tabs = (this.#tabs = new Tabs(options))
    this.#forgetting = new Forgetting({ ...options, leases, tabs, now })
  }

  /** Makes a journal, registers with the store, and applies the journals of dead processes before it resolves. */
  static async open(options: LedgerOptions): Promise<Ledger> {
    const storeId = await options.store.id()
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
    return this.#open
  }

  /** The sum of the open holds of all accounts. */
  get heldTotal(): Micro {
    return this.#leases.heldTotal
  }

  /** Open holds per purse. */
  held = (): Map<PurseId, Micro> => this.#leases.held()

  // --- holds

  /** The lease of a key's cap; null when it has none. */
  #capOf({ id, cap }: Capped): Lease | null {
    if (cap === null) return null
    const lease = this.#limits.of('k', id, cap)
    if (cap.every === null) this.#tabs.close(lease.purse) // a key that has just got a cap for ever may still have a tab
    return lease
  }

  #budgetOf({ id, budget }: Budgeted): Lease | null {
    return budget === null ? null : this.#limits.of('b', id, budget)
  }

  /** Holds `amount`. The result is a promise only when a lease has too little and the store must be asked. */
  reserve(account: Budgeted, key: Capped, amount: Micro): Hold | Refusal | Promise<Hold | Refusal> {
    const purse = this.#leases.of(accountPurse(account.id))
    const [cap, budget] = [this.#capOf(key), this.#budgetOf(account)]
    if (tryAll(purse, cap, budget, amount)) return this.#opened(purse, cap, budget, amount)
    return this.#reserveSlowly(purse, cap, budget, amount)
  }

  #opened(account: Lease, cap: Lease | null, budget: Lease | null, amount: number): Hold {
    this.#open++
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
  ): Promise<Hold | Refusal> {
    const denial = await account.hold(amount)
    if (denial !== null) return accountRefusal(denial, amount)
    if (cap !== null) cap = this.#again(cap)
    const capDenial = cap === null ? null : await cap.hold(amount)
    if (capDenial !== null) {
      account.release(amount)
      const { limit, purse } = cap as Lease
      return capRefusal(capDenial, (limit as Limit).amount, amount, this.#settler.unsettledOf(purse))
    }
    if (budget !== null) budget = this.#again(budget)
    const budgetDenial = budget === null ? null : await budget.hold(amount)
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
    if (hold.resolved || this.#life.fenced || !tryAll(hold.account, hold.cap, hold.budget, amount)) return false
    hold.amount += amount
    return true
  }

  /** Enlarges an open hold, asking the store. False when the money does not suffice or the hold was resolved. */
  async growLater(hold: Hold, amount: Micro): Promise<boolean> {
    if (this.#life.fenced) return false
    const held: Lease[] = []
    for (const lease of [hold.account, hold.cap, hold.budget]) {
      if (lease === null) continue
      if ((await lease.hold(amount)) !== null) break
      held.push(lease)
    }
    const all = held.length === 1 + Number(hold.cap !== null) + Number(hold.budget !== null)
    if (!all || hold.resolved) {
      for (const lease of held) lease.release(amount)
      return false
    }
    hold.amount += amount
    return true
  }

  /** Whether a key's cap is used up, as far as this process knows; null = it knows nothing of the running period. */
  capUsedUp({ id, cap }: Capped): boolean | null {
    if (cap === null) return false
    const lease = this.#leases.find(this.#limits.purse('k', id, cap))
    if (lease === undefined || lease.known === null) return cap.every === null ? false : null
    return lease.known.spent + lease.chargedSince >= cap.amount
  }

  /** Asks the store what a cap's purse has, with a lease for the request that is coming. Never rejects. */
  learnCap({ id, cap }: Capped): Promise<void> {
    return cap === null ? Promise.resolve() : this.#limits.of('k', id, cap).prepare(LIKELY_NEED)
  }

  // --- resolves

  /** Ends the hold with the charge `row.charge`. The end of the answer must wait for the group's `whenKept`. */
  settle(hold: Hold, row: UsageRow): CommitGroup {
    this.#resolve(hold)
    if (this.#group === null) this.#clock.soon(() => this.write())
    const group = (this.#group ??= new CommitGroup())
    const { account, cap, budget, amount } = hold
    const forEver = cap !== null && cap.purse === keyPurse(row.keyId)
    const fromAccountLease = account.charge(amount, row.charge)
    const fromCapLease = cap === null ? ZERO : cap.charge(amount, row.charge)
    group.settlements.push({
      row,
      holder: this.#life.holder,
      fromAccountLease,
      fromKeyLease: forEver ? fromCapLease : this.#tabs.charge(keyPurse(row.keyId), row.charge),
      limits: limitsOf(forEver ? null : cap, fromCapLease, budget, budget?.charge(amount, row.charge) ?? ZERO),
    })
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
    this.#resolve(hold)
    hold.account.release(hold.amount)
    hold.cap?.release(hold.amount)
    hold.budget?.release(hold.amount)
  }

  #resolve(hold: Hold): void {
    invariant(!hold.resolved, 'a hold is resolved once')
    hold.resolved = true
    this.#open--
    hold.account.users--
    if (hold.cap !== null) hold.cap.users--
    if (hold.budget !== null) hold.budget.users--
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
    this.write()
    await this.orphans.stop()
    const settled = await this.#settler.stop(STOP_WAIT_MS)
    await this.#forgetting.stop()
    await this.#limits.stop()
    await this.wall.stop()
    await this.#life.stop()
    const closed = settled && (await this.#life.leave())
    this.#journal.close(closed)
    if (this.#open > 0) this.#log.warn({ open: this.#open }, 'holds were open at the end')
    const { folder } = this.#journal
    if (!closed) this.#log.warn({ folder }, 'the store is away: the next start closes these books')
  }
}

/** Holds `amount` in all of these leases, or in none. */
function tryAll(account: Lease, cap: Lease | null, budget: Lease | null, amount: number): boolean {
  if (!account.tryHold(amount)) return false
  if (cap === null || cap.tryHold(amount)) {
    if (budget === null || budget.tryHold(amount)) return true
    cap?.release(amount)
  }
  account.release(amount)
  return false
}

const NO_LIMITS: Settlement['limits'] = []

function limitsOf(cap: Lease | null, fromCap: Micro, budget: Lease | null, fromBudget: Micro): Settlement['limits'] {
  if (cap === null && budget === null) return NO_LIMITS
  const limits = []
  if (cap !== null) limits.push({ purse: cap.purse, fromLease: fromCap })
  if (budget !== null) limits.push({ purse: budget.purse, fromLease: fromBudget })
  return limits
}
