/** Why money is not there, in words that a refusal of ours can be made of. */
import { type Micro, micro, ZERO } from '../base/money.ts'
import type { Denial } from './lease.ts'

export interface Refusal {
  /**
   * `quota`: nothing is available. `estimate`: something is, but less than needed. `cap_used`, `cap`: the same of the
   * key's cap. `unavailable`: nobody can say.
   */
  refused: 'quota' | 'estimate' | 'cap_used' | 'cap' | 'unavailable'
  available: Micro
  need: Micro
}

export function accountRefusal(denial: Denial, need: Micro): Refusal {
  if (denial.denied === 'store') return { refused: 'unavailable', available: ZERO, need }
  return { refused: denial.available <= 0 ? 'quota' : 'estimate', available: denial.available, need }
}

export function keyRefusal(denial: Denial, cap: Micro, need: Micro): Refusal {
  if (denial.denied === 'store') return { refused: 'unavailable', available: ZERO, need }
  const rest = micro(cap - denial.purse.spent)
  return { refused: rest <= 0 ? 'cap_used' : 'cap', available: rest, need }
}
