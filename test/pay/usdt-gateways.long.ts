/** Two gateways of one store beside one chain, on every engine; and an hour of it in which everything fails now and then. */
import t from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { WEI } from '../../lib/terms/chain.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'
import { seeded } from '../support/random.ts'
import { type Lie, Node, TestChain, TOKEN } from './doubles/chain.ts'
import { ENGINES } from './engines.ts'
import { newWallet, openUsdt, type UsdtShop } from './usdt-support.ts'

const RATE = 7_123_457
const STEPS = 60
const MINUTE_MS = 60_000

for (const [engine, newUrl] of ENGINES)
  t.test(`two gateways, ${engine}`, { skip: ANVIL_MISSING ?? false }, async t => {
    const chain = await TestChain.open(t)
    const url = await newUrl(t)
    const stores = [1, 2].map(() => openStore(url, { secret: 'x' }))
    t.teardown(() => Promise.all(stores.map(store => store.close())))
    await stores[0]?.migrate()
    const nodes: [Node, Node] = [await Node.open(t, chain), await Node.open(t, chain)]
    const given = { chain, nodes, wallet: newWallet(), section: { minimum: '1' } }
    const one = await openUsdt(t, { ...given, store: stores[0]! })
    const two = await openUsdt(t, { ...given, store: stores[1]!, account: one.account, clock: one.clock })
    await one.rate(RATE / 1e6)
    await Promise.all([one.read(), two.read()])
    const [a, b] = await Promise.all([one.address(), two.address()])
    t.equal(a, b, 'both show the same address')
    let sum = 0n
    for (let i = 0; i < 5; i++) {
      const value = TOKEN * 3n + BigInt(i)
      await chain.pay(a, value)
      await chain.mine()
      await Promise.all([one.read(), two.read(), one.read(), two.read()])
      sum += (value * BigInt(RATE)) / WEI
    }
    await Promise.all([one, two].map(shop => shop.usdt.scanner.crediting.round()))
    t.same(new Set(await two.states()), new Set(['credited']))
    t.equal(BigInt(await two.micros()), sum)
    t.match(await one.store.audit(), { ok: true })
    t.same(await one.exceptions(), [])
  })

/** Ways in which a node fails for one question. */
const LIES: ((method: string) => Lie | null)[] = [
  () => ({ status: 502, text: '<html>' }),
  () => ({ status: 429, text: 'slow down' }),
  () => ({ error: { code: -32005, message: 'limit exceeded' } }),
  method => (method === 'eth_getTransactionReceipt' ? { result: null } : null),
  method => (method === 'eth_getBlockByNumber' ? { result: null } : null),
]

t.test(
  'what the chain has is what was credited, to the floor of every transfer',
  { skip: ANVIL_MISSING ?? false },
  async t => {
    const random = seeded(t)
    const chain = await TestChain.open(t)
    const nodes: [Node, Node] = [await Node.open(t, chain), await Node.open(t, chain)]
    const given = { chain, nodes, wallet: newWallet(), section: { minimum: '0.000001' } }
    let shop: UsdtShop = await openUsdt(t, given)
    await shop.rate(RATE / 1e6, 365 * 24 * 60 * MINUTE_MS)
    await shop.read()
    const at = await shop.address()
    for (const node of nodes)
      node.lie = ({ method }) => {
        // The first one keeps logs to itself now and then.
        if (node === nodes[0] && method === 'eth_getLogs' && random.next() < 0.15) return { result: [] }
        return random.next() < 0.06 ? (random.pick(LIES)(method) ?? null) : null
      }
    for (let step = 0; step < STEPS; step++) {
      const value = BigInt(random.int(1, 2 ** 40)) * 10n ** BigInt(random.int(0, 8)) + 1n
      if (random.next() < 0.7) await chain.pay(at, value)
      if (random.next() < 0.2) await chain.reorg(1)
      if (random.next() < 0.6) await chain.mine(random.int(1, 4))
      if (random.next() < 0.1) {
        // A crash: another process goes on with what the store has.
        shop.clock.advance(MINUTE_MS)
        shop = await openUsdt(t, { ...given, store: shop.store, account: shop.account, clock: shop.clock })
      }
      if (random.next() < 0.1) shop.clock.advance(11 * MINUTE_MS)
      await shop.read()
    }
    for (const node of nodes) node.honest()
    await chain.mine(3)
    for (let i = 0; i < 3; i++) {
      shop.clock.advance(11 * MINUTE_MS)
      await chain.mine(1)
      for (let j = 0; j < 3; j++) await shop.read()
    }
    const final = await chain.anvil.call<{ number: string }>('eth_getBlockByNumber', 'finalized', false)
    const topics = [
      '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef',
      null,
      `0x${at.slice(2).padStart(64, '0')}`,
    ]
    const range = { fromBlock: '0x0', toBlock: final.number, topics }
    const logs = await chain.anvil.call<{ data: string }[]>('eth_getLogs', range)
    t.ok(logs.length > STEPS / 4, `${logs.length} transfers became final`)
    const floors = logs.map(({ data }) => (BigInt(data) * BigInt(RATE)) / WEI)
    t.equal(
      BigInt(await shop.micros()),
      floors.reduce((sum, floor) => sum + floor, 0n),
    )
    const transfers = await shop.transfers()
    t.equal(transfers.length, logs.length)
    t.comment(`${transfers.filter(({ node }) => node === 2).length} were found by the second reading`)
    t.match(await shop.store.audit(), { ok: true })
  },
)
