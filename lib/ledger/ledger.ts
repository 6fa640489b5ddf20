/**
 * The ledger of one process: holds in memory against leases, settlements through the journal. See docs/ledger.md.
 *
 * For each purse: open holds ≤ leased here; and in the store: leased everywhere ≤ credit − spent. So the open holds of an
 * account never exceed its balance, on any number of gateways.
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
/** How long a stop waits for the store; what is not settled by then stays in the journal for the next start. */
const STOP_WAIT_MS = 10_000

export interface LedgerOptions {
  store: Store
  clock: Clock
  log: LedgerLog
  /** The journal folder of the machine. */
  folder: string
  limitBytes: number
  /** Default: a name that no other process has. */
  holder?: string
}

export class Ledger {
  readonly #clock: Clock
  readonly #log: LedgerLog
  readonly #journal: Journal
  readonly #settler: Settler
  readonly orphans: Orphans
  readonly #life: LifeSign
  /** Wall time: the store's, where this machine's clock is far from it. */
  readonly wall: WallTime
  readonly #leases: Leases
  readonly #tabs: Tabs
  readonly #forgetting: Forgetting
  #open = 0
  /** Settled in this turn of the event loop, and not written yet. */
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

  /** Takes a journal of its own, applies those that dead processes left behind, and registers. */
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

  /** Under which its leases stand in the store. */
  get holder(): string {
    return this.#life.holder
  }

  /** False: no new requests now, because their charges could not be kept or their money is not surely theirs. */
  get accepting(): boolean {
    return !this.#stopping && this.#journal.accepts(this.orphans.besideBytes()) && !this.#life.fenced
  }

  /** Money that can be held without asking the store. */
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

  /** Of all accounts. */
  get heldTotal(): Micro {
    return this.#leases.heldTotal
  }

  /** Open holds per purse. */
  held = (): Map<PurseId, Micro> => this.#leases.held()

  #capped(purse: PurseId): Lease {
    this.#tabs.close(purse) // from before it had a cap
    return this.#leases.of(purse)
  }

  // --- holds

  /** Synchronous when the leases are in memory; a promise only when one must be fetched. */
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
    if (key !== null) key = this.#leases.of(key.purse) // the one from before may have been forgotten meanwhile
    const keyDenial = key === null ? null : await key.hold(amount)
    if (keyDenial === null) return this.#opened(account, key, amount)
    account.release(amount)
    return keyRefusal(keyDenial, keyCap as Micro, amount, this.#settler.unsettledOf((key as Lease).purse))
  }

  /** More for an open hold, from what is in memory. False: not here; `growLater` asks the store. */
  grow(hold: Hold, amount: Micro): boolean {
    if (hold.resolved || this.#life.fenced || !hold.account.tryHold(amount)) return false
    if (hold.key !== null && !hold.key.tryHold(amount)) {
      hold.account.release(amount)
      return false
    }
    hold.amount += amount
    return true
  }

  /** False: the money has ended, or the exchange has. */
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

  /** This key's cap is used up, as far as this process knows. */
  capUsedUp(keyId: number, keyCap: Micro): boolean {
    const lease = this.#leases.find(keyPurse(keyId))
    return lease !== undefined && lease.known !== null && lease.known.spent + lease.chargedSince >= keyCap
  }

  // --- resolves

  /** Charges `row.charge` and ends the hold. The client may see the end of its answer when the group is kept. */
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

  /** What was settled in this turn goes to the journal now, and not at its end. */
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

  /** Moves what is settled into the store now; gives up waiting, not moving, after a moment. */
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
   * Everything settled, every lease given back; or, when the store does not answer for a while, left in the journal.
   * New holds are refused from now on.
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
