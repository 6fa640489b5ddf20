/**
 * Asks providers back, because callbacks get lost: about orders by a schedule, about refunds that are undecided, by their
 * lists of events, and by the bills of yesterday. It also completes what a crash left between two steps. Any number of
 * gateways may run it on one store: each order is taken by one of them.
 */
import { MINUTE_MS, DAY_MS } from '../base/clock.ts'
import { storeNow } from '../operations/deps.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import type { Order, OrderMethod, Refund } from '../terms/pay.ts'
import { type PayDeps, raise } from './exceptions.ts'
import { UNCREDITED_MS } from './health.ts'
import type { Intake } from './intake.ts'
import {
  type CheckoutMethod,
  isCheckout,
  type MissedEvent,
  type PayMethod,
  ProviderAway,
  ProviderRefuses,
} from './method.ts'
import type { Notices } from './notices.ts'
import { nextCheck, type Orders } from './orders.ts'
import type { Refunds } from './refunds.ts'

/** For how long a gateway has an order to itself while it asks the provider. */
const TAKEN_MS = 60_000
const AT_ONCE = 4
const BATCH = 100
/** A provider that has not answered so often in a round is asked about no more orders in it: each question takes ten seconds. */
const MOST_UNANSWERED = 3
/** The others have their turn before those that were not answered, about which alone something may be odd. */
const NEXT_TURN_MS = 5_000
const EVENTS_KEPT_MS = 35 * DAY_MS

export interface ReconcileDeps extends PayDeps {
  intake: Intake
  notices: Notices
  refunds: Refunds
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
    await each(deps, await store.pay.uncredited(nowMs - UNCREDITED_MS, BATCH), ({ id }) => deps.intake.credit(id))
    const unanswered: Unanswered = new Map()
    await each(deps, await store.pay.takeDueOrders(nowMs, TAKEN_MS, BATCH), order =>
      checkOrder(deps, order, unanswered),
    )
    await each(deps, await store.pay.takeDueRefunds(nowMs, TAKEN_MS, BATCH), refund => deps.refunds.check(refund))
    await deps.refunds.tellEnds(BATCH)
    await takeMissed(deps, nowMs)
    await store.pay.forgetEvents(nowMs - EVENTS_KEPT_MS, BATCH)
  } catch (error) {
    if (!(error instanceof StoreUnavailable || deps.stopped())) log.error({ err: error }, 'asking providers failed')
  }
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
  if (!isCheckout(method)) return leaveOrder(deps, order)
  const failures = () => unanswered.get(order.method) ?? 0
  if (failures() >= MOST_UNANSWERED) return store.pay.orderChecked(order.id, (await storeNow(deps)) + NEXT_TURN_MS)
  try {
    const said = await orders.ask(order, method)
    const now = (await store.pay.order(order.id)) as Order
    const over = now.expiresAtMs <= (await storeNow(deps))
    const isOver = over && (now.state === 'created' || now.state === 'pending')
    // Some providers close no order that is a minute old, or know it only when somebody has scanned its code.
    if (isOver || (now.state === 'expired' && said === 'open')) await orders.close(now, method)
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

/** When a provider that did not answer is asked again. */
const retryAt = (nowMs: number): number => nowMs + MINUTE_MS

const EVERY_MS = 5 * MINUTE_MS
const OVERLAP_MS = 60 * MINUTE_MS
/** A callback gets this long to come by itself. */
const PATIENCE_MS = 2 * MINUTE_MS
/** Events of a reading that the provider does not explain now, after which the rest of the list waits for the next one. */
const MOST_AWAY = 3
/** After an outage the list is read in parts. */
const MOST_MS = 24 * 60 * MINUTE_MS

/**
 * Callbacks get lost. Of providers that keep a list of their events, the list is read every few minutes, from an hour before where it
 * was read last; events that have been dealt with are passed over.
 */
async function takeMissed(deps: ReconcileDeps, nowMs: number): Promise<void> {
  const { store, methods, log } = deps
  const listing = [...methods.values()].filter(isCheckout).filter(method => method.missed !== undefined)
  if (listing.length === 0) return
  const marks = await store.pay.payMarks()
  for (const method of listing) {
    const { name } = method
    const mark = marks.find(found => found.method === name && found.what === 'events')
    const fromMs = mark === undefined ? nowMs - PATIENCE_MS : Number(mark.value)
    const untilMs = Math.min(nowMs - PATIENCE_MS, fromMs + MOST_MS)
    if (mark !== undefined && untilMs - fromMs < EVERY_MS) continue
    // One gateway reads the list at a time, and after a failure it rests.
    if (!(await store.pay.takePayMark(name, 'events_taken', nowMs, MINUTE_MS))) continue
    // The list may not be had for days, as where a permission is missing, and the time since then has to be made up for.
    if (mark === undefined) await store.pay.setPayMark(name, 'events', String(fromMs))
    try {
      if (await takeEvents(deps, method, fromMs - OVERLAP_MS, untilMs))
        await store.pay.setPayMark(name, 'events', String(untilMs))
    } catch (error) {
      if (!(error instanceof ProviderAway || error instanceof ProviderRefuses)) throw error
      log.warn({ method: name, reason: error.message }, 'the events of a provider cannot be read')
    }
  }
}

/**
 * False when it was stopped before the end, or the list has to be read again. A notice that comes too early is taken again by the
 * overlap, or by the bill.
 */
async function takeEvents(
  deps: ReconcileDeps,
  method: CheckoutMethod,
  fromMs: number,
  untilMs: number,
): Promise<boolean> {
  const { store, stopped } = deps
  let away = 0
  for await (const event of method.missed?.(fromMs, untilMs) ?? []) {
    if (stopped()) return false
    if (await store.pay.seenEvent(method.name, event.eventId)) continue
    try {
      if (await takeEvent(deps, method, event)) await store.pay.rememberEvent(method.name, event.eventId)
    } catch (error) {
      // One event about which nobody answers does not keep those behind it from being read.
      if (!(error instanceof ProviderAway) || ++away >= MOST_AWAY) throw error
      deps.log.warn(
        { method: method.name, event: event.eventId, reason: error.message },
        'an event cannot be asked about',
      )
    }
  }
  return away === 0
}

/**
 * False when it has to be taken again. An event that the provider cannot explain, or that nobody here expected, does not stand in the
 * way of others; a person is told of it, because the list is soon read on.
 */
async function takeEvent(deps: ReconcileDeps, { name }: CheckoutMethod, event: MissedEvent): Promise<boolean> {
  try {
    let early = false
    for (const notice of await event.notices())
      if ((await deps.notices.take(name, notice, 'query')) === 'early') early = true
    return !early
  } catch (error) {
    if (error instanceof ProviderAway || error instanceof StoreUnavailable) throw error
    const { eventId } = event
    const { log } = deps
    const { message } = error as Error
    if (error instanceof ProviderRefuses)
      log.warn({ method: name, event: eventId, reason: message }, 'an event of a provider cannot be taken')
    else log.error({ err: error, method: name, event: eventId }, 'an event of a provider cannot be taken')
    const detail = `an event of the provider cannot be read, look at it there: ${message}`
    await raise(deps, { method: name, kind: 'fraud_warning', reference: eventId, detail })
    return false
  }
}
