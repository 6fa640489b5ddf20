/** Why a hold does not fit into a purse, and what can be told from the answer of the store. */
import { type Micro, micro } from '../base/money.ts'
import type { Grant, Purse } from '../store/store.ts'

/** The most to ask for at once, in micro-CNY: the store multiplies amounts, which must stay safe integers. */
export const MOST_ASKED = 500_000_000_000_000

/** Why there is no hold: too little money (`available` is what no open request holds, `held` what they hold), or no answer of the store. */
export type Denial = { denied: 'money'; purse: Purse; available: Micro; held: Micro } | { denied: 'store' }

/** Whether `amount` would fit if all other processes gave their leases of this purse back. `held`: by this process. */
export function mayCome({ elsewhere, purse }: Grant, held: number, amount: number): boolean {
  if (elsewhere.leased === 0) return false
  const { credit, spent } = purse
  return credit !== null && credit - spent - held >= amount
}

/**
 * The purse's credit without charges (also those on their way to the store) and open holds, here and elsewhere. `here`
 * is the lease of this process.
 */
export function availableIn({ purse, elsewhere }: Grant, here: { leased: number; held: number }): Micro {
  const { credit, spent, leased } = purse
  if (credit === null) return micro(MOST_ASKED)
  const unsettled = Math.max(0, leased - elsewhere.leased - here.leased)
  return micro(credit - spent - unsettled - here.held - elsewhere.held)
}
