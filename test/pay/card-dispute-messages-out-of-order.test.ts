/**
 * Messages about a dispute are dealt with at the same time. When the last one, that it is won, was done before the first one,
 * that it is open, the money was frozen, and nothing ever gave it back.
 */
// The bug behind these rows: a dispute that was won first.
import t from 'tap'
import type { DisputeNotice } from '../../lib/pay/method.ts'
import { openDesk } from './support.ts'

t.test('money of a dispute that is won is not frozen by an older message', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('100')
  await desk.notices.take('alipay', desk.provider.payment(id), 'callback')
  const dispute = { kind: 'dispute', disputeId: 'du', orderId: id, amount: 10_000 } as const
  for (const state of ['won', 'open', 'won', 'open'] satisfies DisputeNotice['state'][]) {
    t.equal(await desk.notices.take('alipay', { ...dispute, state }, 'callback'), 'known')
    t.equal(await desk.balance(), 10_000, state)
  }
  t.match(await desk.store.pay.order(id), { state: 'credited', frozen: 0 })
  t.same(await desk.store.pay.exceptions({ limit: 9 }), [])
  t.equal((await desk.store.audit()).ok, true)
})
