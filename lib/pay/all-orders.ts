/** What operators see of orders: all of them, by state and age, and one with everything that belongs to it. */
import { storeNow } from '../operations/deps.ts'
import { z } from 'zod'
import { formatMicro, micro } from '../base/money.ts'
import { OperationError } from '../operations/error.ts'
import type { Store } from '../store/store.ts'
import * as kind from '../config/scalars.ts'
import { ORDER_STATES, type Order, PAY_METHODS, type Proof, type Refund } from '../terms/pay.ts'
import { type ExceptionRow, exceptionRow } from './exceptions.ts'
import { isOrderId } from './numbers.ts'
import { NO_ORDER } from './order-faults.ts'
import { heldUntil, iso, isoOrNull, nextOrders, orderAfter, shownCents } from './own-orders.ts'

const PAGE = 50
const MOST = 1_000
const MOST_EXCEPTIONS = 100

/** `older`: only orders that were made at least so long ago. */
export const ordersFilter = z.strictObject({
  state: kind.oneOf(...ORDER_STATES).optional(),
  method: kind.oneOf(...PAY_METHODS).optional(),
  older: kind.duration({ most: 366 * 86_400_000 }).optional(),
  limit: kind.whole(1, MOST).prefault(PAGE),
  after: orderAfter.optional(),
})
export type OrdersFilter = z.output<typeof ordersFilter>

export interface AllOrdersDeps {
  store: Store
  clock: { now(): number }
}

/** `accountId`: only orders of this account; null = of all. */
export async function allOrders({ store, clock }: AllOrdersDeps, filter: OrdersFilter, accountId: number | null) {
  const { state, method, older, limit, after } = filter
  const nowMs = await storeNow({ store, clock })
  const before = after ?? (older === undefined ? undefined : { createdAtMs: nowMs - older, id: '' })
  const rows = await store.pay.orders({
    ...(accountId === null ? {} : { accountId }),
    ...(state === undefined ? {} : { states: [state] }),
    ...(method === undefined ? {} : { method }),
    ...(before === undefined ? {} : { before }),
    limit,
  })
  const accounts = accountNames(store)
  const data = []
  for (const order of rows) data.push(await orderRow(order, accounts))
  return { data, next: nextOrders(rows, limit) }
}

type AccountName = { id: string; name: string } | null

/** Looks each account of a page up once. */
function accountNames(store: Store): (id: number) => Promise<AccountName> {
  const known = new Map<number, Promise<AccountName>>()
  const find = async (id: number): Promise<AccountName> => {
    const found = await store.account(id)
    return found === null ? null : { id: found.publicId, name: found.name }
  }
  return id => {
    const found = known.get(id) ?? find(id)
    known.set(id, found)
    return found
  }
}

/** Nothing of it pays the order: the page or code of the provider is for the payer only. */
const orderRow = async (order: Order, account: (id: number) => Promise<AccountName>) => ({
  id: order.id,
  account: await account(order.accountId),
  method: order.method,
  state: order.state,
  amount: formatMicro(order.amount),
  asked: shownCents(order.asked),
  currency: order.currency,
  late: order.late,
  sandbox: order.sandbox,
  credited: formatMicro(order.credited),
  refunded: formatMicro(order.refunded),
  frozen: formatMicro(order.frozen),
  reversed: formatMicro(order.reversed),
  created_at: iso(order.createdAtMs),
  paid_at: isoOrNull(order.paidAtMs),
  held_until: heldUntil(order),
  credited_at: isoOrNull(order.creditedAtMs),
})

const proofRow = (proof: Proof & { atMs: number }) => ({
  transaction: proof.transactionId,
  amount: shownCents(proof.amount),
  currency: proof.currency,
  source: proof.source,
  at: iso(proof.atMs),
  paid_at: isoOrNull(proof.paidAtMs),
  digest: proof.digest === '' ? null : proof.digest,
  by: proof.actor === '' ? null : proof.actor,
  reason: proof.note === '' ? null : proof.note,
})

export const refundRow = (refund: Refund) => ({
  id: refund.id,
  kind: refund.kind,
  amount: formatMicro(refund.amount),
  state: refund.state,
  provider_id: refund.providerId,
  reason: refund.reason,
  by: refund.actor,
  at: iso(refund.atMs),
  ended_at: isoOrNull(refund.endedAtMs),
  check_at: isoOrNull(refund.checkAtMs),
})

/** An order with its proofs, what went back of it, and its exceptions. */
export async function oneOrder({ store }: Pick<AllOrdersDeps, 'store'>, id: string) {
  const order = isOrderId(id) ? await store.pay.order(id) : null
  if (order === null) throw new OperationError('missing', NO_ORDER)
  const [proofs, refunds, exceptions, refundable, person] = await Promise.all([
    store.pay.proofs(id),
    store.pay.refunds(id),
    store.pay.exceptions({ orderId: id, limit: MOST_EXCEPTIONS }),
    store.pay.refundable(id),
    order.userId === null ? null : store.people.byId(order.userId),
  ])
  const shown: ExceptionRow[] = exceptions.map(found => exceptionRow(found, order))
  return {
    ...(await orderRow(order, accountNames(store))),
    user: person === null ? null : { id: person.publicId, name: person.name },
    merchant: order.merchant,
    provider_id: order.providerId,
    rate: order.rate === null ? null : formatMicro(micro(order.rate)),
    expires_at: iso(order.expiresAtMs),
    check_at: isoOrNull(order.checkAtMs),
    checks: order.checks,
    refundable: formatMicro(refundable),
    proofs: proofs.map(proofRow),
    refunds: refunds.map(refundRow),
    exceptions: shown,
  }
}
