/** Whether the books add up. */
import { formatMicro } from '../../base/money.ts'
import type { Store } from '../../store/store.ts'
import { type Answer, ok } from '../answer.ts'

export async function readAudit(store: Store): Promise<Answer> {
  const { ok: balanced, accounts, credits, charges, balances, leased, imbalance } = await store.audit()
  return ok({
    ok: balanced,
    accounts,
    credits: formatMicro(credits),
    charges: formatMicro(charges),
    balances: formatMicro(balances),
    leased: formatMicro(leased),
    imbalance: formatMicro(imbalance),
  })
}
