/**
 * What Stripe's double knows: sessions, payment intents, charges, refunds, disputes and the movements of the balance. Only
 * its own actions make money: `pay`, `refundAtDashboard`, `dispute` and the like, each of which writes its events.
 */
import { randomBytes } from 'node:crypto'
import type { Broken } from './fields.ts'

// biome-ignore lint/suspicious/noExplicitAny: objects of Stripe's API as JSON
export type Json = any

const DAY_S = 86_400
const HALF_AN_HOUR_S = 1_800

export class StripeFault extends Error {
  readonly status: number
  readonly error: Json

  constructor(status: number, error: Json) {
    super(error.message)
    this.status = status
    this.error = error
  }
}

const invalid = (code: string, param: string, message: string, status = 400): StripeFault =>
  new StripeFault(status, { type: 'invalid_request_error', code, param, message })

export const missing = (kind: string, id: string): StripeFault =>
  invalid('resource_missing', 'id', `No such ${kind}: '${id}'`, 404)

/** The refusal of a parameter that breaks what Stripe writes about it. */
export function misread({ field, text }: Broken): StripeFault {
  const [first = '', ...rest] = field.split('.')
  const param = first + rest.map(name => `[${name}]`).join('')
  if (text === 'a known parameter') return invalid('parameter_unknown', param, `Received unknown parameter: ${param}`)
  if (text === 'a parameter that is required')
    return invalid('parameter_missing', param, `Missing required param: ${param}.`)
  return invalid('parameter_invalid', param, `Invalid ${param}: expected ${text}`)
}

export class StripeLedger {
  readonly account: string
  readonly livemode: boolean
  readonly now: () => number
  readonly objects = new Map<string, Json>()
  readonly events: Json[] = []
  readonly balance: Json[] = []
  /** What is left of a refund: `pending` until the bank has decided. */
  refundStatus = 'succeeded'
  /** The page on which a session is paid. */
  pageOf: (id: string) => string = id => `https://checkout.stripe.com/c/pay/${id}`

  constructor(account: string, livemode: boolean, now: () => number) {
    this.account = account
    this.livemode = livemode
    this.now = now
  }

