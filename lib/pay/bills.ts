/**
 * Compares what a provider billed for a day with the proofs that are stored and the money that was credited. A payment that
 * was never learned of is asked about and credited. Every other difference waits for a person.
 *
 * Days are China's. Providers have the bill of a day in the morning of the next one; days that were missed are made up for.
 * Everything may be repeated: a mark in the store keeps other gateways from doing the same at the same time.
 */
import { DAY_MS, HOUR_MS } from '../base/clock.ts'
import { storeNow } from '../operations/deps.ts'
import { StoreUnavailable } from '../store/base/errors.ts'
import type { Order, OrderMethod, Proof } from '../terms/pay.ts'
import {
  type DisputeNotice,
  type CheckoutMethod,
  isCheckout,
  type Payment,
  ProviderAway,
  ProviderRefuses,
  type RefundNotice,
  type Said,
  type WarningNotice,
} from './method.ts'
import { raise } from './exceptions.ts'
import { chinaDay } from './messages.ts'
import type { ReconcileDeps } from './reconcile.ts'

/** Bills are ready at ten; half an hour later they are read. */
const READY_MS = 10.5 * HOUR_MS
/** For how long a gateway has the bills of a method to itself, and how long one rests that could not be had. */
const TAKEN_MS = HOUR_MS / 2
/** Days whose bills may be missing before a person is told. */
const LATE_DAYS = 3
/** Providers keep bills for about three months. */
const MOST_DAYS = 60
const PAGE = 500
/** Marks: the last day whose bill was read, and the one before the first day whose bill is read. */
const READ = 'bill'
const SINCE = 'bill_since'

const startOf = (day: string): number => Date.parse(`${day}T00:00:00+08:00`)
const nextDay = (day: string): string => chinaDay(startOf(day) + DAY_MS)

/** The day whose bill is the newest that can be read now. */
const newestDay = (nowMs: number): string => chinaDay(nowMs - READY_MS - DAY_MS)

/** The days whose bills are to be read now, oldest first. `last`: the last one that was. */
export function dueDays(last: string, nowMs: number): string[] {
  const newest = newestDay(nowMs)
  const oldest = chinaDay(startOf(newest) - (MOST_DAYS - 1) * DAY_MS)
  const first = nextDay(last) > oldest ? nextDay(last) : oldest
  const days: string[] = []
  for (let day = first; day <= newest; day = nextDay(day)) days.push(day)
  return days
}

/** Reads the bills that are due, of all methods. A store that is away ends it. */
export async function compareBills(deps: ReconcileDeps): Promise<void> {
  const { store, methods, log, stopped } = deps
  try {
    const nowMs = await storeNow(deps)
    const marks = await store.pay.payMarks()
    for (const method of [...methods.values()].filter(isCheckout)) {
      const { name } = method
      const marked = (what: string) => marks.find(mark => mark.method === name && mark.what === what)?.value
      const last = marked(READ) ?? marked(SINCE) ?? (await beginBills(deps, name, nowMs))
      const days = dueDays(last, nowMs)
      if (days.length > 0 && (await store.pay.takePayMark(name, 'bill_taken', nowMs, TAKEN_MS)))
        if (!(await compareDays(deps, method, days)) && days.length > LATE_DAYS) await tellOfLate(deps, name, last)
    }
  } catch (error) {
    if (!(error instanceof StoreUnavailable || stopped())) log.error({ err: error }, 'bills cannot be compared')
  }
}

/**
 * Notes from where on the bills of a method are read: the newest one now is the first. It may not be had for days, as where a
 * permission is missing, and the days since then have to be made up for.
 */
async function beginBills({ store }: ReconcileDeps, name: OrderMethod, nowMs: number): Promise<string> {
  const before = chinaDay(startOf(newestDay(nowMs)) - DAY_MS)
  await store.pay.setPayMark(name, SINCE, before)
  return before
}

/** What nobody told of is found by bills alone. */
async function tellOfLate(deps: ReconcileDeps, method: OrderMethod, last: string): Promise<void> {
  const detail = `no bill after that of ${last} can be had, for days: nobody knows what is missing here since then`
  await raise(deps, { method, kind: 'bill_missing', reference: `since ${last}`, detail })
}

/** False when the first of them could not be had. */
async function compareDays(deps: ReconcileDeps, method: CheckoutMethod, days: readonly string[]): Promise<boolean> {
  const { store, log, stopped } = deps
  const { name } = method
  for (const day of days) {
    try {
      if (!(await compareDay(deps, method, day))) return true
      await store.pay.setPayMark(name, READ, day)
    } catch (error) {
      if (error instanceof StoreUnavailable || stopped()) throw error
      // What nobody thought of in one bill keeps no other way to pay from its own.
      if (!(error instanceof ProviderAway || error instanceof ProviderRefuses))
        log.error({ err: error, method: name, day }, 'the bill of a day cannot be read')
      else log.warn({ method: name, day, reason: error.message }, 'the bill of a day cannot be had')
      return day !== days[0]
    }
    if (stopped()) return true
  }
  return true
}

