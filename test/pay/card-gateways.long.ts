/**
 * Cards on two gateways of one store, on every engine: parallel webhooks, refunds that a crash left at every step, and the
 * bounds that keep fraudsters from trying cards. And on a gateway as users start it.
 */
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import type { NewRefund } from '../../lib/store/payments/types.ts'
import type { Order } from '../../lib/terms/pay.ts'
import { startGateway } from '../support/gateway.ts'
import { type Card, openCard } from './card-support.ts'
import { StripeDouble } from './doubles/stripe.ts'
import { ENGINES } from './engines.ts'
import { ACT, faultOf } from './support.ts'

const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS
const DELIVERIES = 50

/** Where a crash comes in a refund of 40 CNY: what the first gateway still did. */
const CRASHES: [name: string, before: (card: Card, order: Order, refund: NewRefund) => Promise<unknown>][] = [
  ['before Stripe was asked', async () => {}],
  [
    'after Stripe had done it',
    ({ method }, order, refund) => method.refund({ ...refund, atMs: 0 } as never, order, 4_000),
  ],
  [
    'after its number was stored',
    async ({ method, store }, order, refund) => {
      const { providerId } = await method.refund({ ...refund, atMs: 0 } as never, order, 4_000)
      await store.pay.refundSent('card', refund.id, providerId, 1)
    },
  ],
]

for (const [engine, address] of ENGINES)
  t.test(engine, async t => {
    const url = await address(t)
    const stores: Store[] = [0, 1].map(() => openStore(url, { secret: 'a test secret' }))
    t.teardown(() => Promise.all(stores.map(store => store.close())))
    const [first, second] = stores as [Store, Store]
    await first.migrate()
    let accounts = 0
    const two = async (t: Test, section: object = {}): Promise<[Card, Card]> => {
      const account = await first.accounts.create({ name: `payer ${accounts++}`, groups: [], sandbox: true }, ACT)
      const one = await openCard(t, section, { store: first, account })
      return [one, await openCard(t, section, { store: second, account, clock: one.clock, stripe: one.stripe })]
    }

    t.test('fifty webhooks at once are one credit, one debit and one freeze', async t => {
      const [one, other] = await two(t)
      const { ledger } = one.stripe
      const deliver = (event: object): Promise<number[]> =>
        Promise.all(Array.from({ length: DELIVERIES }, (_, i) => one.stripe.send(i % 2 ? one.hook : other.hook, event)))
      const { session } = await one.open()
      t.same(new Set(await deliver(ledger.pay(session))), new Set([200]))
      t.equal(await one.balance(), 10_000)
      const { payment_intent } = ledger.get('checkout.session', session)
      ledger.createRefund({ payment_intent, amount: 4_000 })
      t.same(new Set(await deliver(ledger.events[0])), new Set([200]))
      t.equal(await other.balance(), 6_000)
      t.same(new Set(await deliver(ledger.dispute(session, { amount: 1_000 }))), new Set([200]))
      t.equal(await one.balance(), 5_000)
      t.same(await one.exceptions(), ['dispute'])
      t.equal((await first.audit()).ok, true)
    })

    t.test('the parts of an order in another currency go back at once, to the last of it', async t => {
      const [one, other] = await two(t, { currency: 'USD' })
      const now = one.clock.now()
      await first.pay.setPayRate(
        { currency: 'USD', rate: 7_130_000, fromMs: now - HOUR_MS, untilMs: now + HOUR_MS },
        ACT,
      )
      const { id, session } = await one.paid()
      const { ledger } = one.stripe
      const { payment_intent } = ledger.get('checkout.session', session)
      for (const amount of [467, 467, 469]) ledger.createRefund({ payment_intent, amount })
      const events = ledger.events.filter(event => event.type === 'refund.created')
      t.same(
        await Promise.all(events.map((event, i) => one.stripe.send(i % 2 ? one.hook : other.hook, event))),
        [200, 200, 200],
      )
      t.equal(await one.balance(), 0, 'the payer has everything, and the account nothing')
      t.equal((await one.order(id)).state, 'refunded')
      t.same(await one.exceptions(), ['dispute'])
      t.equal((await first.audit()).ok, true)
    })

    t.test('a dispute of money that is spent leaves a debt', async t => {
      const [one] = await two(t)
      const { session } = await one.paid()
      const spent = {
        kind: 'adjustment',
        amount: micro(-90_000_000),
        reference: 'spent',
        actor: 'x',
        note: 'spent',
      } as const
      await first.entries.add(one.account.id, spent, ACT)
      t.equal(await one.send(one.stripe.ledger.dispute(session)), 200)
      t.equal(await one.balance(), -9_000)
    })

    t.test('a refund that a crash left is completed by the other gateway, once', async t => {
      for (const [name, before] of CRASHES) {
        const [one, other] = await two(t)
        const { id } = await one.paid()
        const order = await one.order(id)
        const number = `R${id.slice(1)}`
        const refund: NewRefund = {
          id: number,
          method: 'card',
          orderId: id,
          kind: 'refund',
          amount: micro(40_000_000),
          reason: 'asked for',
          providerId: null,
        }
        await first.pay.freeze(refund, false, 1, ACT)
        await before(one, order, refund)
        t.equal(await other.balance(), 6_000, `${name}: frozen`)
        for (let i = 0; i < 3; i++) {
          other.clock.advance(MINUTE_MS)
          await Promise.all([one.round(), other.round()])
        }
        t.equal((await second.pay.refund('card', number))?.state, 'done', name)
        t.equal(one.stripe.ledger.all('refund').length, 1, name)
        t.equal(one.stripe.ledger.total, await one.balance(), 'what Stripe has is what the account has')
        t.equal((await first.audit()).ok, true)
      }
    })

    t.test('whoever tries cards gets five sessions an hour, on however many gateways', async t => {
      const [one, other] = await two(t)
      const begun = await Promise.all(Array.from({ length: 12 }, (_, i) => faultOf((i % 2 ? one : other).begin('5'))))
      t.same(
        begun.toSorted(),
        [...Array(5).fill('nothing'), ...Array(7).fill('throttled')],
        'no more than five of twelve at once',
      )
      for (const session of one.stripe.ledger.all('checkout.session')) one.stripe.ledger.expire(session.id)
      for (const event of one.stripe.ledger.events) await one.send(event)
      t.equal(await faultOf(other.begin('5')), 'throttled', 'sessions that ended count too')
      t.equal(one.stripe.ledger.all('checkout.session').length, 5)
    })

    t.test('all accounts together have a bound', async t => {
      const [one] = await two(t, { an_hour_of_all: 1 })
      t.equal(await faultOf(one.begin('5')), 'throttled', 'other accounts have used it up')
      t.equal(one.stripe.ledger.all('checkout.session').length, 0)
    })
  })

