import { spawnSync } from 'node:child_process'
import type { LookupAddress } from 'node:dns'
import http from 'node:http'
import http2 from 'node:http2'
import https from 'node:https'
import tls from 'node:tls'
import t from 'tap'
import type { UpstreamConnection } from '../../lib/world/compiled-channel.ts'
import { answerer, ask, certificate, connectProxy, listen, pools, socksProxy, way } from './support.ts'

t.test('TLS: verified always; a bundle is trusted beside the system, by its channel only', async t => {
  const own = certificate(t)
  const other = certificate(t)
  const port = await listen(t, https.createServer(own, answerer()))
  const origin = `https://127.0.0.1:${port}`
  const all = pools(t)
  const rows: [Partial<UpstreamConnection>, status: number, error: RegExp | null][] = [
    [{}, 0, /self-signed|SELF_SIGNED/],
    [{ ca: other.cert }, 0, /self-signed|SELF_SIGNED/],
    [{ ca: own.cert }, 200, null],
    [{ ca: other.cert + own.cert }, 200, null],
  ]
  for (const [change, status, error] of rows) {
    const connection = way(origin, change)
    const heard = await ask(all.of(connection), origin)
    t.equal(heard.status, status)
    if (error !== null) t.match(`${heard.error?.message} ${(heard.error as NodeJS.ErrnoException).code}`, error)
  }
  const named = way(`https://localhost:${port}`, { ca: own.cert })
  t.equal((await ask(all.of(named), named.origin)).status, 200)
})

t.test('who trusts certificates of its own trusts the system as before', async t => {
  const [system, own] = [certificate(t), certificate(t)]
  const before = tls.getCACertificates('default')
  t.teardown(() => tls.setDefaultCACertificates(before))
  tls.setDefaultCACertificates([...before, system.cert])
  const all = pools(t)
  for (const [server, status] of [
    [system, 200],
    [own, 200],
    [certificate(t), 0],
  ] as const) {
    const origin = `https://127.0.0.1:${await listen(t, https.createServer(server, answerer()))}`
    t.equal((await ask(all.of(way(origin, { ca: own.cert })), origin)).status, status)
  }
})

t.test('HTTP/2 where the channel says so and the upstream offers it', async t => {
  const own = certificate(t)
  const seen: string[] = []
  const port = await listen(t, http2.createSecureServer({ ...own, allowHTTP1: true }, answerer(seen) as never))
  const origin = `https://127.0.0.1:${port}`
  const all = pools(t)
  for (const [h2, version] of [
    [false, '1.1'],
    [true, '2.0'],
  ] as const) {
    const connection = way(origin, { ca: own.cert, http2: h2 })
    t.equal((await ask(all.of(connection), origin)).text, `hello over ${version}`)
    const many = await Promise.all(Array.from({ length: 50 }, () => ask(all.of(connection), origin)))
    t.ok(many.every(heard => heard.text === `hello over ${version}`))
  }
})

