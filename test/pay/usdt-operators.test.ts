/** What operators do about deposits, and what people see of theirs. */
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { Deposits } from '../../lib/pay/deposits.ts'
import { PaymentsAdmin } from '../../lib/pay/admin.ts'
import { allDeposits, sweepList } from '../../lib/pay/usdt/all-deposits.ts'
import { ownAddress, ownDeposits, ownQuote } from '../../lib/pay/usdt/own-deposits.ts'
import { checksummed } from '../../lib/config/xpub.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'
import { encode, TestChain, TOKEN } from './doubles/chain.ts'
import { ACT } from './support.ts'
import { openUsdt } from './usdt-support.ts'

t.test('deposits as people and operators see them', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)

  t.test('a page from the first look to the credit', async t => {
    const shop = await openUsdt(t, { chain })
    const look = () => ownDeposits(shop.usdt, shop.account, undefined)
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
      data: [{ amount: '2', state: 'confirmed', worth: '14.240000', credited: '0.000000' }],
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
    t.match(await ownDeposits(null, shop.account, undefined), { usdt: null, data: [] })

    const list = (await Array.fromAsync(sweepList(shop.usdt))).join('')
    t.equal(
      list,
      `number,path,address,account,received,left\r\n0,0/0,${address},${shop.account.publicId},6,6\r\n`,
      'the list for sweeping',
    )
    t.match(await allDeposits(shop.store, { state: 'credited', limit: 9 }), {
      data: [{ account: { name: 'payer' }, address, sender: checksummed(chain.payer) }, {}],
      next: null,
    })
    t.match(await allDeposits(shop.store, { state: 'held', limit: 9 }), { data: [] })
  })

  t.test('what goes back is frozen first, and is done by one final transaction that sent it', async t => {
    const shop = await openUsdt(t, { chain })
    const desk = new Deposits({ ...shop, pay: async () => shop.desk })
    await shop.read()
    await shop.rate(7)
    await chain.pay(await shop.address(), 100n * TOKEN)
    await chain.mine()
    await shop.read()
    const [deposit] = await shop.deposits()
    const id = String(deposit!.id)
    const receiver = `0x${'ab'.repeat(20)}`
    const form = { amount: micro(350_000_000), reference: 'ticket 7', receiver, reason: 'asked for', force: false }
    const { row, created } = await desk.sendBack(id, form, ACT.actor)
    t.match([row, created], [{ state: 'frozen', tokens: '50', receiver: checksummed(receiver) }, true])
    t.match(await desk.sendBack(id, form, ACT.actor), { created: false, row: { id: row.id } })
    t.equal(await shop.micros(), 350_000_000)
    await t.rejects(
      desk.sendBack(id, { ...form, reference: 'b', amount: micro(350_000_001) }, ACT.actor),
      /only 350\.000000 CNY/,
    )
    await t.rejects(desk.sendBack(id, { ...form, reference: 'b', receiver: shop.wallet.first }, ACT.actor), /receiver/)
    await t.rejects(
      desk.sendBack(id, { ...form, reference: 'b', receiver: shop.usdt.deps.config.contract }, ACT.actor),
      /contract of the token/,
    )
    t.match(await desk.toSend(), { data: [{ id: row.id }] })
    t.match(await shop.store.actions.page({ subject: { kind: 'deposit', id }, limit: 1 }), [
      { operation: 'deposits.refund', after: { refund: row.id, tokens: '50', receiver } },
    ])

    const sent = (tx: string, refund = row.id) => desk.endSendBack(refund, { tx }, ACT.actor)
    const wrong = [
      await chain.pay(chain.other, 50n * TOKEN),
      await chain.pay(receiver, 50n * TOKEN - 1n),
      await chain.send(encode('transfer(address,uint256)', receiver, 50n * TOKEN), { to: await chain.fakeToken() }),
    ]
    await chain.mine()
    for (const tx of wrong) await t.rejects(sent(tx), /did not send 50 USDT/)
    await t.rejects(sent(`0x${'12'.repeat(32)}`), /no node knows/)
    await t.rejects(desk.endSendBack(row.id, {}, ACT.actor), /tx: expected/)
    const tx = await chain.pay(receiver, 50n * TOKEN)
    await t.rejects(sent(tx), /no node knows/, 'it is not final')
    await chain.mine()
    shop.first.about('eth_getTransactionReceipt', () => ({ status: 502, text: 'away' }))
    t.match(await sent(tx), { state: 'done', tx }, 'the second node knows it')
    t.match(await sent(tx), { state: 'done' }, 'asked again')
    await t.rejects(sent(wrong[0] as string), /ended otherwise/)
    const { row: second } = await desk.sendBack(id, { ...form, reference: 'b' }, ACT.actor)
    await t.rejects(sent(tx, second.id), /another refund/)
    shop.second.about('eth_getTransactionReceipt', () => ({ status: 502, text: 'away' }))
    await t.rejects(sent(tx, second.id), /cannot be reached/)
    t.match(await desk.endSendBack(second.id, { reason: 'not wanted' }, ACT.actor), { ending: 'not wanted' })
    t.match(await desk.one(id), { refundable: '350.000000', refunds: [{ state: 'done' }, { state: 'released' }] })
    t.equal(await shop.micros(), 350_000_000)
    t.match(await shop.store.audit(), { ok: true })
  })

  t.test('a deposit that is held is credited while the other node has it, or closed', async t => {
    const shop = await openUsdt(t, { chain })
    const desk = new Deposits({ ...shop, pay: async () => shop.desk })
    await shop.read()
    await shop.rate(7)
    const address = await shop.address()
    for (const value of [200_000_000n * TOKEN, 300_000_000n * TOKEN]) await chain.pay(address, value)
    await chain.mine()
    await shop.read()
    t.same(await shop.states(), ['held', 'held'], 'worth more than a billion')
    const [one, two] = (await shop.deposits()).map(({ id }) => String(id)) as [string, string]
    shop.second.about('eth_getTransactionReceipt', () => ({ result: null }))
    await t.rejects(desk.resolve(one, 'credit', 'large', ACT.actor), /other node does not say/)
    shop.second.honest()
    t.match(await desk.resolve(one, 'credit', 'a known payer', ACT.actor), {
      state: 'credited',
      decision: 'a known payer',
    })
    t.match(await desk.resolve(two, 'close', 'sent by mistake', ACT.actor), { state: 'closed', credited: '0.000000' })
    await t.rejects(desk.resolve(two, 'credit', 'after all', ACT.actor), /not held/)
    t.equal(await shop.micros(), 1_400_000_000 * 1_000_000)
    await shop.read()
    t.same(await shop.states(), ['credited', 'closed'])
  })

  t.test('what operators see of the chain and its nodes, without their addresses', async t => {
    const shop = await openUsdt(t, { chain })
    const health = async () => (await new PaymentsAdmin({ ...shop, pay: async () => shop.desk }).health()).chain!
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
      deposits: [{ state: 'final', count: 1 }],
      credited: '0.000000',
    })
    t.notMatch(JSON.stringify(found), new RegExp(new URL(shop.first.url).port), 'an address may have a key in it')
    shop.second.honest()
    await shop.read()
    t.match(await health(), {
      second_at: String,
      balances_day: String,
      balances_done: true,
      deposits: [{ state: 'credited', count: 1 }],
      credited: '700.000000',
    })
  })
})
