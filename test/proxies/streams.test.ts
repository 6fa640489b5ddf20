/**
 * Streams through real proxies. The upstream sends its next piece only when the client has seen the one before, so a proxy that
 * keeps pieces is found whatever the time; minutes of silence pass by the gateway's own clock.
 */
import { spawnSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t, { type Test } from 'tap'
import { parseConfig } from '../../lib/config/config.ts'
import { open, type Scene } from '../exchange/support/gateway.ts'
import { SPEECH } from '../exchange/support/speech.ts'
import { sayOf } from '../sense/support.ts'
import { CADDY_MISSING, NGINX_MISSING } from '../support/proxies-missing.ts'
import { until } from '../support/wait.ts'
import {
  certificates,
  DEPLOY,
  type FrontProxy,
  folderOf,
  nginxArgs,
  ourCaddy,
  ourCaddyfile,
  ourNginx,
  ourServers,
  ProxyClient,
  stockNginx,
} from './support.ts'

const PROXIES: [
  name: string,
  start: (t: Test, behind: Scene['urls']) => Promise<FrontProxy>,
  missing: string | null,
  versions: ('h1' | 'h2')[],
  bodies: boolean,
][] = [
  ['nginx as it comes', stockNginx, NGINX_MISSING, ['h1'], false],
  ['nginx with our config', ourNginx, NGINX_MISSING, ['h1', 'h2'], true],
  ['Caddy with our config', ourCaddy, CADDY_MISSING, ['h1', 'h2'], true],
]
const MB = 1_000_000

/** Pieces of a stream, as an upstream of the messages protocol sends them. */
const pieces = (count: number): string[] =>
  Array.from(
    { length: count },
    (_, i) =>
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"piece ${i}"}}\n\n`,
  )

for (const [name, start, missing, versions, takesBodies] of PROXIES)
  t.test(name, { skip: missing ?? false }, async t => {
    const s = await open(t, { config: { keepalive: { early: '80s' } } })
    const proxy = await start(t, s.urls)
    let asked = 0
    const next = () => s.at('a').call(asked++)

    for (const version of versions)
      for (const [listener, base] of [
        ['main', proxy.main],
        ['direct', proxy.direct],
        ['main', proxy.plain],
      ] as const) {
        if (base === null || (base === proxy.plain && version === 'h2')) continue
        await t.test(`${version}, ${listener}${base === proxy.plain ? ', no TLS' : ''}: piece by piece`, async t => {
          for (const protocol of ['messages', 'chat', 'generate'] as const) {
            const { ask, first, rest } = SPEECH[protocol]
            const client = new ProxyClient(base, ask, version)
            const call = await next()
            call.stream()
            for (const piece of [first, ...(protocol === 'messages' ? pieces(5) : []), rest]) {
              call.chunk(piece)
              await client.sees(piece)
            }
            call.end()
            await client.end()
            t.equal(client.failed, null)
            t.equal(client.status, 200)
            t.equal(client.headers['cache-control'], 'no-cache')
          }
        })
      }

    await t.test('ten minutes without a word of the upstream', async t => {
      const client = new ProxyClient(proxy.main, SPEECH.messages.ask)
      const call = await next()
      s.clock.advance(79_000)
      s.clock.advance(2_000)
      await client.sees('\n')
      for (let lines = 1; lines < 30; lines++) {
        s.clock.advance(16_000)
        await client.sees('\n'.repeat(lines + 1))
      }
      call.stream()
      call.chunk(SPEECH.messages.first)
      await client.sees(SPEECH.messages.first)
      call.chunk(SPEECH.messages.rest)
      call.end()
      await client.end()
      t.equal(client.failed, null)
      t.match(client.text, SPEECH.messages.rest)
    })

    await t.test('a client that leaves is seen to leave', async () => {
      const client = new ProxyClient(proxy.main, SPEECH.messages.ask)
      const call = await next()
      call.stream()
      call.chunk(SPEECH.messages.first)
      await client.sees(SPEECH.messages.first)
      client.leave()
      await until('the gateway knows that the client has left', () => s.services.readOns.size === 1)
      call.chunk(SPEECH.messages.rest)
      call.end()
    })

    await t.test(takesBodies ? 'bodies of 2 and of 20 MB' : 'bodies of 2 MB are refused by the proxy', async t => {
      for (const size of [2 * MB, 20 * MB]) {
        const { ask, first, rest } = SPEECH.chat
        const body = JSON.stringify({
          ...(ask.body as object),
          messages: [{ role: 'user', content: 'x'.repeat(size) }],
        })
        for (const version of versions) {
          const client = new ProxyClient(proxy.main, { ...ask, body }, version)
          if (!takesBodies) {
            await client.end()
            t.equal(client.status, 413)
            t.match(client.text, 'nginx')
            continue
          }
          const call = await next()
          t.equal(call.body.length, body.length)
          call.stream()
          call.chunk(first + rest)
          call.end()
          t.equal((await client.end()).status, 200)
        }
      }
    })
  })

t.test('the files that ship are valid', async t => {
  const behind = { main: 'http://127.0.0.1:3000', direct: 'http://127.0.0.1:3001' }
  await t.test('nginx.conf', { skip: NGINX_MISSING ?? false }, async t => {
    const folder = folderOf(t)
    const servers = ourServers(behind, [3443, 3444], certificates(folder))
    writeFileSync(
      path.join(folder, 'nginx.conf'),
      `user root; pid ${folder}/pid; error_log stderr; events {} http {\n${servers}\n}`,
    )
    const checked = spawnSync('nginx', ['-t', ...nginxArgs(folder)], { encoding: 'utf8' })
    t.equal(checked.status, 0, checked.stderr)
    t.match(checked.stderr, 'test is successful')
  })
  await t.test('Caddyfile', { skip: CADDY_MISSING ?? false }, async t => {
    const validate = (config: string) =>
      spawnSync('caddy', ['validate', '--adapter', 'caddyfile', '--config', config], { encoding: 'utf8' })
    const checked = validate(path.join(DEPLOY, 'Caddyfile'))
    t.equal(checked.status, 0, checked.stderr)
    const folder = folderOf(t)
    const tested = path.join(folder, 'Caddyfile')
    writeFileSync(tested, ourCaddyfile(behind, [3443, 3444], certificates(folder)))
    t.equal(validate(tested).status, 0)
    const formatted = spawnSync('caddy', ['fmt', path.join(DEPLOY, 'Caddyfile')], { encoding: 'utf8' })
    t.equal(formatted.stdout, readFileSync(path.join(DEPLOY, 'Caddyfile'), 'utf8'))
  })
})

t.test('the examples of docs/proxy.md are configs of which nothing is said', async t => {
  const page = readFileSync(path.join(DEPLOY, '../../docs/proxy.md'), 'utf8')
  const examples = [...page.matchAll(/```yaml\n([^`]*)```/g)].map(found =>
    (found[1] as string).replaceAll(/^ {2}/gm, ''),
  )
  t.equal(examples.length, 2)
  for (const example of examples) t.same(sayOf(example, 'groups: [{ name: default }]'), { refused: [], warned: [] })
})

