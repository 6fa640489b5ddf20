/** Nodes that are behind, that forget, that refuse and that lie, and a chain that changes its mind. */
import t from 'tap'
import { Silence } from '../../lib/pay/usdt/crediting.ts'
import { ANVIL_MISSING } from '../support/anvil.ts'
import { type Lie, Node, TestChain, TOKEN } from './doubles/chain.ts'
import { ACT, faultOf } from './support.ts'
import { newWallet, openUsdt } from './usdt-support.ts'

const HALF_CENT = 35_600_000
const MINUTE_MS = 60_000

t.test('nodes', { skip: ANVIL_MISSING ?? false }, async t => {
  const chain = await TestChain.open(t)
  /** A shop that has read the chain, whose account has an address, and a rate. */
  const open = async (t: Parameters<typeof openUsdt>[0], given: Parameters<typeof openUsdt>[1] = {}) => {
    const shop = await openUsdt(t, { chain, section: { minimum: '1' }, ...given })
    await shop.rate(7.12)
    await shop.read()
    return { ...shop, at: await shop.address() }
  }
  const five = 5n * TOKEN
  const final = () => chain.mine()

  t.test('a transfer that a fork takes away before it is final never counts', async t => {
    const shop = await open(t)
    await chain.pay(shop.at, five)
    await shop.read()
    t.equal((await shop.store.chain.seen(56, shop.account.id)).length, 1)
    await chain.reorg(1)
    await chain.mine(4)
    await shop.read()
    t.same(await shop.transfers(), [])
    t.same(await shop.store.chain.seen(56, shop.account.id), [])
    t.equal(await shop.micros(), 0)
    t.same(await shop.exceptions(), [])
  })

  t.test('a fork below what was final stops everything until somebody sets the cursor back', async t => {
    const shop = await open(t)
    const before = await chain.head()
    await chain.pay(shop.at, five)
    await final()
    await shop.read()
    t.equal(await shop.micros(), HALF_CENT)
    await chain.pay(shop.at, five)
    await final()
    await chain.reorg(6)
    await chain.mine(4)
    await shop.read()
    t.same(await shop.exceptions(), ['chain'])
    t.equal(await shop.micros(), HALF_CENT, 'nothing is read any more')
    for (let i = 0; i < 3; i++) await shop.read()
    t.same(await shop.exceptions(), ['chain'], 'it is said once')
    const act = { ...ACT, operation: 'payments.rewind' }
    t.equal(await faultOf(shop.usdt.rewind(before - 2, ' ', act)), 'invalid')
    t.equal(await faultOf(shop.usdt.rewind(before + 1_000, 'x', act)), 'invalid')
    await shop.usdt.rewind(before - 2, 'a fork, looked at', act)
    await chain.pay(shop.at, 2n * five)
    await final()
    await shop.read()
    t.equal(await shop.micros(), 3 * HALF_CENT, 'what was credited stays, and what comes now counts')
    t.match(await shop.store.actions.page({ operation: 'payments.rewind', limit: 9 }), [
      { after: { block: before - 2, reason: 'a fork, looked at' } },
    ])
  })

  t.test('a transaction that moves to another block below what was final is not counted again', async t => {
    const shop = await open(t)
    const before = await chain.head()
    const tx = await chain.pay(shop.at, five)
    await final()
    await shop.read()
    const [known] = await shop.transfers()
    await chain.mine(1)
    await shop.usdt.rewind(before - 2, 'as after a fork', ACT)
    const other = `0x${'ee'.repeat(32)}`
    const moved = (logs: unknown) =>
      (logs as object[]).map(log => ({ ...log, blockHash: other, logIndex: '0x7' })) as unknown
    shop.first.lie = async ({ method, params }, real): Promise<Lie | null> => {
      if (method === 'eth_getLogs') return { result: moved(await real()) }
      const block = known?.block.no ?? 0
      if (method !== 'eth_getBlockByNumber' || params[0] !== `0x${block.toString(16)}`) return null
      return { result: { ...((await real()) as object), hash: other } }
    }
    await shop.read()
    shop.first.honest()
    await shop.read()
    t.match(await shop.transfers(), [
      { tx, state: 'credited' },
      { tx, state: 'failed', logIndex: 7, credited: 0 },
    ])
    t.equal(await shop.micros(), HALF_CENT)
    t.same(await shop.exceptions(), ['chain'])
  })

  t.test('while nothing becomes final, transfers wait and are seen', async t => {
    const shop = await open(t)
    const stuck = (await shop.store.chain.chainCursor(56))?.no as number
    const stalled = async (_: unknown, real: () => Promise<unknown>) => {
      const block = (await real()) as { number: string }
      return Number(block.number) > stuck ? { result: await block0() } : null
    }
    const block0 = () => chain.anvil.call('eth_getBlockByNumber', `0x${stuck.toString(16)}`, false)
    shop.first.about('eth_getBlockByNumber', (params, real) =>
      params[0] === 'finalized' ? stalled(params, real) : null,
    )
    await chain.pay(shop.at, five)
    await chain.mine(250)
    for (let i = 0; i < 3; i++) await shop.read()
    t.equal(await shop.micros(), 0)
    t.equal((await shop.store.chain.seen(56, shop.account.id)).length, 1)
    t.ok(shop.counts.chain.finalized_lag_blocks > 240)
    shop.first.about('eth_getBlockByNumber', params =>
      params[0] === 'finalized' ? { error: { code: -32000, message: 'finalized block not found' } } : null,
    )
    await shop.read()
    t.equal(await shop.micros(), 0)
    shop.first.honest()
    await shop.read()
    t.equal(await shop.micros(), HALF_CENT)
    t.same(await shop.exceptions(), [])
  })

  t.test('a node that is behind is waited for, and is no fork', async t => {
    const shop = await open(t)
    const before = await chain.head()
    await chain.pay(shop.at, five)
    await final()
    await shop.read()
    const old = await chain.anvil.call('eth_getBlockByNumber', `0x${(before - 4).toString(16)}`, false)
    shop.first.about('eth_getBlockByNumber', params => ({
      result: typeof params[0] === 'string' && params[0].startsWith('0x') ? null : old,
    }))
    await shop.read()
    t.same(await shop.exceptions(), [])
    shop.first.honest()
    await chain.pay(shop.at, five)
    await final()
    await shop.read()
    t.equal(await shop.micros(), 2 * HALF_CENT)
  })

  t.test(
    'logs that a node kept to itself are found by the second reading, and confirmed by the other node',
    async t => {
      const shop = await open(t)
      shop.first.about('eth_getLogs', () => ({ result: [] }))
      await chain.pay(shop.at, five)
      await final()
      await shop.read()
      shop.first.honest()
      await shop.read()
      t.same(await shop.transfers(), [])
      shop.clock.advance(11 * MINUTE_MS)
      await shop.read() // begins a second reading: what it had was read before the transfer
      shop.clock.advance(11 * MINUTE_MS)
      await shop.read()
      t.match(await shop.transfers(), [{ node: 2 }])
      await shop.read()
      t.equal(await shop.micros(), HALF_CENT)
      t.match(shop.counts.samples('payRepairs'), [{ labels: { method: 'usdt', source: 'chain' }, value: 1 }])
      t.ok(
        shop.first.asked.some(({ method }) => method === 'eth_getTransactionReceipt'),
        'the first node is asked',
      )
    },
  )

  t.test('a node that invents a transfer makes no money, whichever of the two it is', async t => {
    for (const liar of ['first', 'second'] as const) {
      const shop = await open(t)
      const invented = async (
        params: { fromBlock: string; toBlock: string; topics: (string | string[] | null)[] }[],
      ) => {
        const block = await chain.anvil.call<{ hash: string; number: string }>(
          'eth_getBlockByNumber',
          params[0]?.toBlock,
          false,
        )
        return {
          address: '0x55d398326f99059fF775485246999027B3197955',
          topics: [
            params[0]?.topics[0],
            `0x${'0'.repeat(24)}${'77'.repeat(20)}`,
            `0x${'0'.repeat(24)}${shop.at.slice(2)}`,
          ],
          data: `0x${(1000n * TOKEN).toString(16).padStart(64, '0')}`,
          transactionHash: `0x${'cd'.repeat(32)}`,
          logIndex: '0x0',
          blockNumber: block.number,
          blockHash: block.hash,
        }
      }
      let lies = 0
      shop[liar].about('eth_getLogs', async params =>
        params[0].topics[2] === undefined || lies++ > 0 ? null : { result: [await invented(params)] },
      )
      await chain.mine(3)
      await shop.read()
      for (let i = 0; i < 2; i++) {
        shop.clock.advance(11 * MINUTE_MS)
        await chain.mine(1)
        await shop.read()
      }
      for (let i = 0; i < 105; i++) await shop.read()
      t.match(await shop.transfers(), [{ state: 'pending', node: liar === 'first' ? 1 : 2 }], liar)
      t.equal(await shop.micros(), 0)
      t.ok((await shop.exceptions()).length >= 1, 'a person looks at it')
    }
  })

  const contradictions: [name: string, change: (receipt: Record<string, unknown>) => unknown][] = [
    ['it failed', receipt => ({ ...receipt, status: '0x0' })],
    ['it stands in another block', receipt => ({ ...receipt, blockHash: `0x${'aa'.repeat(32)}` })],
    ['it has no such log', receipt => ({ ...receipt, logs: [] })],
    [
      'another amount',
      receipt => ({
        ...receipt,
        logs: (receipt['logs'] as object[]).map(log => ({ ...log, data: `0x${'0'.repeat(63)}1` })),
      }),
    ],
    [
      'another token',
      receipt => ({
        ...receipt,
        logs: (receipt['logs'] as object[]).map(log => ({ ...log, address: `0x${'bb'.repeat(20)}` })),
      }),
    ],
  ]
  for (const [name, change] of contradictions)
    t.test(`the second node contradicts: ${name}`, async t => {
      const shop = await open(t)
      shop.second.about('eth_getTransactionReceipt', async (_, real) => ({
        result: change((await real()) as Record<string, unknown>),
      }))
      await chain.pay(shop.at, five)
      await final()
      await shop.read()
      t.match(await shop.transfers(), [{ state: 'pending' }])
      t.equal(await shop.micros(), 0)
      t.same(await shop.exceptions(), ['chain'])
      shop.second.honest()
      await shop.read()
      t.equal(await shop.micros(), HALF_CENT, 'when it says the same after all, the transfer counts')
    })

  t.test('a second node that is away holds up nothing but what it has to confirm', async t => {
    const shop = await open(t, { section: { minimum: '60' } })
    await chain.pay(shop.at, five)
    await final()
    await shop.read()
    t.same(await shop.states(), ['paid'])
    shop.second.lie = () => ({ status: 502, text: '<html>bad gateway</html>' })
    await chain.pay(shop.at, five)
    await final()
    await shop.read()
    t.same(await shop.states(), ['paid', 'pending'])
    shop.second.honest()
    await shop.read()
    t.equal(await shop.micros(), 2 * HALF_CENT)
    t.ok(shop.counts.samples('payEndpointErrors').some(s => s.labels['endpoint'] === '2' && s.value > 0))
  })

  t.test('how old what was read is shows also while no node answers', async t => {
    const shop = await open(t)
    shop.first.lie = () => ({ status: 502, text: 'away' })
    const { blockAtMs = 0 } = (await shop.store.chain.chainCursor(56)) ?? {}
    shop.clock.step(blockAtMs + 5 * MINUTE_MS - shop.clock.now())
    await shop.read()
    t.equal(shop.counts.chain.cursor_lag_seconds, 300)
  })

  const troubles: [name: string, lie: Lie][] = [
    ['HTML', { status: 200, text: '<html>busy</html>' }],
    ['429', { status: 429, text: 'too many requests' }],
    ['an answer to another question', { status: 200, text: '{"jsonrpc":"2.0","id":0,"result":[]}' }],
    ['no list', { result: null }],
    ['logs cut in the middle', { status: 200, text: '{"jsonrpc":"2.0","id":1,"result":[{"address":"0x55d3' }],
    [
      'a log of a block that was not asked for',
      { result: [{ address: '0x55d398326f99059ff775485246999027b3197955', topics: [] }] },
    ],
    ['-32005', { error: { code: -32005, message: 'limit exceeded' } }],
  ]
  for (const [name, lie] of troubles)
    t.test(`getLogs fails: ${name}`, async t => {
      const shop = await open(t)
      await chain.pay(shop.at, five)
      await final()
      shop.first.about('eth_getLogs', () => lie)
      const before = await shop.store.chain.chainCursor(56)
      await shop.read()
      t.same(await shop.store.chain.chainCursor(56), before, 'the cursor stays')
      shop.first.honest()
      for (let i = 0; i < 2; i++) await shop.read()
      t.equal(await shop.micros(), HALF_CENT)
      t.same(await shop.exceptions(), [])
    })

  t.test('windows are halved until the node takes them', async t => {
    const shop = await open(t)
    await chain.pay(shop.at, five)
    await chain.mine(60)
    const sizes: number[] = []
    shop.first.about('eth_getLogs', ([range]) => {
      const blocks = Number(range.toBlock) - Number(range.fromBlock) + 1
      sizes.push(blocks)
      return blocks > 10 ? { error: { code: -32602, message: 'query exceeds max block range 10' } } : null
    })
    await shop.read()
    t.equal(await shop.micros(), HALF_CENT)
    t.ok(sizes.some(size => size > 10) && sizes.filter(size => size <= 10).length >= 6, `windows of ${sizes}`)
  })

  t.test('many addresses are asked about in parts', async t => {
    const shop = await open(t)
    const wallet = shop.usdt.wallet
    const numbered = (number: number) => `0xa1${number.toString(16).padStart(38, '0')}`
    for (let accountId = 10_000; accountId < 10_600; accountId++)
      await shop.store.chain.issueAddress({ chainId: 56, wallet, accountId, fromBlock: 1 }, numbered, ACT)
    await chain.pay(numbered(600), five)
    await final()
    await shop.read()
    t.ok(shop.first.asked.every(({ method, params }) => method !== 'eth_getLogs' || params[0].topics[2].length <= 500))
    t.match(await shop.store.chain.transferOrders({ limit: 9 }), [{ accountId: 10_599 }])
  })

  t.test('once a day the chain is asked what the addresses have', async t => {
    const shop = await open(t)
    await chain.pay(shop.at, five)
    await final()
    for (let i = 0; i < 2; i++) await shop.read()
    t.match((await shop.store.pay.payMarks()).find(({ what }) => what === 'balances')?.value, / done$/)
    t.same(await shop.exceptions(), [])
    const day = async () => {
      shop.clock.advance(24 * 60 * MINUTE_MS)
      await chain.mine(1)
      for (let i = 0; i < 3; i++) await shop.read()
      return shop.exceptions()
    }
    // The operator sweeps a part: the wallet's own key signs, far from the gateway.
    await chain.anvil.call('anvil_impersonateAccount', shop.at)
    await chain.anvil.call('anvil_setBalance', shop.at, '0xde0b6b3a7640000')
    await chain.pay(chain.other, 2n * TOKEN, shop.at)
    await final()
    t.same(await day(), [], 'what was swept is accounted for')
    await chain.send(`0x5b940312${shop.at.slice(2).padStart(64, '0')}${1n.toString(16).padStart(64, '0')}`)
    await final()
    t.same(await day(), ['chain'], 'a single wei that left without a log is noticed')
    t.same(await day(), ['chain'], 'and told once, however many days it stays')
  })

  t.test(
    'the only transfer to an address, left out by both nodes: the balance tells, and the cursor is set back',
    async t => {
      const shop = await open(t)
      const from = await chain.head()
      await final()
      await shop.read()
      await chain.pay(shop.at, five)
      await final()
      for (const node of [shop.first, shop.second]) node.about('eth_getLogs', () => ({ result: [] }))
      for (let i = 0; i < 4; i++) {
        shop.clock.advance(12 * 60 * MINUTE_MS)
        await chain.mine(1)
        await shop.read()
      }
      t.same(await shop.store.chain.transferOrders({ limit: 9 }), [])
      const [told, ...others] = await shop.store.pay.exceptions({ limit: 9 })
      t.match(told, { kind: 'chain', reference: `balance:${shop.at}:${five}` })
      t.same(others, [])
      for (const node of [shop.first, shop.second]) node.honest()
      await shop.usdt.rewind(from, 'told', ACT)
      await shop.read()
      t.match(await shop.store.chain.transferOrders({ limit: 9 }), [{ value: five }])
    },
  )

  t.test('a node that has no logs at all is noticed, but on a test network', async t => {
    const shop = await open(t)
    const { deps, chains } = shop.usdt
    const live = { ...deps, config: { ...deps.config, sandbox: false } }
    const ask = async (given = live) => new Silence(given, chains).round({ no: await chain.head() })
    const kinds = async () =>
      (await shop.store.pay.exceptions({ limit: 9 })).map(({ reference }) => reference.slice(0, 11))
    await chain.pay(shop.at, five)
    await ask()
    await chain.mine(15)
    await ask()
    await chain.mine(15)
    shop.first.about('eth_getLogs', () => ({ error: { code: -32005, message: 'limit exceeded' } }))
    await ask(deps)
    t.same(await kinds(), [], 'logs among the last blocks, a node that refuses, and a test network')
    shop.second.about('eth_getLogs', () => ({ result: [] }))
    for (let i = 0; i < 2; i++) await ask()
    t.same(await kinds(), ['silent:56:2'], 'once a day')
    shop.second.about('eth_getLogs', () => ({ status: 502, text: 'away' }))
    await t.rejects(ask(), /node 2/, 'as every other question of a round')
  })

  t.test('the chain and the token are those of the config', async t => {
    const wrong: [name: string, method: string, lie: Lie][] = [
      ['another chain', 'eth_chainId', { result: '0x61' }],
      ['no contract', 'eth_getCode', { result: '0x' }],
      ['six decimals', 'eth_call', { result: `0x${'6'.padStart(64, '0')}` }],
    ]
    for (const [name, method, lie] of wrong) {
      const shop = await openUsdt(t, { chain })
      for (const node of [shop.first, shop.second]) node.about(method, () => lie)
      await shop.read()
      t.equal(await shop.store.chain.chainCursor(56), null, `${name}: nothing is read`)
      t.equal(await faultOf(shop.usdt.issue(shop.account, ACT)), 'conflict', `${name}: no address is shown`)
      t.equal(await shop.usdt.addressOf(shop.account), null)
    }
  })

  t.test('one process reads the chain at a time, and another goes on after it', async t => {
    const nodes: [Node, Node] = [await Node.open(t, chain), await Node.open(t, chain)]
    const wallet = newWallet()
    const one = await open(t, { nodes, wallet })
    const two = await openUsdt(t, {
      chain,
      nodes,
      wallet,
      section: { minimum: '1' },
      store: one.store,
      account: one.account,
      clock: one.clock,
    })
    await chain.pay(one.at, five)
    await final()
    await two.read()
    t.same(await two.transfers(), [], 'the first one reads')
    one.clock.advance(31_000)
    await two.read()
    t.equal(await two.micros(), HALF_CENT)
    await one.read()
    t.equal(await one.micros(), HALF_CENT)
  })
})
