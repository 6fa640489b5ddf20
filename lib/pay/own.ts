/** What people see of their account's payments: which ways to pay there are, and what became of each order. */
import { z } from 'zod'
import { formatMicro, micro } from '../base/money.ts'
import type { Language } from '../base/people.ts'
import { statementFileQuery } from '../operations/billing/statement.ts'
import { type CsvColumn, CsvTable, forPeople, pagesOf } from '../operations/csv.ts'
import type { Store } from '../store/store.ts'
import type { Order } from '../terms/pay.ts'
import type { Account } from '../terms/records.ts'
import { isCheckout } from './method.ts'
import { FEN } from './exceptions.ts'
import type { PaymentService } from './service.ts'
import { nextOrders, orderAfter, orderSort, shownOrder } from './views.ts'

export { NO_ORDER, NO_USDT } from './faults.ts'
export { isOrderId } from './exceptions.ts'
export { ownAddress, ownQuote, ownUsdt } from './usdt/addresses.ts'
export { shownOrder } from './views.ts'

export const ordersQuery = z.strictObject({ sort: orderSort, after: orderAfter.optional() })
export const ordersFileQuery = statementFileQuery.extend({ sort: orderSort })

const PAGE = 50
const FILE_PAGE = 500

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
  { after, sort }: z.output<typeof ordersQuery>,
) {
  const begin = after === undefined ? {} : { beyond: after }
  const rows = await pay.orders({ accountId: id, limit: PAGE, ascending: sort === 'created', ...begin })
  return { data: rows.map(order => shownOrder(orders.shown(order, returnTo))), next: nextOrders(rows, PAGE) }
}

const FILE_COLUMNS: readonly CsvColumn<ReturnType<typeof shownOrder>>[] = [
  { name: 'id', head: { zh: '订单号', en: 'Order' }, value: row => row.id },
  { name: 'created_at', head: { zh: '创建时间（UTC）', en: 'Created (UTC)' }, value: row => row.created_at },
  { name: 'method', head: { zh: '支付方式', en: 'Way to pay' }, value: row => row.method },
  { name: 'state', head: { zh: '状态', en: 'State' }, value: row => row.state },
  { name: 'amount', head: { zh: '金额（元）', en: 'Amount (CNY)' }, value: row => row.amount },
  { name: 'asked', head: { zh: '支付金额', en: 'Paid in its currency' }, value: row => row.asked },
  { name: 'currency', head: { zh: '支付货币', en: 'Currency' }, value: row => row.currency },
  { name: 'credited', head: { zh: '入账（元）', en: 'Credited (CNY)' }, value: row => row.credited },
  { name: 'credited_at', head: { zh: '入账时间（UTC）', en: 'Credited (UTC)' }, value: row => row.credited_at },
  { name: 'refunded', head: { zh: '退款（元）', en: 'Refunded (CNY)' }, value: row => row.refunded },
  { name: 'reversed', head: { zh: '撤销（元）', en: 'Reversed (CNY)' }, value: row => row.reversed },
  { name: 'transaction', head: { zh: '链上交易', en: 'Transaction' }, foreign: true, value: row => row.transaction },
]

/** All orders of the account as CSV. They are read in pages while the file is sent. */
export function ordersFile(
  { pay }: Pick<Store, 'pay'>,
  { id: accountId }: Account,
  { heads, sort }: z.output<typeof ordersFileQuery>,
  language: Language,
  limit = FILE_PAGE,
): AsyncGenerator<string> {
  const page = { accountId, ascending: sort === 'created', limit }
  const pages = pagesOf(async (beyond: Order | null) => {
    const rows = await pay.orders({ ...page, ...(beyond === null ? {} : { beyond }) })
    return { rows: rows.map(shownOrder), next: rows.length < limit ? null : rows.at(-1)! }
  })
  return new CsvTable(FILE_COLUMNS, forPeople(heads, language)).file(pages)
}
