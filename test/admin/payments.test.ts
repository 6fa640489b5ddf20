/** Orders, refunds and exceptions by the admin API. The rules are those of the console; this is how they are called. */
import t from 'tap'
import type { Store } from '../../lib/store/store.ts'
import { AlipayDouble } from '../pay/doubles/alipay.ts'
import { newWallet } from '../pay/usdt-support.ts'
import { LOOSE, newOrder, proofOf } from '../support/orders.ts'
import { SETUP } from '../support/store.ts'
import { confirmTransfers } from '../support/transfers.ts'
import { openOps, type Row } from './support.ts'

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
  const account = await ops.store.accounts.create({ name: 'acme', groups: [], sandbox: true }, SETUP)
  await ops.store.accounts.create({ name: 'other', groups: [] }, SETUP)
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

  const held = newOrder(account.id, { merchant: alipay.sellerId, sandbox: true })
  await ops.store.pay.makeOrder(held, LOOSE, SETUP)
  const untilMs = ops.clock.now() + 3_600_000
  await ops.store.pay.proveOrder(proofOf(held.id, 'held'), { disputes: 0, sinceMs: 0, untilMs })
  t.match((await ops.admin('GET', '/admin/payments')).json, { held: { orders: 1, amount: '5.000000' }, uncredited: 0 })
  t.match(await ops.admin('POST', `/admin/orders/${held.id}/release`, { reason: 'known payer' }), {
    status: 200,
    json: { state: 'credited', held_until: null, credited: '5.000000' },
  })

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
  t.ok(['payments.refund', 'payments.release', 'payments.resolve'].every(operation => logged.includes(operation)))
  t.match((await ops.admin('GET', '/admin/audit')).json, { ok: true, proven: '10.000000', by_hand: '0.000000' })

  for (const [method, call, body, status] of [
    ['GET', '/admin/orders?account=nobody', undefined, 404],
    ['GET', '/admin/orders?state=lost', undefined, 400],
    ['GET', '/admin/orders?sort=amount', undefined, 400],
    ['GET', '/admin/orders/x', undefined, 404],
    ['POST', '/admin/orders/x/refunds', form, 404],
    ['POST', `/admin/orders/${id}/refunds`, { amount: 1, reason: 'x' }, 400],
    ['POST', path, { action: 'close', reason: 'x' }, 409],
    ['POST', `/admin/orders/${id}/release`, { reason: 'x' }, 409],
    ['POST', `/admin/orders/${id}/release`, {}, 400],
    ['POST', '/admin/orders/x/release', { reason: 'x' }, 404],
    ['POST', '/admin/exceptions/99/resolution', { action: 'close', reason: 'x' }, 404],
    ['POST', '/admin/rates', { currency: 'USD', rate: 7, for: '1h' }, 400],
  ] as const)
    t.equal((await ops.admin(method, call, body)).status, status, `${method} ${call}`)
})

