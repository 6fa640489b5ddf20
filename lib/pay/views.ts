/**
 * Orders, their proofs, refunds and exceptions as rows for people: what the account sees of its own, and what operators see of all.
 */
import { iso, isoOrNull } from '../base/clock.ts'
import { formatMicro, micro } from '../base/money.ts'
import { oneOf, scalar } from '../config/scalars.ts'
import { OperationError } from '../operations/error.ts'
import type { Store } from '../store/store.ts'
import type { OrderFilter } from '../store/payments/types.ts'
import { checksummed } from '../config/xpub.ts'
import { askedText, type TransferOrder, tokenText, USDT } from '../terms/chain.ts'
import { type Order, type PayException, type Proof, type Refund, UNTIL_ENOUGH } from '../terms/pay.ts'
import { creditable, isOrderId } from './exceptions.ts'
import { NO_ORDER } from './faults.ts'

const CENTS = 2
const MOST_EXCEPTIONS = 100

/** Cents of a currency as a decimal of two places. */
const shownCents = (cents: number): string => {
  const text = String(cents).padStart(CENTS + 1, '0')
  return `${text.slice(0, -CENTS)}.${text.slice(-CENTS)}`
}

/** What was asked for or came, in its currency: tokens with all their places. */
const shownAsked = ({ asked, tokens }: Order): string => (tokens === null ? shownCents(asked) : tokenText(tokens))
const shownAmount = (amount: number, currency: string): string =>
  currency === USDT ? askedText(amount) : shownCents(amount)

/** Only of an order that is held now, or was until a moment ago. */
export const heldUntil = ({ state, heldUntilMs }: Order): string | null =>
  state === 'paid' && heldUntilMs !== UNTIL_ENOUGH ? isoOrNull(heldUntilMs) : null

/** What the order of a transfer waits for: a rate, or others of the account. null = it does not wait for either. */
function waitsFor({ state, heldUntilMs, rate, amount }: Order): 'rate' | 'others' | null {
  if (state !== 'paid' || heldUntilMs !== UNTIL_ENOUGH) return null
  return rate === null && amount === 0 ? 'rate' : 'others'
}

/** The transaction of a transfer; null = no tokens came. */
const transactionOf = ({ tokens, providerId }: Order): string | null =>
  tokens === null ? null : (providerId?.split(':')[0] ?? null)

/** What everybody sees who may see the order. */
const seenByAll = (order: Order) => ({
  id: order.id,
  method: order.method,
  state: order.state,
  amount: formatMicro(order.amount),
  asked: shownAsked(order),
  currency: order.currency,
  transaction: transactionOf(order),
  late: order.late,
  credited: formatMicro(order.credited),
  refunded: formatMicro(order.refunded),
  frozen: formatMicro(order.frozen),
  reversed: formatMicro(order.reversed),
  created_at: iso(order.createdAtMs),
  held_until: heldUntil(order),
  waits_for: waitsFor(order),
  credited_at: isoOrNull(order.creditedAtMs),
})

/** What can be paid is shown only while it can be paid. */
export function shownOrder(order: Order) {
  const payable = order.state === 'pending'
  return {
    ...seenByAll(order),
    redirect: (payable && order.shown?.redirect) || null,
    qr: (payable && order.shown?.qr) || null,
    expires_at: iso(order.expiresAtMs),
  }
}

/** Where a page of orders begins: after this order of the page before, by its time and id. */
type OrderAfter = NonNullable<OrderFilter['beyond']>

export const orderAfter = scalar(
  { zh: '另一页的 next', en: 'the `next` of another page' },
  { type: 'string' },
  (value): OrderAfter | undefined => {
    const m = typeof value === 'string' ? /^(\d{1,15})\.(T\w{26})$/.exec(value) : null
    return m === null ? undefined : { createdAtMs: Number(m[1]), id: m[2] as string }
  },
)

/** By when orders were made, the newest first. */
export const orderSort = oneOf('created', '-created').prefault('-created')

/** null on the last page. */
export function nextOrders(rows: readonly Order[], limit: number): string | null {
  const last = rows.length === limit ? rows.at(-1) : undefined
  return last === undefined ? null : `${last.createdAtMs}.${last.id}`
}

