/**
 * An error that is none of a provider's, in the middle of a round of asking back, ended the round: what came after it was not
 * asked about, and in the next minute it was the same again. And a provider that did not answer kept those of others waiting.
 */
// The bug behind these rows: asking back stopped by what nobody thought of.
import t from 'tap'
import { ACT, openDesk, TestProvider } from './support.ts'
import { until } from '../support/wait.ts'

t.test('others are asked about', async t => {
  const desk = await openDesk(t)
  const { provider, store } = desk
  const [bad, good] = [await desk.begin('100'), await desk.begin('100')]
  const paid = await desk.begin('100')
  await desk.notices.take('alipay', provider.payment(paid.id), 'callback')
  provider.refundSaid = 'undecided'
  const { id: refund } = await desk.refunds.begin(paid.id, '40', 'asked for', false, ACT)
  for (const sent of provider.sentBack.values()) sent.said = 'done'
  provider.pay(good.id)
  const query = provider.query.bind(provider)
  provider.query = async order => {
    if (order.id === bad.id) throw new TypeError('nobody thought of it')
    return query(order)
  }
  desk.clock.advance(16_000)
  await desk.round()
  t.equal(await desk.state(good.id), 'credited')
  t.equal((await store.pay.refund('alipay', refund))?.state, 'done')
  t.equal(await desk.state(bad.id), 'pending')
  provider.query = query
  provider.pay(bad.id)
  desk.clock.advance(60_000)
  await desk.round()
  t.equal(await desk.state(bad.id), 'credited', 'a minute later')
})

t.test('orders of one method do not wait for the provider of another', async t => {
  const providers = [new TestProvider('alipay'), new TestProvider('wechat')] as const
  const [slow, quick] = providers
  const desk = await openDesk(t, { providers: [...providers] })
  for (let i = 0; i < 4; i++) await desk.begin('100', 'alipay')
  const order = await desk.begin('100', 'wechat')
  quick.pay(order.id)
  const hanging = Promise.withResolvers<void>()
  const query = slow.query.bind(slow)
  slow.query = async asked => {
    await hanging.promise
    return query(asked)
  }
  desk.clock.advance(16_000)
  const round = desk.round()
  await until('it is credited', async () => (await desk.state(order.id)) === 'credited')
  hanging.resolve()
  await round
})
