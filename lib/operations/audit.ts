/** Whether the books add up, and what waits beside them for people. Money is shown in CNY as a decimal. */
import { formatMicro } from '../base/money.ts'
import type { OperationDeps } from './deps.ts'

type AuditDeps = Pick<OperationDeps, 'store' | 'setAside'> & { fleet: Pick<OperationDeps['fleet'], 'settled'> }

/** `row` is what is shown; `broken`: ids of the accounts whose books do not balance. */
export async function readAudit({ store, fleet, setAside }: AuditDeps) {
  await fleet.settled()
  const { settlements, unreadable } = setAside()
  const aside = settlements + unreadable
  const { ok, broken, accounts, credits, charges, balances, leased, imbalance } = await store.audit()
  const row = {
    ok: ok && aside === 0,
    accounts,
    credits: formatMicro(credits),
    charges: formatMicro(charges),
    balances: formatMicro(balances),
    leased: formatMicro(leased),
    imbalance: formatMicro(imbalance),
    set_aside: aside,
  }
  return { row, balanced: ok, broken }
}
