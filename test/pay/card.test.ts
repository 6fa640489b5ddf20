/** Cards through the whole of a gateway's payments, against Stripe's double. */
import { readFileSync } from 'node:fs'
import t from 'tap'
import { EVENT_TYPES } from '../../lib/pay/card/events.ts'
import type { PayExceptionKind } from '../../lib/terms/pay.ts'
import { TestClock } from '../support/clock.ts'
import { memoryStore } from '../support/store.ts'
import { type Card, openCard } from './card-support.ts'
import { type Fault, StripeDouble } from './doubles/stripe.ts'
import type { Json } from '../../tools/simulator/pay/stripe-ledger.ts'
import { ACT, faultOf } from './support.ts'

const MINUTE_MS = 60_000
const CREATE = 'POST /v1/checkout/sessions'
const LIST = 'GET /v1/checkout/sessions'

t.test('a payer goes to the page, pays, and the webhook credits', async t => {
  const card = await openCard(t)
  const order = await card.begin('100')
  const session = card.stripe.ledger.get('checkout.session', order.providerId as string)
  t.match(order, { state: 'pending', shown: { redirect: session.url }, asked: 10_000, currency: 'CNY', sandbox: true })
  t.match(session, {
    client_reference_id: order.id,
    metadata: { order: order.id },
    intent_metadata: { order: order.id },
    amount_total: 10_000,
    currency: 'cny',
    adaptive_pricing: { enabled: false },
    payment_method_types: ['card'],
    expires_at: Math.floor(order.expiresAtMs / 1_000),
  })
  t.equal(await card.send(card.stripe.ledger.pay(session.id)), 200)
  t.match(await card.order(order.id), { state: 'credited', late: false })
  t.equal(await card.balance(), 10_000)
  t.match(await card.store.pay.proofs(order.id), [{ source: 'callback', transactionId: /^pi_/, amount: 10_000 }])
  t.same(card.verdicts(), { taken: 1 })
})

t.test('fifty deliveries at once to two gateways credit once, and all are taken', async t => {
  const store = await memoryStore()
  t.teardown(() => store.close())
  const one = await openCard(t, {}, { store })
  const two = await openCard(t, {}, { store, stripe: one.stripe, account: one.account, clock: one.clock })
  const { session } = await one.open()
  const event = one.stripe.ledger.pay(session)
  const statuses = await Promise.all(
    Array.from({ length: 50 }, (_, i) => one.stripe.send(i % 2 ? one.hook : two.hook, event)),
  )
  t.same(new Set(statuses), new Set([200]))
  t.equal(await one.balance(), 10_000)
  t.same(await one.exceptions(), [])
})

t.test('a callback that is not Stripe’s credits nothing, whatever is wrong with it', async t => {
  const card = await openCard(t)
  const { session } = await card.open()
  const event = card.stripe.ledger.pay(session)
  const body = JSON.stringify(event)
  const { stripe, clock } = card
  const other = await StripeDouble.open(t)
  const rows: [name: string, sent: { signature: string; body?: string }][] = [
    ['no signature', { signature: '' }],
    ['another secret', { signature: other.sign(body) }],
    ['an empty secret', { signature: stripe.sign(body, clock.now(), ' ') }],
    ['301 s old', { signature: stripe.sign(body, clock.now() - 301_000) }],
    ['an hour in the future', { signature: stripe.sign(body, clock.now() + 3_600_000) }],
    ['JSON that was written again', { signature: stripe.sign(body), body: JSON.stringify(event, null, 1) }],
    ['no JSON', { signature: stripe.sign('x'), body: 'x' }],
    ['JSON that is no event', { signature: stripe.sign('{"id":"evt_1"}'), body: '{"id":"evt_1"}' }],
    ['null', { signature: stripe.sign('null'), body: 'null' }],
  ]
  for (const [name, sent] of rows) t.equal(await stripe.send(card.hook, event, { body, ...sent }), 400, name)
  t.equal(await card.balance(), 0)
  t.same(card.verdicts(), { form: 4, signature: 3, age: 2 })
  t.equal(await stripe.send(card.hook, event, { body, signature: stripe.sign(body, clock.now() - 299_000) }), 200)
  t.equal(await card.balance(), 10_000)
})

