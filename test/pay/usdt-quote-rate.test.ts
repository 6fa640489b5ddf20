/**
 * Each quote asked a node for its newest block, and a client may make two quotes a second: more questions in a day than the
 * gateway's own, of a plan that has an end. Then nobody's transfer would have been read.
 */
// The bug behind these rows: quotes that use up the nodes.
import t from 'tap'
import { TestChain } from './doubles/chain.ts'
import { ACT, faultOf } from './support.ts'
import { openUsdt } from './usdt-support.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'

/** All of them together stay below the bound of an hour. */
const MANY = 4

t.test('many quotes are one question', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)
  const shop = await openUsdt(t, { chain })
  await shop.rate(7.12)
  await shop.read()
  const asked = () => shop.first.asked.length + shop.second.asked.length
  const quotes = async () => {
    const before = asked()
    for (let i = 0; i < MANY; i++) await shop.usdt.quote(shop.account, '40', ACT)
    await Promise.all(Array.from({ length: MANY }, () => shop.usdt.quote(shop.account, '40', ACT)))
    return asked() - before
  }
  t.equal(await quotes(), 1)
  const { fromMs } = await shop.usdt.quote(shop.account, '40', ACT)
  await chain.anvil.call('evm_increaseTime', 60)
  await chain.mine(1)
  shop.clock.advance(5_000)
  t.equal(await quotes(), 1)
  t.ok((await shop.usdt.quote(shop.account, '40', ACT)).fromMs >= fromMs + 60_000, 'the block is a new one')

  for (const node of [shop.first, shop.second]) node.lie = () => ({ status: 503, text: '' })
  shop.clock.advance(5_000)
  const before = asked()
  for (let i = 0; i < MANY; i++) t.equal(await faultOf(shop.usdt.quote(shop.account, '40', ACT)), 'conflict')
  t.equal(asked() - before, 2, 'nodes that are away are not asked more often')
})
