/**
 * The operation that audits the books: do credits, charges and balances agree for every account? It also counts charges
 * that were set aside in the journal folder, because the gateway could not book them and a person has to decide. Money
 * is shown in CNY as a decimal.
 */
import { formatMicro } from '../../base/money.ts'
import type { OperationDeps } from '../deps.ts'

type AuditDeps = Pick<OperationDeps, 'store' | 'setAside'> & { fleet: Pick<OperationDeps['fleet'], 'settled'> }

/**
 * `row` is what the caller sees. `balanced`, `broken` (ids of accounts whose books do not balance) and `unfit` (references of
 * payments that are wrong there) leave out what was set aside.
 */
export async function readAudit({ store, fleet, setAside }: AuditDeps) {
  await fleet.settled()
  const { settlements, unreadable } = setAside()
  const aside = settlements + unreadable
  const { ok, broken, unfit, accounts, ...sums } = await store.audit()
  const { credits, byHand, proven, charges, balances, leased, imbalance } = sums
  const row = {
    ok: ok && aside === 0,
    accounts,
    credits: formatMicro(credits),
    charges: formatMicro(charges),
    balances: formatMicro(balances),
    leased: formatMicro(leased),
    imbalance: formatMicro(imbalance),
    by_hand: formatMicro(byHand),
    proven: formatMicro(proven),
    set_aside: aside,
  }
  return { row, balanced: ok, broken, unfit }
}
