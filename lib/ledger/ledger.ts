/**
 * The ledger of one process, the door of this room. `reserve` sets money aside in memory, out of leases that the store
 * has granted (`lease.ts`); `settle` charges it, first in the journal and then in the store (`journal.ts`,
 * `settler.ts`). For each purse, open holds ≤ leased here, and all leases ≤ credit − spent. So on any number of
 * gateways the open holds of an account never exceed its balance. docs/ledger.md explains the whole.
 */
import { invariant } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import { accountPurse, type Change, keyPurse, type PurseId, type Store } from '../store/store.ts'
import type { UsageRow } from '../terms/records.ts'
import { CommitGroup } from './commit-group.ts'
import { Forgetting } from './forget.ts'
import { accountRefusal, Hold, keyRefusal, type Refusal } from './hold.ts'
import { type Journal, newJournal } from './journal.ts'
import type { Lease } from './lease.ts'
import { Leases } from './leases.ts'
import { LifeSign } from './life-sign.ts'
import type { LedgerLog } from './log.ts'
import { Orphans } from './orphans.ts'
import { Settler } from './settler.ts'
import { Tabs } from './tabs.ts'
import { WallTime } from './wall-time.ts'

export type { CommitGroup } from './commit-group.ts'
export { Hold, type Refusal } from './hold.ts'

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
  readonly #leases: Leases
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
    const tabs = (this.#tabs = new Tabs(options))
    this.#forgetting = new Forgetting({ ...options, leases, tabs })
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

  #capped(purse: PurseId): Lease {
    this.#tabs.close(purse) // a key that has just got a cap may still have a tab
    return this.#leases.of(purse)
  }

  // --- holds

  /** Holds `amount`. The result is a promise only when a lease has too little and the store must be asked. */
  reserve(
    accountId: number,
    keyId: number,
    keyCap: Micro | null,
    amount: Micro,
  ): Hold | Refusal | Promise<Hold | Refusal> {
    const account = this.#leases.of(accountPurse(accountId))
    const key = keyCap === null ? null : this.#capped(keyPurse(keyId))
    if (account.tryHold(amount)) {
      if (key === null || key.tryHold(amount)) return this.#opened(account, key, amount)
      account.release(amount)
    }
    return this.#reserveSlowly(account, key, keyCap, amount)
  }

  #opened(account: Lease, key: Lease | null, amount: number): Hold {
    this.#open++
    account.users++
    if (key !== null) key.users++
    return new Hold(account, key, amount)
  }

  async #reserveSlowly(
    account: Lease,
    key: Lease | null,
    keyCap: Micro | null,
    amount: Micro,
  ): Promise<Hold | Refusal> {
    const denial = await account.hold(amount)
    if (denial !== null) return accountRefusal(denial, amount)
    if (key !== null) key = this.#leases.of(key.purse) // during the wait the lease may have been forgotten
    const keyDenial = key === null ? null : await key.hold(amount)
    if (keyDenial === null) return this.#opened(account, key, amount)
    account.release(amount)
    return keyRefusal(keyDenial, keyCap as Micro, amount, this.#settler.unsettledOf((key as Lease).purse))
  }

  /** Enlarges an open hold out of memory. False when the leases have too little; then `growLater` can ask the store. */
  grow(hold: Hold, amount: Micro): boolean {
    if (hold.resolved || this.#life.fenced || !hold.account.tryHold(amount)) return false
    if (hold.key !== null && !hold.key.tryHold(amount)) {
      hold.account.release(amount)
      return false
    }
    hold.amount += amount
    return true
  }

  /** Enlarges an open hold, asking the store. False when the money does not suffice or the hold was resolved. */
  async growLater(hold: Hold, amount: Micro): Promise<boolean> {
    if (this.#life.fenced || (await hold.account.hold(amount)) !== null) return false
    const keyDenied = hold.key !== null && (await hold.key.hold(amount)) !== null
    if (keyDenied || hold.resolved) {
      hold.account.release(amount)
      if (!keyDenied) hold.key?.release(amount)
      return false
    }
    hold.amount += amount
    return true
  }

  /** Whether this key's cap is used up, as far as this process knows. */
  capUsedUp(keyId: number, keyCap: Micro): boolean {
    const lease = this.#leases.find(keyPurse(keyId))
    return lease !== undefined && lease.known !== null && lease.known.spent + lease.chargedSince >= keyCap
  }

  // --- resolves

  /** Ends the hold with the charge `row.charge`. The end of the answer must wait for the group's `whenKept`. */
  settle(hold: Hold, row: UsageRow): CommitGroup {
    this.#resolve(hold)
    if (this.#group === null) this.#clock.soon(() => this.write())
    const group = (this.#group ??= new CommitGroup())
    group.settlements.push({
      row,
      holder: this.#life.holder,
      fromAccountLease: hold.account.charge(hold.amount, row.charge),
      fromKeyLease:
        hold.key === null
          ? this.#tabs.charge(keyPurse(row.keyId), row.charge)
          : hold.key.charge(hold.amount, row.charge),
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
    hold.key?.release(hold.amount)
  }

  #resolve(hold: Hold): void {
    invariant(!hold.resolved, 'a hold is resolved once')
    hold.resolved = true
    this.#open--
    hold.account.users--
    if (hold.key !== null) hold.key.users--
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
    await this.wall.stop()
    await this.#life.stop()
    const closed = settled && (await this.#life.leave())
    this.#journal.close(closed)
    if (this.#open > 0) this.#log.warn({ open: this.#open }, 'holds were open at the end')
    const { folder } = this.#journal
    if (!closed) this.#log.warn({ folder }, 'the store is away: the next start closes these books')
  }
}
