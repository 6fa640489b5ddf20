/**
 * A gateway asked what became of a refund, heard that there is none, and was held up for hours; another one sent the refund
 * meanwhile. Then the first one went on with what it had heard, and the balance got the money that the payer had too.
 */
// The bug behind these rows: an answer of hours ago.
import t from 'tap'
import type { RefundSaid } from '../../lib/pay/method.ts'
import type { Refund } from '../../lib/terms/pay.ts'
import { ACT, openDesk, TestProvider } from './support.ts'

const SENT_BACK = 4_000

const answer = ({ id: refundId, orderId, asked: amount }: Refund, state: RefundSaid) =>
  ({ kind: 'refund', refundId, providerId: `p ${refundId}`, orderId, amount, state }) as const

for (const name of ['alipay', 'wechat'] as const)
  t.test(`${name}: what was sent back stays sent back, and a person is told of the contradiction`, async t => {
    const desk = await openDesk(t, { providers: [new TestProvider(name)] })
    const { notices, provider, refunds, store } = desk
    const { id } = await desk.begin('100')
    await notices.take(name, provider.payment(id), 'callback')
    provider.refundSaid = 'undecided'
    const before = await refunds.begin(id, '60', 'asked for', false, ACT)
    await refunds.take(name, answer(before, 'done'), 'query')
    t.equal(await refunds.take(name, answer(before, 'released'), 'query'), 'open')
    t.equal((await store.pay.refund(name, before.id))?.state, 'done')
    t.equal(await desk.balance(), SENT_BACK)
    t.match(await store.pay.exceptions({ limit: 9 }), [{ kind: 'refund_unknown', reference: `not sent:${before.id}` }])
    t.equal((await store.audit()).ok, true)
  })

t.test('a bank may send back what a card got', async t => {
  const desk = await openDesk(t, { providers: [new TestProvider('card')] })
  const { notices, provider, refunds, store } = desk
  const { id } = await desk.begin('100')
  await notices.take('card', provider.payment(id), 'callback')
  const refund = await refunds.begin(id, '60', 'asked for', false, ACT)
  t.equal(refund.state, 'done')
  t.equal(await refunds.take('card', answer(refund, 'returned'), 'query'), 'known')
  t.equal(await desk.balance(), 10_000)
  t.same(await store.pay.exceptions({ limit: 9 }), [])
})
