/** New card money that is held while disputes rise: credited later, once, by any gateway, and never what went back meanwhile. */

import type { Test } from 'tap'
import t from 'tap'
import { oneOrder, shownOrder } from '../../lib/pay/views.ts'
import { payHealth } from '../../lib/pay/health.ts'
import type { BillLine } from '../../lib/pay/method.ts'
import { PaymentsAdmin } from '../../lib/pay/admin.ts'
import { type Card, openCard } from './card-support.ts'
import type { Json } from '../../tools/simulator/pay/stripe-ledger.ts'
import { ACT } from './support.ts'

const HOUR_MS = 3_600_000
const HOLD = { disputes: 2, within: '7d', for: '24h' }

const health = ({ store, clock, desk }: Card) =>
  desk.methods().then(m => payHealth({ store, clock }, m, undefined, desk.hold))

/** Two payments of before are disputed, or warned of: whatever is paid from now on is held. */
async function openHolding(t: Test, given: Json = {}): Promise<Card> {
  const card = await openCard(t, { hold: HOLD }, given)
  const [disputed, warned] = [await card.paid('1000'), await card.paid('1000')]
  await card.send(card.stripe.ledger.dispute(disputed.session))
  await card.send(card.stripe.ledger.warnOfFraud(warned.session))
  await card.round()
  card.stripe.ledger.events.length = 0
  return card
}

const sendAll = async (card: Card): Promise<void> => {
  for (const event of card.stripe.ledger.events.splice(0).reverse()) t.equal(await card.send(event), 200)
}

t.test('payments are held from the dispute on that makes it too many, and not without the setting', async t => {
  const card = await openCard(t, { hold: HOLD, an_hour: 100 })
  const orders = [await card.paid(), await card.paid(), await card.paid()]
  const hold = async () => (await health(card)).methods[0]?.hold
  t.same(await hold(), { disputes: 0, from: 2, holding: false })
  const [first, second] = orders as [(typeof orders)[0], (typeof orders)[0]]
  await card.send(card.stripe.ledger.dispute(first.session))
  await card.send(card.stripe.ledger.warnOfFraud(first.session))
  t.same(await hold(), { disputes: 1, from: 2, holding: false }, 'one payment counts once')
  t.equal((await card.order((await card.paid()).id)).state, 'credited')
  const inquiry = card.stripe.ledger.dispute(second.session, { status: 'warning_under_review' })
  await card.send(inquiry)
  t.same(await hold(), { disputes: 1, from: 2, holding: false }, 'an inquiry that waits for nothing is no dispute')
  await card.send(card.stripe.ledger.moveDispute(inquiry.data.object.id, { status: 'needs_response' }))
  t.same(await hold(), { disputes: 2, from: 2, holding: true })
  t.equal((await card.order((await card.paid()).id)).state, 'paid')
  t.equal((await card.order(orders[2]?.id as string)).state, 'credited', 'what was credited before stays so')
  card.clock.advance(8 * 24 * HOUR_MS)
  t.same(await hold(), { disputes: 0, from: 2, holding: false }, 'a week later')
  t.equal((await card.order((await card.paid()).id)).state, 'credited')

  const without = await openCard(t)
  for (let i = 0; i < 3; i++) await without.send(without.stripe.ledger.dispute((await without.paid()).session))
  t.equal((await without.order((await without.paid()).id)).state, 'credited')
  t.equal((await health(without)).methods[0]?.hold, null)
})

t.test('what is held is credited once, when its time is over, by any gateway, whatever its own setting', async t => {
  const card = await openHolding(t)
  const other = await openCard(
    t,
    {},
    { store: card.store, account: card.account, clock: card.clock, stripe: card.stripe },
  )
  const before = await card.balance()
  const { id } = await card.paid()
  const held = await card.order(id)
  const untilMs = card.clock.now() + 24 * HOUR_MS
  t.ok(Math.abs((held.heldUntilMs as number) - untilMs) < HOUR_MS, 'a day after it was paid')
  const until = new Date(held.heldUntilMs as number).toISOString()
  t.match(shownOrder(held), { state: 'paid', held_until: until, credited_at: null }, 'the payer sees until when')
  t.match(await oneOrder(card, id), { state: 'paid', held_until: until, exceptions: [] })
  const tries = async () => {
    await card.send({ ...card.stripe.ledger.events[0], id: `evt_${Math.trunc(card.clock.now())}` })
    for (const line of await Array.fromAsync<BillLine>(card.method.bill(chinaDay(card.clock.now()))))
      await other.desk.notices.take('card', line, 'bill')
    await card.desk.orders.ask(held, card.method)
    await card.desk.orders.look(card.account, id, '')
    for (const shop of [card, other]) await shop.round()
  }
  for (let hours = 0; hours < 23; hours += 11) {
    await tries()
    t.match(await card.order(id), { state: 'paid', heldUntilMs: held.heldUntilMs }, `after ${hours} hours`)
    t.match(card.counts.open, { uncredited: 0, held: 1 }, 'nobody is alarmed')
    t.match(await health(card), { uncredited: 0, held: { orders: 1, amount: '100.000000' } })
    card.clock.advance(11 * HOUR_MS)
  }
  card.clock.step((held.heldUntilMs as number) + 6_000 - card.clock.now())
  await Promise.all([other.round(), card.round()])
  await tries()
  t.equal((await card.order(id)).state, 'credited')
  t.equal(await card.balance(), before + 10_000)
  t.match(card.counts.open, { uncredited: 0, held: 0 })
  t.equal((await card.store.pay.proofs(id)).length, 1)
  const waited = [card, other].flatMap(({ counts }) => counts.samples('payCreditAge'))
  const slow = waited.find(({ metricName, value }) => metricName === 'gateway_pay_credit_seconds_sum' && value > 3_600)
  t.equal(slow, undefined, 'the wait is no slowness of the gateway')
  t.ok((await card.store.audit()).ok)
})

