/**
 * Somebody between here and a provider answers in its place: a proxy, a balancer, an API gateway, most often in JSON. Such an answer
 * is nobody's word: no event is taken by it, no order fails, no refund is refused, and the same question is asked again.
 */
import t, { type Test } from 'tap'
import { fits } from '../../lib/pay/card/client.ts'
import type { CheckoutName } from '../../lib/terms/pay.ts'
import { TestClock } from '../support/clock.ts'
import { type Card, openCard } from './card-support.ts'
import { AlipayDouble } from './doubles/alipay.ts'
import { WechatDouble } from './doubles/wechat.ts'
import { openShop, type Shop } from './shop.ts'
import { ACT, passDay } from './support.ts'

interface Foreign {
  status: number
  body: string
}

const json = (status: number, body: unknown): Foreign => ({ status, body: JSON.stringify(body) })
const FOREIGN: readonly [name: string, answer: Foreign][] = [
  ['a balancer without servers', json(503, { message: 'upstream connect error' })],
  ['the same as an error', json(503, { error: 'no healthy upstream' })],
  ['a fault with a code', json(500, { code: 'INTERNAL', message: 'x' })],
  ['a gateway without a route', json(404, { message: 'no Route matched with those values' })],
  ['a page that is not there', json(404, { error: 'Not Found' })],
  ['a path that is not there', json(404, { error: { message: 'not found', code: 404 } })],
  ['access denied', json(403, { code: 'AccessDenied', message: 'denied by policy' })],
  ['a bad request', json(400, { error: { type: 'Bad Request', message: 'x' } })],
  ['too many', json(429, { error: { type: 'rate_limit_error', message: 'x' } })],
  ['a number', json(418, 1)],
  ['an error with the status of a success', json(200, { message: 'upstream connect error' })],
  ['nothing in it', json(200, {})],
  ['a list of nothing', json(200, { object: 'list', data: [], has_more: 'no' })],
  ['another object', json(200, { object: 'charge', id: 'ch_1' })],
  ['taken, and not done', json(202, {})],
  ['no JSON', { status: 200, body: '<h1>ok</h1>' }],
  ['no JSON, and an error', { status: 403, body: '<h1>no</h1>' }],
]

const refund = (shop: Shop, id: string) => shop.desk.refunds.begin(id, '40', 'asked for', false, ACT)

t.test('events of cards: not taken, and taken when they come again', async t => {
  const events: [
    name: string,
    answer: (route: string) => boolean,
    make: (card: Card) => Promise<object>,
    fen: number,
  ][] = [
    [
      'charge.dispute.created',
      route => route.includes('/disputes'),
      async card => card.stripe.ledger.dispute((await card.paid()).session, { amount: 4_000 }),
      6_000,
    ],
    [
      'refund.created',
      route => route.includes('/refunds'),
      async card => {
        const { payment_intent } = card.stripe.ledger.get('checkout.session', (await card.paid()).session)
        card.stripe.ledger.createRefund({ payment_intent, amount: 4_000 })
        return card.stripe.ledger.events.find(({ type }) => type === 'refund.created')
      },
      6_000,
    ],
    [
      'charge.refunded',
      route => route.includes('/refunds'),
      async card => {
        const { payment_intent } = card.stripe.ledger.get('checkout.session', (await card.paid()).session)
        card.stripe.ledger.createRefund({ payment_intent, amount: 4_000 })
        return card.stripe.ledger.events.find(({ type }) => type === 'charge.refunded')
      },
      6_000,
    ],
    [
      'radar.early_fraud_warning.created',
      route => route.includes('/early_fraud_warnings'),
      async card => card.stripe.ledger.warnOfFraud((await card.paid()).session),
      0,
    ],
    [
      'checkout.session.completed',
      route => route.includes('/checkout/sessions'),
      async card => card.stripe.ledger.pay((await card.open()).session),
      10_000,
    ],
  ]
  for (const [event, isAsked, make, fen] of events)
    for (const [name, answer] of FOREIGN) {
      const card = await openCard(t)
      const sent = await make(card)
      const before = await card.balance()
      card.stripe.inBetween = route => (isAsked(route) ? answer : null)
      for (let i = 0; i < 2; i++) t.equal(await card.send(sent), 500, `${event}: ${name}`)
      t.equal(await card.balance(), before)
      card.stripe.inBetween = () => null
      t.equal(await card.send(sent), 200)
      t.equal(await card.balance(), fen, `${event}: ${name}: taken later`)
    }
})

interface Offered extends Shop {
  between(answer: Foreign | null): void
  pay(id: string): void
}

