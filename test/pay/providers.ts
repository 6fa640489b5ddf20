/**
 * The doubles of all providers, and what payers and providers do, the same for each: an order is opened, paid, told, and
 * sent back. Amounts are in fen, and what is paid stands in the doubles' own ledgers.
 */
import type { Order, CheckoutName, OrderMethod } from '../../lib/terms/pay.ts'
import { AlipayDouble } from './doubles/alipay.ts'
import { StripeDouble } from './doubles/stripe.ts'
import type { Json } from '../../tools/simulator/pay/stripe-ledger.ts'
import { WechatDouble } from './doubles/wechat.ts'

/** A callback as it is sent. */
export interface Sent {
  headers: Record<string, string>
  body: string
}

interface Teardown {
  teardown(fn: () => unknown): void
}

const FORM = { 'content-type': 'application/x-www-form-urlencoded; charset=utf-8' }
const sum = (amounts: Iterable<number>): number => [...amounts].reduce((all, one) => all + one, 0)

export class Providers {
  readonly alipay: AlipayDouble
  readonly wechat: WechatDouble
  readonly stripe: StripeDouble

  private constructor(alipay: AlipayDouble, wechat: WechatDouble, stripe: StripeDouble) {
    this.alipay = alipay
    this.wechat = wechat
    this.stripe = stripe
  }

  static async open(t: Teardown, now: () => number = Date.now): Promise<Providers> {
    const alipay = await AlipayDouble.open(t, true)
    alipay.ledger.now = now
    return new Providers(alipay, await WechatDouble.open(t, now), await StripeDouble.open(t, { now }))
  }

  /** The section `pay` of a config that pays at the doubles. */
  section(card: Json = {}): { [M in CheckoutName]: object } {
    const { alipay, wechat, stripe } = this
    return { alipay: alipay.section, wechat: wechat.config, card: stripe.section({ an_hour: 100, ...card }) }
  }

  /** The payer opens the order and pays. False = it cannot be paid. `change`: what Stripe says that was not asked for. */
  pay({ id, method }: Order, coupon = 0, change: Json = {}): boolean {
    if (method === 'card') {
      this.stripe.ledger.tick()
      const session = this.session(id)
      if (session?.status !== 'open') return false
      this.stripe.ledger.pay(session.id, change)
      return true
    }
    if (method === 'wechat') {
      if (this.wechat.trades.get(id)?.state !== 'NOTPAY') return false
      this.wechat.pay(id, coupon)
      return true
    }
    const { ledger } = this.alipay
    if (!ledger.trades.has(id) && !ledger.codes.has(id)) return false
    if (!ledger.trades.has(id)) ledger.scan(id)
    return ledger.pay(id, coupon)
  }

  /** Stripe's session of an order. */
  session(order: string): Json | undefined {
    return this.stripe.ledger.all('checkout.session').find(({ metadata }) => metadata.order === order)
  }

  /** What the provider sends about an order that was paid. */
  message({ id, method }: Order): Sent {
    if (method === 'alipay') return this.form(this.alipay.signed(this.alipay.notice(id)))
    if (method === 'wechat') return this.wechat.paid(id)
    const { id: session } = this.session(id)
    const { events } = this.stripe.ledger
    return this.event(events.find(e => e.type === 'checkout.session.completed' && e.data.object.id === session))
  }

  form(body: string): Sent {
    return { headers: FORM, body }
  }

  event(event: Json, atMs?: number, secret?: string): Sent {
    const body = JSON.stringify(event)
    return {
      headers: { 'content-type': 'application/json', 'stripe-signature': this.stripe.sign(body, atMs, secret) },
      body,
    }
  }

  /** What payers have paid for an order, less what has gone back to them. */
  left({ id, method }: Pick<Order, 'id' | 'method'>): number {
    if (method === 'alipay') {
      const trade = this.alipay.ledger.trades.get(id)
      return trade === undefined || trade.paidAtMs === null ? 0 : trade.total - sum(trade.refunds.values())
    }
    if (method === 'wechat') {
      const trade = this.wechat.trades.get(id)
      const back = [...this.wechat.refunds.values()].filter(r => r.orderId === id && r.status === 'SUCCESS')
      const paid = trade?.state === 'SUCCESS' || trade?.state === 'REFUND' ? trade.order.amount.total : 0
      return paid - sum(back.map(({ amount }) => amount))
    }
    const { ledger } = this.stripe
    const charge = this.charge(id)
    const lost = ledger
      .all('dispute')
      .filter(d => charge !== undefined && d.charge === charge.id && d.status === 'lost')
    return charge === undefined ? 0 : charge.amount - charge.amount_refunded - sum(lost.map(({ amount }) => amount))
  }

  /** Stripe's charge of an order that is paid. */
  charge(order: string): Json | undefined {
    const { ledger } = this.stripe
    const intent = ledger.objects.get(this.session(order)?.payment_intent)
    return ledger.objects.get(intent?.latest_charge)
  }

  /** The whole of what a provider has, by its own sums. */
  total(method: OrderMethod): number {
    if (method === 'alipay') return this.alipay.ledger.balance
    if (method === 'wechat') return this.wechat.ledger
    const lost = this.stripe.ledger.all('dispute').filter(({ status }) => status === 'lost')
    return this.stripe.ledger.total - sum(lost.map(({ amount }) => amount))
  }
}

/** Whether an answer tells a provider that its callback was taken. */
export const isTaken = (method: OrderMethod, status: number, body: string): boolean =>
  method === 'alipay' ? status === 200 && body === 'success' : status === 200 || status === 204
