/**
 * Stripe's events. An event says what to look at, and is not itself believed: whatever it names is asked for at Stripe.
 * So nobody makes money of a webhook secret alone, and it does not matter in which order events come.
 */
import {
  type BillLine,
  type DisputeNotice,
  NotVerified,
  type Notice,
  type Payment,
  ProviderAway,
  ProviderRefuses,
  type RawCallback,
  type RefundNotice,
  type RefundSaid,
  type WarningNotice,
} from '../method.ts'
import { isCents, isOrderId } from '../exceptions.ts'
import {
  type StripeClient,
  type CheckoutSession,
  eventDigest,
  idOf,
  orderOf,
  cardPayment,
  cardSaid,
  sessionById,
  timeOf,
} from './client.ts'
import { createHmac, timingSafeEqual } from 'node:crypto'
import type Stripe from 'stripe'

/** The parts of an event that are read here. */
interface StripeEvent {
  id: string
  type: string
  livemode: boolean
  /** Set when the event is of an account that is connected to ours. */
  account?: string
  object: { id: string }
}

type Handler = (client: StripeClient, event: StripeEvent) => Promise<Notice[]>

const refund: Handler = (client, { object }) => noticesOfRefund(client, object.id)
const dispute: Handler = (client, { object }) => noticesOfDispute(client, object.id)

/** The events to which the webhook is to be subscribed. Others are taken and do nothing. */
const HANDLERS: Readonly<Record<string, Handler>> = {
  'checkout.session.completed': noticesOfSession,
  'checkout.session.async_payment_succeeded': noticesOfSession,
  'checkout.session.async_payment_failed': noticesOfSession,
  'checkout.session.expired': noticesOfSession,
  'charge.refunded': noticesOfCharge,
  'refund.created': refund,
  'refund.updated': refund,
  'refund.failed': refund,
  'charge.dispute.created': dispute,
  'charge.dispute.updated': dispute,
  'charge.dispute.closed': dispute,
  'charge.dispute.funds_withdrawn': dispute,
  'charge.dispute.funds_reinstated': dispute,
  'radar.early_fraud_warning.created': (client, { object }) => noticesOfWarning(client, object.id),
}

export const EVENT_TYPES: readonly string[] = Object.keys(HANDLERS)

/** Reads a callback whose signature has been checked. Throws NotVerified. */
export function eventOf(body: Buffer): StripeEvent {
  try {
    const { id, type, livemode, account, data, object } = JSON.parse(body.toString('utf8'))
    const named = typeof id === 'string' && /^evt_\w{1,200}$/.test(id) && typeof type === 'string'
    if (object === 'event' && named && typeof livemode === 'boolean' && typeof data.object.id === 'string')
      return { id, type, livemode, object: data.object, ...(typeof account === 'string' ? { account } : {}) }
  } catch {
    // it is no such event, which is said below
  }
  throw new NotVerified('form')
}

export async function cardNoticesOf(client: StripeClient, event: StripeEvent): Promise<Notice[]> {
  const { type, account, livemode } = event
  if ((account ?? client.account) !== client.account || livemode === client.sandbox)
    return noticesOfOther(client, event)
  return Object.hasOwn(HANDLERS, type) ? (HANDLERS[type] as Handler)(client, event) : []
}

/** An event of another account or of the other mode never credits. One that claims to pay an order is shown to a person. */
function noticesOfOther(client: StripeClient, { account, livemode, type, object }: StripeEvent): Notice[] {
  const session = object as CheckoutSession
  const claims =
    type === 'checkout.session.completed' && orderOf(session) !== null && idOf(session.payment_intent) !== null
  if (!claims) return []
  return [{ ...cardPayment(client, session), merchant: account ?? client.account, sandbox: !livemode }]
}

async function noticesOfSession(client: StripeClient, { type, object }: StripeEvent): Promise<Notice[]> {
  const session = await sessionById(client, object.id)
  if (session === null) return unknownSession(object as CheckoutSession)
  const orderId = orderOf(session)
  if (orderId === null) return []
  const said = cardSaid(client, session)
  if (said.kind === 'paid') return [said]
  const failed = type === 'checkout.session.async_payment_failed'
  return said.kind === 'ended' || failed ? [{ kind: 'ended', orderId }] : []
}

function unknownSession(session: CheckoutSession): Notice[] {
  const orderId = orderOf(session)
  const detail = 'a signed event about a session that Stripe does not know: others may know the webhook secret'
  return orderId === null ? [] : [{ kind: 'warning', orderId, reference: session.id, detail, refund: false }]
}

