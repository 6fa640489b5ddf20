/**
 * A second payment of an order credits nothing, and a person sends it back at the provider. The message about that debited the
 * first payment, so that who had paid twice had nothing.
 */
// The bug behind these rows: a second payment sent back.
import t from 'tap'
import { openDesk } from './support.ts'

t.test('sending back the second payment of an order takes nothing from the first', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('100')
  const { notices, provider, store } = desk
  await notices.take('alipay', provider.payment(id), 'callback')
  t.equal(await notices.take('alipay', provider.payment(id, { transactionId: 'again' }), 'callback'), 'open')
  const refund = {
    kind: 'refund',
    refundId: null,
    providerId: 're',
    orderId: id,
    amount: 10_000,
    state: 'done',
  } as const
  for (const source of ['callback', 'bill'] as const) t.equal(await notices.take('alipay', refund, source), 'open')
  t.equal(await desk.balance(), 10_000)
  t.match(await store.pay.exceptions({ limit: 9 }), [{ kind: 'refund_unknown', amount: 10_000 }, { kind: 'duplicate' }])
  t.equal((await store.audit()).ok, true)
})
