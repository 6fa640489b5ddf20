/** The money of one account, as everybody who may see it sees it. */
import { add, type Micro, subtract, ZERO } from '../base/money.ts'
import { accountPurse } from '../store/store.ts'
import type { OperationDeps } from './deps.ts'

export interface Balance {
  /** Credits − charges. */
  balance: Micro
  /** What open requests have set aside, on all gateways. */
  held: Micro
  available: Micro
  /** The sum of all charges there ever were. */
  spent: Micro
}

export type BalanceDeps = Pick<OperationDeps, 'store'> & { fleet: Pick<OperationDeps['fleet'], 'held' | 'holders'> }

export async function balanceOf({ store, fleet }: BalanceDeps, accountId: number): Promise<Balance> {
  const purse = accountPurse(accountId)
  const [[there], ours, others] = await Promise.all([
    store.purses([purse]),
    fleet.held(),
    fleet.holders().then(holders => store.heldByOthers([purse], holders)),
  ])
  const spent = there?.spent ?? ZERO
  const balance = subtract(there?.credit ?? ZERO, spent)
  const held = add(ours.get(purse) ?? ZERO, others.get(purse) ?? ZERO)
  return { balance, held, available: subtract(balance, held), spent }
}
