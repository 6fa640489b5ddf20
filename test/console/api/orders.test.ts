/** Bounds on what people begin: orders that are open, sessions for cards, and amounts. */
import t from 'tap'
import { AlipayDouble } from '../../pay/doubles/alipay.ts'
import { StripeDouble } from '../../pay/doubles/stripe.ts'
import { SETUP } from '../../support/store.ts'
import { openConsole } from '../support/console.ts'

t.test('orders of an account, and sessions for cards, are bounded', async t => {
  const clock = { now: Date.now }
  const alipay = await AlipayDouble.open(t)
  const stripe = await StripeDouble.open(t, { now: () => clock.now() })
  const pay = { alipay: alipay.section, card: stripe.section({ an_hour: 3, an_hour_of_all: 5 }), day_limit: 300 }
  const house = await openConsole(t, JSON.stringify({ pay }))
  house.clock.step(Date.now() - house.clock.now())
  alipay.ledger.now = () => house.clock.now()
  clock.now = () => house.clock.now()
  const open = async (name: string) => {
    const account = await house.store.accounts.create({ name, groups: ['default'], sandbox: true }, SETUP)
    const owner = await house.person(`${name}@example.com`, { in: { account, role: 'owner' } })
    return async (method: string, amount = '5') => {
      const { status, code, json } = await owner.call('orders.create', { account, body: { method, amount } })
      return { told: status === 201 ? 'begun' : `${status} ${code}`, id: String(json['id']) }
    }
  }
  const [one, two] = [await open('one'), await open('two')]
  for (let i = 0; i < 5; i++) t.equal((await one('alipay')).told, 'begun')
  t.equal((await one('alipay')).told, 'begun', 'a sixth takes the place of the oldest')
  t.equal((await one('card')).told, 'begun', 'by whatever way')
  t.equal((await house.store.pay.orders({ states: ['pending'], limit: 9 })).length, 5)
  const end = async (id: string) => house.store.pay.endOrder(id, 'expired', null)
  for (let i = 0; i < 3; i++) {
    const { told, id } = await two('card')
    t.equal(told, 'begun')
    await end(id)
  }
  t.equal((await two('card')).told, '429 throttled', 'a fourth session in an hour, though none is open')
  t.equal((await two('alipay', '280')).told, 'begun')
  t.equal((await two('alipay', '10')).told, '429 throttled', 'more than a day may have')
  const three = await open('three')
  t.equal((await three('card')).told, 'begun')
  t.equal((await three('card')).told, '429 throttled', 'a sixth of all accounts')
  t.equal(
    stripe.asked.filter(line => line === 'POST /v1/checkout/sessions').length,
    5,
    'the provider hears of no other',
  )
})

t.test('an order is cancelled by who may pay, and by nobody of another account', async t => {
  const alipay = await AlipayDouble.open(t)
  const house = await openConsole(t, JSON.stringify({ pay: { alipay: alipay.section } }))
  house.clock.step(Date.now() - house.clock.now())
  alipay.ledger.now = () => house.clock.now()
  const account = await house.store.accounts.create({ name: 'acme', groups: ['default'], sandbox: true }, SETUP)
  const other = await house.account('other')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const eve = await house.person('eve@example.com', { in: { account: other, role: 'owner' } })
  const viewer = await house.person('viewer@example.com', { in: { account, role: 'viewer' } })
  const begin = async () => {
    const { json } = await ann.call('orders.create', { account, body: { method: 'alipay', amount: '5' } })
    return { order: String(json['id']) }
  }
  const path = await begin()
  t.equal((await eve.call('orders.cancel', { account: other, path })).status, 404)
  t.equal((await viewer.call('orders.cancel', { account, path })).code, 'role')
  t.equal((await ann.call('orders.cancel', { account, path: { order: 'T' } })).status, 404)
  t.match((await ann.call('orders.cancel', { account, path })).json, { state: 'expired', qr: null, redirect: null })
  const paid = await begin()
  house.clock.advance(1_000)
  alipay.ledger.scan(paid.order)
  alipay.ledger.pay(paid.order)
  t.match((await ann.call('orders.cancel', { account, path: paid })).json, { state: 'credited', credited: '5.000000' })
  t.equal((await ann.call('balance.read', { account })).json['balance'], '5.000000')
  const { json } = await ann.call('actions.list', { account })
  const cancelled = (json['data'] as { operation: string }[]).filter(({ operation }) => operation === 'orders.cancel')
  t.equal(cancelled.length, 1, 'what was paid is not told as cancelled')
})
