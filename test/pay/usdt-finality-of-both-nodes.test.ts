/**
 * The first node alone said which blocks are final. One that calls its newest block so, because it lies or because it knows no
 * finality, had transfers credited that a fork took away a moment later: the second node was asked for the receipt only, and
 * has it for as long as the block stands.
 */
// The bug behind these rows: a node for which everything is final.
import t from 'tap'
import { TestChain, TOKEN } from './doubles/chain.ts'
import { openUsdt } from './usdt-support.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'

t.test('a transfer counts when its block is final at both nodes', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)
  const shop = await openUsdt(t, { chain, section: { minimum: '1' } })
  await shop.rate(7.12)
  await shop.read()
  const at = await shop.address()
  await shop.read()
  shop.first.about('eth_getBlockByNumber', async ([which, ...rest]) =>
    which === 'finalized' ? { result: await chain.anvil.call('eth_getBlockByNumber', 'latest', ...rest) } : null,
  )
  await chain.pay(at, 5n * TOKEN)
  for (let i = 0; i < 3; i++) await shop.read()
  t.match(await shop.transfers(), [{ state: 'pending', node: 1 }])
  t.equal(await shop.micros(), 0, 'it is not final at the second node')
  await chain.mine(1)
  await shop.read()
  t.equal(await shop.micros(), 0, 'one block is not enough')
  await chain.mine(1)
  await shop.read()
  t.equal(await shop.micros(), 35_600_000)
  t.same(await shop.exceptions(), [])

  await chain.pay(at, 5n * TOKEN)
  await shop.read()
  await chain.reorg(1)
  await chain.mine(3)
  for (let i = 0; i < 3; i++) await shop.read()
  t.equal(await shop.micros(), 35_600_000, 'a fork took it away')
})
