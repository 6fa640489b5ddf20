/**
 * A payment that does not fit its order waits for a person. When it was sent back at the provider meanwhile, the message about
 * that was refused as early until the provider gave up, and passed over in the bill; then the payment could still be credited.
 */
// The bug behind these rows: credited after it was sent back.
import t from 'tap'
import type { Notice } from '../../lib/pay/method.ts'
import { ACT, faultOf, openDesk } from './support.ts'

const GONE: [name: string, notice: (orderId: string) => Notice][] = [
  [
    'a refund',
    orderId => ({ kind: 'refund', refundId: null, providerId: 're', orderId, amount: 9_000, state: 'done' }),
  ],
  ['a dispute', orderId => ({ kind: 'dispute', disputeId: 're', orderId, amount: 9_000, state: 'open' })],
]

for (const [name, notice] of GONE)
  for (const source of ['callback', 'query', 'bill'] as const)
    t.test(`${name}, told by a ${source}`, async t => {
      const desk = await openDesk(t)
      const { id } = await desk.begin('100')
      await desk.notices.take('alipay', desk.provider.payment(id, { amount: 9_000 }), 'callback')
      const [payment] = await desk.store.pay.exceptions({ limit: 1 })
      t.equal(await desk.notices.take('alipay', notice(id), source), 'open')
      t.match(await desk.store.pay.exceptions({ limit: 9 }), [
        { kind: 'refund_unknown', orderId: id },
        { kind: 'amount' },
      ])
      t.equal(await faultOf(desk.intake.resolve(payment!.id, true, 'the payer called', ACT)), 'conflict')
      t.equal(await faultOf(desk.intake.resolve(payment!.id, false, 'sent back', ACT)), 'nothing')
      t.equal(await desk.balance(), 0)
    })

t.test('without a payment that waits, a message comes again, and a bill does not', async t => {
  for (const [name, notice] of GONE) {
    const desk = await openDesk(t)
    const { id } = await desk.begin('100')
    t.equal(await desk.notices.take('alipay', notice(id), 'callback'), 'early', name)
    t.same(await desk.store.pay.exceptions({ limit: 9 }), [])
    t.equal(await desk.notices.take('alipay', notice(id), 'bill'), 'open')
  }
})

t.test('an order that a crash left paid is credited, and then debited', async t => {
  const desk = await openDesk(t)
  const { id } = await desk.begin('100')
  const { kind: _, sandbox: __, merchant: ___, providerId: ____, ...payment } = desk.provider.payment(id)
  await desk.store.pay.proveOrder({ ...payment, method: 'alipay', source: 'callback', actor: '', note: '' })
  t.equal(await desk.state(id), 'paid')
  t.equal(await desk.notices.take('alipay', (GONE[0] as (typeof GONE)[number])[1](id), 'callback'), 'known')
  t.equal(await desk.balance(), 1_000)
})
