import http from 'node:http'
import t from 'tap'
import type { Claim } from '../../lib/channels/health.ts'
import { Attempt } from '../../lib/upstream/attempt.ts'
import { TestClock } from '../support/clock.ts'
import { listen, pools, until, way } from './support.ts'

const nobody = { onHead() {}, onData() {}, onEnd() {}, onError() {}, onFault() {}, onOver() {} }

t.test('a discarded answer is read to its end, and cut when it is slow or long', async t => {
  const rows: [name: string, body: (res: http.ServerResponse) => void, cut: boolean][] = [
    ['ends', res => res.end('busy'), false],
    ['stalls', res => res.write('busy'), true],
    ['is long', res => res.end('x'.repeat(1_000_000)), true],
  ]
  for (const [name, body, cut] of rows) {
    const server = http.createServer((_req, res) => {
      res.writeHead(503)
      body(res)
    })
    let closed = 0
    server.on('connection', socket => socket.on('close', () => closed++))
    const origin = `http://127.0.0.1:${await listen(t, server)}`
    const clock = new TestClock()
    let released = 0
    const attempt = new Attempt({ release: () => released++ } as unknown as Claim, 0, {
      ...nobody,
      onHead: one => one.discard(clock),
    })
    pools(t)
      .of(way(origin))
      .dispatch({ origin, method: 'POST', path: '/', body: Buffer.from('{}') }, attempt)
    await until(() => attempt.status === 503)
    if (name === 'stalls') {
      clock.advance(4_999)
      await new Promise(resolve => setTimeout(resolve, 20))
      t.equal(released, 0, 'not yet')
      clock.advance(1)
    }
    await until(() => released > 0 && (!cut || closed > 0))
    clock.advance(60_000)
    await new Promise(resolve => setTimeout(resolve, 20))
    t.equal(released, 1, name)
    t.equal(closed > 0, cut, `${name}: the connection`)
  }
})
