/**
 * The ledger of one process: holds in memory against leases, settlements through the journal. See docs/ledger.md.
 *
 * For each purse: open holds ≤ leased here; and in the store: leased everywhere ≤ credit − spent. So the open holds of an
 * account never exceed its balance, on any number of gateways.
 */
import { invariant } from '../base/assert.ts'
import type { Clock } from '../base/clock.ts'
import { processName } from '../base/ids.ts'
import { type Micro, micro } from '../base/money.ts'
import { accountPurse, type Change, keyPurse, type PurseId, type Settlement, type Store } from '../store/store.ts'
import type { UsageRow } from '../terms/records.ts'
import { Journal } from './journal.ts'
import { Lease } from './lease.ts'
import { LifeSign } from './life-sign.ts'
import { Orphans } from './orphans.ts'
import { accountRefusal, keyRefusal, type Refusal } from './refusal.ts'
import { Settler } from './settler.ts'
import { Tabs } from './tabs.ts'

export interface LedgerLog {
  info(data: object, message: string): void
  warn(data: object, message: string): void
  error(data: object, message: string): void
}

/** Money set aside for one exchange, until it is settled or voided. */
export class Hold {
  readonly account: Lease
  /** null: the key has no cap. */
  readonly key: Lease | null
  amount: number
  resolved = false

  constructor(account: Lease, key: Lease | null, amount: number) {
    this.account = account
    this.key = key
    this.amount = amount
  }
}

/** Purses nobody has used for this long are given back and forgotten. */
const FORGET_EVERY_MS = 60_000
const FLUSH_WAIT_MS = 500

export class Ledger {
  readonly #store: Store
  readonly #clock: Clock
  readonly #log: LedgerLog
  readonly #journal: Journal
  readonly #settler: Settler
  readonly #orphans: Orphans
  readonly #life: LifeSign
  readonly #leases = new Map<PurseId, Lease>()
  /** Of keys without cap. */
  readonly #tabs: Tabs
  #open = 0
  #stopping = false
  #cancelForget: (() => void) | null = null

  private constructor(store: Store, clock: Clock, log: LedgerLog, journal: Journal, folder: string, holder: string) {
    this.#store = store
    this.#clock = clock
    this.#log = log
    this.#journal = journal
    this.#tabs = new Tabs(store, clock, () => this.#life.holder)
    this.#settler = new Settler({ store, journal, clock, log })
    this.#orphans = new Orphans({ store, clock, log, folder, own: journal.folder })
    this.#life = new LifeSign({ store, clock, log, holder, held: () => this.held(), onLost: () => this.#lost() })
  }

  /** Takes a journal of its own, applies those that dead processes left behind, and registers. */
  static async open(options: {
    store: Store
    clock: Clock
    log: LedgerLog
    folder: string
    limitBytes: number
    holder?: string
  }): Promise<Ledger> {
    const { store, clock, log, folder, limitBytes } = options
    const holder = options.holder ?? processName()
    const journal = new Journal({ folder, holder, limitBytes, clock, log })
    const ledger = new Ledger(store, clock, log, journal, folder, holder)
    await ledger.#life.start()
    await ledger.#orphans.start()
    ledger.#scheduleForget()
    return ledger
  }

  /** Under which its leases stand in the store. */
  get holder(): string {
    return this.#life.holder
  }