const OFFERED: Record<CheckoutName, (t: Test) => Promise<Offered>> = {
  async card(t) {
    const card = await openCard(t)
    return Object.assign(card, {
      between: (answer: Foreign | null) => void (card.stripe.inBetween = () => answer),
      pay: (id: string) => {
        const { ledger } = card.stripe
        ledger.pay(ledger.all('checkout.session').find(({ metadata }) => metadata.order === id).id)
      },
    })
  },
  async wechat(t) {
    const clock = new TestClock(Date.now())
    const double = await WechatDouble.open(t, () => clock.now())
    const shop = await openShop(t, { wechat: double.config }, { clock })
    return Object.assign(shop, {
      between: (answer: Foreign | null) => void (double.inBetween = () => answer),
      pay: (id: string) => double.pay(id),
    })
  },
  async alipay(t) {
    const clock = new TestClock(Date.now())
    const double = await AlipayDouble.open(t)
    double.ledger.now = () => clock.now()
    const shop = await openShop(t, { alipay: { ...double.section, products: ['qr'] } }, { clock })
    return Object.assign(shop, {
      between: (answer: Foreign | null) => void (double.inBetween = () => answer),
      pay: (id: string) => {
        double.ledger.scan(id)
        double.ledger.pay(id)
      },
    })
  },
}

for (const [method, open] of Object.entries(OFFERED))
  t.test(`questions of ${method} that nobody has answered`, async t => {
    for (const [name, answer] of FOREIGN) {
      const shop = await open(t)
      shop.between(answer)
      const { id, state } = await shop.begin()
      t.equal(state, 'created', `${name}: an order that nobody has made has not failed`)
      shop.between(null)
      shop.clock.advance(6_000)
      const look = () => shop.desk.orders.look(shop.account, id, 'https://here.example/topup')
      t.equal((await look())?.state, 'pending', `${name}: it is made by looking at it`)

      shop.pay(id)
      shop.between(answer)
      shop.clock.advance(31 * 60_000 + 5 * 60_000)
      await shop.round()
      t.equal((await shop.order(id)).state, 'pending', `${name}: nobody has said that it is over`)
      shop.between(null)
      shop.clock.advance(61_000)
      await shop.round()
      t.equal((await shop.order(id)).state, 'credited', `${name}: it is asked about again`)

      shop.between(answer)
      const sent = await refund(shop, id)
      t.equal(sent.state, 'frozen', `${name}: a refund that nobody has taken`)
      t.same(await shop.exceptions(), [], `${name}: and nobody has refused`)
      for (let i = 0; i < 3; i++) {
        shop.clock.advance(60 * 60_000)
        await shop.round()
      }
      t.equal((await shop.store.pay.refund(shop.method.name, sent.id))?.state, 'frozen', `${name}: it is not released`)

      passDay(shop.clock)
      await shop.desk.bills(() => false)
      t.same(await shop.exceptions(), [], `${name}: a bill that nobody has given is not compared`)
      const marks = await shop.store.pay.payMarks()
      t.notOk(
        marks.some(({ what }) => what === 'bill'),
        `${name}: and is not done with`,
      )
    }
  })

t.test('an object that came without what belongs to it says nothing of whose it is', async t => {
  const rows: [
    name: string,
    kind: string,
    make: (card: Card, session: string) => object,
    strip: (object: never) => void,
  ][] = [
    [
      'a dispute without its payment',
      'disputes',
      (card, session) => card.stripe.ledger.dispute(session),
      (o: { payment_intent: { id: string } | string }) =>
        void (o.payment_intent = (o.payment_intent as { id: string }).id),
    ],
    [
      'a warning without its charge',
      'early_fraud_warnings',
      (card, session) => card.stripe.ledger.warnOfFraud(session),
      (o: { charge: { id: string } | string }) => void (o.charge = (o.charge as { id: string }).id),
    ],
    [
      'a dispute without an amount',
      'disputes',
      (card, session) => card.stripe.ledger.dispute(session),
      (o: { amount?: number }) => void delete o.amount,
    ],
    [
      'a dispute of a negative amount',
      'disputes',
      (card, session) => card.stripe.ledger.dispute(session),
      (o: { amount: number }) => void (o.amount = -1),
    ],
  ]
  for (const [name, kind, make, strip] of rows) {
    const card = await openCard(t)
    const { session } = await card.paid()
    const event = make(card, session)
    card.stripe.change = (route, object) => route.includes(kind) && strip(object as never)
    t.equal(await card.send(event as never), 500, name)
    t.equal(await card.balance(), 10_000)
    card.stripe.change = () => {}
    t.equal(await card.send(event as never), 200)
    t.equal(await card.balance(), 0, `${name}: taken later`)
  }
})

