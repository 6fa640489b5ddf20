/** What a reservation gets: a hold, or a refusal with its reason. */
import { type Micro, micro, ZERO } from '../base/money.ts'
import type { Denial, Lease } from './lease.ts'

export interface Refusal {
  /**
   * `quota`: nothing is available. `estimate`: something is, but less than needed. `cap_used`, `cap`: the same of the
   * key's cap. `unavailable`: nobody can say.
   */
  refused: 'quota' | 'estimate' | 'cap_used' | 'cap' | 'unavailable'
  available: Micro
  need: Micro
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

export function accountRefusal(denial: Denial, need: Micro): Refusal {
  if (denial.denied === 'store') return { refused: 'unavailable', available: ZERO, need }
  return { refused: denial.available <= 0 ? 'quota' : 'estimate', available: denial.available, need }
}

/** `unsettled`: charged, and perhaps not in what the store says was spent. */
export function keyRefusal(denial: Denial, cap: Micro, need: Micro, unsettled: number): Refusal {
  if (denial.denied === 'store') return { refused: 'unavailable', available: ZERO, need }
  const rest = cap - denial.purse.spent
  return { refused: rest <= 0 ? 'cap_used' : 'cap', available: micro(Math.max(0, rest - unsettled)), need }
}
