/**
 * Stripe's events. An event says what to look at, and is not itself believed: whatever it names is asked for at Stripe.
 * So nobody makes money of a webhook secret alone, and it does not matter in which order events come.
 */
import type Stripe from 'stripe'
import { type Notice, NotVerified } from '../method.ts'
import type { StripeClient } from './client.ts'
import { noticesOfDispute, noticesOfRefund, noticesOfWarning, refundNotice, refundsOf } from './money-back.ts'
import { idOf, orderOf, payment, type Session, saidOf, sessionById } from './sessions.ts'

/** The parts of an event that are read here. */
export interface StripeEvent {
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

export async function noticesOf(client: StripeClient, event: StripeEvent): Promise<Notice[]> {
  const { type, account, livemode } = event
  if ((account ?? client.account) !== client.account || livemode === client.sandbox)
    return noticesOfOther(client, event)
  return Object.hasOwn(HANDLERS, type) ? (HANDLERS[type] as Handler)(client, event) : []
}

/** An event of another account or of the other mode never credits. One that claims to pay an order is shown to a person. */
function noticesOfOther(client: StripeClient, { account, livemode, type, object }: StripeEvent): Notice[] {
  const session = object as Session
  const claims =
    type === 'checkout.session.completed' && orderOf(session) !== null && idOf(session.payment_intent) !== null
  if (!claims) return []
  return [{ ...payment(client, session), merchant: account ?? client.account, sandbox: !livemode }]
}

async function noticesOfSession(client: StripeClient, { type, object }: StripeEvent): Promise<Notice[]> {
  const session = await sessionById(client, object.id)
  if (session === null) return unknownSession(object as Session)
  const orderId = orderOf(session)
  if (orderId === null) return []
  const said = saidOf(client, session)
  if (said.kind === 'paid') return [said]
  const failed = type === 'checkout.session.async_payment_failed'
  return said.kind === 'ended' || failed ? [{ kind: 'ended', orderId }] : []
}

function unknownSession(session: Session): Notice[] {
  const orderId = orderOf(session)
  const detail = 'a signed event about a session that Stripe does not know: others may know the webhook secret'
  return orderId === null ? [] : [{ kind: 'warning', orderId, reference: session.id, detail, refund: false }]
}

async function noticesOfCharge(client: StripeClient, { object }: StripeEvent): Promise<Notice[]> {
  const intent = idOf((object as Stripe.Charge).payment_intent)
  const refunds = intent === null ? [] : await refundsOf(client, intent)
  return refunds.map(refundNotice).filter(notice => notice !== null)
}
