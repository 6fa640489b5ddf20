import { createHash, randomBytes } from 'node:crypto'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import t from 'tap'
import type { Claim } from '../../lib/channels/health.ts'
import { Attempt } from '../../lib/upstream/attempt.ts'
import { TestClock } from '../support/clock.ts'
import { certificate, listen, pools, proxies, until, way } from './support.ts'

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
    const attempt = new Attempt({ release: () => released++ } as unknown as Claim, clock, {
      ...nobody,
      onHead: one => one.discard(),
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

t.test(
  'nobody reads the bytes of a request after it was taken, and it is not taken while they are on their way',
  async t => {
    const own = certificate(t)
    const MiB = 2 ** 20
    const digest = (parts: readonly Buffer[]) =>
      parts.reduce((hash, part) => hash.update(part), createHash('sha1')).digest('hex')
    let read: () => void = () => {}
    /** Answers at once, and takes the body when it is told to. */
    const answer = (req: http.IncomingMessage, res: http.ServerResponse) => {
      res.writeHead(200)
      res.write('begun ')
      read = () => {
        const hash = createHash('sha1')
        req.on('data', (chunk: Buffer) => hash.update(chunk)).on('end', () => res.end(hash.digest('hex')))
      }
    }
    const plain = `http://127.0.0.1:${await listen(t, http.createServer(answer))}`
    const secure = `https://127.0.0.1:${await listen(t, https.createServer(own, answer))}`
    const newer = http2.createSecureServer(own, answer as never)
    const multiplexed = `https://127.0.0.1:${await listen(t, newer)}`
    const ways = Object.entries(await proxies(t, own))
    const rows = [plain, secure].flatMap(origin =>
      ways.map(([name, proxy]) => ({ name, origin, proxy, isOurs: name === 'direct' || name === 'socks5' })),
    )
    rows.push({ name: 'HTTP/2', origin: multiplexed, proxy: null, isOurs: false })
    const all = pools(t)
    for (const [count, most] of [
      [1, 32 * MiB],
      [512, 64 * 1024],
    ] as const)
      for (const { name, origin, proxy, isOurs } of rows) {
        const bytes = name === 'HTTP/2' ? most / 8 : most // a session of Node refuses to keep 10 MB
        const what = `${count} parts to ${origin}, ${name}`
        const parts = Array.from({ length: count }, () => Buffer.from(randomBytes(bytes)))
        const sent = digest(parts)
        let heard = ''
        let over = false
        class Watched extends Attempt {
          override onRequestSent(): void {
            t.equal(this.isTaken, isOurs, what)
            super.onRequestSent()
            // whoever still reads them sends something else, or nothing
            if (this.isTaken) for (const part of parts) part.fill(0).buffer.transfer(0)
          }
        }
        const attempt = new Watched({ release() {} } as unknown as Claim, new TestClock(), {
          ...nobody,
          onHead: one => {
            t.notOk(one.isTaken, `${what}: it is on its way`)
          },
          onData: one => {
            if (heard === '') read()
            heard += one.take()
          },
          onOver: () => (over = true),
        })
        const headers = ['content-length', String(count * bytes)]
        all.of(way(origin, { proxy, ca: own.cert, http2: name === 'HTTP/2' })).dispatch(
          {
            origin,
            method: 'POST',
            path: '/',
            headers: count === 1 ? [] : headers,
            body: (count === 1 ? parts[0] : parts) as Buffer,
          },
          attempt,
        )
        await until(() => over)
        t.equal(attempt.error, null, what)
        t.equal(heard, `begun ${sent}`, what)
        t.equal(attempt.isTaken, isOurs, what)
      }
  },
)