  /** False: no new requests now, because their charges could not be kept or their money is not surely theirs. */
  get accepting(): boolean {
    return !this.#stopping && this.#journal.accepting && !this.#life.fenced
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
    let sum = 0
    for (const lease of this.#leases.values()) if (lease.purse.startsWith('a')) sum += lease.held
    return micro(sum)
  }

  /** Open holds per purse. */
  held(): Map<PurseId, Micro> {
    const held = new Map<PurseId, Micro>()
    for (const lease of this.#leases.values()) if (lease.held > 0) held.set(lease.purse, lease.heldMicro)
    return held
  }

  #lease(purse: PurseId): Lease {
    let lease = this.#leases.get(purse)
    if (lease === undefined) {
      lease = new Lease(purse, this.#store, this.#clock, () => this.#life.holder)
      this.#leases.set(purse, lease)
    }
    return lease
  }

  #capped(purse: PurseId): Lease {
    this.#tabs.close(purse) // from before it had a cap
    return this.#lease(purse)
  }

  // --- holds

  /** Synchronous when the leases are in memory; a promise only when one must be fetched. */
  reserve(
    accountId: number,
    keyId: number,
    keyCap: Micro | null,
    amount: Micro,
  ): Hold | Refusal | Promise<Hold | Refusal> {
    const account = this.#lease(accountPurse(accountId))
    const key = keyCap === null ? null : this.#capped(keyPurse(keyId))
    if (account.tryHold(amount)) {
      if (key === null || key.tryHold(amount)) return this.#opened(account, key, amount)
      account.release(amount)
    }
    return this.#reserveSlowly(account, key, keyCap, amount)
  }

  #opened(account: Lease, key: Lease | null, amount: number): Hold {
    this.#open++
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
    const keyDenial = key === null ? null : await key.hold(amount)
    if (keyDenial === null) return this.#opened(account, key, amount)
    account.release(amount)
    return keyRefusal(keyDenial, keyCap as Micro, amount)
  }

  /** More for an open hold, from what is in memory. False: not here; `growLater` asks the store. */
  grow(hold: Hold, amount: Micro): boolean {
    if (hold.resolved || !hold.account.tryHold(amount)) return false
    if (hold.key !== null && !hold.key.tryHold(amount)) {
      hold.account.release(amount)
      return false
    }
    hold.amount += amount
    return true
  }

  /** False: the money has ended, or the exchange has. */
  async growLater(hold: Hold, amount: Micro): Promise<boolean> {
    if ((await hold.account.hold(amount)) !== null) return false
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
    const lease = this.#leases.get(keyPurse(keyId))
    return lease !== undefined && lease.known !== null && lease.known.spent + lease.chargedSince >= keyCap
  }

  // --- resolves

  /** Charges `row.charge` and ends the hold. In the journal when it returns; a promise only when the journal cannot be written. */
  settle(hold: Hold, row: UsageRow): void | Promise<void> {
    this.#resolve(hold)
    const settlement: Settlement = {
      row,
      holder: this.#life.holder,
      fromAccountLease: hold.account.charge(hold.amount, row.charge),
      fromKeyLease:
        hold.key === null
          ? this.#tabs.charge(keyPurse(row.keyId), row.charge)
          : hold.key.charge(hold.amount, row.charge),
    }
    const segment = this.#journal.append(settlement)
    if (segment !== null) {
      this.#settler.add(settlement, segment, null)
      return
    }
    return new Promise(resolve => this.#settler.add(settlement, null, resolve))
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
  }

  /** Moves what is settled into the store now; gives up waiting, not moving, after a moment. */
  flush(): Promise<void> {
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
    this.#leases.get(change.ref as PurseId)?.recalled()
    this.#tabs.close(change.ref as PurseId)
  }

  #lost(): void {
    for (const lease of this.#leases.values()) lease.lost()
    this.#tabs.lost()
  }

  #scheduleForget(): void {
    this.#cancelForget = this.#clock.after(FORGET_EVERY_MS, () => {
      for (const lease of this.#leases.values()) this.#forget(lease)
      this.#tabs.forget()
      this.#scheduleForget()
    })
  }

  /** A purse without holds since the last time gives back what it has; then nothing of it need be remembered. */
  #forget(lease: Lease): void {
    if (!lease.unusedSinceLastAsked()) return
    if (lease.leased > 0) lease.giveBackIdle()
    else this.#leases.delete(lease.purse)
  }

  /** Everything settled, every lease given back. New holds are refused from now on. */
  async stop(): Promise<void> {
    this.#stopping = true
    this.#cancelForget?.()
    await this.#orphans.stop()
    await this.#settler.drain()
    for (const lease of this.#leases.values()) lease.giveBackIdle()
    await Promise.all([...this.#leases.values()].map(lease => lease.settled()))
    await this.#tabs.stop()
    await this.#life.stop()
    this.#journal.close()
    if (this.#open > 0) this.#log.warn({ open: this.#open }, 'holds were open at the end')
  }
}
