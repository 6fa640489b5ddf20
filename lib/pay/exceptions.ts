/** What operators see of exceptions, and what they send to resolve one or to send money back. */
import { z } from 'zod'
import { formatMicro } from '../base/money.ts'
import type { Store } from '../store/store.ts'
import * as kind from '../config/scalars.ts'
import { type Order, PAY_EXCEPTIONS, PAY_WAYS, type PayException } from '../terms/pay.ts'
import { creditable } from './by-hand.ts'
import { iso, isoOrNull, shownCents } from './own-orders.ts'

const PAGE = 50
const MOST = 1_000
const MOST_REASON = 1_000
/** Control characters, which have no place in a statement. */
const CONTROL = /\p{Cc}/u

export const exceptionsFilter = z.strictObject({
  state: kind.oneOf('open', 'resolved', 'all').prefault('open'),
  kind: kind.oneOf(...PAY_EXCEPTIONS).optional(),
  method: kind.oneOf(...PAY_WAYS).optional(),
  limit: kind.whole(1, MOST).prefault(PAGE),
  after: kind.whole(1, Number.MAX_SAFE_INTEGER).optional(),
})
export type ExceptionsFilter = z.output<typeof exceptionsFilter>

/** Why an operator does something. It is kept. */
export const reason = kind.scalar(
  {
    zh: `原因,最多${MOST_REASON}个字符,不含控制字符`,
    en: `a reason of at most ${MOST_REASON} characters without control characters`,
  },
  { type: 'string', minLength: 1, maxLength: MOST_REASON },
  (value): string | undefined => {
    if (typeof value !== 'string' || value.length > MOST_REASON || !value.isWellFormed()) return undefined
    return CONTROL.test(value) || value.trim() === '' ? undefined : value.trim()
  },
)

/** `credit`: book what was received. `close`: nothing is booked. */
export const resolution = z.strictObject({ action: kind.oneOf('credit', 'close'), reason })

/** Money that waits is credited now. */
export const releaseForm = z.strictObject({ reason })

/** The amount is checked with the order. `reference`: the caller's own name for the refund, so that it may be asked again. */
export const refundForm = z.strictObject({
  amount: kind.cny,
  reference: kind.name,
  reason,
  force: z.boolean('true or false').prefault(false),
})

/** `credit`: what resolving it by a credit would book; null = it cannot be credited. `order`: the one that it names. */
export function exceptionRow(found: PayException, order: Order | null) {
  const can = found.resolvedAtMs === null ? creditable(found, order) : null
  return {
    id: String(found.id),
    method: found.method,
    kind: found.kind,
    order: found.orderId,
    transaction: found.transactionId,
    reference: found.reference,
    amount: found.amount === null ? null : shownCents(found.amount),
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

export async function exceptionPage({ store }: { store: Store }, filter: ExceptionsFilter) {
  const { state, kind, method, limit, after } = filter
  const rows = await store.pay.exceptions({
    ...(state === 'all' ? {} : { open: state === 'open' }),
    ...(kind === undefined ? {} : { kind }),
    ...(method === undefined ? {} : { method }),
    ...(after === undefined ? {} : { beforeId: after }),
    limit,
  })
  const data: ExceptionRow[] = []
  for (const found of rows) data.push(await oneException(store, found))
  return { data, next: rows.length === limit ? String(rows.at(-1)!.id) : null }
}