type AccountName = { id: string; name: string } | null

/** Looks each account of a page up once. */
export function accountNames(store: Store): (id: number) => Promise<AccountName> {
  const known = new Map<number, Promise<AccountName>>()
  const find = async (id: number): Promise<AccountName> => {
    const found = await store.accounts.byId(id)
    return found === null ? null : { id: found.publicId, name: found.name }
  }
  return id => {
    const found = known.get(id) ?? find(id)
    known.set(id, found)
    return found
  }
}

/** Nothing of it pays the order: the page or code of the provider is for the payer only. */
export async function orderRow(order: Order, account: (id: number) => Promise<AccountName>) {
  const { id, ...seen } = seenByAll(order)
  const paid_at = isoOrNull(order.paidAtMs)
  return { id, account: await account(order.accountId), ...seen, sandbox: order.sandbox, paid_at }
}

const proofRow = (proof: Proof & { atMs: number }) => ({
  transaction: proof.transactionId,
  amount: shownAmount(proof.amount, proof.currency),
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
  order: refund.orderId,
  tokens: refund.receiver === null ? null : askedText(refund.asked),
  receiver: refund.receiver === null ? null : checksummed(refund.receiver),
  tx: refund.tx,
  ending: refund.ending === '' ? null : refund.ending,
  reason: refund.reason,
  by: refund.actor,
  at: iso(refund.atMs),
  ended_at: isoOrNull(refund.endedAtMs),
  check_at: isoOrNull(refund.checkAtMs),
})

/** `credit`: what resolving it by a credit would book; null = it cannot be credited. `order`: the one that it names. */
function exceptionRow(found: PayException, order: Order | null) {
  const can = found.resolvedAtMs === null ? creditable(found, order) : null
  return {
    id: String(found.id),
    method: found.method,
    kind: found.kind,
    order: found.orderId,
    transaction: found.transactionId,
    reference: found.reference,
    amount: found.amount === null ? null : shownAmount(found.amount, found.currency ?? ''),
    currency: found.currency,
    detail: found.detail,
    credit: can !== null && 'worth' in can ? formatMicro(can.worth) : null,
    at: iso(found.atMs),
    due_at: isoOrNull(found.dueAtMs),
    resolved_at: isoOrNull(found.resolvedAtMs),
    resolved_by: found.resolvedBy,
    resolution: found.resolution,
  }
}
export type ExceptionRow = ReturnType<typeof exceptionRow>

const orderOf = async ({ pay }: Pick<Store, 'pay'>, { orderId }: PayException): Promise<Order | null> =>
  orderId === null ? null : pay.order(orderId)

export const oneException = async (store: Store, found: PayException): Promise<ExceptionRow> =>
  exceptionRow(found, await orderOf(store, found))

/** Where the transfer stands on the chain that the order was made of, and which part of it has the rate of a quote. */
const transferRow = ({ chainId, logIndex, to, from, block, node, quoted, quotedRate }: TransferOrder) => ({
  chain_id: chainId,
  log_index: logIndex,
  address: checksummed(to),
  sender: checksummed(from),
  block: block.no,
  node,
  quoted: tokenText(quoted),
  quoted_rate: quotedRate === null ? null : formatMicro(micro(quotedRate)),
})

/** An order with its proofs, what went back of it, and its exceptions. */
export async function oneOrder({ store }: { store: Store }, id: string) {
  const order = isOrderId(id) ? await store.pay.order(id) : null
  if (order === null) throw new OperationError('missing', NO_ORDER)
  const [proofs, refunds, exceptions, refundable, person, transfer] = await Promise.all([
    store.pay.proofs(id),
    store.pay.refunds(id),
    store.pay.exceptions({ orderId: id, limit: MOST_EXCEPTIONS }),
    store.pay.refundable(id),
    order.userId === null ? null : store.people.users.byId(order.userId),
    order.tokens === null ? null : store.chain.transferOrder(id),
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
    transfer: transfer === null ? null : transferRow(transfer),
    refundable: formatMicro(refundable),
    proofs: proofs.map(proofRow),
    refunds: refunds.map(refundRow),
    exceptions: shown,
  }
}