  get #seconds(): number {
    return Math.floor(this.now() / 1_000)
  }

  #add(prefix: string, object: string, fields: Json): Json {
    const id = `${prefix}_${randomBytes(12).toString('hex')}`
    const { livemode } = this
    const row = { id, object, created: this.#seconds, livemode, ...fields }
    this.objects.set(id, row)
    return row
  }

  get(kind: string, id: string): Json {
    const row = this.objects.get(id)
    if (row?.object !== kind) throw missing(kind, id)
    return row
  }

  all(kind: string): Json[] {
    return [...this.objects.values()].filter(row => row.object === kind).reverse()
  }

  emit(type: string, object: Json): Json {
    const event = {
      id: `evt_${randomBytes(12).toString('hex')}`,
      object: 'event',
      api_version: '2026-10-28.endive',
      created: this.#seconds,
      livemode: this.livemode,
      pending_webhooks: 1,
      request: { id: null, idempotency_key: null },
      type,
      data: { object: structuredClone(object) },
    }
    this.events.unshift(event)
    return event
  }

  createSession(form: Json): Json {
    const item = form.line_items?.['0']?.price_data
    const [expiresAt, amount] = [Number(form.expires_at), Number(item?.unit_amount)]
    const now = this.#seconds
    if (form.mode !== 'payment') throw invalid('parameter_invalid', 'mode', 'mode')
    if (!(expiresAt >= now + HALF_AN_HOUR_S && expiresAt <= now + DAY_S))
      throw invalid(
        'parameter_invalid',
        'expires_at',
        'The `expires_at` timestamp must be 30 minutes to 24 hours away.',
      )
    const session = this.#add(this.livemode ? 'cs_live' : 'cs_test', 'checkout.session', {
      mode: 'payment',
      status: 'open',
      payment_status: 'unpaid',
      client_reference_id: form.client_reference_id ?? null,
      metadata: form.metadata ?? {},
      amount_subtotal: amount,
      amount_total: amount,
      currency: item.currency,
      adaptive_pricing: { enabled: form.adaptive_pricing?.enabled !== 'false' },
      payment_method_types: Object.values(form.allowed_payment_method_types ?? { all: 'card', later: 'sepa_debit' }),
      payment_intent: null,
      expires_at: expiresAt,
      success_url: form.success_url,
      cancel_url: form.cancel_url ?? null,
      intent_metadata: form.payment_intent_data?.metadata ?? {},
    })
    session.url = this.pageOf(session.id)
    return session
  }

  /** The payer pays. `change`: what Stripe then says of the session that is not what was asked for. */
  pay(sessionId: string, change: Json = {}): Json {
    const session = this.get('checkout.session', sessionId)
    if (session.status !== 'open' || session.expires_at <= this.#seconds) throw new Error(`nobody can pay ${sessionId}`)
    if (session.adaptive_pricing.enabled) session.currency = 'thb'
    Object.assign(session, { status: 'complete', payment_status: 'paid', url: null }, change)
    const { amount_total: amount, currency, intent_metadata: metadata } = session
    const intent = this.#add('pi', 'payment_intent', {
      amount,
      amount_received: amount,
      currency,
      metadata,
      status: 'succeeded',
    })
    session.payment_intent = intent.id
    if (session.payment_status === 'paid') this.#charge(intent)
    else intent.status = 'processing'
    return this.emit('checkout.session.completed', session)
  }

  #charge(intent: Json): void {
    const { amount, currency, id } = intent
    const charge = this.#add('ch', 'charge', {
      amount,
      currency,
      payment_intent: id,
      status: 'succeeded',
      amount_refunded: 0,
    })
    intent.latest_charge = charge.id
    this.#move('charge', amount, currency, charge.id)
  }

  #move(type: string, amount: number, currency: string, source: string): void {
    this.balance.unshift(this.#add('txn', 'balance_transaction', { type, amount, currency, source }))
  }

  /** Sessions that can be paid. */
  due(): Json[] {
    this.tick()
    return this.all('checkout.session').filter(({ status }) => status === 'open')
  }

  /** A bank decides about a delayed payment. */
  decide(sessionId: string, paid: boolean): Json {
    const session = this.get('checkout.session', sessionId)
    const intent = this.get('payment_intent', session.payment_intent)
    if (paid) {
      session.payment_status = 'paid'
      intent.status = 'succeeded'
      this.#charge(intent)
    } else intent.status = 'requires_payment_method'
    return this.emit(`checkout.session.async_payment_${paid ? 'succeeded' : 'failed'}`, session)
  }

  expire(sessionId: string): Json {
    const session = this.get('checkout.session', sessionId)
    if (session.status !== 'open')
      throw invalid('', 'session', 'Only Checkout Sessions with a status in ["open"] can be expired.')
    Object.assign(session, { status: 'expired', url: null })
    this.emit('checkout.session.expired', session)
    return session
  }

  /** Sessions end by themselves. */
  tick(): void {
    for (const session of this.all('checkout.session'))
      if (session.status === 'open' && session.expires_at <= this.#seconds) this.expire(session.id)
  }

  createRefund(form: Json): Json {
    const intent = this.get('payment_intent', form.payment_intent ?? '')
    const charge = this.get('charge', intent.latest_charge ?? '')
    const amount = form.amount === undefined ? charge.amount - charge.amount_refunded : Number(form.amount)
    // An inquiry, and a dispute that is won, leave a payment refundable.
    const refundable = (status: string) => /^(warning_|won|prevented)/.test(status)
    if (this.all('dispute').some(row => row.charge === charge.id && !refundable(row.status)))
      throw invalid(
        'charge_disputed',
        'payment_intent',
        `Charge ${charge.id} has been charged back; cannot issue a refund.`,
      )
    if (charge.amount_refunded >= charge.amount)
      throw invalid('charge_already_refunded', 'payment_intent', `Charge ${charge.id} has already been refunded.`)
    if (!(Number.isSafeInteger(amount) && amount > 0 && amount <= charge.amount - charge.amount_refunded))
      throw invalid('', 'amount', 'Refund amount is greater than unrefunded amount on charge')
    charge.amount_refunded += amount
    const { currency, id: payment_intent } = intent
    const refund = this.#add('re', 'refund', {
      amount,
      currency,
      charge: charge.id,
      payment_intent,
      metadata: form.metadata ?? {},
      status: this.refundStatus,
    })
    this.#move('refund', -amount, currency, refund.id)
    this.emit('refund.created', refund)
    this.emit('charge.refunded', charge)
    return refund
  }

  /** A refund ends in another way than it began. `why`: Stripe's reason of a failure. */
  endRefund(id: string, status: string, why = 'unknown'): Json {
    const refund = this.get('refund', id)
    refund.status = status
    if (status === 'failed') refund.failure_reason = why
    if (status === 'failed' || status === 'canceled') {
      this.get('charge', refund.charge).amount_refunded -= refund.amount
      this.#move('refund_failure', refund.amount, refund.currency, id)
    }
    return this.emit(status === 'failed' ? 'refund.failed' : 'refund.updated', refund)
  }

  dispute(sessionId: string, fields: Json = {}): Json {
    const intent = this.get('payment_intent', this.get('checkout.session', sessionId).payment_intent)
    const { amount, currency, id, latest_charge } = intent
    const dispute = this.#add('du', 'dispute', {
      amount,
      currency,
      payment_intent: id,
      charge: latest_charge,
      balance_transactions: [],
      status: 'needs_response',
      evidence_details: {
        due_by: this.#seconds + 7 * DAY_S,
        has_evidence: false,
        past_due: false,
        submission_count: 0,
      },
      ...fields,
    })
    return this.emit('charge.dispute.created', dispute)
  }

  moveDispute(id: string, fields: Json): Json {
    const dispute = Object.assign(this.get('dispute', id), fields)
    const over = ['won', 'lost', 'warning_closed', 'prevented'].includes(dispute.status)
    return this.emit(over ? 'charge.dispute.closed' : 'charge.dispute.updated', dispute)
  }

  warnOfFraud(sessionId: string, actionable = true): Json {
    const intent = this.get('payment_intent', this.get('checkout.session', sessionId).payment_intent)
    const warning = this.#add('issfr', 'radar.early_fraud_warning', {
      actionable,
      charge: intent.latest_charge,
      payment_intent: intent.id,
      fraud_type: 'made_with_stolen_card',
    })
    return this.emit('radar.early_fraud_warning.created', warning)
  }

  /** What payers have paid less what they got back, in the smallest unit. */
  get total(): number {
    return this.balance.reduce((sum, { amount }) => sum + amount, 0)
  }
}