async function noticesOfCharge(client: StripeClient, { object }: StripeEvent): Promise<Notice[]> {
  const intent = idOf((object as Stripe.Charge).payment_intent)
  const refunds = intent === null ? [] : await refundsOf(client, intent)
  return refunds.map(refundNotice).filter(notice => notice !== null)
}

const TOLERANCE_S = 300
const LONGEST_HEADER = 4_096
const MOST_SIGNATURES = 16

/** Throws NotVerified. */
export function checkSignature({ headers, body }: RawCallback, secret: string, nowMs: number): void {
  const { time, signatures } = parse(headers['stripe-signature'])
  const expected = createHmac('sha256', secret).update(`${time}.`).update(body).digest()
  if (!signatures.some(signature => timingSafeEqual(signature, expected))) throw new NotVerified('signature')
  if (Math.abs(nowMs / 1_000 - Number(time)) > TOLERANCE_S) throw new NotVerified('age')
}

function parse(header: string | string[] | undefined): { time: string; signatures: Buffer[] } {
  if (typeof header !== 'string' || header.length > LONGEST_HEADER) throw new NotVerified('form')
  const values = (name: string) =>
    header
      .split(',')
      .filter(item => item.startsWith(`${name}=`))
      .map(item => item.slice(name.length + 1))
  const [time, ...otherTimes] = values('t')
  if (time === undefined || otherTimes.length > 0 || !/^\d{1,12}$/.test(time)) throw new NotVerified('form')
  const signatures = values('v1').filter(value => /^[0-9a-f]{64}$/.test(value))
  if (signatures.length === 0 || signatures.length > MOST_SIGNATURES) throw new NotVerified('form')
  return { time, signatures: signatures.map(hex => Buffer.from(hex, 'hex')) }
}

const PAGE = 100
const EXPAND = ['payment_intent']
const EXPAND_ALL = ['data.payment_intent']

/**
 * null = the payment is of something else that uses the same account. Throws ProviderAway when Stripe has put an id in the place of
 * the object that it was asked for: then nobody knows whose it is.
 */
function orderOfIntent(intent: string | Stripe.PaymentIntent | null | undefined): string | null {
  if (typeof intent === 'string') throw new ProviderAway(`the cardPayment ${intent} came without what belongs to it`)
  const order = intent?.metadata?.['order']
  return order !== undefined && isOrderId(order) ? order : null
}

/** An amount in the smallest unit. Throws ProviderAway when it is none. */
function centsOf(amount: unknown, of: string): number {
  if (!isCents(amount)) throw new ProviderAway(`${of} came without an amount that can be read`)
  return amount
}

/** What an event names, Stripe must know: a message about money that goes back is not passed over because it cannot be found. */
function found<T>(object: T | null, id: string): T {
  if (object === null) throw new ProviderRefuses(`Stripe does not know ${id}, which its event is about`)
  return object
}

export const saidOfRefund = ({ status }: Stripe.Refund): RefundSaid =>
  status === 'succeeded' ? 'done' : status === 'failed' || status === 'canceled' ? 'returned' : 'undecided'

/** The refund's payment intent must be expanded. null = it is not of an order. */
export function refundNotice(refund: Stripe.Refund): RefundNotice | null {
  const orderId = orderOfIntent(refund.payment_intent)
  if (orderId === null) return null
  const { id: providerId, amount, metadata } = refund
  return {
    kind: 'refund',
    refundId: metadata?.['refund'] ?? null,
    providerId,
    orderId,
    amount: centsOf(amount, providerId),
    state: saidOfRefund(refund),
  }
}

/** A refund that was accepted, and did not go out because the payer's bank had asked for the money. */
export const failedAsDisputed = ({ failure_reason: why, status }: Stripe.Refund): boolean =>
  status === 'failed' && why === 'charge_for_pending_refund_disputed'

/** A refund that a dispute has stopped makes room for that dispute, which may have found nothing to freeze. */
async function noticesOfRefund(client: StripeClient, id: string): Promise<Notice[]> {
  const refund = found(await client.find(stripe => stripe.refunds.retrieve(id, { expand: EXPAND })), id)
  const notice = refundNotice(refund)
  if (notice === null) return []
  const { id: intent } = refund.payment_intent as Stripe.PaymentIntent
  return [notice, ...(failedAsDisputed(refund) ? await disputesOf(client, intent) : [])]
}

