/** Orders, refunds and exceptions by the admin API. The rules are those of the console; this is how they are called. */
import t from 'tap'
import type { Store } from '../../../lib/store/store.ts'
import { AlipayDouble } from '../../pay/doubles/alipay.ts'
import { LOOSE, newOrder, proofOf } from '../../store/pay-suite.ts'
import { SETUP } from '../../support/store.ts'
import { openOps, type Row } from '../support.ts'

/** An order that is paid and credited, as the double knows it too. */
async function credited(store: Store, alipay: AlipayDouble, accountId: number): Promise<string> {
  const order = newOrder(accountId, { merchant: alipay.sellerId, sandbox: true })
  await store.pay.makeOrder(order, LOOSE, SETUP)
  alipay.ledger.open({ order: order.id, total: order.asked, expiresAtMs: Number.MAX_SAFE_INTEGER } as never)
  alipay.ledger.pay(order.id)
  await store.pay.proveOrder(proofOf(order.id, `tx-${order.id}`))
  await store.pay.creditOrder(order.id, order.amount, '', SETUP)
  return order.id
}

t.test('orders are listed, shown and refunded, exceptions are resolved', async t => {
  const alipay = await AlipayDouble.open(t)
  const ops = await openOps(t, undefined, JSON.stringify({ pay: { alipay: alipay.section } }))
  alipay.ledger.now = () => ops.clock.now()
  const account = await ops.store.createAccount({ name: 'acme', groups: [], sandbox: true }, SETUP)
  await ops.store.createAccount({ name: 'other', groups: [] }, SETUP)
  const id = await credited(ops.store, alipay, account.id)
  t.match((await ops.admin('GET', '/admin/orders?account=acme&state=credited')).data, [{ id, amount: '5.000000' }])
  t.same((await ops.admin('GET', '/admin/orders?account=other')).data, [])
  t.match((await ops.admin('GET', `/admin/orders/${id}`)).json, {
    id,
    refundable: '5.000000',
    proofs: [{}],
    refunds: [],
  })
  t.match((await ops.admin('GET', '/admin/payments')).json, { exceptions: 0, methods: [{ method: 'alipay' }] })
  t.match((await ops.admin('GET', '/admin/rates')).json, { data: [], currencies: [] })

  const refund = (body: object) => ops.admin('POST', `/admin/orders/${id}/refunds`, body)
  const form = { amount: 2, reference: 'r1', reason: 'asked for' }
  t.match(await refund(form), { status: 201, json: { amount: '2.000000', state: 'done', by: 'token' } })
  t.match(await refund(form), { status: 200, json: { state: 'done' } })
  t.match(await refund({ ...form, reference: 'r2', amount: 4 }), { status: 409, error: { refundable: '3.000000' } })
  t.equal(alipay.ledger.back(id), 200)

  const exception = { method: 'alipay', kind: 'fraud_warning', reference: 'w', detail: 'look', orderId: id } as const
  await ops.store.pay.raiseException(exception)
  const [open] = (await ops.admin('GET', '/admin/exceptions')).data as [Row]
  t.match(open, { kind: 'fraud_warning', order: id, credit: null })
  const path = `/admin/exceptions/${open['id']}/resolution`
  t.match(await ops.admin('POST', path, { action: 'close', reason: 'known payer' }), {
    status: 200,
    json: { resolution: 'closed: known payer', resolved_by: 'token' },
  })
  t.same((await ops.admin('GET', '/admin/exceptions')).data, [])
  const logged = (await ops.admin('GET', '/admin/actions')).data.map(line => line['operation'])
  t.ok(['payments.refund', 'payments.resolve'].every(operation => logged.includes(operation)))
  t.match((await ops.admin('GET', '/admin/audit')).json, { ok: true, proven: '5.000000', by_hand: '0.000000' })

  for (const [method, call, body, status] of [
    ['GET', '/admin/orders?account=nobody', undefined, 404],
    ['GET', '/admin/orders?state=lost', undefined, 400],
    ['GET', '/admin/orders/x', undefined, 404],
    ['POST', '/admin/orders/x/refunds', form, 404],
    ['POST', `/admin/orders/${id}/refunds`, { amount: 1, reason: 'x' }, 400],
    ['POST', path, { action: 'close', reason: 'x' }, 409],
    ['POST', '/admin/exceptions/99/resolution', { action: 'close', reason: 'x' }, 404],
    ['POST', '/admin/rates', { currency: 'USD', rate: 7, for: '1h' }, 400],
  ] as const)
    t.equal((await ops.admin(method, call, body)).status, status, `${method} ${call}`)
})
