/**
 * Asks providers back, because callbacks get lost: about orders by a schedule, about refunds that are undecided, by their
 * lists of events, and by the bills of yesterday. It also completes what a crash left between two steps. Any number of
 * gateways may run it on one store: each order is taken by one of them.
 */
import { type OperationDeps, storeNow } from '../operations/deps.ts'
import { StoreUnavailable } from '../store/store.ts'
import type { Order, OrderMethod, Refund } from '../terms/pay.ts'
import { PaymentDisputed, type PayMethod, ProviderAway, ProviderRefuses } from './method.ts'
import { takeMissed } from './missed.ts'
import type { Orders } from './orders.ts'
import { nextCheck, nextRefundCheck, retryAt } from './schedule.ts'
import type { Till } from './till.ts'

/** A proof older than this, and not credited, was left by a crash. */
const UNCREDITED_MS = 5_000
/** For how long a gateway has an order to itself while it asks the provider. */
const TAKEN_MS = 60_000
const AT_ONCE = 4
const BATCH = 100
/** A provider that has not answered so often in a round is asked about no more orders in it: each question takes ten seconds. */
const MOST_UNANSWERED = 3
/** The others have their turn before those that were not answered, about which alone something may be odd. */
const NEXT_TURN_MS = 5_000
/** Banks take up to three days; what is undecided then may need a person, as where the payer's account is closed. */
const STUCK_MS = 3 * 86_400_000
const EVENTS_KEPT_MS = 35 * 86_400_000

export interface ReconcileDeps extends OperationDeps {
  till: Till
  orders: Orders
  methods: ReadonlyMap<OrderMethod, PayMethod>
  /** True when the process ends: a long round ends early. */
  stopped: () => boolean
}

/** One round. A store that is away ends it; the next one goes on. */
export async function reconcile(deps: ReconcileDeps): Promise<void> {
  const { store, log } = deps
  try {
    const nowMs = await storeNow(deps)
    await each(deps, await store.pay.uncredited(nowMs - UNCREDITED_MS, BATCH), ({ id }) => deps.till.credit(id))
    const unanswered: Unanswered = new Map()
    await each(deps, await store.pay.takeDueOrders(nowMs, TAKEN_MS, BATCH), order =>
      checkOrder(deps, order, unanswered),
    )
    await each(deps, await store.pay.takeDueRefunds(nowMs, TAKEN_MS, BATCH), refund => checkRefund(deps, refund))
    await tellEnds(deps)
    await takeMissed(deps, nowMs)
    await store.pay.forgetEvents(nowMs - EVENTS_KEPT_MS, BATCH)
  } catch (error) {
    if (!(error instanceof StoreUnavailable || deps.stopped())) log.error({ err: error }, 'asking providers failed')
  }
}

/** What a crash left open of refunds that have ended. */
async function tellEnds({ store, till }: ReconcileDeps): Promise<void> {
  for (const { method, reference } of await store.pay.exceptions({ kind: 'refund_stuck', open: true, limit: BATCH }))
    if (method !== 'usdt') await till.back.tellEnd(method, reference)
}

type Work<T> = (item: T) => Promise<unknown>

/** A few of each method at once, so that no provider is flooded, and none that is slow holds up those of another. */
async function each<T extends Order | Refund>(deps: ReconcileDeps, list: readonly T[], work: Work<T>): Promise<void> {
  const queues = [...Map.groupBy(list, ({ method }) => method).values()]
  await Promise.all(
    queues.flatMap(queue => Array.from({ length: Math.min(AT_ONCE, queue.length) }, () => drain(deps, queue, work))),
  )
}

/** What fails in a way that nobody thought of is tried again when its time has passed; others do not wait for it. */
async function drain<T extends Order | Refund>(deps: ReconcileDeps, queue: T[], work: Work<T>): Promise<void> {
  for (let item = queue.shift(); item !== undefined && !deps.stopped(); item = queue.shift())
    try {
      await work(item)
    } catch (error) {
      if (error instanceof StoreUnavailable || deps.stopped()) throw error
      const { id, method } = item
      deps.log.error({ err: error, method, id }, 'asking a provider back failed')
    }
}

