/** Transfers on a real chain of this machine: real transfers of a real token, from the block to the balance. */
import t from 'tap'
import { transferReference } from '../../lib/terms/chain.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'
import { encode, TestChain, TOKEN } from './doubles/chain.ts'
import { ACT, faultOf } from './support.ts'
import { openUsdt } from './usdt-support.ts'

const RATE = 7.12

t.test('transfers', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)
  const open = async (t: Parameters<typeof openUsdt>[0], given: Parameters<typeof openUsdt>[1] = {}) => {
    const shop = await openUsdt(t, { chain, ...given })
    await shop.rate(RATE)
    return shop
  }

  t.test('a transfer is credited when its block is final, once, and whoever made it', async t => {
    const shop = await open(t)
    await shop.read()
    const address = await shop.address()
    const tx = await chain.pay(address, 10n * TOKEN)
    await shop.read()
    t.same(await shop.states(), [], 'nothing is final')
    t.match(await shop.store.chain.seen(56, shop.account.id), [{ tx, value: 10n * TOKEN }], 'but it is seen')
    t.equal(await shop.micros(), 0)
    await chain.mine()
    await shop.read()
    const [transfer] = await shop.transfers()
    t.match(transfer, { tx, state: 'credited', value: 10n * TOKEN, from: chain.payer, credited: 71_200_000, node: 1 })
    t.equal(await shop.micros(), 71_200_000)
    t.same(await shop.store.chain.seen(56, shop.account.id), [], 'and is seen no more')
    for (let i = 0; i < 3; i++) await shop.read()
    t.equal(await shop.micros(), 71_200_000)
    const { entries } = await shop.store.entries.page(shop.account.id, {
      fromMs: 0,
      toMs: Date.now() + 3_600_000,
      limit: 9,
    })
    t.match(entries, [
      { kind: 'payment', amount: 71_200_000, actor: 'usdt', reference: transferReference(56, transfer!) },
    ])
    t.match(await shop.store.audit(), { ok: true })

    await chain.send(encode('approve(address,uint256)', chain.other, 20n * TOKEN))
    await chain.send(encode('transferFrom(address,address,uint256)', chain.payer, address, 20n * TOKEN), {
      from: chain.other,
    })
    await chain.mine()
    await shop.read()
    t.equal(await shop.micros(), 3 * 71_200_000, 'a transfer that a third party makes')
    t.same(await shop.exceptions(), [])
  })

  t.test('several transfers in one transaction count each', async t => {
    const shop = await open(t)
    await shop.read()
    const two = await shop.store.accounts.create({ name: 'two', groups: [], sandbox: true }, ACT)
    const [a, b] = [await shop.address(), await shop.address(two)]
    t.not(a, b)
    const foreign = `0x${'11'.repeat(20)}`
    await chain.send(encode('transferMany(address[],uint256)', [a, b, foreign, a], 10n * TOKEN))
    await chain.mine()
    await shop.read()
    t.same([await shop.micros(), await shop.micros(two)], [2 * 71_200_000, 71_200_000])
    t.equal(new Set((await shop.transfers()).map(({ logIndex }) => logIndex)).size, 2)
  })

  t.test('what is no transfer', async t => {
    const shop = await open(t)
    await shop.read()
    const address = await shop.address()
    const fake = await chain.fakeToken()
    await chain.send(encode('transfer(address,uint256)', address, 10n * TOKEN), { to: fake })
    await chain.pay(`0x${'22'.repeat(20)}`, 10n * TOKEN)
    await chain.pay(address, 0n)
    const failed = await chain.pay(address, TOKEN ** 3n)
    t.match(await chain.anvil.call('eth_getTransactionReceipt', failed), { status: '0x0' })
    await chain.mine()
    await shop.read()
    t.same(await shop.transfers(), [])
    t.equal(await shop.micros(), 0)
    await chain.pay(address, 10n * TOKEN)
    await chain.mine()
    await shop.read()
    t.equal(await shop.micros(), 71_200_000, 'and none of it keeps anybody waiting')
  })

  t.test('amounts that no number is exact for', async t => {
    const shop = await open(t)
    await shop.read()
    const address = await shop.address()
    const million = 10n ** 12n * TOKEN
    await chain.pay(address, million)
    await chain.pay(address, 10n * TOKEN + 1n)
    await chain.mine()
    await shop.read()
    t.match(await shop.transfers(), [
      { value: million, state: 'paid', credited: 0 },
      { value: 10n * TOKEN + 1n, state: 'credited', credited: 71_200_000 },
    ])
    t.equal(
      await shop.micros(),
      71_200_000,
      'one that no balance could have waits for a person, and no other transfer for it',
    )
    t.same(await shop.exceptions(), ['chain'])
    t.match(await shop.store.audit(), { ok: true })
  })

  t.test('39.99 CNY wait, and are credited with the next hundredth', async t => {
    const shop = await openUsdt(t, { chain })
    await shop.rate(1)
    await shop.read()
    const address = await shop.address()
    await chain.pay(address, (TOKEN * 3999n) / 100n)
    await chain.mine()
    await shop.read()
    t.same(await shop.states(), ['paid'])
    t.equal(await shop.micros(), 0)
    await chain.pay(address, TOKEN / 100n - 1n)
    await chain.mine()
    await shop.read()
    t.same(await shop.states(), ['paid', 'paid'], 'one wei is missing')
    await chain.pay(address, 1n)
    await chain.mine()
    await shop.read()
    t.same(await shop.states(), ['credited', 'credited', 'credited'])
    t.equal(await shop.micros(), 39_990_000 + 9_999, 'each is rounded down by itself')
    t.match(await shop.store.audit(), { ok: true })
  })

  t.test('an operator credits less than the minimum', async t => {
    const shop = await open(t)
    await shop.read()
    await chain.pay(await shop.address(), TOKEN)
    await chain.mine()
    await shop.read()
    t.equal(await shop.micros(), 0)
    await shop.release()
    t.equal(await shop.micros(), 7_120_000)
  })

  t.test('without a rate transfers wait for the next one, whatever comes after it', async t => {
    const shop = await openUsdt(t, { chain })
    await shop.read()
    const address = await shop.address()
    await chain.pay(address, 10n * TOKEN)
    await chain.mine()
    await shop.read()
    t.match(await shop.transfers(), [{ state: 'paid', rate: null }])
    await new Promise(resolve => setTimeout(resolve, 5)) // the engine's clock is the machine's own
    await shop.rate(8)
    await new Promise(resolve => setTimeout(resolve, 5))
    await shop.rate(6)
    await shop.read()
    t.match(await shop.transfers(), [{ state: 'credited', rate: 8_000_000 }])
    await chain.pay(address, 10n * TOKEN)
    await chain.mine()
    await shop.read()
    t.equal(await shop.micros(), 80_000_000 + 60_000_000)
  })

  t.test('money for an address that is a second old, and of which the cursor knew nothing', async t => {
    const shop = await open(t)
    await shop.read()
    const account = await shop.store.accounts.create({ name: 'new', groups: [], sandbox: true }, ACT)
    // Another gateway issues it with an older block than the cursor is at by now.
    const { address } = await shop.store.chain.issueAddress(
      { chainId: 56, wallet: shop.usdt.wallet, accountId: account.id, fromBlock: (await chain.head()) - 2 },
      () => `0x${'ab'.repeat(20)}`,
      ACT,
    )
    await chain.pay(address, 10n * TOKEN)
    await chain.mine()
    const cursor = await shop.store.chain.chainCursor(56)
    const final = await chain.anvil.call<{ number: string; hash: string }>('eth_getBlockByNumber', 'finalized', false)
    const to = { no: Number(final.number), hash: final.hash, atMs: Date.now() }
    t.same(await shop.store.chain.advanceChain(56, cursor!, to, []), { added: 0, clashing: [] })
    await shop.read()
    t.equal(await shop.micros(account), 71_200_000)
  })

  t.test('accounts that are not for test money have no address', async t => {
    const shop = await open(t)
    const real = await shop.store.accounts.create({ name: 'real', groups: [] }, ACT)
    t.equal(await faultOf(shop.usdt.issue(real, ACT)), 'forbidden')
    t.equal(await faultOf(shop.usdt.quote(real, '100', ACT)), 'forbidden')
  })
})