/** False when it was stopped before the end. */
async function compareDay(deps: ReconcileDeps, method: CheckoutMethod, day: string): Promise<boolean> {
  const billed = new Set<string>()
  const back: (RefundNotice | DisputeNotice | WarningNotice)[] = []
  for await (const line of method.bill(day)) {
    if (deps.stopped()) return false
    if (line.kind !== 'paid') back.push(line)
    else {
      await comparePayment(deps, method, line, day, billed.has(line.orderId))
      billed.add(line.orderId)
    }
  }
  // What was paid and sent back on one day is credited first.
  for (const line of back) {
    if (deps.stopped()) return false
    if (line.kind === 'refund') await compareRefund(deps, method, line, day)
    else await deps.notices.take(method.name, line, 'bill')
  }
  return findUnbilled(deps, method, day, billed)
}

/** `again`: the bill had another payment of this order. */
async function comparePayment(
  deps: ReconcileDeps,
  method: CheckoutMethod,
  line: Payment,
  day: string,
  again: boolean,
): Promise<void> {
  const { store } = deps
  const { orderId, transactionId, amount, currency } = line
  const found = { method: method.name, reference: transactionId, orderId, transactionId, amount, currency }
  const order = await store.pay.order(orderId)
  const proofs = order === null ? [] : await store.pay.proofs(orderId)
  const proof = proofs.find(known => known.transactionId === transactionId) ?? (again ? undefined : onDay(proofs, day))
  if (proof !== undefined) {
    if (proof.amount !== amount || proof.currency !== currency) {
      const detail = `${day}: the bill has ${amount} ${currency}, the proof ${proof.amount} ${proof.currency}`
      await raise(deps, { ...found, kind: 'bill_amount', detail })
    }
    return
  }
  if (order === null || proofs.length > 0) {
    await deps.notices.take(method.name, line, 'bill')
    return
  }
  const said = await asked(method, order)
  if (said?.kind === 'paid') await deps.notices.take(method.name, said, 'bill')
  else {
    const detail = `${day}: the bill has a payment that the provider does not confirm when it is asked`
    await raise(deps, { ...found, kind: 'bill_missing', detail })
  }
}

/** Some bills have other numbers than messages have, so a payment of the same day is the same one. */
const onDay = <P extends Proof & { atMs: number }>(proofs: readonly P[], day: string): P | undefined =>
  proofs.find(({ paidAtMs, atMs }) => chinaDay(paidAtMs ?? atMs) === day)

/** null = the provider refuses to tell. */
const asked = (method: CheckoutMethod, order: Order): Promise<Said | null> =>
  method.query(order).catch(error => {
    if (error instanceof ProviderRefuses) return null
    throw error
  })

async function compareRefund(
  deps: ReconcileDeps,
  method: CheckoutMethod,
  line: RefundNotice,
  day: string,
): Promise<void> {
  const { store } = deps
  const { refundId, providerId, orderId, amount, state } = line
  const { name } = method
  const known =
    (refundId === null ? null : await store.pay.refund(name, refundId)) ??
    (await store.pay.refundByProviderId(name, providerId))
  if (known !== null && state === 'done' && known.asked !== amount) {
    const detail = `${day}: the bill has another amount for this refund`
    await raise(deps, { method: name, kind: 'refund_amount', reference: `bill:${known.id}`, orderId, amount, detail })
  }
  // It is in no later bill, and no message about it may ever come.
  if (known === null && state === 'undecided') {
    const detail = `${day}: a refund that was not begun here, and that the provider has not decided`
    await raise(deps, { method: name, kind: 'refund_unknown', reference: providerId, orderId, amount, detail })
  }
  await deps.notices.take(name, line, 'bill')
}

/**
 * Payments of the day that the bill does not have. One that is held counts: no later bill has it, and it will be credited. False when
 * it was stopped before the end.
 */
async function findUnbilled(
  deps: ReconcileDeps,
  method: CheckoutMethod,
  day: string,
  billed: ReadonlySet<string>,
): Promise<boolean> {
  const { store, stopped } = deps
  const [fromMs, untilMs] = [startOf(day), startOf(nextDay(day))]
  for (let after = '', more = true; more; ) {
    const page = await store.pay.proofsPaid(method.name, fromMs, untilMs, after, PAGE)
    for (const { orderId, transactionId, amount, currency } of page) {
      if (stopped()) return false
      if (billed.has(orderId)) continue
      const detail = `${day}: the order is paid as far as is known here, and the bill does not have its payment`
      const found = { reference: transactionId, orderId, transactionId, amount, currency, detail }
      await raise(deps, { method: method.name, kind: 'bill_missing', ...found })
    }
    after = page.at(-1)?.transactionId ?? ''
    more = page.length === PAGE
  }
  return true
}
