/**
 * A first node that was wrong about a block had transfers stored in it. The second node contradicted, somebody set the cursor
 * back, and the transfer was found where it really stands; but it was known already, in the block that does not exist, and so
 * it was never credited.
 */
// The bug behind these rows: a transfer stuck in a block that is gone.
import t from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { Node, TestChain, TOKEN, USDT_CONTRACT } from './doubles/chain.ts'
import { ENGINES } from './engines.ts'
import { ACT } from './support.ts'
import { openUsdt } from './usdt-support.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'

const WORTH = 35_600_000
const OTHER = `0x${'ee'.repeat(32)}`

t.test('what no second node has confirmed is read again', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)
  for (const [engine, newUrl] of ENGINES)
    for (const logIndex of ['the same', 'another'] as const)
      await t.test(`${engine}, ${logIndex} place in the block`, async t => {
        const store = openStore(await newUrl(t), { secret: 'x' })
        t.teardown(() => store.close())
        await store.migrate()
        const nodes: [Node, Node] = [await Node.open(t, chain), await Node.open(t, chain)]
        const shop = await openUsdt(t, { chain, nodes, store, section: { minimum: '1' } })
        await shop.rate(7.12)
        await shop.read()
        const at = await shop.address()
        await shop.read()
        const before = await chain.head()
        await chain.pay(at, 5n * TOKEN)
        await chain.mine(4)
        const sent = { address: USDT_CONTRACT, fromBlock: `0x${before.toString(16)}`, toBlock: 'latest' }
        const no = (await chain.anvil.call<{ blockNumber: string }[]>('eth_getLogs', sent)).at(-1)!.blockNumber
        const place = logIndex === 'another' ? { logIndex: '0x9' } : {}
        shop.first.lie = async ({ method, params }, real) => {
          if (method === 'eth_getLogs')
            return { result: ((await real()) as object[]).map(log => ({ ...log, ...place, blockHash: OTHER })) }
          if (method !== 'eth_getBlockByNumber' || params[0] !== no) return null
          return { result: { ...((await real()) as object), hash: OTHER } }
        }
        await shop.read()
        shop.first.honest()
        await shop.read()
        t.match(await shop.transfers(), [{ state: 'pending', block: { hash: OTHER } }])
        t.equal(await shop.micros(), 0)
        await shop.usdt.rewind(before - 2, 'the first node was wrong', { ...ACT, operation: 'payments.rewind' })
        for (let i = 0; i < 3; i++) await shop.read()
        t.equal(await shop.micros(), WORTH)
        await shop.usdt.rewind(before - 2, 'once more', { ...ACT, operation: 'payments.rewind' })
        for (let i = 0; i < 3; i++) await shop.read()
        t.equal(await shop.micros(), WORTH, 'and once')
      })
})
