import http from 'node:http'
import type { AddressInfo } from 'node:net'
import t, { type Test } from 'tap'
import { runClosed } from '../../bench/load/closed.ts'
import { kindsInTurn, runOpen } from '../../bench/load/open.ts'
import type { Order } from '../../bench/load/order.ts'
import { inventKeys } from '../../bench/load/requests.ts'

const STALL_MS = 600

/** Stalls once, as a long garbage collection would, at its hundredth request. */
async function serve(t: Test, handler?: http.RequestListener): Promise<number> {
  let seen = 0
  let stalledUntil = 0
  const stalling: http.RequestListener = (req, res) => {
    req.resume()
    if (++seen === 100) stalledUntil = performance.now() + STALL_MS
    setTimeout(() => res.end('ok'), Math.max(0, stalledUntil - performance.now()))
  }
  const server = http.createServer(handler ?? stalling)
  await new Promise<void>(resolve => server.listen(0, '127.0.0.1', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  return (server.address() as AddressInfo).port
}

const order = (port: number, requests: number): Order => ({
  host: '127.0.0.1',
  ports: [port],
  path: '/',
  headers: {},
  kinds: [{ body: '{}' }],
  requests,
})

t.test('a stall is counted for all who would have come meanwhile', async t => {
  const open = await runOpen({ ...order(await serve(t), 300), rate: 200 })
  t.equal(open.failed, 0)
  t.equal(open.done, 300)
  // 120 of 300 came during the stall: the median escapes it, the last third does not
  t.ok(open.p99us > STALL_MS * 1000 * 0.8, `p99 ${open.p99us} µs`)
  // the same stall hits each connection of a closed loop once: one of 300 here
  const closed = await runClosed({ ...order(await serve(t), 300), connections: 1 })
  t.ok(closed.p99us < open.p99us, `p99 ${closed.p99us} and ${open.p99us} µs`)
})

t.test('wrong answers and broken connections are counted as failed', async t => {
  let seen = 0
  const port = await serve(t, (req, res) => {
    req.resume()
    if (++seen % 10 === 0) res.destroy()
    else if (seen % 10 === 5) res.writeHead(503).end()
    else res.end('ok')
  })
  const { done, failed } = await runClosed({ ...order(port, 100), connections: 4 })
  t.same({ done, failed }, { done: 100, failed: 20 })
  const open = await runOpen({ ...order(port, 100), rate: 500 })
  t.same({ done: open.done, failed: open.failed }, { done: 100, failed: 20 })
})

t.test('chunked answers end with their last chunk, however it arrives; who leaves is counted', async t => {
  const port = await serve(t, (req, res) => {
    req.resume()
    const write = (left: number) => {
      if (left === 0) return void res.end()
      res.write('part')
      setTimeout(write, 5, left - 1)
    }
    write(8)
  })
  const { done, failed } = await runClosed({ ...order(port, 20), connections: 5 })
  t.same({ done, failed }, { done: 20, failed: 0 })
  const kinds = [
    { body: '{}', share: 3 },
    { body: '{}', share: 1, leaveMs: 10 },
  ]
  const open = await runOpen({ ...order(port, 200), kinds, rate: 400 })
  const leaving = kindsInTurn(kinds, 200).filter(kind => kind === 1).length
  t.same({ done: open.done, failed: open.failed, left: open.left }, { done: 200, failed: 0, left: leaving })
})

t.test('kinds come in their shares, in the same order each time', async t => {
  const kinds = [
    { body: 'a', share: 65 },
    { body: 'b', share: 30 },
    { body: 'c', share: 5 },
  ]
  const turns = kindsInTurn(kinds, 10_000)
  t.same(kindsInTurn(kinds, 10_000), turns)
  for (const [kind, { share }] of kinds.entries()) {
    const percent = turns.filter(turn => turn === kind).length / 100
    t.ok(Math.abs(percent - share) < 2, `${share} %: ${percent}`)
  }
})

t.test('invented keys differ from one another and between seeds', async t => {
  const keys = [...inventKeys(1, 2000), ...inventKeys(2, 2000)]
  t.equal(new Set(keys).size, 4000)
  t.ok(keys.every(key => /^sk-[0-9a-f]{32}$/.test(key)))
  t.same(inventKeys(1, 3), keys.slice(0, 3))
})