t.test('a gateway as users start it', async t => {
  const stripe = await StripeDouble.open(t)
  const accounts = [{ name: 'tester', groups: ['default'], sandbox: true }]
  const gateway = await startGateway({
    config: { workers: 2, pay: { card: stripe.section() } },
    catalog: () => ({ groups: [{ name: 'default' }], models: [], channels: [], accounts, keys: [] }),
  })
  t.teardown(() => gateway.stop())
  let output = ''
  for (const stream of [gateway.child.stdout, gateway.child.stderr]) stream?.on('data', data => (output += data))
  const store = openStore(`sqlite:${gateway.folder}/gateway.db`, { secret: 'admin-token-for-tests' })
  t.teardown(() => store.close())
  const account = (await store.accounts.byName('tester'))!
  const card = await openCard(t, {}, { store, account, stripe })
  const hook = `${gateway.main}/pay/card`
  const { session } = await card.open('12.34')
  const event = stripe.ledger.pay(session)
  t.equal(await stripe.send(hook, event, { signature: stripe.sign('{}') }), 400)
  t.same(await Promise.all([hook, `${hook}/`].map(url => stripe.send(url, event))), [200, 200])
  t.match(await gateway.admin('GET', '/admin/accounts/tester'), { balance: '12.340000' })
  for (const url of [`${hook}?x=1`, `${hook}/x`, `${gateway.main}/pay/alipay`, `${gateway.ops}/pay/card`])
    t.not(await stripe.send(url, event), 200, url)
  t.equal(await stripe.send(hook, event, { body: `{"x":"${'y'.repeat(70_000)}"}` }), 413)
  stripe.fail('GET /v1/disputes/:id', '429')
  t.equal(await stripe.send(hook, stripe.ledger.dispute(session)), 500, 'it is logged why')
  const metrics = await (await fetch(`${gateway.ops}/metrics`)).text()
  t.match(metrics, 'gateway_pay_callbacks_total{method="card",verdict="signature"} 1\n')
  t.match(metrics, 'gateway_pay_callbacks_total{method="card",verdict="taken"} 2\n')
  for (const secret of [stripe.secretKey, stripe.webhookSecret]) t.notMatch(output + metrics, secret, 'no key is told')
})
