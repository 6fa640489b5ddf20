/** What holds on every way to an upstream alike: bounds, protocol, and who may be connected to. */
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import type { AddressInfo } from 'node:net'
import t from 'tap'
import type { UpstreamConnection } from '../../lib/world/compiled-channel.ts'
import { TestClock } from '../support/clock.ts'
import { answerer, ask, certificate, listen, pools, proxies, until, way } from './support.ts'

const AT_MOST = 16 // as pools() says

t.test('HTTP/2 is spoken where the channel says so and nowhere else, whatever stands between', async t => {
  const own = certificate(t)
  const port = await listen(t, http2.createSecureServer({ ...own, allowHTTP1: true }, answerer() as never))
  const all = pools(t)
  for (const [name, proxy] of Object.entries(await proxies(t, own)))
    for (const host of ['localhost', '127.0.0.1'])
      for (const [h2, version] of [
        [false, '1.1'],
        [true, '2.0'],
      ] as const) {
        const origin = `https://${host}:${port}`
        const heard = await ask(all.of(way(origin, { proxy, ca: own.cert, http2: h2 })), origin)
        t.equal(heard.text, `hello over ${version}`, `${name} to ${host}: ${heard.error?.message}`)
      }
})

t.test('no more connections than allowed, and they are used again', async t => {
  const own = certificate(t)
  const count = { open: 0, most: 0, made: 0 }
  const counted = <S extends http.Server | https.Server>(server: S): S => {
    server.on('connection', socket => {
      count.made++
      count.most = Math.max(count.most, ++count.open)
      socket.on('close', () => count.open--)
    })
    return server
  }
  const slow = (_req: unknown, res: http.ServerResponse) => setTimeout(() => res.end('ok'), 5)
  const plain = `http://127.0.0.1:${await listen(t, counted(http.createServer(slow)))}`
  const tls = `https://127.0.0.1:${await listen(t, counted(https.createServer(own, slow)))}`
  for (const [name, proxy] of Object.entries(await proxies(t, own)))
    for (const origin of [plain, tls]) {
      Object.assign(count, { open: 0, most: 0, made: 0 })
      const all = pools(t)
      const heard = await Promise.all(
        Array.from({ length: 100 }, () => ask(all.of(way(origin, { proxy, ca: own.cert })), origin)),
      )
      t.ok(
        heard.every(one => one.text === 'ok'),
        `${name} to ${origin}: ${heard.find(one => one.error)?.error?.message}`,
      )
      // a proxy that passes plain http on connects as it likes
      if (name.startsWith('http') && origin === plain) continue
      t.ok(
        count.most <= AT_MOST && count.made <= AT_MOST,
        `${name} to ${origin}: ${count.most} at once of ${count.made}`,
      )
      await all.destroy()
    }
})

t.test('a proxy that passes plain http on: no more connections to it than allowed', async t => {
  let most = 0
  let open = 0
  const proxy = http.createServer((_req, res) => setTimeout(() => res.end('ok'), 5))
  proxy.on('connection', socket => {
    most = Math.max(most, ++open)
    socket.on('close', () => open--)
  })
  const connection = way('http://upstream.example', { proxy: `http://127.0.0.1:${await listen(t, proxy)}` })
  const all = pools(t)
  const heard = await Promise.all(Array.from({ length: 100 }, () => ask(all.of(connection), connection.origin)))
  t.ok(heard.every(one => one.text === 'ok'))
  t.ok(most > 1 && most <= AT_MOST, `${most}`)
})

t.test('an address in the catalogue is looked at when it is connected to as well, and that of a proxy', async t => {
  const own = certificate(t)
  let asked = 0
  const server = http.createServer((_req, res) => res.end(`${++asked}`))
  server.on('connect', (_req, socket) => void socket.end(`HTTP/1.1 500 ${++asked}\r\n\r\n`))
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve))
  t.teardown(() => server.close())
  const { port } = server.address() as AddressInfo
  const good = `http://127.0.0.1:${port}`
  const rows: [origin: string, proxy: string | null][] = [
    [`http://0.0.0.0:${port}`, null], // leads to this machine, so that a failure of this test stays on it
    [`http://[::ffff:0.0.0.0]:${port}`, null],
    [`https://0.0.0.0:${port}`, null],
    [good, `http://0.0.0.0:${port}`],
    ['https://upstream.example', `http://0.0.0.0:${port}`],
    [good, `https://0.0.0.0:${port}`],
    [good, `socks5://0.0.0.0:${port}`],
    [`http://0.0.0.0:${port}`, good], // what a proxy is asked for is not ours to connect to, but is known to be wrong
  ]
  for (const [origin, proxy] of rows) {
    const change: Partial<UpstreamConnection> = { proxy, ca: own.cert }
    const told: string[] = []
    const all = pools(t, { onReserved: (of, message) => told.push(`${of}: ${message}`) })
    const refused = await ask(all.of(way(origin, change)), origin)
    await ask(all.of(way(origin, change)), origin)
    t.equal(told.length, 1, 'told once')
    t.match(told[0], `${origin}: `)
    t.match(refused.error, { name: 'ReservedAddress' }, `${origin} through ${proxy}: ${refused.error?.message}`)
    t.equal(refused.status, 0)
  }
  t.equal(asked, 0)
  const origin = `http://0.0.0.0:${port}`
  t.equal((await ask(pools(t).of(way(origin, { reserved: true })), origin)).status, 200)
})

t.test('an old connection is not used again: a name that has moved is followed', async t => {
  const server = http.createServer((req, res) => res.end(req.socket.localAddress))
  server.keepAliveTimeout = 0 // else it names a shorter time
  await new Promise<void>(resolve => server.listen(0, '0.0.0.0', resolve))
  t.teardown(() => {
    server.closeAllConnections()
    server.close()
  })
  const origin = `http://upstream.example:${(server.address() as AddressInfo).port}`
  let address = '127.0.0.1'
  const clock = new TestClock()
  const all = pools(t, {
    clock,
    resolve: ((_name: string, _options: unknown, done: (...of: unknown[]) => void) =>
      done(null, [{ address, family: 4 }])) as never,
  })
  const heard = async () => {
    await new Promise(resolve => setImmediate(resolve)) // the connection is free again a moment after its answer's end
    return (await ask(all.of(way(origin)), origin)).text
  }
  t.equal(await heard(), '127.0.0.1')
  address = '127.0.0.2'
  for (let s = 25; s < 300; s += 25) {
    clock.advance(25_000)
    t.equal(await heard(), '127.0.0.1', `kept for ${s} s`)
  }
  clock.advance(24_000)
  clock.advance(2_000)
  t.equal(await heard(), '127.0.0.2')
})

t.test('connections of a way that nobody names any more are closed', async t => {
  const own = certificate(t)
  let open = 0
  const server = https.createServer(own, answerer())
  server.keepAliveTimeout = 0 // by itself it closes nothing
  server.on('connection', socket => {
    open++
    socket.on('close', () => open--)
  })
  const origin = `https://127.0.0.1:${await listen(t, server)}`
  for (const [name, proxy] of Object.entries(await proxies(t, own))) {
    const all = pools(t)
    const connection = way(origin, { proxy, ca: own.cert })
    t.equal((await ask(all.of(connection), origin)).status, 200, name)
    all.keep(new Map([[connection.id, connection]]), { connectMs: 2000, connections: AT_MOST })
    await new Promise(resolve => setImmediate(resolve))
    t.equal(open, 1, `${name}: kept while it is named`)
    all.keep(new Map(), { connectMs: 2000, connections: AT_MOST })
    await until(() => open === 0)
  }
})
