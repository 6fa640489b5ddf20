/**
 * Money that goes back: refunds and disputes. Both name the payment intent only, whose metadata names our order. Messages
 * come in any order, so the object is always asked for as it is now.
 */
import type Stripe from 'stripe'
import type { DisputeNotice, Notice, RefundNotice, RefundSaid } from '../method.ts'
import { isOrderId } from '../numbers.ts'
import type { StripeClient } from './client.ts'

const PAGE = 100
const SECOND_MS = 1_000
const EXPAND = ['payment_intent']

/** null = the payment is of something else that uses the same account. */
export function orderOfIntent(intent: string | Stripe.PaymentIntent | null | undefined): string | null {
  const order = typeof intent === 'object' ? intent?.metadata['order'] : undefined
  return order !== undefined && isOrderId(order) ? order : null
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
    amount,
    state: saidOfRefund(refund),
  }
}

/** A refund that was accepted, and did not go out because the payer's bank had asked for the money. */
export const failedAsDisputed = ({ failure_reason: why, status }: Stripe.Refund): boolean =>
  status === 'failed' && why === 'charge_for_pending_refund_disputed'

/** A refund that a dispute has stopped makes room for that dispute, which may have found nothing to freeze. */
export async function noticesOfRefund(client: StripeClient, id: string): Promise<Notice[]> {
  const refund = await client.find(stripe => stripe.refunds.retrieve(id, { expand: EXPAND }))
  const notice = refund === null ? null : refundNotice(refund)
  if (refund === null || notice === null) return []
  const { id: intent } = refund.payment_intent as Stripe.PaymentIntent
  return [notice, ...(failedAsDisputed(refund) ? await disputesOf(client, intent) : [])]
}

/** All refunds of a payment. */
export const refundsOf = (client: StripeClient, intent: string): Promise<Stripe.Refund[]> =>
  client.ask(stripe =>
    Array.fromAsync(stripe.refunds.list({ payment_intent: intent, limit: PAGE, expand: [`data.${EXPAND[0]}`] })),
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
  return balance_transactions.reduce((sum, { amount }) => sum + amount, 0) < 0 ? 'lost' : 'won'
}

/** Until when Stripe takes evidence. */
const dueOf = ({ status, evidence_details: { due_by } }: Stripe.Dispute): { dueAtMs?: number } =>
  status.endsWith('needs_response') && due_by !== null ? { dueAtMs: due_by * SECOND_MS } : {}

export async function noticesOfDispute(client: StripeClient, id: string): Promise<Notice[]> {
  const dispute = await client.find(stripe => stripe.disputes.retrieve(id, { expand: EXPAND }))
  const orderId = orderOfIntent(dispute?.payment_intent)
  if (dispute === null || orderId === null) return []
  const notice = disputeNotice(dispute)
  if (notice !== null) return [notice]
  const detail = 'the payer’s bank inquires about the payment: answer at Stripe, before it becomes a dispute'
  const warning = { kind: 'warning', orderId, reference: id, detail, ...dueOf(dispute), refund: false } as const
  return dispute.status === 'warning_needs_response' ? [warning] : []
}

/** The dispute's payment intent must be expanded. null = it is not of an order, or no money moves. */
function disputeNotice(dispute: Stripe.Dispute): DisputeNotice | null {
  const { id: disputeId, payment_intent: intent } = dispute
  const [orderId, state] = [orderOfIntent(intent), stateOf(dispute)]
  if (orderId === null || state === null) return null
  // Banks may dispute in the payer's own currency. All of the payment is at stake then.
  const { amount, currency } = intent as Stripe.PaymentIntent
  const disputed = dispute.currency === currency ? Math.min(dispute.amount, amount) : amount
  return { kind: 'dispute', disputeId, orderId, amount: disputed, state, ...dueOf(dispute) }
}

/** All disputes of a payment in which money moves. */
export async function disputesOf(client: StripeClient, intent: string): Promise<DisputeNotice[]> {
  const expand = [`data.${EXPAND[0]}`]
  const list = await client.ask(stripe =>
    Array.fromAsync(stripe.disputes.list({ payment_intent: intent, limit: PAGE, expand })),
  )
  return list.map(disputeNotice).filter(notice => notice !== null)
}

/** An early fraud warning that nothing has been done about. */
export async function noticesOfWarning(client: StripeClient, id: string): Promise<Notice[]> {
  const warning = await client.find(stripe =>
    stripe.radar.earlyFraudWarnings.retrieve(id, { expand: ['charge.payment_intent'] }),
  )
  if (warning === null || typeof warning.charge === 'string' || !warning.actionable) return []
  const orderId = orderOfIntent(warning.charge.payment_intent)
  const detail = `Stripe warns of fraud (${warning.fraud_type}): what is left of the payment is sent back`
  return orderId === null ? [] : [{ kind: 'warning', orderId, reference: id, detail, refund: true }]
}
