/** What operators do about transfers, and what people see of theirs. */
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { PaymentsAdmin } from '../../lib/pay/admin.ts'
import { ownAddress, ownQuote, ownUsdt, sweepList } from '../../lib/pay/usdt/addresses.ts'
import { ownOrders } from '../../lib/pay/own.ts'
import { checksummed } from '../../lib/config/xpub.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'
import { encode, TestChain, TOKEN } from './doubles/chain.ts'
import { ACT } from './support.ts'
import { openUsdt } from './usdt-support.ts'

t.test('transfers as people and operators see them', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)

  t.test('a page from the first look to the credit', async t => {
    const shop = await openUsdt(t, { chain })
    const parts = { store: shop.store, service: shop.desk, returnTo: '' }
    const look = async () => ({
      ...(await ownUsdt(shop.usdt, shop.account)),
      ...(await ownOrders(parts, shop.account, { sort: '-created' })),
    })
    const admin = new PaymentsAdmin({ ...shop, pay: async () => shop.desk })
    const all = (state: 'credited' | 'paid') =>
      admin.orders({ state, method: 'usdt', sort: '-created', limit: 9 }, undefined)
    await shop.read()
    t.match(await look(), { usdt: { chain_id: 56, address: null, rate: null, quote: null, waiting: null }, data: [] })
    await shop.rate(7.12)
    const { address } = await ownAddress(shop.usdt, shop.account, ACT)
    t.equal(address, checksummed(shop.wallet.first))
    t.match(await ownQuote(shop.usdt, shop.account, '40', ACT), {
      amount: '40.000000',
      tokens: '5.618',
      rate: '7.120000',
    })
    await chain.pay(address, 2n * TOKEN)
    await shop.read()
    t.match(await look(), { seen: [{ amount: '2' }], data: [], usdt: { quote: { tokens: '5.618' } } })
    await chain.mine()
    await shop.read()
    t.match(await look(), {
      usdt: {
        address,
        waiting: '14.240000',
        minimum: '40.000000',
        quote: { tokens: '5.618' },
        rate: { rate: '7.120000' },
      },
      data: [
        { method: 'usdt', asked: '2', state: 'paid', waits_for: 'others', amount: '14.240000', credited: '0.000000' },
      ],
      seen: [],
    })
    await chain.pay(address, 4n * TOKEN)
    await chain.mine()
    await shop.read()
    t.match(await look(), {
      usdt: { waiting: null, quote: null },
      data: [{ state: 'credited' }, { state: 'credited' }],
      next: null,
    })
    t.match(await ownUsdt(null, shop.account), { usdt: null, seen: [] })

    const list = (await Array.fromAsync(sweepList(shop.usdt))).join('')
    t.equal(
      list,
      `number,path,address,account,received,left\r\n0,0/0,${address},${shop.account.publicId},6,6\r\n`,
      'the list for sweeping',
    )
    const found = await all('credited')
    t.match(found, { data: [{ account: { name: 'payer' }, merchant: undefined }, {}], next: null })
    t.match(await admin.order(found.data[0]!.id), {
      merchant: address.toLowerCase(),
      transfer: { address, sender: checksummed(chain.payer), quoted: '4', node: 1 },
      proofs: [{ source: 'chain' }],
    })
    t.match(await all('paid'), { data: [] })
  })

  t.test('what goes back is frozen first, and is done by one final transaction that sent it', async t => {
    const shop = await openUsdt(t, { chain })
    const desk = new PaymentsAdmin({ ...shop, pay: async () => shop.desk })
    await shop.read()
    await shop.rate(7)
    await chain.pay(await shop.address(), 100n * TOKEN)
    await chain.mine()
    await shop.read()
    const [transfer] = await shop.transfers()
    const id = transfer!.id
    const receiver = `0x${'ab'.repeat(20)}`
    const form = { amount: micro(350_000_000), reference: 'ticket 7', receiver, reason: 'asked for', force: false }
    const { row, created } = await desk.refund(id, form, ACT.actor)
    t.match([row, created], [{ state: 'frozen', tokens: '50', receiver: checksummed(receiver) }, true])
    t.match(await desk.refund(id, form, ACT.actor), { created: false, row: { id: row.id } })
    t.equal(await shop.micros(), 350_000_000)
    await t.rejects(
      desk.refund(id, { ...form, reference: 'b', amount: micro(350_000_001) }, ACT.actor),
      /only 350\.000000 CNY/,
    )
    await t.rejects(desk.refund(id, { ...form, reference: 'b', receiver: shop.wallet.first }, ACT.actor), /receiver/)
    await t.rejects(
      desk.refund(id, { ...form, reference: 'b', receiver: shop.usdt.deps.config.contract }, ACT.actor),
      /contract of the token/,
    )
    t.match(await desk.refundsToSend(), { data: [{ id: row.id }] })
    t.match(await shop.store.actions.page({ operation: 'payments.refund', subject: { kind: 'order', id }, limit: 1 }), [
      { operation: 'payments.refund', after: { refund: row.id, tokens: '50', receiver } },
    ])

    const sent = (tx: string, refund = row.id) => desk.endRefund(refund, { tx }, ACT.actor)
    const wrong = [
      await chain.pay(chain.other, 50n * TOKEN),
      await chain.pay(receiver, 50n * TOKEN - 1n),
      await chain.send(encode('transfer(address,uint256)', receiver, 50n * TOKEN), { to: await chain.fakeToken() }),
    ]
    await chain.mine()
    for (const tx of wrong) await t.rejects(sent(tx), /did not send 50 USDT/)
    await t.rejects(sent(`0x${'12'.repeat(32)}`), /no node knows/)
    await t.rejects(desk.endRefund(row.id, {}, ACT.actor), /tx: expected/)
    const tx = await chain.pay(receiver, 50n * TOKEN)
    await t.rejects(sent(tx), /no node knows/, 'it is not final')
    await chain.mine()
    shop.first.about('eth_getTransactionReceipt', () => ({ status: 502, text: 'away' }))
    t.match(await sent(tx), { state: 'done', tx }, 'the second node knows it')
    t.match(await sent(tx), { state: 'done' }, 'asked again')
    await t.rejects(sent(wrong[0] as string), /ended otherwise/)
    const { row: second } = await desk.refund(id, { ...form, reference: 'b' }, ACT.actor)
    await t.rejects(sent(tx, second.id), /another refund/)
    shop.second.about('eth_getTransactionReceipt', () => ({ status: 502, text: 'away' }))
    await t.rejects(sent(tx, second.id), /cannot be reached/)
    t.match(await desk.endRefund(second.id, { reason: 'not wanted' }, ACT.actor), { ending: 'not wanted' })
    t.match(await desk.order(id), { refundable: '350.000000', refunds: [{ state: 'done' }, { state: 'released' }] })
    t.equal(await shop.micros(), 350_000_000)
    t.match(await shop.store.audit(), { ok: true })
  })

  t.test('a transfer worth too much is credited while the other node has it, or stays', async t => {
    const shop = await openUsdt(t, { chain })
    const desk = new PaymentsAdmin({ ...shop, pay: async () => shop.desk })
    await shop.read()
    await shop.rate(7)
    const address = await shop.address()
    for (const value of [200_000_000n * TOKEN, 300_000_000n * TOKEN]) await chain.pay(address, value)
    await chain.mine()
    await shop.read()
    t.same(await shop.states(), ['paid', 'paid'], 'worth more than a billion')
    const told = await shop.store.pay.exceptions({ kind: 'chain', open: true, limit: 9 })
    const of = (place: number, [...orders]: readonly { id: string }[]) =>
      String(told.find(({ orderId }) => orderId === orders[place]!.id)!.id)
    const [one, two] = [of(0, await shop.transfers()), of(1, await shop.transfers())]
    shop.second.about('eth_getTransactionReceipt', () => ({ result: null }))
    const resolve = (id: string, action: 'credit' | 'close', reason: string) =>
      desk.resolve(id, { action, reason }, ACT.actor)
    await t.rejects(resolve(one, 'credit', 'large'), /other node does not say/)
    shop.second.honest()
    t.match(await resolve(one, 'credit', 'a known payer'), { resolution: 'credited: a known payer' })
    t.match(await resolve(two, 'close', 'sent by mistake'), { resolution: 'closed: sent by mistake' })
    await t.rejects(resolve(two, 'credit', 'after all'), /resolved already/)
    t.equal(await shop.micros(), 1_400_000_000 * 1_000_000)
    await shop.read()
    t.same(await shop.states(), ['credited', 'paid'])
    t.same(await shop.exceptions(), [], 'nobody is told of it once more')
    t.match(await shop.store.audit(), { ok: true })
  })

  t.test('what operators see of the chain and its nodes, without their addresses', async t => {
    const shop = await openUsdt(t, { chain })
    const whole = () => new PaymentsAdmin({ ...shop, pay: async () => shop.desk }).health()
    const health = async () => (await whole()).chain!
    t.match(await health(), { head: null, cursor: null, second_at: null, nodes: [{ answered_at: null }, { node: 2 }] })
    await shop.read()
    await shop.rate(7)
    await chain.pay(await shop.address(), 100n * TOKEN)
    await chain.mine()
    shop.second.about('eth_getTransactionReceipt', () => ({ status: 502, text: 'away' }))
    shop.clock.advance(11_000)
    await shop.read()
    const head = await chain.head()
    const found = await health()
    t.match(found, {
      chain_id: 56,
      sandbox: true,
      head,
      finality_lag_blocks: 2,
      cursor: { block: head - 2, lag_seconds: Number },
      nodes: [
        { node: 1, answered_at: String, failed_at: null },
        { node: 2, answered_at: String, failed_at: String, failed: 'away' },
      ],
      addresses: 1,
    })
    t.match(await whole(), { orders: [{ state: 'pending', count: 1 }], methods: [{ credited: '0.000000' }] })
    t.notMatch(JSON.stringify(found), new RegExp(new URL(shop.first.url).port), 'an address may have a key in it')
    shop.second.honest()
    await shop.read()
    t.match(await health(), {
      second_at: String,
      balances_day: String,
      balances_done: true,
    })
    t.match(await whole(), {
      orders: [{ state: 'credited', count: 1 }],
      methods: [{ method: 'usdt', currency: 'USDT', orders: 1, credited: '700.000000', sandbox: true }],
    })
  })
})
