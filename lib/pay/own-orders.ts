/** What people see of their account's orders: which ways to pay there are, and what became of each order. */
import { formatMicro, micro } from '../base/money.ts'
import type { OrderFilter, Store } from '../store/store.ts'
import { scalar } from '../config/scalars.ts'
import type { Order } from '../terms/pay.ts'
import type { Account } from '../terms/records.ts'
import type { Desk } from './desk.ts'
import { FEN } from './numbers.ts'

export { NO_ORDER } from './order-faults.ts'

const CENTS = 2
const PAGE = 50

export async function ownMethods(desk: Desk, account: Account) {
  const { order, day } = desk.bounds()
  const methods = [...(await desk.methods()).values()].filter(method => method.sandbox === account.sandbox)
  return {
    data: methods.map(({ name, minimum, currency, mostAsked }) => ({
      method: name,
      currency,
      minimum: formatMicro(minimum),
      maximum: formatMicro(currency === 'CNY' ? micro(Math.min(order, mostAsked * FEN)) : order),
    })),
    day_maximum: formatMicro(day),
  }
}

export const iso = (ms: number): string => new Date(ms).toISOString()
export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms))

/** Cents of a currency as a decimal of two places. */
export const shownCents = (cents: number): string => {
  const text = String(cents).padStart(CENTS + 1, '0')
  return `${text.slice(0, -CENTS)}.${text.slice(-CENTS)}`
}

/** Only of an order that is held now, or was until a moment ago. */
export const heldUntil = ({ state, heldUntilMs }: Order): string | null =>
  state === 'paid' ? isoOrNull(heldUntilMs) : null

/** What can be paid is shown only while it can be paid. */
export function shownOrder(order: Order) {
  const payable = order.state === 'pending'
  return {
    id: order.id,
    method: order.method,
    state: order.state,
    amount: formatMicro(order.amount),
    asked: shownCents(order.asked),
    currency: order.currency,
    redirect: (payable && order.shown?.redirect) || null,
    qr: (payable && order.shown?.qr) || null,
    late: order.late,
    credited: formatMicro(order.credited),
    refunded: formatMicro(order.refunded),
    frozen: formatMicro(order.frozen),
    reversed: formatMicro(order.reversed),
    created_at: iso(order.createdAtMs),
    expires_at: iso(order.expiresAtMs),
    held_until: heldUntil(order),
    credited_at: isoOrNull(order.creditedAtMs),
  }
}

/** Where a page of orders begins: after this order of the page before, by its time and id. */
export type OrderAfter = NonNullable<OrderFilter['before']>

export const orderAfter = scalar(
  { zh: '另一页的 next', en: 'the `next` of another page' },
  { type: 'string' },
  (value): OrderAfter | undefined => {
    const m = typeof value === 'string' ? /^(\d{1,15})\.(T\w{26})$/.exec(value) : null
    return m === null ? undefined : { createdAtMs: Number(m[1]), id: m[2] as string }
  },
)

/** null on the last page. */
export function nextOrders(rows: readonly Order[], limit: number): string | null {
  const last = rows.length === limit ? rows.at(-1) : undefined
  return last === undefined ? null : `${last.createdAtMs}.${last.id}`
}

/** `returnTo`: where payers come back to from the pages that they are shown. */
export async function ownOrders(
  { store: { pay }, desk: { orders }, returnTo }: { store: Pick<Store, 'pay'>; desk: Desk; returnTo: string },
  { id }: Account,
  after: OrderAfter | undefined,
) {
  const rows = await pay.orders({ accountId: id, limit: PAGE, ...(after === undefined ? {} : { before: after }) })
  return { data: rows.map(order => shownOrder(orders.shown(order, returnTo))), next: nextOrders(rows, PAGE) }
}