/** When the provider is asked next about an order that it was just asked about. */
async function nextOf(deps: ReconcileDeps, order: Order, answered: boolean): Promise<number | null> {
  const nowMs = await storeNow(deps)
  return answered ? nextCheck(order, nowMs) : retryAt(nowMs)
}

/** Questions of a round that were not answered, by method. */
type Unanswered = Map<OrderMethod, number>

async function checkOrder(deps: ReconcileDeps, order: Order, unanswered: Unanswered): Promise<void> {
  const { store, log, orders, methods } = deps
  const method = methods.get(order.method)
  if (method === undefined) return leaveOrder(deps, order)
  const failures = () => unanswered.get(order.method) ?? 0
  if (failures() >= MOST_UNANSWERED) return store.pay.orderChecked(order.id, (await storeNow(deps)) + NEXT_TURN_MS)
  try {
    await orders.ask(order, method)
    const now = (await store.pay.order(order.id)) as Order
    const over = now.expiresAtMs <= (await storeNow(deps))
    if (over && (now.state === 'created' || now.state === 'pending')) await closeOrder(deps, now, method)
    else await store.pay.orderChecked(order.id, await nextOf(deps, order, true))
  } catch (error) {
    if (!(error instanceof ProviderAway || error instanceof ProviderRefuses)) throw error
    log.warn(
      { method: order.method, order: order.id, reason: error.message },
      'a provider cannot be asked about an order',
    )
    if (error instanceof ProviderAway) unanswered.set(order.method, failures() + 1)
    await store.pay.orderChecked(order.id, await nextOf(deps, order, false))
  }
}

/** A method that is not configured here cannot be asked. Another gateway may have it, or it may come back in the order's time. */
async function leaveOrder(deps: ReconcileDeps, order: Order): Promise<void> {
  const { pay } = deps.store
  const isOver = (await nextOf(deps, order, true)) === null
  if (isOver) await pay.endOrder(order.id, 'expired', null)
  else await pay.orderChecked(order.id, await nextOf(deps, order, false))
}

/** Closes an order at its end. The payer may pay between the question and the closing, so the provider is asked again. */
export async function closeOrder(deps: ReconcileDeps, order: Order, method: PayMethod): Promise<void> {
  const { till, store } = deps
  for (const said of [await method.close(order), await method.query(order)])
    if (said.kind === 'paid') {
      await till.take(method.name, said, 'query')
      return store.pay.orderChecked(order.id, await nextOf(deps, order, true)) // it may not fit, and wait for a person
    }
  await store.pay.endOrder(order.id, 'expired', await nextOf(deps, order, true))
}

/** Undecided refunds are asked about. What stays so for days, for whatever reason, a person has to know of. */
export async function checkRefund(deps: ReconcileDeps, refund: Refund): Promise<void> {
  const { store, till, methods, log } = deps
  const { method: name, id, orderId } = refund
  const method = methods.get(name)
  try {
    if (method !== undefined) await askRefund(deps, refund, method)
  } catch (error) {
    if (!(error instanceof ProviderAway || error instanceof ProviderRefuses)) throw error
    log.warn({ method: name, refund: id, reason: error.message }, 'a provider cannot be asked about a refund')
    if (error instanceof PaymentDisputed) await till.back.giveWay(refund, error.disputes)
  }
  const now = await store.pay.refund(name, id)
  if (now?.state !== 'frozen') return
  const nowMs = await storeNow(deps)
  if (nowMs - refund.atMs >= STUCK_MS) {
    const detail = 'a refund is undecided for days, and its money stays frozen: look at it at the provider'
    await till.raise({ method: name, kind: 'refund_stuck', reference: id, orderId, detail })
  }
  await store.pay.refundSent(name, id, now.providerId, nextRefundCheck(refund, nowMs))
}

/** A refund that the provider does not know is sent again under the same number. */
async function askRefund(deps: ReconcileDeps, refund: Refund, method: PayMethod): Promise<void> {
  const { store, till, orders } = deps
  const order = (await store.pay.order(refund.orderId)) as Order
  const ageMs = (await storeNow(deps)) - refund.atMs
  const said = await method.queryRefund(refund, order, ageMs)
  if (said !== 'undecided') await till.back.endRefund(refund, said)
  else if (refund.providerId === null) await orders.sendRefund(refund, order, method)
}
