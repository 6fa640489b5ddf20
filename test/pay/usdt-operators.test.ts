/** What operators do about deposits, and what people see of theirs. */
import t from 'tap'
import { allDeposits, sweepList } from '../../lib/pay/usdt/all-deposits.ts'
import { ownAddress, ownDeposits, ownQuote } from '../../lib/pay/usdt/own-deposits.ts'
import { checksummed } from '../../lib/terms/xpub.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'
import { TestChain, TOKEN } from './doubles/chain.ts'
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
      usdt: { address, waiting: '14.240000', minimum: '40.000000', quote: null, rate: { rate: '7.120000' } },
      data: [{ amount: '2', state: 'confirmed', worth: '14.240000', credited: '0.000000' }],
      seen: [],
    })
    await chain.pay(address, 4n * TOKEN)
    await chain.mine()
    await shop.read()
    t.match(await look(), { usdt: { waiting: null }, data: [{ state: 'credited' }, { state: 'credited' }], next: null })
    t.match(await ownDeposits(null, shop.account, undefined), { usdt: null, data: [] })

    const list = (await Array.fromAsync(sweepList(shop.usdt))).join('')
    t.equal(
      list,
      `number,path,address,account,received,left\r\n0,0/0,${address},${shop.account.publicId},6,6\r\n`,
      'the list for sweeping',
    )
    t.match(await allDeposits(shop.usdt, { state: 'credited' }), {
      data: [{ account: { name: 'payer' }, address, sender: checksummed(chain.payer) }, {}],
      next: null,
    })
    t.match(await allDeposits(shop.usdt, { state: 'held' }), { data: [] })
  })
})