t.test('transfers are listed, released, resolved and sent back', async t => {
  const { xpub, first } = newWallet()
  const usdt = {
    xpub,
    check_address: first,
    endpoints: ['http://127.0.0.1:9/a', 'http://127.0.0.1:10/b'],
    sandbox: true,
  }
  const ops = await openOps(t, undefined, JSON.stringify({ pay: { usdt } }))
  const account = await ops.store.accounts.create({ name: 'acme', groups: [], sandbox: true }, SETUP)
  const { chain } = ops.store
  const rate = { currency: 'USDT', rate: 7_000_000, fromMs: 0, untilMs: Number.MAX_SAFE_INTEGER }
  await ops.store.pay.setPayRate(rate, SETUP)
  const block = { no: 1, hash: `0x${'b'.repeat(64)}` }
  const transfer = {
    from: first,
    to: first,
    value: 10n ** 18n,
    block,
    accountId: account.id,
    blockAtMs: 1_000,
    node: 1,
    sandbox: true,
  }
  await chain.addTransfers(
    56,
    [1n, 2n * 10n ** 8n].map((n, logIndex) => ({
      ...transfer,
      tx: `0x${String(n).padStart(64, '0')}`,
      logIndex,
      value: n * 10n ** 18n,
    })),
  )
  await confirmTransfers(ops.store, 56)
  const [paid, large] = (await chain.transferOrders({ afterSeq: 0, limit: 9 })).map(({ id }) => id) as [string, string]
  const release = (body: object, id = paid) => ops.admin('POST', `/admin/orders/${id}/release`, body)
  t.equal((await release({})).status, 400)
  t.match(await release({ reason: 'the payer left' }), { status: 200, json: { credited: '7.000000' } })
  t.match(await release({ reason: 'again' }), { status: 409 }, 'it is not held any more')
  const rows = (await ops.admin('GET', '/admin/orders?account=acme&method=usdt')).data as Row[]
  t.match(
    rows.find(({ id }) => id === large),
    { state: 'paid', waits_for: 'others', asked: '200000000' },
  )
  t.match(
    rows.find(({ id }) => id === paid),
    { state: 'credited', asked: '1', transaction: /^0x0*1$/ },
  )
  t.same((await ops.admin('GET', '/admin/orders?state=failed')).data, [])
  await ops.store.pay.raiseException({
    method: 'usdt',
    kind: 'chain',
    reference: 'held:x',
    detail: 'worth too much',
    orderId: large,
  })
  t.match(await release({ reason: 'x' }, large), { status: 409, error: { message: /exception/ } })
  const [told] = (await ops.admin('GET', '/admin/exceptions?kind=chain')).data as [Row]
  t.match(told, { order: large, credit: '1400000000.000000' })
  const resolve = (body: object) => ops.admin('POST', `/admin/exceptions/${told['id']}/resolution`, body)
  t.equal((await resolve({ action: 'credit', reason: 'x' })).status, 409, 'no node answers')
  t.match(await resolve({ action: 'close', reason: 'by mistake' }), {
    status: 200,
    json: { resolution: 'closed: by mistake' },
  })

  const csv = await ops.admin('GET', '/admin/usdt/addresses.csv')
  t.match([csv.status, csv.headers['content-type'], csv.text], [200, /^text\/csv/, /^number,path,address,account,/])
  const rewind = (body: object) => ops.admin('POST', '/admin/usdt/rewind', body)
  t.match(await rewind({ block: 1, reason: 'x' }), { status: 409, error: { message: /block/ } }, 'no node answers')
  t.equal((await rewind({ block: -1, reason: 'x' })).status, 400)
  t.equal((await rewind({ block: 1 })).status, 400)

  const refund = (body: object) => ops.admin('POST', `/admin/orders/${paid}/refunds`, body)
  const form = { amount: 3.5, reference: 'r1', receiver: `0x${'9'.repeat(40)}`, reason: 'asked for' }
  const { json, status } = await refund(form)
  t.match([status, json], [201, { tokens: '0.5', state: 'frozen', by: 'token' }])
  t.match(await refund(form), { status: 200 })
  t.match(await refund({ ...form, reference: 'r2', amount: 4 }), { status: 409, error: { refundable: '3.500000' } })
  t.match((await ops.admin('GET', '/admin/refunds')).data, [{ id: json['id'] }])
  const end = (body: object) => ops.admin('POST', `/admin/refunds/${json['id']}/end`, body)
  t.equal((await end({ tx: `0x${'1'.repeat(64)}` })).status, 409, 'no node answers')
  t.match(await end({ reason: 'not now' }), { status: 200, json: { state: 'released' } })
  t.match((await ops.admin('GET', `/admin/orders/${paid}`)).json, { refundable: '7.000000', refunds: [{}] })
  t.match((await ops.admin('GET', '/admin/audit')).json, { ok: true, by_hand: '0.000000' })
  for (const [method, call, body, code] of [
    ['GET', '/admin/orders?account=nobody&method=usdt', undefined, 404],
    ['GET', '/admin/orders/99', undefined, 404],
    ['POST', '/admin/orders/x/refunds', form, 404],
    ['POST', '/admin/refunds/x/end', { reason: 'x' }, 404],
    ['POST', '/admin/orders/x/release', { reason: 'x' }, 404],
  ] as const)
    t.equal((await ops.admin(method, call, body)).status, code, `${method} ${call}`)
})
