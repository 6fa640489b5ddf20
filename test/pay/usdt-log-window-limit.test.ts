/**
 * A node's answer has a bound. Somebody who sends dust can make the logs of a thousand blocks larger than that, for little
 * money. Such an answer was taken for a node that is away: the same window was asked for again and again, so after an outage
 * no transfer of anybody was found any more, and the second reading, whose windows are always long, ended for good.
 */
// The bug behind these rows: a window whose answer is too large.
import t from 'tap'
import { TestChain, TOKEN } from './doubles/chain.ts'
import { openUsdt } from './usdt-support.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'

const MOST_BYTES = 16 * 2 ** 20
const NODES = ['too large', 'too slow', 'a page instead'] as const

t.test('windows are halved', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)
  for (const trouble of NODES)
    await t.test(trouble, async t => {
      const shop = await openUsdt(t, { chain, section: { minimum: '1' } })
      await shop.rate(7.12)
      await shop.read()
      const at = await shop.address()
      await shop.read()
      await chain.pay(at, 5n * TOKEN)
      await chain.mine(60)
      shop.first.about('eth_getLogs', ([range]) => {
        if (Number(range.toBlock) - Number(range.fromBlock) < 30) return null
        if (trouble === 'too large') return { result: ['x'.repeat(MOST_BYTES)] }
        return trouble === 'too slow' ? { status: 504, text: '' } : { status: 200, text: '<html>too much</html>' }
      })
      for (let i = 0; i < 12; i++) await shop.read()
      t.equal(await shop.micros(), 35_600_000)
    })
})
