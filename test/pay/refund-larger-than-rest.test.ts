/**
 * All of an order was sent back at the provider while a refund of a part of it was under way. What was left was debited, and nobody
 * was told of the rest; then the provider refused the other refund, and the account had money that its payer had too.
 */
// The bug behind these rows: all sent back while a part was frozen.
import t from 'tap'
import { ACT, openDesk } from './support.ts'

t.test('more than is left goes back, and a person is told', async t => {
  const desk = await openDesk(t)
  const { notices, provider, store, refunds } = desk
  const { id } = await desk.begin('100')
  await notices.take('alipay', provider.payment(id), 'callback')
  provider.refundSaid = 'undecided'
  const part = await refunds.begin(id, '80', 'asked for', false, ACT)
  const all = { kind: 'refund', refundId: null, providerId: 're', orderId: id, amount: 10_000, state: 'done' } as const
  t.equal(await notices.take('alipay', all, 'callback'), 'open')
  await store.pay.endFreeze('alipay', part.id, 'released', ACT)
  t.equal(await desk.balance(), 8_000)
  t.match(await store.pay.exceptions({ limit: 9 }), [{ kind: 'refund_amount', orderId: id, amount: 10_000 }])
})
