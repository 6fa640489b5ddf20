/** The calls about deposits: what an account's people get, what operators do, and what nobody may. */
import t from 'tap'
import { Node, TestChain, TOKEN } from '../../pay/doubles/chain.ts'
import { newWallet } from '../../pay/usdt-support.ts'
import { ANVIL_MISSING } from '../../support/anvil.ts'
import { SETUP } from '../../support/store.ts'
import { openConsole } from '../support/console.ts'

t.test('deposits', { skip: ANVIL_MISSING ?? false }, async t => {
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
    t.match((await bob.call('deposits.list', { account: other })).json, { usdt: null, data: [], next: null })
    t.equal((await bob.call('deposits.address', { account: other })).status, 403)
    t.equal((await bob.call('deposits.quote', { account: other, body: { amount: '40' } })).status, 403)
    t.equal((await bob.call('deposits.list', { account })).status, 404)
  })

  t.test('from the address to the credit', async t => {
    t.match((await ann.call('deposits.list', { account })).json, { usdt: { address: null, rate: null } })
    t.equal((await ann.call('deposits.quote', { account, body: { amount: '40' } })).status, 409, 'there is no rate')
    const rate = { currency: 'USDT', rate: 7_120_000, fromMs: 0, untilMs: 8_000_000_000_000 }
    await house.store.pay.setPayRate(rate, SETUP)
    const { json } = await ann.call('deposits.address', { account })
    t.equal(String(json['address']).toLowerCase(), first)
    t.same((await ann.call('deposits.address', { account })).json, json, 'it stays the same')
    for (const amount of ['39.99', '40.001', '', 'x'])
      t.equal((await ann.call('deposits.quote', { account, body: { amount } })).status, 400, amount)
    t.match((await ann.call('deposits.quote', { account, body: { amount: 40 } })).json, { tokens: '5.618' })
    await chain.pay(first, TOKEN)
    await chain.mine()
    await read()
    t.match((await ann.call('deposits.list', { account })).json, {
      usdt: { waiting: '7.120000', quote: { tokens: '5.618' } },
      data: [{ amount: '1', state: 'confirmed' }],
    })
    t.match((await operator.call('deposits.all', { query: { state: 'confirmed' } })).json, {
      data: [{ account: { id: account.publicId, name: 'acme' }, amount: '1' }],
    })
    const list = await operator.call('deposits.sweep')
    t.match(list.text, new RegExp(`^number,.*\r\n0,0/0,0x[0-9a-f]{40},${account.publicId},1,1\r\n$`, 'i'))
    const release = (id: string) => operator.call('deposits.release', { body: { account: id, reason: 'asked for' } })
    t.equal((await release('nobody')).status, 404)
    t.equal((await operator.call('deposits.release', { body: { account: account.publicId } })).status, 400, 'no reason')
    t.same((await release(account.publicId)).json, { credited: '7.120000' })
    t.same((await release(account.publicId)).json, { credited: '0.000000' })
    t.match((await ann.call('balance.read', { account })).json, { balance: '7.120000' })
    t.match(await house.store.audit(), { byHand: 7_120_000 })
  })

  t.test('a deposit goes back, and the row says what became of it', async t => {
    const [row] = (await operator.call('deposits.all')).json['data'] as [{ id: string }]
    const form = { amount: '7.12', reference: 'r', receiver: chain.other, reason: 'asked for' }
    const refund = (body: object, path = { deposit: row.id }) => operator.call('deposits.refund', { path, body })
    t.equal((await refund(form, { deposit: '99' })).status, 404)
    t.equal((await refund({ ...form, receiver: '0x12' })).status, 400)
    t.equal((await refund({ ...form, amount: '7.13' })).status, 409)
    const { json, status } = await refund(form)
    t.match([status, json], [201, { tokens: '1', state: 'frozen', by: 'op@example.com' }])
    t.match((await operator.call('deposits.to_send')).json, { data: [{ id: json['id'] }] })
    const read = async () => (await ann.call('deposits.read', { account, path: { deposit: row.id } })).json
    t.match(await read(), { credited: '7.120000', frozen: '7.120000', refunded: '0.000000' })
    t.equal((await bob.call('deposits.read', { account: other, path: { deposit: row.id } })).status, 404)
    t.match((await ann.call('balance.read', { account })).json, { balance: '0.000000' })
    const end = (body: object) => operator.call('deposits.refund_end', { path: { refund: String(json['id']) }, body })
    t.equal((await end({})).status, 400)
    t.equal((await end({ tx: `0x${'1'.repeat(64)}` })).status, 409)
    t.match((await end({ reason: 'not now' })).json, { state: 'released', ending: 'not now' })
    t.match(await read(), { frozen: '0.000000', refunded: '0.000000' })
    t.match((await operator.call('deposits.one', { path: { deposit: row.id } })).json, {
      refunds: [{}],
      decided_by: 'op@example.com',
    })
    const resolve = await operator.call('deposits.resolve', {
      path: { deposit: row.id },
      body: { action: 'close', reason: 'x' },
    })
    t.equal(resolve.status, 409, 'it is not held')
  })

  t.test('the chain is read again from a block on which both nodes agree', async t => {
    const rewind = (block: number, reason = 'looked at') =>
      operator.call('deposits.rewind', { body: { block, reason } })
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
    for (const operation of [
      'deposits.address',
      'deposits.quote',
      'deposits.release',
      'deposits.refund',
      'deposits.rewind',
    ])
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
  t.match((await ann.call('deposits.list', { account })).json, { usdt: null, data: [], seen: [] })
  t.equal((await ann.call('deposits.address', { account })).status, 404)
  t.equal((await operator.call('deposits.all')).status, 404)
})
