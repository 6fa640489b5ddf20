/** How many blocks a node is asked about at once: what it has refused is not asked for again and again, because plans count refusals. */
import t, { type Test } from 'tap'
import { Chain, Reader, NodeError, Rpc } from '../../lib/pay/usdt/chain.ts'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { ProviderAway } from '../../lib/pay/method.ts'
import { TestClock } from '../support/clock.ts'
import { seeded } from '../support/random.ts'

/** A reader of a node that takes at most so many blocks at once. */
function limited(most: (fromNo: number) => number) {
  const clock = new TestClock(Date.now())
  const sizes: number[] = []
  const refusals: number[] = []
  const read = new Set<number>()
  const chain = {
    node: 1,
    async transfers(fromNo: number, toNo: number) {
      const blocks = toNo - fromNo + 1
      sizes.push(blocks)
      if (blocks > most(fromNo)) {
        refusals.push(blocks)
        throw new NodeError(1, -32602, 'query exceeds max block range')
      }
      for (let no = fromNo; no <= toNo; no++) read.add(no)
      return []
    },
  }
  const reader = new Reader(chain as unknown as Chain, clock)
  const catchUp = async (from: number, to: number) => {
    for (let no = from; no < to; ) no = (await reader.window(no, to, 'to', ['0x1'])).toNo
  }
  return { clock, sizes, refusals, read, catchUp }
}

t.test('catching up over many blocks costs a few refusals', async t => {
  for (const most of [1, 2, 5, 10, 50, 99, 100, 333, 999]) {
    const node = limited(() => most)
    await node.catchUp(0, 1_500)
    t.equal(node.read.size, 1_500, 'nothing is left out')
    t.ok(node.refusals.length <= 14, `${most}: ${node.refusals.length} refusals of ${node.sizes.length}`)
    const needed = Math.ceil(1_500 / most)
    t.ok(node.sizes.length <= needed * 1.5 + 25, `${most}: ${node.sizes.length} questions, ${needed} are needed`)
  }
})

t.test(
  'a limit that is lifted is found out within the hour, at the cost of a few refusals where it is not',
  async t => {
    let most = 10
    const node = limited(() => most)
    await node.catchUp(0, 500)
    const before = node.refusals.length
    for (let i = 0; i < 50; i++) {
      node.clock.advance(60_000)
      await node.catchUp(500 + i * 100, 600 + i * 100)
    }
    t.ok(node.refusals.length - before <= 2, `${node.refusals.length - before} refusals in most of an hour`)
    most = 1_000
    node.clock.advance(60 * 60_000)
    await node.catchUp(10_000, 30_000)
    t.ok(node.sizes.at(-2) === 1_000, `windows of ${node.sizes.slice(-3)} in the end`)
  },
)

t.test('a limit that depends on what is in the blocks is read through too', async t => {
  const random = seeded(t)
  const limits = Array.from({ length: 50 }, () => random.int(1, 400))
  const node = limited(fromNo => limits[Math.floor(fromNo / 100)] as number)
  await node.catchUp(0, 5_000)
  t.equal(node.read.size, 5_000)
})

async function nodeThat(t: Test, answers: { status: number; body: object }): Promise<{ rpc: Rpc; counted: string[] }> {
  const counted: string[] = []
  const server = createServer((req, res) => {
    req.resume().on('end', () => {
      res.writeHead(answers.status, { 'content-type': 'application/json' })
      res.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...answers.body }))
    })
  })
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => server.close())
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return { rpc: new Rpc(url, 1, (_, kind) => void counted.push(kind)), counted }
}

t.test('a node that was asked too often has not said that nothing is final', async t => {
  const rows: [name: string, status: number, error: { code: number; message: string }, isBusy: boolean][] = [
    ['by its status', 429, { code: -32000, message: 'slow down' }, true],
    ['by its code', 200, { code: 429, message: 'exceeded its compute units per second capacity' }, true],
    ['by its words', 200, { code: -32005, message: 'daily request count exceeded, request rate limited' }, true],
    ['by other words', 403, { code: -32007, message: '50/second request limit reached - too many requests' }, true],
    ['no final block', 200, { code: -32000, message: 'finalized block not found' }, false],
    ['no final block, otherwise', 200, { code: -39001, message: 'Unknown block' }, false],
  ]
  for (const [name, status, error, isBusy] of rows) {
    const { rpc, counted } = await nodeThat(t, { status, body: { error } })
    const chain = new Chain(rpc, { chainId: 56, contract: '0x1' })
    if (isBusy) await t.rejects(chain.block('finalized'), { name: 'NodeError', isBusy: true }, name)
    else t.equal(await chain.block('finalized'), null, name)
    t.same(counted, ['refused'])
  }
  const { rpc } = await nodeThat(t, { status: 503, body: { message: 'upstream connect error' } })
  await t.rejects(new Chain(rpc, { chainId: 56, contract: '0x1' }).block('finalized'), ProviderAway)
})
