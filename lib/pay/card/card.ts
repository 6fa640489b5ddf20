/**
 * Cards, by Stripe Checkout: the payer pays on a page of Stripe's, so no card number ever comes here. Whatever Stripe says
 * of an order is asked for at Stripe by the account's key.
 */
import { MINUTE_MS } from '../../base/clock.ts'
import { micro } from '../../base/money.ts'
import type { CardConfig } from '../../config/pay-schema.ts'
import type { Order, Refund } from '../../terms/pay.ts'
import {
  type BillLine,
  type MethodTools,
  type MissedEvent,
  PaymentDisputed,
  type CheckoutMethod,
  ProviderRefuses,
  type RawCallback,
  type RefundSaid,
  type Said,
  type Verified,
} from '../method.ts'
import {
  cardBillOf,
  EVENT_TYPES,
  eventOf,
  cardNoticesOf,
  disputesOf,
  failedAsDisputed,
  pages,
  refundsOf,
  saidOfRefund,
  checkSignature,
} from './events.ts'
import {
  createSession,
  idOf,
  orderOf,
  type CheckoutSession,
  StripeClient,
  StripeRefuses,
  cardSaid,
  sessionOf,
} from './client.ts'

const MINIMUM = micro(5_000_000)
/** Stripe takes eight digits. */
const MOST_CENTS = 99_999_999
/** Stripe refuses a session that lives less than 30 minutes. The rest is for clocks that differ, and for repeats. */
const LIFE_MS = 35 * MINUTE_MS
const PAGE = 100
/** Stripe's names of a refund's refusal because the payer's bank has asked for the money. */
const REFUSED_AS_DISPUTED: ReadonlySet<string | undefined> = new Set(['charge_disputed', 'refund_disputed_payment'])

export class Card implements CheckoutMethod {
  readonly name = 'card'
  readonly merchant: string
  readonly sandbox: boolean
  readonly minimum = MINIMUM
  readonly mostAsked = MOST_CENTS
  readonly lifeMs = LIFE_MS
  readonly anHour: number
  readonly anHourOfAll: number
  readonly currency: string
  readonly accepted = { status: 200, type: 'text/plain', body: 'taken' }
  readonly refused = { status: 500, type: 'text/plain', body: 'not taken' }
  readonly #config: CardConfig
  readonly #tools: MethodTools
  readonly #client: StripeClient

  constructor(config: CardConfig, tools: MethodTools) {
    this.#config = config
    this.#tools = tools
    this.#client = new StripeClient(config)
    this.merchant = config.account
    this.sandbox = config.sandbox
    this.anHour = config.an_hour
    this.anHourOfAll = config.an_hour_of_all
    this.currency = config.currency
  }

  async begin(order: Order, returnTo: string) {
    const page = returnTo === '' ? new URL('/console/topup', this.#tools.callback).href : returnTo
    const session = await createSession(this.#client, order, { page, title: this.#tools.title })
    const { id, url, amount_total, currency } = session
    const fits = orderOf(session) === order.id && amount_total === order.asked
    if (!fits || currency?.toUpperCase() !== order.currency || session.livemode === this.sandbox)
      throw new ProviderRefuses(`the session ${id} is not what was asked for`)
    if (url === null) throw new ProviderRefuses(`the session ${id} has no page any more`)
    return { providerId: id, shown: { redirect: url } }
  }

  async query(order: Order): Promise<Said> {
    return this.#said(await sessionOf(this.#client, order))
  }

  #said(session: CheckoutSession | null): Said {
    return session === null ? { kind: 'absent' } : cardSaid(this.#client, session)
  }

  async close(order: Order): Promise<Said> {
    const session = await sessionOf(this.#client, order)
    if (session?.status !== 'open') return this.#said(session)
    try {
      return this.#said(await this.#client.ask(stripe => stripe.checkout.sessions.expire(session.id)))
    } catch (error) {
      if (!(error instanceof ProviderRefuses)) throw error
      return this.query({ ...order, providerId: session.id }) // it was paid or ended meanwhile
    }
  }

  async verify(callback: RawCallback): Promise<Verified> {
    checkSignature(callback, this.#config.webhook_secret, this.#tools.clock.now())
    const event = eventOf(callback.body)
    return { eventId: event.id, notices: await cardNoticesOf(this.#client, event) }
  }

  /** A key is kept for a day at least, so a refund that exists is looked for first: a bank may take weeks. */
  async refund(refund: Refund, order: Order, amount: number): Promise<{ providerId: string | null; said: RefundSaid }> {
    const intent = await this.#intentOf(order)
    const request = {
      payment_intent: intent,
      amount,
      reason: 'requested_by_customer',
      metadata: { order: order.id, refund: refund.id },
    } as const
    try {
      const sent =
        (await this.#sentRefund(refund, intent)) ??
        (await this.#client.ask(stripe => stripe.refunds.create(request, { idempotencyKey: refund.id })))
      return { providerId: sent.id, said: saidOfRefund(sent) }
    } catch (error) {
      if (error instanceof StripeRefuses && REFUSED_AS_DISPUTED.has(error.code))
        throw await this.#disputed(error, intent)
      throw error
    }
  }

  async queryRefund(refund: Refund, order: Order): Promise<RefundSaid> {
    const intent = await this.#intentOf(order)
    const sent = await this.#sentRefund(refund, intent)
    if (sent !== undefined && failedAsDisputed(sent))
      throw await this.#disputed(new StripeRefuses(sent.id, 'failed'), intent)
    return sent === undefined ? 'undecided' : saidOfRefund(sent)
  }

  /** Where Stripe shows no dispute, it stays a refusal that a person has to look at. */
  async #disputed(error: StripeRefuses, intent: string): Promise<ProviderRefuses> {
    const disputes = await disputesOf(this.#client, intent)
    return disputes.length === 0 ? error : new PaymentDisputed(error.message, disputes)
  }

  async #sentRefund({ id }: Refund, intent: string) {
    return (await refundsOf(this.#client, intent)).find(({ metadata }) => metadata?.['refund'] === id)
  }

  async #intentOf(order: Order): Promise<string> {
    const intent = idOf((await sessionOf(this.#client, order))?.payment_intent)
    if (intent === null) throw new ProviderRefuses('Stripe knows no payment of the order')
    return intent
  }

  bill(day: string): AsyncIterable<BillLine> {
    return cardBillOf(this.#client, day)
  }

  async *missed(fromMs: number, untilMs: number): AsyncGenerator<MissedEvent> {
    const created = { gte: Math.floor(fromMs / 1_000), lt: Math.floor(untilMs / 1_000) }
    const types = [...EVENT_TYPES]
    const events = pages(this.#client, (stripe, after) => stripe.events.list({ created, types, limit: PAGE, ...after }))
    for await (const { id, type, livemode, account, data } of events) {
      const object = data.object as { id: string }
      const event = { id, type, livemode, object, ...(account === undefined ? {} : { account }) }
      yield { eventId: id, notices: () => cardNoticesOf(this.#client, event) }
    }
  }
}