t.test('a proxy in between: CONNECT with credentials, plain http, SOCKS5', async t => {
  const own = certificate(t)
  const secure = `https://localhost:${await listen(t, https.createServer(own, answerer()))}`
  const plain = `http://127.0.0.1:${await listen(t, http.createServer(answerer()))}`
  const seen: string[] = []
  const open = await listen(t, connectProxy(seen, null))
  const closed = await listen(t, connectProxy(seen, 'user:pa ss'))
  const socks = await listen(t, socksProxy(seen, 'user', 'pa ss'))
  const host = (origin: string) => origin.replace(/^https?:\/\//, '')
  const rows: [origin: string, proxy: string, status: number, saw: string][] = [
    [secure, `http://127.0.0.1:${open}`, 200, `CONNECT ${host(secure)}`],
    [secure, `http://user:pa%20ss@127.0.0.1:${closed}`, 200, `CONNECT ${host(secure)}`],
    [secure, `http://user:wrong@127.0.0.1:${closed}`, 0, `CONNECT ${host(secure)}`],
    [plain, `http://127.0.0.1:${open}`, 200, `POST ${plain}/v1/x`],
    [secure, `socks5://user:pa%20ss@127.0.0.1:${socks}`, 200, `socks ${host(secure)}`],
    [plain, `socks5://user:pa%20ss@127.0.0.1:${socks}`, 200, `socks ${host(plain)}`],
    [plain, `socks5://user:wrong@127.0.0.1:${socks}`, 0, ''],
  ]
  const all = pools(t)
  for (const [origin, proxy, status, saw] of rows) {
    seen.length = 0
    const heard = await ask(all.of(way(origin, { proxy, ca: own.cert })), origin, '/v1/x', ['x-one', 'two'])
    t.equal(heard.status, status, `${proxy} to ${origin}: ${heard.error?.message}`)
    t.same([...new Set(seen)], saw === '' ? [] : [saw])
  }
})

t.test('a name that leads to a reserved address is not connected to, whenever it does so', async t => {
  const port = await listen(t, http.createServer(answerer()))
  const origin = `http://upstream.example:${port}`
  let addresses: LookupAddress[] = [{ address: '127.0.0.1', family: 4 }]
  const resolve = ((_name: string, _options: unknown, done: (e: null, found: LookupAddress[]) => void) =>
    done(null, addresses)) as never
  const rows: [string[], reserved: boolean, status: number][] = [
    [['127.0.0.1'], false, 200],
    [['169.254.169.254'], false, 0],
    [['127.0.0.1', '169.254.169.254'], false, 0],
    [['::ffff:169.254.169.254'], false, 0],
    [['127.0.0.1', '169.254.169.254'], true, 200],
  ]
  for (const [names, reserved, status] of rows) {
    addresses = names.map(address => ({ address, family: address.includes(':') ? 6 : 4 }))
    const all = pools(t, { resolve })
    // who may go anywhere asks the system, which does not know the name
    const at = reserved ? `http://127.0.0.1:${port}` : origin
    const heard = await ask(all.of(way(at, { reserved })), at)
    t.equal(heard.status, status, `${names}: ${heard.error?.message}`)
    if (status === 0) t.match(heard.error?.message, /is at .*169\.254\.169\.254, a link-local or reserved address/)
  }
})

t.test('redirects are an answer like any other', async t => {
  const port = await listen(
    t,
    http.createServer((_req, res) => res.writeHead(307, { location: 'http://127.0.0.1:1/elsewhere' }).end()),
  )
  const origin = `http://127.0.0.1:${port}`
  const heard = await ask(pools(t).of(way(origin)), origin)
  t.match(heard, { status: 307, location: 'http://127.0.0.1:1/elsewhere', error: null })
})

t.test('pools: shared by equal ways, closed when nobody names them, after what they do', async t => {
  let release: () => void = () => {}
  const port = await listen(
    t,
    http.createServer((_req, res) => {
      release = () => res.end('late')
    }),
  )
  const origin = `http://127.0.0.1:${port}`
  const all = pools(t)
  t.equal(all.of(way(origin)), all.of(way(origin)))
  t.not(all.of(way(origin)), all.of(way(origin, { proxy: 'http://127.0.0.1:1' })))
  const before = all.of(way(origin))
  const heard = ask(before, origin)
  while (release.length === 0 && String(release) === '() => {}') await new Promise(resolve => setTimeout(resolve, 5))
  all.keep(new Map(), { connectMs: 2000, connections: 16 })
  t.not(all.of(way(origin)), before, 'a new one')
  release()
  t.match(await heard, { status: 200, text: 'late' }, 'what it was doing ends well')
})

t.test(
  'undici and node:tls are loaded when the catalogue wants them: before a request does, and never without',
  async t => {
    const pools = new URL('../../lib/upstream/pools.ts', import.meta.url).href
    const program = (connection: UpstreamConnection) => `
    import { createRequire } from 'node:module'
    import { Pools } from '${pools}'
    const connection = ${JSON.stringify(connection)}
    const all = new Pools({ connectMs: 2000, connections: 1 })
    all.keep(new Map([[connection.id, connection]]), { connectMs: 2000, connections: 1 })
    const undici = Object.keys(createRequire('${pools}').cache).some(file => file.includes('undici'))
    process.stdout.write(JSON.stringify({ undici, tls: process.moduleLoadList.includes('NativeModule tls') }))`
    for (const [origin, change, undici, tls] of [
      ['http://upstream.example', {}, false, false],
      ['https://upstream.example', {}, false, true],
      ['https://upstream.example', { http2: true }, true, true],
      ['https://upstream.example', { proxy: 'http://127.0.0.1:1' }, true, true],
      ['https://upstream.example', { proxy: 'not a URL' }, false, false], // which only its own requests hear of
    ] as const) {
      const args = ['--input-type=module', '-e', program(way(origin, change))]
      const { stdout, stderr } = spawnSync(process.execPath, args, { encoding: 'utf8' })
      t.equal(stdout, JSON.stringify({ undici, tls }), `${origin} ${JSON.stringify(change)} ${stderr}`)
    }
  },
)
