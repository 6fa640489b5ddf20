/**
 * Checkout sessions: the page on which a payer pays one order. A session is ours when both its reference and its metadata
 * name the same order. Metadata alone or a reference alone is not enough: whoever opens a payment link of the same account
 * chooses the reference.
 */
import { createHash } from 'node:crypto'
import type Stripe from 'stripe'
import type { Order } from '../../terms/pay.ts'
import { type Payment, ProviderAway, ProviderRefuses, type Said } from '../method.ts'
import { isCents, isOrderId, LATEST_S } from '../numbers.ts'
import type { StripeClient } from './client.ts'

export type Session = Stripe.Checkout.Session

/** How far the clocks of Stripe and the store may be apart. */
const SKEW_S = 600
const PAGE = 100
const CHARGE = 'payment_intent.latest_charge'
const MOST_LISTED = 5_000

export const idOf = (value: string | { id: string } | null | undefined): string | null =>
  value === null || value === undefined ? null : typeof value === 'string' ? value : value.id

export const digestOf = (value: unknown): string => createHash('sha256').update(JSON.stringify(value)).digest('hex')

const seconds = (ms: number): number => Math.floor(ms / 1_000)

/** What the payer sees: where it comes back to, and what it pays. */
interface Seen {
  page: string
  title: string
}

/** The same for every repeat, because Stripe refuses another request under the same idempotency key. */
const form = (
  { id, asked, currency, expiresAtMs }: Order,
  { page, title }: Seen,
): Stripe.Checkout.SessionCreateParams => ({
  mode: 'payment',
  client_reference_id: id,
  metadata: { order: id },
  // Refunds and disputes name the payment intent only.
  payment_intent_data: { metadata: { order: id } },
  line_items: [
    {
      quantity: 1,
      price_data: { currency: currency.toLowerCase(), unit_amount: asked, product_data: { name: title } },
    },
  ],
  allowed_payment_method_types: ['card'],
  // Otherwise payers of other countries are asked for another currency.
  adaptive_pricing: { enabled: false },
  expires_at: seconds(expiresAtMs),
  success_url: page,
  cancel_url: page,
})

/** A repeat gives the same session, also when the first answer got lost or was an error. */
export async function createSession(client: StripeClient, order: Order, seen: Seen): Promise<Session> {
  try {
    return await client.ask(stripe => stripe.checkout.sessions.create(form(order, seen), { idempotencyKey: order.id }))
  } catch (error) {
    // Under one key Stripe repeats its first answer, errors too, and refuses a page to return to that is another one.
    const made = await findSession(client, order).catch(() => null)
    if (made === null) throw error
    return made
  }
}

/** The order's session; null = Stripe has none. */
export async function sessionOf(client: StripeClient, order: Order): Promise<Session | null> {
  const { providerId } = order
  if (providerId === null) return findSession(client, order)
  return sessionById(client, providerId)
}

/** With its charge, which says when the payer paid. */
export const sessionById = (client: StripeClient, id: string): Promise<Session | null> =>
  client.find(stripe => stripe.checkout.sessions.retrieve(id, { expand: [CHARGE] }))

/** Stripe cannot search by reference, so the sessions of the order's time are looked through. */
function findSession(client: StripeClient, { id, createdAtMs, expiresAtMs }: Order): Promise<Session | null> {
  const created = { gte: seconds(createdAtMs) - SKEW_S, lte: seconds(expiresAtMs) + SKEW_S }
  return client.ask(async stripe => {
    let listed = 0
    for await (const session of stripe.checkout.sessions.list({ created, limit: PAGE, expand: [`data.${CHARGE}`] })) {
      if (orderOf(session) === id) return session
      if (++listed >= MOST_LISTED) throw new ProviderAway('too many sessions to look through for one order')
    }
    return null
  })
}

/** The order that a session was made for here; null = it is of something else that uses the same account. */
export function orderOf({ client_reference_id: reference, metadata, mode }: Session): string | null {
  const ours = reference !== null && isOrderId(reference) && metadata?.['order'] === reference && mode === 'payment'
  return ours ? reference : null
}

/** What Stripe says of a session of ours. `complete` without money: a bank has not decided yet. */
export function saidOf(client: StripeClient, session: Session): Said {
  if (session.status === 'expired') return { kind: 'ended' }
  return session.status === 'complete' && session.payment_status === 'paid'
    ? payment(client, session)
    : { kind: 'open' }
}

export function payment({ account }: StripeClient, session: Session): Payment {
  const { amount_total: amount, currency, payment_intent, livemode, id } = session
  const [orderId, transactionId] = [orderOf(session), idOf(payment_intent)]
  if (orderId === null || transactionId === null || !isCents(amount) || typeof currency !== 'string')
    throw new ProviderRefuses(`the session ${id} is paid and lacks an order, a payment, an amount or a currency`)
  return {
    kind: 'paid',
    orderId,
    transactionId,
    amount,
    currency: currency.toUpperCase(),
    merchant: account,
    providerId: id,
    sandbox: !livemode,
    paidAtMs: chargedAtMs(payment_intent),
    digest: digestOf(session),
  }
}

function chargedAtMs(intent: Session['payment_intent']): number | null {
  const charge = typeof intent === 'object' ? intent?.latest_charge : null
  return typeof charge === 'object' && charge !== null ? timeOf(charge.created) : null
}

/** ms since 1970 of Stripe's seconds; null = they are no time. */
export const timeOf = (seconds: unknown): number | null =>
  typeof seconds === 'number' && Number.isInteger(seconds) && seconds > 0 && seconds <= LATEST_S
    ? seconds * 1_000
    : null
