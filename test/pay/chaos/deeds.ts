/** What providers decide by themselves, and what cheats make of providers' messages, in a run. */
import type { Order, OrderMethod } from '../../../lib/terms/pay.ts'
import type { Random } from '../../support/random.ts'
import { FORGERIES, type WechatRefund } from '../doubles/wechat.ts'
import type { Providers, Sent } from '../providers.ts'

/** A message that the provider would send; made when it is sent. */
export interface Told {
  method: OrderMethod
  message: () => Sent
}

const sum = (amounts: readonly number[]): number => amounts.reduce((all, one) => all + one, 0)
const LIVE_DISPUTES = new Set(['needs_response', 'under_review'])

/** What can still go back of an order at its provider. */
export function sendable(providers: Providers, order: Order): number {
  const { wechat, stripe } = providers
  const { id, method } = order
  const left = providers.left(order)
  if (method === 'wechat') {
    const going = [...wechat.refunds.values()].filter(
      r => r.orderId === id && (r.status === 'PROCESSING' || r.status === 'ABNORMAL'),
    )
    return left - sum(going.map(({ amount }) => amount))
  }
  if (method === 'alipay') return providers.alipay.ledger.trades.get(id)?.status === 'TRADE_SUCCESS' ? left : 0
  const charge = providers.charge(id)?.id
  // Stripe sends nothing back of a payment that is disputed, or was lost.
  return stripe.ledger.all('dispute').some(d => d.charge === charge && d.status !== 'won') ? 0 : left
}

/** The merchant sends money back on the provider's own pages. */
export function sendBack(providers: Providers, { id, method }: Order, amount: number): Told {
  const { alipay, wechat, stripe } = providers
  if (method === 'alipay') {
    const number = alipay.ledger.refundThere(id, amount)
    return { method, message: () => providers.form(alipay.signed(alipay.notice(id, number))) }
  }
  if (method === 'wechat') {
    const refund = wechat.sendBack(id, amount)
    refund.status = 'SUCCESS'
    return { method, message: () => wechat.refunded(refund) }
  }
  const { payment_intent } = providers.session(id)
  stripe.ledger.refundStatus = 'succeeded'
  stripe.ledger.createRefund({ payment_intent, amount })
  const event = stripe.ledger.events.find(({ type }) => type === 'refund.created')
  return { method, message: () => providers.event(event) }
}

export function dispute(providers: Providers, { id, method }: Order, amount: number): Told {
  const event = providers.stripe.ledger.dispute(providers.session(id).id, { amount })
  return { method, message: () => providers.event(event) }
}

/** Whether the next refunds are done at once, or decided later. */
export function setMood({ alipay, stripe }: Providers, mood: 'done' | 'later'): void {
  alipay.slow = mood === 'later'
  stripe.ledger.refundStatus = mood === 'later' ? 'pending' : 'succeeded'
}

const undecided = ({ wechat }: Providers): WechatRefund[] =>
  [...wechat.refunds.values()].filter(({ status }) => status === 'PROCESSING' || status === 'ABNORMAL')

/** Some of what providers and banks have not decided is decided. */
export function decide(providers: Providers, random: Random): Told[] {
  const { wechat, stripe } = providers
  const { ledger } = stripe
  const told: Told[] = []
  providers.alipay.slow = false
  for (const refund of undecided(providers)) {
    if (random.next() < 0.5) continue
    refund.status = random.pick(['SUCCESS', 'SUCCESS', 'SUCCESS', 'CLOSED', 'ABNORMAL'])
    told.push({ method: 'wechat', message: () => wechat.refunded(refund) })
  }
  const say = (event: object): void => void told.push({ method: 'card', message: () => providers.event(event) })
  for (const { id, status } of ledger.all('refund')) {
    // What was done may fail later: the payer's bank sends the money back.
    if (status === 'pending' ? random.next() < 0.5 : status === 'succeeded' && random.next() < 0.02)
      say(ledger.endRefund(id, status === 'pending' ? random.pick(['succeeded', 'failed', 'canceled']) : 'failed'))
  }
  for (const { id, status } of ledger.all('dispute'))
    if (LIVE_DISPUTES.has(status) && random.next() < 0.5)
      say(ledger.moveDispute(id, { status: random.pick(['under_review', 'won', 'lost']) }))
  return told
}

/** Nothing stays undecided, and nobody is told. */
export function decideAll(providers: Providers): void {
  const { ledger } = providers.stripe
  setMood(providers, 'done')
  for (const refund of undecided(providers)) refund.status = 'SUCCESS'
  for (const { id, status } of ledger.all('refund')) if (status === 'pending') ledger.endRefund(id, 'succeeded')
  for (const { id, status } of ledger.all('dispute'))
    if (LIVE_DISPUTES.has(status)) ledger.moveDispute(id, { status: 'lost' })
}

/** Nothing fails any more. */
export function calm({ alipay, wechat, stripe }: Providers): void {
  alipay.faults.length = 0
  wechat.faults.length = 0
  stripe.faults.clear()
  wechat.between = () => {}
  stripe.before = () => {}
}

/** A message that says that an order was paid and is not the provider's; null = nothing is known to make it of. */
export function forgery(providers: Providers, { id, method, asked }: Order, random: Random): Sent | null {
  const { alipay, wechat, stripe } = providers
  if (method === 'alipay') {
    if (!alipay.ledger.trades.has(id)) return null
    const fields = { ...alipay.notice(id), trade_status: 'TRADE_SUCCESS' }
    const mine = alipay.signed(fields, alipay.keys.stranger.privateKey)
    const changed = alipay
      .signed({ ...fields, total_amount: '0.01' })
      .replace('total_amount=0.01', `total_amount=${asked}`)
    return providers.form(random.pick([mine, changed]))
  }
  if (method === 'wechat') {
    if (!wechat.trades.has(id)) return null
    return wechat.paid(id, { trade_state: 'SUCCESS', transaction_id: '42' }, { forgery: random.pick(FORGERIES) })
  }
  const session = providers.session(id)
  if (session === undefined) return null
  const paid = { ...session, payment_status: 'paid', status: 'complete', payment_intent: 'pi_forged' }
  const event = { id: 'evt_forged', object: 'event', type: 'checkout.session.completed', livemode: false }
  const whole = { ...event, data: { object: paid } }
  const now = stripe.ledger.now()
  return random.pick([
    () => providers.event(whole, now, 'whsec_of_somebody_else_entirely'),
    () => providers.event(whole, now - 301_000),
    () => providers.event(whole, now + 302_000),
    () => {
      const { headers, body } = providers.event(whole)
      const at = random.int(0, body.length - 1)
      return { headers, body: `${body.slice(0, at)}${body[at] === 'x' ? 'y' : 'x'}${body.slice(at + 1)}` }
    },
  ])()
}
