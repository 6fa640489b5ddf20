/**
 * Makes, enlarges and ends holds. A hold takes its amount out of up to three leases at once: of the account's purse, of
 * the cap of the key, and of the budget of the account. It is made in all of them or in none.
 */
import { invariant } from '../base/assert.ts'
import { type Micro, ZERO } from '../base/money.ts'
import type { Clock } from '../base/clock.ts'
import { accountPurse, keyPurse, type PurseId, type Settlement } from '../store/store.ts'
import type { Limit, Account, Key } from '../terms/records.ts'
import { accountRefusal, capRefusal, Hold, type Refusal } from './hold.ts'
import { type Lease, MONEY_WAIT_MS } from './lease.ts'
import type { Leases } from './leases.ts'
import type { LimitLeases } from './limit-leases.ts'
import type { Tabs } from './tabs.ts'

/** What the ledger needs to know of the account and the key that pay. */
export type Budgeted = Pick<Account, 'id' | 'budget'>
export type Capped = Pick<Key, 'id' | 'cap'>

export interface HoldsOptions {
  clock: Clock
  leases: Leases
  limits: LimitLeases
  tabs: Tabs
  /** What is charged to a purse and may not be in the store yet. */
  unsettledOf: (purse: PurseId) => number
}

export class Holds {
  readonly #o: HoldsOptions
  /** How many are open. */
  open = 0

  constructor(options: HoldsOptions) {
    this.#o = options
  }

  /** The lease of a key's cap; null when it has none. */
  #capOf({ id, cap }: Capped): Lease | null {
    if (cap === null) return null
    const lease = this.#o.limits.of('k', id, cap)
    if (cap.every === null) this.#o.tabs.close(lease.purse) // a key that has just got a cap for ever may still have a tab
    return lease
  }

  #budgetOf({ id, budget }: Budgeted): Lease | null {
    return budget === null ? null : this.#o.limits.of('b', id, budget)
  }

  /** The result is a promise only when a lease has too little and the store must be asked, for at most `withinMs`. */
  reserve(account: Budgeted, key: Capped, amount: Micro, withinMs: number): Hold | Refusal | Promise<Hold | Refusal> {
    const purse = this.#o.leases.of(accountPurse(account.id))
    const cap = this.#capOf(key)
    const budget = this.#budgetOf(account)
    if (tryAll(purse, cap, budget, amount)) return this.#opened(purse, cap, budget, amount)
    return this.#reserveSlowly(purse, cap, budget, amount, this.#o.clock.monotonic() + withinMs)
  }

  #opened(account: Lease, cap: Lease | null, budget: Lease | null, amount: number): Hold {
    this.open++
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
  ): Promise<Hold | Refusal> {
    const denial = await account.hold(amount, untilMs)
    if (denial !== null) return accountRefusal(denial, amount)
    if (cap !== null) cap = this.#again(cap)
    const capDenial = cap === null ? null : await cap.hold(amount, untilMs)
    if (capDenial !== null) {
      account.release(amount)
      const { limit, purse } = cap as Lease
      return capRefusal(capDenial, (limit as Limit).amount, amount, this.#o.unsettledOf(purse))
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
    const lease = this.#o.leases.of(purse)
    lease.limit ??= limit
    return lease
  }

  /** Enlarges an open hold out of memory. False when the leases have too little; then `growLater` can ask the store. */
  grow(hold: Hold, amount: Micro): boolean {
    if (hold.resolved || !tryAll(hold.account, hold.cap, hold.budget, amount)) return false
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
  async growLater(hold: Hold, amount: Micro, withinMs = MONEY_WAIT_MS): Promise<boolean> {
    const held: Lease[] = []
    let all = true
    const untilMs = this.#o.clock.monotonic() + withinMs
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

  /** Ends the hold without a charge. */
  void(hold: Hold): void {
    this.#resolve(hold)
    hold.account.release(hold.amount)
    hold.cap?.release(hold.amount)
    hold.budget?.release(hold.amount)
  }

  /** Ends the hold with a charge, and returns how much of it each lease pays. */
  charge(hold: Hold, keyId: number, charge: Micro): Pick<Settlement, 'fromAccountLease' | 'fromKeyLease' | 'limits'> {
    this.#resolve(hold)
    const { account, cap, budget, amount } = hold
    const forEver = cap !== null && cap.purse === keyPurse(keyId)
    const fromCap = cap === null ? ZERO : cap.charge(amount, charge)
    return {
      fromAccountLease: account.charge(amount, charge),
      fromKeyLease: forEver ? fromCap : this.#o.tabs.charge(keyPurse(keyId), charge),
      limits: limitsOf(forEver ? null : cap, fromCap, budget, budget?.charge(amount, charge) ?? ZERO),
    }
  }

  #resolve(hold: Hold): void {
    invariant(!hold.resolved, 'a hold is resolved once')
    hold.resolved = true
    this.open--
    hold.account.users--
    if (hold.cap !== null) hold.cap.users--
    if (hold.budget !== null) hold.budget.users--
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
