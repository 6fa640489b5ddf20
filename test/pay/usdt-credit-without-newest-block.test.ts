/**
 * The newest blocks are read to show what is on its way. A node that refuses that question, as some do near the head, ended
 * the round before anything was credited, for as long as it did so.
 */
// The bug behind these rows: credits held up by a look.
import t from 'tap'
import { TestChain, TOKEN } from './doubles/chain.ts'
import { openUsdt } from './usdt-support.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'

t.test('transfers are credited when the newest blocks cannot be read', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)
  const shop = await openUsdt(t, { chain, section: { minimum: '1' } })
  await shop.rate(7.12)
  await shop.read()
  const at = await shop.address()
  await shop.read()
  await chain.pay(at, 5n * TOKEN)
  await chain.mine()
  const final = Number((await chain.anvil.call<{ number: string }>('eth_getBlockByNumber', 'finalized', false)).number)
  const refused = { error: { code: -32000, message: 'block range extends beyond current head block' } }
  shop.first.about('eth_getLogs', ([range]) => (Number(range.toBlock) > final ? refused : null))
  await shop.read()
  t.equal(await shop.micros(), 35_600_000)
})