t.test(
  'what an event names and Stripe does not know yet is asked about again, and a person is told in the end',
  async t => {
    const card = await openCard(t)
    const { session } = await card.paid()
    const event = card.stripe.ledger.dispute(session)
    const dispute = card.stripe.ledger.get('dispute', event.data.object.id)
    card.stripe.ledger.objects.delete(dispute.id)
    t.equal(await card.send(event), 500, 'it is not passed over')
    card.clock.advance(6 * 60_000)
    await card.round()
    card.clock.advance(6 * 60_000)
    await card.round()
    t.same(await card.exceptions(), ['fraud_warning'])
    card.stripe.ledger.objects.set(dispute.id, dispute)
    t.equal(await card.send(event), 200)
    t.equal(await card.balance(), 0)
  },
)

t.test('a dispute of which every message got lost is found in the night, and so is what became of it', async t => {
  const card = await openCard(t)
  const { id, session } = await card.paid()
  const night = async () => {
    card.stripe.ledger.events.length = 0 // Stripe forgets them after a month
    passDay(card.clock)
    await card.desk.bills(() => false)
  }
  await night()
  t.equal(await card.balance(), 10_000)
  const { data } = card.stripe.ledger.dispute(session, { amount: 4_000 })
  await night()
  t.equal(await card.balance(), 6_000, 'what is disputed is frozen')
  t.match(await card.order(id), { frozen: 40_000_000, reversed: 0 })
  for (let i = 0; i < 40; i++) await night()
  t.match(await card.order(id), { frozen: 40_000_000, reversed: 0 }, 'once')
  card.stripe.ledger.moveDispute(data.object.id, { status: 'lost' })
  await night()
  t.match(await card.order(id), { frozen: 0, reversed: 40_000_000 }, 'and is taken when it is lost')
  t.equal((await card.store.audit()).ok, true)
})

t.test('a warning of fraud of which every message got lost is found in the night', async t => {
  const card = await openCard(t)
  const { session } = await card.paid()
  card.stripe.ledger.warnOfFraud(session)
  card.stripe.ledger.events.length = 0
  passDay(card.clock)
  await card.desk.bills(() => false)
  t.equal(await card.balance(), 0)
  t.same(await card.exceptions(), ['fraud_warning'])
})

t.test('a dispute in a state that is not known here waits for a person', async t => {
  const card = await openCard(t)
  const { session } = await card.paid()
  t.equal(await card.send(card.stripe.ledger.dispute(session, { status: 'in_arbitration' })), 200)
  t.same(await card.exceptions(), ['fraud_warning'])
})

t.test('what stands under a path of Stripe’s', t => {
  const rows: [ok: boolean, method: string, path: string, fields: object][] = [
    [true, 'GET', '/v1/account', { object: 'account', id: 'acct_1' }],
    [false, 'GET', '/v1/account', { object: 'account' }],
    [false, 'GET', '/v1/account', { id: 'acct_1' }],
    [true, 'GET', '/v1/disputes/du_1?expand[0]=payment_intent', { object: 'dispute', id: 'du_1' }],
    [false, 'GET', '/v1/disputes/du_1', { object: 'dispute', id: 'du_2' }],
    [false, 'GET', '/v1/disputes/du_1', { object: 'refund', id: 'du_1' }],
    [false, 'GET', '/v1/disputes/du_1', { object: 'list', data: [], has_more: false }],
    [true, 'POST', '/v1/refunds', { object: 'refund', id: 're_1' }],
    [false, 'POST', '/v1/refunds', { object: 'list', data: [], has_more: false }],
    [
      true,
      'GET',
      '/v1/refunds?limit=100',
      { object: 'list', data: [{ object: 'refund', id: 're_1' }], has_more: false },
    ],
    [false, 'GET', '/v1/refunds', { object: 'list', data: [{ object: 'charge', id: 'ch_1' }], has_more: false }],
    [false, 'GET', '/v1/refunds', { object: 'list', data: [{ object: 'refund' }], has_more: false }],
    [false, 'GET', '/v1/refunds', { object: 'list', data: [null], has_more: false }],
    [false, 'GET', '/v1/refunds', { object: 'refund', id: 're_1' }],
    [true, 'POST', '/v1/checkout/sessions/cs_1/expire', { object: 'checkout.session', id: 'cs_1' }],
    [false, 'POST', '/v1/checkout/sessions/cs_1/expire', { object: 'checkout.session', id: 'cs_2' }],
    [true, 'GET', '/v1/radar/early_fraud_warnings/issfr_1', { object: 'radar.early_fraud_warning', id: 'issfr_1' }],
    [false, 'GET', '/v1/customers/cus_1', { object: 'customer', id: 'cus_1' }],
  ]
  for (const [ok, method, path, fields] of rows)
    t.equal(fits(method, path, fields as Record<string, unknown>), ok, `${method} ${path} ${JSON.stringify(fields)}`)
  t.end()
})
