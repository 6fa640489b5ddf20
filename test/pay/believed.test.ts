/** Numbers that providers send and money is computed from: what bounds each, and what happens beyond. */
import t, { type Test } from 'tap'
import { PaymentsAdmin } from '../../lib/pay/admin.ts'
import { ProviderAway } from '../../lib/pay/method.ts'
import { fenOf, isCents } from '../../lib/pay/exceptions.ts'
import { ownMethods } from '../../lib/pay/own.ts'
import { Chain, type Rpc } from '../../lib/pay/usdt/chain.ts'
import { TestClock } from '../support/clock.ts'
import { openCard } from './card-support.ts'
import { isTaken, Providers } from './providers.ts'
import { openShop } from './shop.ts'
import { ACT, faultOf, openDesk, TestProvider } from './support.ts'

const HOUR_MS = 3_600_000

async function open(t: Test) {
  const clock = new TestClock(Date.now())
  const providers = await Providers.open(t, () => clock.now())
  const shop = await openShop(t, providers.section(), { clock })
  const deliver = async (
    method: 'alipay' | 'wechat',
    { headers, body }: { headers: Record<string, string>; body: string },
  ) => {
    const answer = await fetch(`${shop.url}/pay/${method}`, { method: 'POST', headers, body })
    return isTaken(method, answer.status, await answer.text())
  }
  const begin = async (method: string) => {
    const order = await shop.desk.orders.begin(shop.account, method, '100', '', ACT)
    if (method === 'alipay') await fetch(order.shown?.redirect as string)
    providers.pay(order)
    return order
  }
  return { shop, providers, deliver, begin }
}

t.test('amounts are whole numbers of the smallest unit, below a billion', async t => {
  for (const [value, expected] of [
    [0, true],
    [99_999_999_999, true],
    [100_000_000_000, false],
    [2 ** 53, false],
    [1e300, false],
    [Number.POSITIVE_INFINITY, false],
    [Number.NaN, false],
    [-1, false],
    [10.5, false],
    ['100', false],
    [null, false],
    [undefined, false],
  ] as const)
    t.equal(isCents(value), expected, String(value))
  for (const text of ['1e3', '-1', '+1', '0x10', '1,000.00', '1.234', ' 1', '１', '9999999999', '', 'NaN', 100, null])
    t.equal(fenOf(text), null, String(text))
  t.equal(fenOf('999999999.99'), 99_999_999_999)
})

const AMOUNTS = ['100.01', '99.99', '0.00', '-100.00', '1e2', '100.001', '1000000000.00', '9'.repeat(400), 'NaN', '']

t.test('Alipay: total_amount of a notification', async t => {
  const { shop, providers, deliver, begin } = await open(t)
  const order = await begin('alipay')
  const { alipay } = providers
  for (const total_amount of AMOUNTS) {
    const notice = { ...alipay.notice(order.id), notify_id: `n${total_amount.slice(0, 9)}`, total_amount }
    await deliver('alipay', providers.form(alipay.signed(notice)))
    t.equal(await shop.balance(), 0, total_amount.slice(0, 20))
  }
  t.same(await shop.exceptions(), ['amount'], 'a person is told, once')
  t.equal(
    (await new PaymentsAdmin({ ...shop, pay: async () => shop.desk }).exceptions({ state: 'open', limit: 9 })).data
      .length,
    1,
  )
  t.equal(await deliver('alipay', providers.message(order)), true)
  t.equal(await shop.balance(), 10_000, 'and the true one credits')
})

t.test('Alipay: refund_fee, which tells the notice of a refund from that of a payment', async t => {
  const { shop, providers, deliver, begin } = await open(t)
  const order = await begin('alipay')
  const { alipay } = providers
  for (const refund_fee of ['1e2', '-1.00', '1.001', 'x', '9999999999'])
    t.equal(await deliver('alipay', providers.form(alipay.signed({ ...alipay.notice(order.id), refund_fee }))), false)
  t.equal(await shop.balance(), 0, 'nobody knows what it says')
  t.match(shop.verdicts(), { form: 5 })
  const zero = alipay.signed({ ...alipay.notice(order.id), refund_fee: '0.00' })
  t.equal(await deliver('alipay', providers.form(zero)), true)
  t.equal(await shop.balance(), 10_000)
})

t.test('WeChat Pay: amount.total of a notification', async t => {
  const { shop, providers, deliver, begin } = await open(t)
  const order = await begin('wechat')
  for (const total of [10_001, 9_999, 0, -10_000, 100.5, 1e15, 2 ** 53, '10000', null, undefined]) {
    const amount = { total, payer_total: 10_000, currency: 'CNY', payer_currency: 'CNY' }
    await deliver('wechat', providers.wechat.paid(order.id, { amount }))
    t.equal(await shop.balance(), 0, String(total))
  }
  t.same(await shop.exceptions(), ['amount'])
  t.equal(await deliver('wechat', providers.message(order)), true)
  t.equal(await shop.balance(), 10_000)
})