/** All refunds of a payment. */
export const refundsOf = (client: StripeClient, intent: string): Promise<Stripe.Refund[]> =>
  client.ask(stripe =>
    Array.fromAsync(stripe.refunds.list({ payment_intent: intent, limit: PAGE, expand: EXPAND_ALL })),
  )

const OPEN: ReadonlySet<string> = new Set([
  'needs_response',
  'under_review',
  'appeal_needs_response',
  'appeal_under_review',
])

/** null = no money moves: an inquiry, which begins with `warning_`. */
function stateOf({ status, balance_transactions }: Stripe.Dispute): DisputeNotice['state'] | null {
  if (OPEN.has(status)) return 'open'
  if (status === 'won') return 'won'
  if (status === 'lost') return 'lost'
  if (status !== 'prevented') return null
  // A dispute is prevented by giving the money back; what moved says whether that was done in the dispute itself.
  return (balance_transactions ?? []).reduce((sum, { amount }) => sum + amount, 0) < 0 ? 'lost' : 'won'
}

/** Until when Stripe takes evidence. */
function dueOf({ status, evidence_details: evidence }: Stripe.Dispute): { dueAtMs?: number } {
  const dueAtMs = status.endsWith('needs_response') ? timeOf(evidence?.due_by) : null
  return dueAtMs === null ? {} : { dueAtMs }
}

async function noticesOfDispute(client: StripeClient, id: string): Promise<Notice[]> {
  const dispute = found(await client.find(stripe => stripe.disputes.retrieve(id, { expand: EXPAND })), id)
  const notice = disputeNotice(dispute) ?? disputeWarning(dispute)
  return notice === null ? [] : [notice]
}

/** What a person has to know of a dispute in which no money moves, or nobody here knows whether it does. */
function disputeWarning(dispute: Stripe.Dispute): WarningNotice | null {
  const { id, status, payment_intent: intent } = dispute
  const orderId = orderOfIntent(intent)
  if (orderId === null || PASSED.has(status)) return null
  if (status === 'warning_needs_response') {
    const detail = 'the payer’s bank inquires about the payment: answer at Stripe, before it becomes a dispute'
    return { kind: 'warning', orderId, reference: id, detail, ...dueOf(dispute), refund: false }
  }
  const detail = `a dispute has the state “${shortOf(status)}”, which is not known here: look at it at Stripe`
  return { kind: 'warning', orderId, reference: `state:${id}`, detail, refund: false }
}

/** Inquiries that nobody has to answer, or that are over, and disputes whose state `stateOf` knows. */
const PASSED: ReadonlySet<string> = new Set(['warning_under_review', 'warning_closed'])
const LONGEST_STATE = 64
const shortOf = (status: unknown): string => String(status).replace(/\W/g, ' ').slice(0, LONGEST_STATE)

/** The dispute's payment intent must be expanded. null = it is not of an order, or no money moves. */
function disputeNotice(dispute: Stripe.Dispute): DisputeNotice | null {
  const { id: disputeId, payment_intent: intent } = dispute
  const [orderId, state] = [orderOfIntent(intent), stateOf(dispute)]
  if (orderId === null || state === null) return null
  const { currency } = intent as Stripe.PaymentIntent
  const amount = centsOf((intent as Stripe.PaymentIntent).amount, disputeId)
  // Banks may dispute in the payer's own currency. All of the payment is at stake then.
  const disputed = dispute.currency === currency ? Math.min(centsOf(dispute.amount, disputeId), amount) : amount
  return { kind: 'dispute', disputeId, orderId, amount: disputed, state, ...dueOf(dispute) }
}

/** All disputes of a payment in which money moves. */
export async function disputesOf(client: StripeClient, intent: string): Promise<DisputeNotice[]> {
  const list = await client.ask(stripe =>
    Array.fromAsync(stripe.disputes.list({ payment_intent: intent, limit: PAGE, expand: EXPAND_ALL })),
  )
  return list.map(disputeNotice).filter(notice => notice !== null)
}

/** An early fraud warning that nothing has been done about. */
async function noticesOfWarning(client: StripeClient, id: string): Promise<Notice[]> {
  const warning = await client.find(stripe =>
    stripe.radar.earlyFraudWarnings.retrieve(id, { expand: ['charge.payment_intent'] }),
  )
  const notice = warningNotice(found(warning, id))
  return notice === null ? [] : [notice]
}

