/** Whether the books add up. */
import { formatMicro } from '../../base/money.ts'
import type { SetAside } from '../../ledger/aside.ts'
import type { Store } from '../../store/store.ts'
import { type Answer, ok } from '../answer.ts'

export async function readAudit(store: Store, { settlements, unreadable }: SetAside): Promise<Answer> {
  const { ok: balanced, accounts, credits, charges, balances, leased, imbalance } = await store.audit()
  return ok({
    ok: balanced && settlements + unreadable === 0,
    accounts,
    credits: formatMicro(credits),
    charges: formatMicro(charges),
    balances: formatMicro(balances),
    leased: formatMicro(leased),
    imbalance: formatMicro(imbalance),
    set_aside: settlements + unreadable,
  })
}