t.test('what Stripe says of a payment must fit its order in every field', async t => {
  const rows: [change: Json, kind: PayExceptionKind][] = [
    [{ amount_total: 9_999 }, 'amount'],
    [{ amount_total: 10_001 }, 'amount'],
    [{ currency: 'usd' }, 'currency'],
    [{ livemode: true }, 'mode'],
  ]
  for (const [change, kind] of rows) {
    const card = await openCard(t)
    const { session } = await card.open()
    const event = card.stripe.ledger.pay(session, change)
    for (let i = 0; i < 2; i++) t.equal(await card.send(event), 200)
    t.equal(await card.balance(), 0, JSON.stringify(change))
    t.same(await card.exceptions(), [kind])
  }
})

t.test('a signed event is a hint only: what counts is what Stripe answers', async t => {
  const card = await openCard(t)
  const { session, id } = await card.open()
  const { ledger } = card.stripe
  const open = ledger.get('checkout.session', session)
  const claim = (change: Json, event: Json = {}) =>
    card.send({
      ...ledger.emit('checkout.session.completed', {
        ...open,
        status: 'complete',
        payment_status: 'paid',
        payment_intent: 'pi_1',
        ...change,
      }),
      ...event,
    })
  const rows: [name: string, claimed: () => Promise<number>, exceptions: string[]][] = [
    ['an open session', () => claim({}), []],
    ['a session that is not there', () => claim({ id: 'cs_test_x' }), ['fraud_warning']],
    ['another shop of the account', () => claim({ id: 'cs_test_y', client_reference_id: 'shirt-7' }), []],
    ['a reference without metadata', () => claim({ id: 'cs_test_z', metadata: {} }), []],
    ['a connected account', () => claim({}, { account: 'acct_other' }), ['merchant']],
    ['live mode', () => claim({}, { livemode: true }), ['mode']],
    ['a kind of event that nobody asked for', () => claim({}, { type: 'constructor' }), []],
  ]
  for (const [name, claimed, kinds] of rows) {
    for (const { id: open } of await card.store.pay.exceptions({ open: true, limit: 9 }))
      await card.desk.intake.resolve(open, false, 'seen', ACT)
    ledger.events.length = 0
    t.equal(await claimed(), 200, name)
    t.same(await card.exceptions(), kinds, name)
    t.equal((await card.order(id)).state, 'pending', name)
  }
  t.equal(await card.balance(), 0)
})

t.test('another session cannot pay for an order, even with its reference', async t => {
  const card = await openCard(t)
  const { id } = await card.open()
  const { ledger } = card.stripe
  // Whoever opens a payment link of the account chooses the reference, and not the metadata.
  const rows: [metadata: Json, exceptions: string[]][] = [
    [{}, []],
    [{ order: id }, ['unknown_order']],
  ]
  for (const [metadata, kinds] of rows) {
    const forged = ledger.createSession({
      mode: 'payment',
      client_reference_id: id,
      metadata,
      line_items: { 0: { quantity: 1, price_data: { currency: 'cny', unit_amount: 10_000 } } },
      expires_at: Math.floor(card.clock.now() / 1_000) + 3_600,
      success_url: 'https://x.example',
      adaptive_pricing: { enabled: 'false' },
    })
    t.equal(await card.send(ledger.pay(forged.id)), 200)
    t.same(await card.exceptions(), kinds)
  }
  t.equal(await card.balance(), 0)
})

t.test('the answer to the order gets lost: looking again shows the same session', async t => {
  const faults: Fault[] = ['made_reset', 'made_500', 'html']
  for (const fault of faults) {
    const card = await openCard(t)
    card.stripe.fail(CREATE, fault)
    card.stripe.fail(LIST, 'reset')
    const order = await card.begin()
    t.equal(order.state, 'created', fault)
    t.equal(card.stripe.ledger.all('checkout.session').length, 1)
    card.clock.advance(6_000)
    const again = await card.desk.orders.look(card.account, order.id, 'https://here.example/another/page')
    t.match(again, { state: 'pending', providerId: /^cs_/, shown: { redirect: /^https:/ } })
    t.equal(card.stripe.ledger.all('checkout.session').length, 1)
    await card.send(card.stripe.ledger.pay(again?.providerId as string))
    t.equal(await card.balance(), 10_000)
  }
})