t.test('what the files say agrees with what the gateway does', async t => {
  const read = (file: string) => readFileSync(path.join(DEPLOY, file), 'utf8')
  const { timeouts, limits } = parseConfig('', 'c.yaml', {})
  const nginx = read('nginx.conf')
  const all = (pattern: RegExp) => [...nginx.matchAll(pattern)].map(found => Number(found[1]))
  for (const waits of [all(/proxy_read_timeout (\d+)s;/g), all(/proxy_send_timeout (\d+)s;/g)]) {
    t.equal(waits.length, 2)
    for (const seconds of waits) t.ok(seconds * 1000 > Math.max(timeouts.firstByteMs, timeouts.idleMs))
  }
  for (const size of all(/client_max_body_size (\d+)m;/g)) t.equal(size * 2 ** 20, limits.bodyBytes)
  t.match(read('Caddyfile'), `max_size ${limits.bodyBytes / 2 ** 20}MiB`)
  for (const seconds of [...all(/keepalive_timeout (\d+)s;/g), Number(/keepalive (\d+)s/.exec(read('Caddyfile'))?.[1])])
    t.ok(seconds < 125, 'connections are given up before the gateway closes them')
})

t.test(
  'the files that ship have the addresses of the test, also where its ports begin like those of the files',
  async t => {
    const behind = { main: 'http://127.0.0.1:30010', direct: 'http://127.0.0.1:30011' }
    const files = { cert: '/c', key: '/k' }
    for (const text of [ourServers(behind, [3443, 3444], files), ourCaddyfile(behind, [3443, 3444], files)])
      t.same(text.match(/127\.0\.0\.1:300\d+/g), ['127.0.0.1:30010', '127.0.0.1:30011'])
  },
)
