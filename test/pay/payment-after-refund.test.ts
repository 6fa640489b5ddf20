/**
 * A payment was sent back at the provider before anybody here knew of it. The bill showed both, and a person was told that it must not
 * be credited. Then the provider's old message about the payment came, or a gateway went on that had heard of it hours ago, and
 * it was credited all the same.
 */
// The bug behind these rows: paid after it was sent back.
import t from 'tap'
import type { Notice } from '../../lib/pay/method.ts'
import { faultOf, openDesk, ACT } from './support.ts'

const GONE: Record<string, (orderId: string) => Notice> = {
  'a refund': orderId => ({ kind: 'refund', refundId: null, providerId: 're', orderId, amount: 10_000, state: 'done' }),
  'a dispute': orderId => ({ kind: 'dispute', disputeId: 'dp', orderId, amount: 10_000, state: 'lost' }),
}

for (const [name, notice] of Object.entries(GONE))
  t.test(`${name}, told by a bill`, async t => {
    const { notices, provider, store, intake, begin, balance, state } = await openDesk(t)
    const { id } = await begin('100')
    t.equal(await notices.take('alipay', notice(id), 'bill'), 'open')
    t.equal(await notices.take('alipay', provider.payment(id), 'callback'), 'open')
    t.equal(await notices.take('alipay', provider.payment(id), 'callback'), 'open', 'and again')
    t.equal(await balance(), 0)
    t.equal(await state(id), 'pending')
    const told = await store.pay.exceptions({ limit: 9 })
    t.match(told, [{ kind: 'refund_unknown', transactionId: `tx-${id}` }, { kind: 'refund_unknown' }])
    t.equal(await faultOf(intake.resolve(told[0]!.id, true, 'the payer called', ACT)), 'conflict')
  })

t.test('a payment that is known stays known', async t => {
  const { notices, provider, begin, balance } = await openDesk(t)
  const { id } = await begin('100')
  await notices.take('alipay', provider.payment(id), 'callback')
  await notices.take('alipay', provider.payment(id, { transactionId: 'again' }), 'callback')
  t.equal(await notices.take('alipay', GONE['a refund']!(id), 'bill'), 'open', 'which of the two it was, nobody knows')
  t.equal(await notices.take('alipay', provider.payment(id), 'callback'), 'known')
  t.equal(await balance(), 10_000)
})