/** The warning's charge and payment intent must be expanded. null = it is not of an order, or something has been done about it. */
function warningNotice({ id: reference, actionable, charge, fraud_type }: Stripe.Radar.EarlyFraudWarning) {
  if (!actionable) return null
  if (typeof charge === 'string') throw new ProviderAway(`the charge ${charge} came without what belongs to it`)
  const orderId = orderOfIntent(charge.payment_intent)
  const detail = `Stripe warns of fraud (${fraud_type}): what is left of the cardPayment is sent back`
  return orderId === null ? null : ({ kind: 'warning', orderId, reference, detail, refund: true } as const)
}

/** What of disputes and warnings the bill of a day has: see `bill.ts`. */
async function* noticesSince(
  client: StripeClient,
  disputedFromS: number,
  warnedFromS: number,
  untilS: number,
): AsyncGenerator<DisputeNotice | WarningNotice> {
  const disputes = pages(client, (stripe, after) =>
    stripe.disputes.list({ created: { gte: disputedFromS, lt: untilS }, limit: PAGE, expand: EXPAND_ALL, ...after }),
  )
  for await (const dispute of disputes) {
    const notice = disputeNotice(dispute) ?? disputeWarning(dispute)
    if (notice !== null) yield notice
  }
  const expand = ['data.charge.payment_intent']
  const warnings = pages(client, (stripe, after) =>
    stripe.radar.earlyFraudWarnings.list({ created: { gte: warnedFromS, lt: untilS }, limit: PAGE, expand, ...after }),
  )
  for await (const warning of warnings) {
    const notice = warningNotice(warning)
    if (notice !== null) yield notice
  }
}

interface Page<T> {
  data: T[]
  has_more: boolean
}

/** A list, a page at a time, so that an error of Stripe's is one of ours also in the middle of it. */
export async function* pages<T extends { id: string }>(
  client: StripeClient,
  list: (stripe: Stripe, after: { starting_after?: string }) => Promise<Page<T>>,
): AsyncGenerator<T> {
  for (let after: string | undefined, more = true; more; ) {
    const page = await client.ask(stripe => list(stripe, after === undefined ? {} : { starting_after: after }))
    yield* page.data
    after = page.data.at(-1)?.id
    more = page.has_more && after !== undefined
  }
}

const DAY_S = 86_400
/** The balance may move a little after the charge or the refund was made, whose time says the day. */
const LATER_S = 3_600
const EXPAND_SOURCE = ['data.source.payment_intent']
const DISPUTED_DAYS = 180

/**
 * `day`: `2030-01-31`, in China's time. Movements of other shops on the same account are left out. The disputes are those of half a
 * year: they are decided months after they began, and what is open, lost or won now is read again every night.
 */
export async function* cardBillOf(client: StripeClient, day: string): AsyncGenerator<BillLine> {
  const start = Date.parse(`${day}T00:00:00+08:00`) / 1_000
  const created = { gte: start, lt: start + DAY_S + LATER_S }
  for (const type of ['charge', 'refund'] as const) {
    const moved = pages(client, (stripe, after) =>
      stripe.balanceTransactions.list({ type, created, limit: PAGE, expand: EXPAND_SOURCE, ...after }),
    )
    for await (const { id, source } of moved) {
      if (typeof source === 'string') throw new ProviderAway(`the movement ${id} came without what belongs to it`)
      const line = source === null ? null : lineOf(client, source, start)
      if (line !== null) yield line
    }
  }
  yield* noticesSince(client, start - DISPUTED_DAYS * DAY_S, start, start + DAY_S)
}

/** null = it is of nothing here, or of another day than the one that begins at `start`. */
function lineOf(client: StripeClient, source: Stripe.BalanceTransactionSource, start: number): BillLine | null {
  if (source.object !== 'refund' && source.object !== 'charge') return null
  const made = source as Stripe.Refund | Stripe.Charge
  if (made.created < start || made.created >= start + DAY_S) return null
  return made.object === 'refund' ? refundNotice(made) : paymentOf(client, made)
}

/** The amount is what the payer was charged; that of the balance may be in another currency. */
function paymentOf({ account }: StripeClient, charge: Stripe.Charge): Payment | null {
  const orderId = orderOfIntent(charge.payment_intent)
  if (orderId === null || charge.status !== 'succeeded') return null
  const { id, amount_received, currency, livemode } = charge.payment_intent as Stripe.PaymentIntent
  return {
    kind: 'paid',
    orderId,
    transactionId: id,
    amount: centsOf(amount_received, id),
    currency: currency.toUpperCase(),
    merchant: account,
    providerId: null,
    sandbox: !livemode,
    paidAtMs: timeOf(charge.created),
    digest: eventDigest(charge),
  }
}
