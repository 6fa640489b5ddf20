/**
 * The two results of `Ledger.reserve`: a hold, or a refusal that says why there is none. A hold takes its amount out of up to three leases
 * at once: of the account's purse, of the cap of the key, and of the budget of the account. It is made in all of them or in none.
 */
import { type Micro, micro, ZERO } from '../base/money.ts'
import type { Settlement } from '../store/books/settlement.ts'
import type { Denial, Lease } from './lease.ts'

export interface HoldRefusal {
  /**
   * `quota`: the account, or its budget, has nothing left. `estimate`: it has something, but less than `need`.
   * `cap_used` and `cap`: the same for the key's cap. `unavailable`: the store could not be asked.
   */
  refused: 'quota' | 'estimate' | 'cap_used' | 'cap' | 'unavailable'
  available: Micro
  /** The amount that would be available if no request of the purse were open. */
  unheld: Micro
  need: Micro
}

/** Money set aside for one exchange, until it is settled or voided. */
export class Hold {
  readonly account: Lease
  /** The leases of the purses of the key's cap and the account's budget, of the period of the hold; null = no limit. */
  readonly cap: Lease | null
  readonly budget: Lease | null
  amount: number
  resolved = false

  constructor(account: Lease, cap: Lease | null, budget: Lease | null, amount: number) {
    this.account = account
    this.cap = cap
    this.budget = budget
    this.amount = amount
  }
}

const unavailable = (need: Micro): HoldRefusal => ({ refused: 'unavailable', available: ZERO, unheld: ZERO, need })

/** `denial` is of the account's purse or of its budget's. */
export function accountRefusal(denial: Denial, need: Micro): HoldRefusal {
  if (denial.denied === 'store') return unavailable(need)
  const { available, held } = denial
  return { refused: available <= 0 ? 'quota' : 'estimate', available, unheld: micro(available + held), need }
}

/** `unsettled` is what was charged to the cap's purse but may not be in the store yet, so it is missing in `purse.spent`. */
export function capRefusal(denial: Denial, cap: Micro, need: Micro, unsettled: number): HoldRefusal {
  if (denial.denied === 'store') return unavailable(need)
  const rest = cap - denial.purse.spent
  const available = micro(Math.max(0, rest - unsettled))
  return { refused: rest <= 0 ? 'cap_used' : 'cap', available, unheld: available, need }
}

/** Holds `amount` in all of these leases, or in none. `nowMs`: monotonic. */
export function tryAll(
  account: Lease,
  cap: Lease | null,
  budget: Lease | null,
  amount: number,
  nowMs: number,
): boolean {
  if (!account.tryHold(amount, nowMs)) return false
  if (cap === null || cap.tryHold(amount, nowMs)) {
    if (budget === null || budget.tryHold(amount, nowMs)) return true
    cap?.release(amount)
  }
  account.release(amount)
  return false
}

/** The limits of a settlement without cap and budget. */
export const NO_LIMITS: Settlement['limits'] = []

/** The leases of cap and budget that a settlement names, each with what it pays. */
export function limitsOf(
  cap: Lease | null,
  fromCap: Micro,
  budget: Lease | null,
  fromBudget: Micro,
): Settlement['limits'] {
  if (cap === null && budget === null) return NO_LIMITS
  const limits = []
  if (cap !== null) limits.push({ purse: cap.purse, fromLease: fromCap })
  if (budget !== null) limits.push({ purse: budget.purse, fromLease: fromBudget })
  return limits
}