t.test('Stripe: amounts of sessions, refunds and disputes', async t => {
  for (const amount of [-1, 10.5, 1e15, 2 ** 60, null, '4000', undefined]) {
    const card = await openCard(t)
    const { session, id } = await card.paid()
    const { payment_intent } = card.stripe.ledger.get('checkout.session', session)
    card.stripe.ledger.createRefund({ payment_intent, amount: 1_000 })
    const refunded = card.stripe.ledger.events.find(({ type }) => type === 'refund.created')
    const disputed = card.stripe.ledger.dispute(session, { amount: 4_000 })
    card.stripe.change = (route, object) => /refunds|disputes/.test(route) && Object.assign(object, { amount })
    t.same([await card.send(refunded), await card.send(disputed)], [500, 500], String(amount))
    t.match(await card.order(id), { frozen: 0, refunded: 0 })
    card.stripe.change = () => {}
    t.same([await card.send(refunded), await card.send(disputed)], [200, 200])
    t.match(await card.order(id), { frozen: 40_000_000, refunded: 10_000_000 }, 'asked about again')
  }
  const card = await openCard(t)
  const { session } = await card.open()
  card.stripe.change = (route, object) =>
    route.includes('sessions/:id') && Object.assign(object, { amount_total: 10_000.5 })
  const paid = card.stripe.ledger.pay(session)
  t.equal(await card.send(paid), 500)
  t.equal(await card.balance(), 0)
})

t.test('Stripe: more is disputed than was paid', async t => {
  const card = await openCard(t)
  const { session, id } = await card.paid()
  t.equal(await card.send(card.stripe.ledger.dispute(session, { amount: 99_999_999 })), 200)
  t.match(await card.order(id), { frozen: 100_000_000 }, 'never more than the order')
  t.equal(await card.balance(), 0)
})

t.test(
  'times: what is held is held from when it was paid, which is not before the order and not after now',
  async t => {
    const rows: [name: string, created: (nowS: number) => unknown][] = [
      ['as it is', nowS => nowS],
      ['a year before the order', nowS => nowS - 365 * 86_400],
      ['in ten years', nowS => nowS + 3_650 * 86_400],
      ['no number', () => 'x'],
      ['no time', () => -1],
      ['beyond all times', () => 1e300],
      ['nothing', () => undefined],
    ]
    for (const [name, created] of rows) {
      const card = await openCard(t, { hold: { disputes: 1 } })
      const other = await card.paid()
      await card.send(card.stripe.ledger.dispute(other.session))
      const nowMs = card.clock.now()
      const { id, session } = await card.open()
      card.stripe.change = (route, object) => {
        const charge = object.payment_intent?.latest_charge
        if (route.includes('sessions') && charge) charge.created = created(Math.floor(nowMs / 1_000))
      }
      t.equal(await card.send(card.stripe.ledger.pay(session)), 200, name)
      const { state, heldUntilMs } = await card.order(id)
      t.equal(state, 'paid', `${name}: it is held`)
      t.ok(Math.abs((heldUntilMs as number) - (nowMs + 24 * HOUR_MS)) < HOUR_MS, `${name}: for a day`)
    }
  },
)

t.test('the chain: numbers and times of blocks', async t => {
  const hash = `0x${'a'.repeat(64)}`
  const block = (change: object) => ({ hash, number: '0x10', timestamp: '0x65000000', ...change })
  const chainOf = (answer: unknown) =>
    new Chain({ node: 1, call: async () => answer } as unknown as Rpc, { chainId: 56, contract: '0x1' })
  t.match(await chainOf(block({})).block('finalized'), { no: 16, atMs: 0x65000000 * 1_000 })
  for (const change of [
    { number: '0xffffffffffffffff' },
    { number: '16' },
    { number: '-0x1' },
    { number: 16 },
    { timestamp: '0xffffffffff' },
    { timestamp: '0xfffffffffffff' },
    { timestamp: 1 },
    { hash: 'x' },
  ])
    await t.rejects(chainOf(block(change)).block('finalized'), ProviderAway, JSON.stringify(change))
})

t.test('what is asked is never more than the provider takes', async t => {
  const provider = new TestProvider('card', 'USD')
  provider.mostAsked = 1_000
  const desk = await openDesk(t, { providers: [provider] })
  const nowMs = desk.clock.now()
  await desk.store.pay.setPayRate(
    { currency: 'USD', rate: 7_000_000, fromMs: nowMs - 1, untilMs: nowMs + HOUR_MS },
    ACT,
  )
  t.equal(await faultOf(desk.begin('70.01')), 'invalid')
  t.match(await desk.begin('70'), { state: 'pending', asked: 1_000 })

  const { shop } = await open(t)
  const { data } = await ownMethods(shop.desk, shop.account)
  t.ok(data.every(({ maximum }) => maximum === '50000.000000'))
})
