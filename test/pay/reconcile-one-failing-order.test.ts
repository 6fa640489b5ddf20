/**
 * Each round of asking back begins with orders that a crash left paid. One whose account cannot take the money, because its
 * balance would pass all bounds, ended the round: nobody's order was asked about, closed or credited any more.
 */
// The bug behind these rows: asking back stopped by one order.
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { ACT, openDesk } from './support.ts'
import { fund } from '../support/store.ts'

t.test('an order that cannot be credited waits for a person, and others go on', async t => {
  const desk = await openDesk(t)
  const { store, account, orders, provider } = desk
  const { id } = await desk.begin('100')
  const { account: other } = await fund(store, 'another payer', 0)
  const next = await orders.begin(other, 'alipay', '100', '', ACT)
  const amount = micro(Number.MAX_SAFE_INTEGER - 1_000_000)
  await store.entries.add(account.id, { kind: 'topup', amount, reference: 'x', actor: 'a', note: '' }, ACT)
  const { orderId, transactionId, currency, digest, paidAtMs, ...paid } = provider.payment(id)
  const proof = { method: 'alipay', source: 'callback', actor: '', note: '' } as const
  await store.pay.proveOrder({ ...proof, orderId, transactionId, amount: paid.amount, currency, digest, paidAtMs })
  provider.pay(next.id)
  desk.clock.advance(16_000)
  await desk.round()
  t.equal(await desk.state(next.id), 'credited')
  t.match(await store.pay.order(id), { state: 'paid', credited: 0 })
  t.match(await store.pay.exceptions({ limit: 9 }), [{ kind: 'conflict', orderId: id }])
})
