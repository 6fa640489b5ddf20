/**
 * A provider that did not answer was asked about each of a hundred orders, ten seconds each, and all other work of the round waited.
 * Orders of a way to pay that is not in the config any more were looked at every minute for ever, and counted as open.
 */
// The bug behind these rows: orders behind a provider that is away.
import t from 'tap'
import { ProviderAway } from '../../lib/pay/method.ts'
import { ACT, openDesk, TestProvider } from './support.ts'
import { fund } from '../support/store.ts'

const ORDERS = 60
const OF_ACCOUNT = 5
const MINUTE_MS = 60_000
const HOUR_MS = 60 * MINUTE_MS

t.test('a provider that is away is asked a few times in a round, and about all orders when it is back', async t => {
  const desk = await openDesk(t)
  const { provider, store, orders, clock } = desk
  const ids: string[] = []
  for (let i = 0; i < ORDERS / OF_ACCOUNT; i++) {
    const { account } = await fund(store, `payer ${i}`, 0)
    for (let k = 0; k < OF_ACCOUNT; k++) ids.push((await orders.begin(account, 'alipay', '100', '', ACT)).id)
  }
  for (const id of ids) provider.pay(id)
  const query = provider.query.bind(provider)
  let asked = 0
  provider.query = async () => {
    asked++
    await new Promise(resolve => setImmediate(resolve))
    throw new ProviderAway('no answer')
  }
  clock.advance(16_000)
  await desk.round()
  t.ok(asked < 10, `asked ${asked} times`)
  provider.query = query
  clock.advance(2 * MINUTE_MS)
  await desk.round()
  const states = await Promise.all(ids.map(id => desk.state(id)))
  t.same(new Set(states), new Set(['credited']))
})

t.test('a few orders about which nothing can be learned do not keep others waiting', async t => {
  const desk = await openDesk(t)
  const { provider, clock } = desk
  const odd: string[] = []
  for (let i = 0; i < 4; i++) odd.push((await desk.begin('100')).id)
  const { id } = await desk.begin('100')
  provider.pay(id)
  const query = provider.query.bind(provider)
  provider.query = async order => {
    if (odd.includes(order.id)) throw new ProviderAway('an answer about another order')
    return query(order)
  }
  clock.advance(16_000)
  for (let i = 0; i < 3; i++) {
    await desk.round()
    clock.advance(6_000)
  }
  t.equal(await desk.state(id), 'credited')
})

t.test('an order whose way to pay is not in the config any more ends', async t => {
  const desk = await openDesk(t, { providers: [new TestProvider('alipay'), new TestProvider('wechat')] })
  const { store, account } = desk
  const { id } = await desk.begin('100', 'alipay')
  const without = await openDesk(t, { store, account, providers: [new TestProvider('wechat')] })
  const pass = async (ms: number) => {
    without.clock.advance(ms)
    await without.round()
  }
  await pass(HOUR_MS)
  t.match(await store.pay.order(id), { state: 'pending', checkAtMs: Number }, 'it may come back')
  await pass(26 * HOUR_MS)
  t.match(await store.pay.order(id), { state: 'expired', checkAtMs: null })
  t.equal(await desk.notices.take('alipay', desk.provider.payment(id), 'callback'), 'credited', 'late money is taken')
})