t.test('a crash before the session’s id is stored: the webhook credits all the same', async t => {
  const card = await openCard(t)
  card.stripe.fail(CREATE, 'made_reset')
  card.stripe.fail(LIST, 'reset')
  const order = await card.begin()
  t.match(order, { state: 'created', providerId: null })
  await card.send(card.stripe.ledger.pay(card.stripe.ledger.all('checkout.session')[0].id))
  t.match(await card.order(order.id), { state: 'credited' })
})

t.test('nobody answers, or with an error of its own', async t => {
  for (const fault of ['reset', '429', '500'] as const) {
    const card = await openCard(t)
    card.stripe.fail(CREATE, fault)
    const order = await card.begin()
    t.equal(order.state, 'created', fault)
    card.clock.advance(36 * MINUTE_MS)
    await card.round()
    t.equal((await card.order(order.id)).state, 'expired', fault)
    t.equal(card.stripe.ledger.all('checkout.session').length, 0)
  }
})

t.test('a session that Stripe refuses fails its order', async t => {
  const clock = new TestClock(Date.now())
  const stripe = await StripeDouble.open(t, { now: () => clock.now() + 10 * MINUTE_MS })
  const card = await openCard(t, {}, { clock, stripe })
  t.equal((await card.begin()).state, 'failed', 'clocks that are ten minutes apart leave less than Stripe’s half hour')
})

t.test('the key of another account, or one that Stripe does not know, begins nothing', async t => {
  const logged: string[] = []
  const stripe = await StripeDouble.open(t)
  for (const section of [{ account: 'acct_00000000' }, { secret_key: `sk_test_${'0'.repeat(24)}` }]) {
    const card = await openCard(t, section, { stripe })
    t.equal((await card.begin()).state, 'failed')
    await card.method.query(await card.begin()).catch(error => logged.push(`${error.name} ${error.message}`))
  }
  t.match(logged, [/^ProviderRefuses the secret key is of the account/, /^ProviderRefuses .*\(secret\)/])
  t.notMatch(logged.join(), /sk_test_/)
  t.equal(stripe.ledger.all('checkout.session').length, 0)
})

t.test(
  'an answer that is too large or no JSON is an error of the provider, and a redirect is not followed',
  async t => {
    const card = await openCard(t)
    const order = await card.begin()
    for (const fault of ['huge', 'html', 'redirect'] as const) {
      card.stripe.fail('GET /v1/checkout/sessions/:id', fault)
      const said = await card.method.query(order).catch(error => error)
      t.equal(said.name, 'ProviderAway', fault)
    }
    t.match(await card.method.query(order), { kind: 'open' })
  },
)

t.test('a webhook that never comes', async t => {
  const card = await openCard(t)
  const { id, session } = await card.open()
  card.stripe.ledger.pay(session)
  card.clock.advance(16_000)
  await card.round()
  t.equal((await card.order(id)).state, 'credited')
  t.equal(await card.balance(), 10_000)
})

t.test('the end of an order', async t => {
  const rows: [name: string, act: (card: Card, session: string) => void, state: string][] = [
    ['nobody pays', () => {}, 'expired'],
    [
      'paid between the question and the closing',
      (card, session) => {
        card.stripe.before = route => {
          if (!route.endsWith('/expire')) return
          card.stripe.before = () => {}
          card.stripe.ledger.get('checkout.session', session).expires_at += 600
          card.stripe.ledger.pay(session)
        }
      },
      'credited',
    ],
  ]
  for (const [name, act, state] of rows) {
    const card = await openCard(t)
    const { id, session } = await card.open()
    // The double's clock is a little behind, so that the session is still open when the order ends.
    card.stripe.ledger.get('checkout.session', session).expires_at += 300
    act(card, session)
    card.clock.advance(35 * MINUTE_MS + 1_000)
    await card.round()
    t.equal((await card.order(id)).state, state, name)
    t.not(card.stripe.ledger.get('checkout.session', session).status, 'open', name)
  }
})

