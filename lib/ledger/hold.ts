/** The two results of `Ledger.reserve`: a hold, or a refusal that says why there is none. */
import { type Micro, micro, ZERO } from '../base/money.ts'
import type { Denial } from './denial.ts'
import type { Lease } from './lease.ts'

export interface Refusal {
  /**
   * `quota`: the account, or its budget, has nothing left. `estimate`: it has something, but less than `need`.
   * `cap_used` and `cap`: the same for the key's cap. `unavailable`: the store could not be asked.
   */
  refused: 'quota' | 'estimate' | 'cap_used' | 'cap' | 'unavailable'
  available: Micro
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

/** `denial` is of the account's purse or of its budget's. */
export function accountRefusal(denial: Denial, need: Micro): Refusal {
  if (denial.denied === 'store') return { refused: 'unavailable', available: ZERO, need }
  return { refused: denial.available <= 0 ? 'quota' : 'estimate', available: denial.available, need }
}

/** `unsettled` is what was charged to the cap's purse but may not be in the store yet, so it is missing in `purse.spent`. */
export function capRefusal(denial: Denial, cap: Micro, need: Micro, unsettled: number): Refusal {
  if (denial.denied === 'store') return { refused: 'unavailable', available: ZERO, need }
  const rest = cap - denial.purse.spent
  return { refused: rest <= 0 ? 'cap_used' : 'cap', available: micro(Math.max(0, rest - unsettled)), need }
}
