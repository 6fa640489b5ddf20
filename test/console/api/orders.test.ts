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
  const pay = { alipay: alipay.section, card: stripe.section({ an_hour: 3, an_hour_of_all: 4 }), day_limit: 300 }
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
  t.equal((await one('alipay')).told, '429 throttled', 'a sixth that is open')
  t.equal((await one('card')).told, '429 throttled', 'by whatever way')
  const end = async (id: string) => house.store.pay.endOrder(id, 'expired', null)
  for (let i = 0; i < 3; i++) {
    const { told, id } = await two('card')
    t.equal(told, 'begun')
    await end(id)
  }
  t.equal((await two('card')).told, '429 throttled', 'a fourth session in an hour, though none is open')
  t.equal((await two('alipay', '290')).told, 'begun')
  t.equal((await two('alipay', '20')).told, '429 throttled', 'more than a day may have')
  const three = await open('three')
  t.equal((await three('card')).told, 'begun')
  t.equal((await three('card')).told, '429 throttled', 'a fifth of all accounts')
  t.equal(
    stripe.asked.filter(line => line === 'POST /v1/checkout/sessions').length,
    4,
    'the provider hears of no other',
  )
})
