/** What people see of their account's payments: which ways to pay there are, and what became of each order. */
import { formatMicro, micro } from '../base/money.ts'
import type { Store } from '../store/store.ts'
import type { Account } from '../terms/records.ts'
import { isCheckout } from './method.ts'
import { FEN } from './exceptions.ts'
import type { PaymentService } from './service.ts'
import { nextOrders, type OrderAfter, shownOrder } from './views.ts'

export { NO_ORDER, NO_USDT } from './faults.ts'
export { isOrderId } from './exceptions.ts'
export { ownAddress, ownQuote, ownUsdt } from './usdt/addresses.ts'
export { orderAfter, shownOrder } from './views.ts'

const PAGE = 50

export async function ownMethods(service: PaymentService, account: Account) {
  const { order, day } = service.bounds()
  const all = [...(await service.methods()).values()].filter(isCheckout)
  const methods = all.filter(method => method.sandbox === account.sandbox)
  return {
    data: methods.map(({ name, minimum, currency, mostAsked, sandbox }) => ({
      method: name,
      sandbox,
      currency,
      minimum: formatMicro(minimum),
      maximum: formatMicro(currency === 'CNY' ? micro(Math.min(order, mostAsked * FEN)) : order),
    })),
    day_maximum: formatMicro(day),
  }
}

/** `returnTo`: where payers come back to from the pages that they are shown. */
export async function ownOrders(
  {
    store: { pay },
    service: { orders },
    returnTo,
  }: { store: Pick<Store, 'pay'>; service: PaymentService; returnTo: string },
  { id }: Account,
  after: OrderAfter | undefined,
) {
  const rows = await pay.orders({ accountId: id, limit: PAGE, ...(after === undefined ? {} : { before: after }) })
  return { data: rows.map(order => shownOrder(orders.shown(order, returnTo))), next: nextOrders(rows, PAGE) }
}