const chinaDay = (ms: number): string => new Date(ms + 8 * HOUR_MS).toISOString().slice(0, 10)

t.test('a payment that is learned of late is held no longer than one that was told at once', async t => {
  const card = await openHolding(t)
  const late = await card.open()
  card.stripe.ledger.pay(late.session)
  const paidAtMs = card.clock.now()
  card.clock.advance(20 * HOUR_MS)
  await card.desk.orders.ask(await card.order(late.id), card.method)
  t.equal((await card.order(late.id)).heldUntilMs, Math.floor(paidAtMs / 1_000) * 1_000 + 24 * HOUR_MS)
  const past = await openHolding(t)
  const { id, session } = await past.open()
  past.stripe.ledger.pay(session)
  past.clock.advance(25 * HOUR_MS)
  await past.desk.orders.ask(await past.order(id), past.method)
  t.match(await past.order(id), { state: 'credited', heldUntilMs: null }, 'its time is over')
})

t.test('an operator credits it at once, with a reason', async t => {
  const card = await openHolding(t)
  const before = await card.balance()
  const { id } = await card.paid()
  const payments = new PaymentsAdmin({ ...card, pay: async () => card.desk })
  const release = () => payments.release(id, { reason: 'a payer of years' }, ACT.actor)
  const done = await Promise.allSettled([release(), release()])
  t.same(done.map(({ status }) => status).sort(), ['fulfilled', 'rejected'])
  t.equal((await card.order(id)).state, 'credited')
  t.equal(await card.balance(), before + 10_000)
  const logged = await card.store.actions.page({ operation: 'payments.release', limit: 9 })
  t.match(logged, [{ subject: { kind: 'order', id }, after: { reason: 'a payer of years' } }])
  t.equal((await card.store.audit()).byHand, 0, 'its proof is the provider’s')
})

t.test('money that goes back while it is held leaves the order as if it had been credited', async t => {
  const intentOf = ({ stripe }: Card, session: string) => stripe.ledger.get('checkout.session', session).payment_intent
  const rows: [
    name: string,
    back: (card: Card, session: string) => unknown,
    fen: number,
    state: string,
    exceptions: string[],
  ][] = [
    ['all, at Stripe', (c, s) => c.stripe.ledger.createRefund({ payment_intent: intentOf(c, s) }), 0, 'refunded', []],
    [
      'a part, at Stripe: the rest is credited',
      (c, s) => c.stripe.ledger.createRefund({ payment_intent: intentOf(c, s), amount: 3_000 }),
      7_000,
      'credited',
      [],
    ],
    ['a dispute', (c, s) => c.stripe.ledger.dispute(s), 0, 'credited', ['dispute']],
    [
      'a dispute that is lost',
      async (c, s) => {
        const event = c.stripe.ledger.dispute(s)
        await sendAll(c)
        c.stripe.ledger.moveDispute(event.data.object.id, { status: 'lost' })
      },
      0,
      'reversed',
      [],
    ],
    [
      'a dispute that is won',
      async (c, s) => {
        const event = c.stripe.ledger.dispute(s)
        await sendAll(c)
        c.stripe.ledger.moveDispute(event.data.object.id, { status: 'won' })
      },
      10_000,
      'credited',
      [],
    ],
    ['a warning of fraud', (c, s) => c.stripe.ledger.warnOfFraud(s), 0, 'refunded', ['fraud_warning']],
  ]
  for (const [name, back, fen, state, exceptions] of rows) {
    const card = await openHolding(t)
    const before = await card.balance()
    const known = await card.exceptions()
    const { id, session } = await card.paid()
    card.stripe.ledger.events.length = 0
    await back(card, session)
    const events = [...card.stripe.ledger.events]
    await sendAll(card)
    for (let i = 0; i < 2; i++) {
      await card.round()
      for (const event of events) await card.send({ ...event, id: `${event.id}${i}` })
      card.clock.advance(13 * HOUR_MS)
    }
    await card.round()
    t.equal((await card.balance()) - before, fen, name)
    t.equal((await card.order(id)).state, state, name)
    t.same((await card.exceptions()).slice(0, -known.length), exceptions, name)
    t.match(await card.store.audit(), { ok: true }, name)
    t.equal((await card.store.pay.heldOrders(0)).count, 0)
  }
})
