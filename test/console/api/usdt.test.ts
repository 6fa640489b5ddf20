/** The calls about USDT: what an account's people get, what operators do, and what nobody may. */
import t from 'tap'
import { Node, TestChain, TOKEN } from '../../pay/doubles/chain.ts'
import { newWallet } from '../../pay/usdt-support.ts'
import { ANVIL_MISSING } from '../../support/anvil.ts'
import { SETUP } from '../../support/store.ts'
import { openConsole } from '../support/console.ts'

t.test('usdt', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)
  const nodes = [await Node.open(t, chain), await Node.open(t, chain)] as const
  const { xpub, first } = newWallet()
  const usdt = { xpub, check_address: first, endpoints: nodes.map(({ url }) => url), sandbox: true }
  const house = await openConsole(t, JSON.stringify({ pay: { usdt } }))
  const account = await house.store.accounts.create({ name: 'acme', groups: ['default'], sandbox: true }, SETUP)
  const other = await house.account('other')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const bob = await house.person('bob@example.com', { in: { account: other, role: 'owner' } })
  const operator = await house.person('op@example.com', { operator: true })
  const read = async () => (await house.deps.pay()).chain(() => false)
  await read()

  t.test('an account that is not for tests is offered nothing by a test network', async t => {
    t.match((await bob.call('usdt.read', { account: other })).json, { usdt: null, seen: [] })
    t.equal((await bob.call('usdt.address', { account: other })).status, 403)
    t.equal((await bob.call('usdt.quote', { account: other, body: { amount: '40' } })).status, 403)
    t.equal((await bob.call('usdt.read', { account })).status, 404)
  })

  t.test('from the address to the credit', async t => {
    t.match((await ann.call('usdt.read', { account })).json, { usdt: { address: null, rate: null } })
    t.equal((await ann.call('usdt.quote', { account, body: { amount: '40' } })).status, 409, 'there is no rate')
    const rate = { currency: 'USDT', rate: 7_120_000, fromMs: 0, untilMs: 8_000_000_000_000 }
    await house.store.pay.setPayRate(rate, SETUP)
    const { json } = await ann.call('usdt.address', { account })
    t.equal(String(json['address']).toLowerCase(), first)
    t.same((await ann.call('usdt.address', { account })).json, json, 'it stays the same')
    for (const amount of ['39.99', '40.001', '', 'x'])
      t.equal((await ann.call('usdt.quote', { account, body: { amount } })).status, 400, amount)
    t.match((await ann.call('usdt.quote', { account, body: { amount: 40 } })).json, { tokens: '5.618' })
    await chain.pay(first, TOKEN)
    await chain.mine()
    await read()
    t.match((await ann.call('usdt.read', { account })).json, {
      usdt: { waiting: '7.120000', quote: { tokens: '5.618' } },
    })
    const [row] = (await ann.call('orders.list', { account })).json['data'] as [{ id: string }]
    t.match(row, {
      method: 'usdt',
      asked: '1',
      currency: 'USDT',
      state: 'paid',
      waits_for: 'others',
      amount: '7.120000',
    })
    const query = { state: 'paid', method: 'usdt' }
    t.match((await operator.call('payments.orders', { query })).json, {
      data: [{ id: row.id, account: { id: account.publicId, name: 'acme' }, asked: '1' }],
    })
    const list = await operator.call('payments.addresses')
    t.match(list.text, new RegExp(`^number,.*\r\n0,0/0,0x[0-9a-f]{40},${account.publicId},1,1\r\n$`, 'i'))
    const release = (order: string, body: object = { reason: 'asked for' }) =>
      operator.call('payments.release', { path: { id: order }, body })
    t.equal((await release('nobody')).status, 404)
    t.equal((await release(row.id, {})).status, 400, 'no reason')
    t.match((await release(row.id)).json, { credited: '7.120000', state: 'credited' })
    t.equal((await release(row.id)).status, 409, 'once')
    t.match((await ann.call('balance.read', { account })).json, { balance: '7.120000' })
    t.match(await house.store.audit(), { byHand: 0, proven: 7_120_000 }, 'a second node has proven it')
  })

  t.test('tokens go back, and the order says what became of it', async t => {
    const [row] = (await operator.call('payments.orders')).json['data'] as [{ id: string }]
    const form = { amount: '7.12', reference: 'r', receiver: chain.other, reason: 'asked for' }
    const refund = (body: object, path = { id: row.id }) => operator.call('payments.refund', { path, body })
    t.equal((await refund(form, { id: '99' })).status, 404)
    t.equal((await refund({ ...form, receiver: '0x12' })).status, 400)
    const { receiver: _, ...nobody } = form
    t.equal((await refund(nobody)).status, 400, 'nobody knows where to')
    t.equal((await refund({ ...form, amount: '7.13' })).status, 409)
    const { json, status } = await refund(form)
    t.match([status, json], [201, { tokens: '1', state: 'frozen', by: 'op@example.com' }])
    t.match((await operator.call('payments.to_send')).json, { data: [{ id: json['id'] }] })
    const read = async () => (await ann.call('orders.read', { account, path: { order: row.id } })).json
    t.match(await read(), { credited: '7.120000', frozen: '7.120000', refunded: '0.000000' })
    t.equal((await bob.call('orders.read', { account: other, path: { order: row.id } })).status, 404)
    t.match((await ann.call('balance.read', { account })).json, { balance: '0.000000' })
    const end = (body: object) => operator.call('payments.refund_end', { path: { id: String(json['id']) }, body })
    t.equal((await end({})).status, 400)
    t.equal((await end({ tx: `0x${'1'.repeat(64)}` })).status, 409)
    t.match((await end({ reason: 'not now' })).json, { state: 'released', ending: 'not now' })
    t.match(await read(), { frozen: '0.000000', refunded: '0.000000' })
    t.match((await operator.call('payments.order', { path: { id: row.id } })).json, {
      refunds: [{ ending: 'not now', receiver: String, by: 'op@example.com' }],
      transfer: { node: 1 },
      proofs: [{ source: 'chain' }],
    })
  })

  t.test('the chain is read again from a block on which both nodes agree', async t => {
    const rewind = (block: number, reason = 'looked at') =>
      operator.call('payments.rewind', { body: { block, reason } })
    const at = (await chain.head()) - 4
    t.equal((await rewind(at + 100)).status, 400)
    nodes[1].about('eth_getBlockByNumber', async (params, real) =>
      params[0] === 'finalized' ? null : { result: { ...((await real()) as object), hash: `0x${'ab'.repeat(32)}` } },
    )
    t.equal((await rewind(at)).status, 409)
    nodes[1].honest()
    t.match((await rewind(at)).json, { block: at })
    await read()
    t.match((await ann.call('balance.read', { account })).json, { balance: '7.120000' }, 'nothing counts twice')
    const done = await house.store.actions.page({ limit: 99 })
    for (const operation of ['usdt.address', 'usdt.quote', 'payments.release', 'payments.refund', 'payments.rewind'])
      t.ok(
        done.some(action => action.operation === operation),
        operation,
      )
  })
})

t.test('without USDT in the config there is none', async t => {
  const house = await openConsole(t)
  const account = await house.account('acme')
  const ann = await house.person('ann@example.com', { in: { account, role: 'owner' } })
  const operator = await house.person('op@example.com', { operator: true })
  t.match((await ann.call('usdt.read', { account })).json, { usdt: null, seen: [] })
  t.equal((await ann.call('usdt.address', { account })).status, 404)
  t.equal((await operator.call('payments.addresses')).status, 404)
})