t.test('a delayed payment counts when it is decided', async t => {
  for (const paid of [true, false]) {
    const card = await openCard(t)
    const { id, session } = await card.open()
    t.equal(await card.send(card.stripe.ledger.pay(session, { payment_status: 'unpaid' })), 200)
    t.equal((await card.order(id)).state, 'pending', 'complete is not paid')
    t.equal(await card.balance(), 0)
    t.equal(await card.send(card.stripe.ledger.decide(session, paid)), 200)
    t.equal((await card.order(id)).state, paid ? 'credited' : 'expired')
  }
})

t.test('an event that the session expired, late, takes nothing away', async t => {
  const card = await openCard(t)
  const { id, session } = await card.paid()
  const { ledger } = card.stripe
  t.equal(await card.send(ledger.emit('checkout.session.expired', ledger.get('checkout.session', session))), 200)
  t.equal((await card.order(id)).state, 'credited')
  const other = await card.open()
  ledger.expire(other.session)
  t.equal(await card.send(ledger.events[0]), 200)
  t.equal((await card.order(other.id)).state, 'expired')
})

t.test('Stripe is away when its webhook comes: it is told to send it again', async t => {
  const card = await openCard(t)
  const { session } = await card.open()
  const event = card.stripe.ledger.pay(session)
  card.stripe.fail('GET /v1/checkout/sessions/:id', 'reset')
  t.equal(await card.send(event), 500)
  t.equal(await card.balance(), 0)
  t.equal(await card.send(event), 200)
  t.equal(await card.balance(), 10_000)
})

t.test('another currency, at the rate of the order', async t => {
  const card = await openCard(t, { currency: 'USD' })
  t.equal(await faultOf(card.begin('100')), 'conflict', 'no rate')
  const now = card.clock.now()
  await card.store.pay.setPayRate({ currency: 'USD', rate: 7_130_000, fromMs: now, untilMs: now + MINUTE_MS }, ACT)
  const { id } = await card.paid('100')
  t.match(await card.order(id), { asked: 1_403, currency: 'USD', rate: 7_130_000, state: 'credited' })
  t.equal(await card.balance(), 10_000)
  await card.desk.refunds.begin(id, '33.33', 'asked for', false, ACT)
  await card.desk.refunds.begin(id, '66.67', 'the rest', false, ACT)
  t.equal(card.stripe.ledger.total, 0, 'the last refund takes the rest, to the cent')
  t.equal(await card.balance(), 0)
})

t.test(
  'a session in another currency than was asked for waits, is credited at its worth, and goes back whole',
  async t => {
    const card = await openCard(t, { currency: 'USD' })
    const now = card.clock.now()
    await card.store.pay.setPayRate({ currency: 'USD', rate: 7_130_000, fromMs: now, untilMs: now + MINUTE_MS }, ACT)
    const { id, session } = await card.open('100')
    const { ledger } = card.stripe
    t.equal(await card.send(ledger.pay(session, { currency: 'cny', amount_total: 9_000 })), 200)
    t.equal(await card.balance(), 0)
    const [found] = await card.store.pay.exceptions({ open: true, limit: 9 })
    t.match(found, { kind: 'currency', orderId: id, amount: 9_000, currency: 'CNY' })
    await card.desk.intake.resolve(found!.id, true, 'the payer called', ACT)
    t.equal(await card.balance(), 9_000, 'not what was asked for')
    t.equal(await faultOf(card.desk.refunds.begin(id, '90.01', 'too much', false, ACT)), 'conflict')
    for (const amount of ['30', '60']) await card.desk.refunds.begin(id, amount, 'asked for', false, ACT)
    t.equal(ledger.total, 0, 'in the currency that was paid')
    t.equal(await card.balance(), 0)
    t.match(await card.store.audit(), { ok: true })
  },
)

t.test('five sessions in an hour, of one account', async t => {
  const card = await openCard(t)
  for (let i = 0; i < 5; i++) card.stripe.ledger.expire((await card.open()).session)
  for (const event of card.stripe.ledger.events) await card.send(event)
  t.equal(await faultOf(card.begin()), 'throttled', 'also when none of them is open')
  t.equal(card.stripe.ledger.all('checkout.session').length, 5)
})

t.test('the docs name the events that the webhook needs', t => {
  const docs = readFileSync('docs/topups.md', 'utf8')
  for (const type of EVENT_TYPES) t.match(docs, `\`${type}\``)
  t.end()
})
