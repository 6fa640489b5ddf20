/** What moved on the account's balance at Stripe in a day: payments and refunds. And what payers' banks say of payments. */
import type Stripe from 'stripe'
import { type BillLine, type Payment, ProviderAway } from '../method.ts'
import type { StripeClient } from './client.ts'
import { centsOf, noticesSince, orderOfIntent, pages, refundNotice } from './money-back.ts'
import { digestOf, timeOf } from './sessions.ts'

const PAGE = 100
const DAY_S = 86_400
/** The balance may move a little after the charge or the refund was made, whose time says the day. */
const LATER_S = 3_600
const EXPAND = ['data.source.payment_intent']
const DISPUTED_DAYS = 180

/**
 * `day`: `2030-01-31`, in China's time. Movements of other shops on the same account are left out. The disputes are those of half a
 * year: they are decided months after they began, and what is open, lost or won now is read again every night.
 */
export async function* billOf(client: StripeClient, day: string): AsyncGenerator<BillLine> {
  const start = Date.parse(`${day}T00:00:00+08:00`) / 1_000
  const created = { gte: start, lt: start + DAY_S + LATER_S }
  for (const type of ['charge', 'refund'] as const) {
    const moved = pages(client, (stripe, after) =>
      stripe.balanceTransactions.list({ type, created, limit: PAGE, expand: EXPAND, ...after }),
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
    digest: digestOf(charge),
  }
}
