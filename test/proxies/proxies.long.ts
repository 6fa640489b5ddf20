/**
 * A gateway as operators run it behind real proxies: silences of minutes in real time, large bodies, renewals of either under load,
 * and a gateway that leaves while a balancer asks after its health.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { KEY, stallAfter, startGateway, type TestGateway } from '../support/gateway.ts'
import { freePorts } from '../support/ports.ts'
import { CADDY_MISSING, NGINX_MISSING } from '../support/proxies-missing.ts'
import { until } from '../support/wait.ts'
import { type Asked, type FrontProxy, ourCaddy, ourNginx, ProxyClient, stockNginx } from './support.ts'

const MB = 1_000_000
/** Longer than nginx waits as it comes, and than a CDN does. */
const SILENCE_MS = 110_000
const DONE = 'data: [DONE]'

const ask = (text: string, more: object = {}): Asked => ({
  path: '/v1/chat/completions',
  headers: { authorization: `Bearer ${KEY}` },
  body: { model: 'beta-4.7', max_tokens: 200, messages: [{ role: 'user', content: text }], ...more },
})
const streamed = (directive = ''): Asked => ask(`hello ${directive}`, { stream: true })

async function behind(t: Test, start: (t: Test, of: TestGateway) => Promise<FrontProxy>, config = {}) {
  const gateway = await startGateway({ config: { trusted_proxies: ['127.0.0.1'], ...config } })
  t.teardown(() => gateway.stop())
  return { gateway, proxy: await start(t, gateway) }
}

/** Asks again and again, with streams and without, until told to stop. */
class Load {
  readonly wrong: string[] = []
  ok = 0
  #stopped = false
  readonly #loops: Promise<void>[]

  constructor(base: string, many: number) {
    this.#loops = Array.from({ length: many }, (_, i) => this.#loop(base, i))
  }

  async #loop(base: string, i: number): Promise<void> {
    for (let n = i; !this.#stopped; n++) {
      const isStream = n % 2 === 0
      const client = new ProxyClient(base, isStream ? streamed() : ask('hello'), n % 4 < 2 ? 'h1' : 'h2')
      await client.end()
      // a server that closes a connection says so of what it has not begun, which every client asks again (RFC 9113, 8.7)
      if (client.status === 0 && String(client.failed).includes('NGHTTP2_REFUSED_STREAM')) continue
      const whole = isStream ? client.text.includes(DONE) : client.text.includes('"usage"')
      if (client.status === 200 && whole && client.failed === null) this.ok++
      else this.wrong.push(`${client.status} ${client.failed ?? ''} ${client.text.slice(0, 300)}`)
    }
  }

  async stop(): Promise<void> {
    this.#stopped = true
    await Promise.all(this.#loops)
  }

  /** That many more were answered. */
  async more(count: number): Promise<void> {
    const most = this.ok + count
    await until(`${count} more answers`, () => this.ok >= most || this.wrong.length > 0)
  }
}

for (const [name, start, missing] of [
  ['nginx with our config', ourNginx, NGINX_MISSING],
  ['Caddy with our config', ourCaddy, CADDY_MISSING],
] as const) {
  t.test(`${name}: bodies of 2 and 20 MB, both versions of HTTP`, { skip: missing ?? false }, async t => {
    const { gateway, proxy } = await behind(t, start)
    for (const version of ['h1', 'h2'] as const)
      for (const size of [2 * MB, 20 * MB]) {
        const whole = await new ProxyClient(proxy.main, ask('x'.repeat(size)), version).end()
        t.equal(whole.status, 200, `${version}, ${size}`)
        const stream = await new ProxyClient(proxy.direct, ask('x'.repeat(size), { stream: true }), version).end()
        t.match(stream.text, DONE)
      }
    t.equal((await gateway.usage('rich', 8)).length, 8)
  })

  t.test(`${name}: renewed under load, as its gateway is`, { skip: missing ?? false }, async t => {
    const { gateway, proxy } = await behind(t, start)
    const load = new Load(proxy.main, 8)
    await load.more(40)
    const open = new ProxyClient(proxy.main, streamed(`[[sim ${stallAfter(2)}]]`))
    await open.sees('data: ')
    gateway.child.kill('SIGUSR2')
    await load.more(40)
    if (name.startsWith('nginx')) proxy.child.kill('SIGHUP')
    await load.more(40)
    await gateway.goOn()
    await open.end()
    t.match(open.text, DONE, 'a stream that was open all the time')
    await load.stop()
    t.same(load.wrong, [])
  })
}

t.test('silence of minutes', { skip: NGINX_MISSING ?? CADDY_MISSING ?? false }, async t => {
  const silent = `[[sim ${stallAfter(3)}]]`
  const stock = await behind(t, stockNginx)
  const ours = await behind(t, ourNginx)
  const caddy = await behind(t, ourCaddy)
  const all = [stock, ours, caddy]
  const kept = all.map(({ proxy }) => new ProxyClient(proxy.main, streamed(silent)))
  const bare = all.map(({ proxy }) => new ProxyClient(proxy.direct, streamed(silent)))
  for (const client of [...kept, ...bare]) await client.sees('data: ')
  await sleep(SILENCE_MS)
  for (const { gateway } of all) await gateway.goOn()
  for (const [i, client] of kept.entries()) {
    await client.end()
    t.match(client.text, DONE, `with keep-alive bytes, ${i}`)
    t.match(client.text, /\n\n\n/, 'they came')
  }
  const [cut, ...whole] = bare as [ProxyClient, ...ProxyClient[]]
  for (const client of whole) t.match((await client.end()).text, DONE, 'without a byte, by the files that ship')
  await cut.end()
  t.notMatch(cut.text, DONE, 'nginx as it comes cuts what is silent, which is why docs/proxy.md says so')
})

/** With health checks a balancer hears of it first; without, it finds a refused connection and takes the next gateway. */
const BALANCERS: [
  name: string,
  start: (t: Test, of: TestGateway, both: string[], opsPort: number) => Promise<FrontProxy>,
  leave: string,
  missing: string | null,
][] = [
  [
    'Caddy, which asks after its health',
    (t, of, both, opsPort) =>
      ourCaddy(t, of, text =>
        text
          .replace(`reverse_proxy ${both[0]} {`, `reverse_proxy ${both.join(' ')} {`)
          .replace('# lb_policy least_conn', 'lb_policy least_conn')
          .replace('# health_uri', 'health_uri')
          .replace('# health_port 3002', `health_port ${opsPort}`)
          .replace('# health_interval', 'health_interval')
          .replace('# health_timeout', 'health_timeout')
          .replace('# lb_try_duration', 'lb_try_duration'),
      ),
    '4s',
    CADDY_MISSING,
  ],
  [
    'nginx, which asks nobody',
    (t, of, both) =>
      ourNginx(t, of, text => text.replace(`server ${both[0]};`, `least_conn; server ${both.join('; server ')};`)),
    '0s',
    NGINX_MISSING,
  ],
]

for (const [name, start, leave, missing] of BALANCERS)
  t.test(`a gateway leaves behind ${name}`, { skip: missing ?? false }, async t => {
    const ports = await freePorts(3)
    const hosts = ['127.0.0.1', '127.0.0.2']
    const config = { timeouts: { leave, drain: '60s' } }
    const stays = await startGateway({ at: { host: hosts[0] as string, ports }, config })
    t.teardown(() => stays.stop())
    const leaves = await startGateway({ at: { host: hosts[1] as string, ports }, config })
    t.teardown(() => leaves.stop())
    const both = hosts.map(host => `${host}:${ports[0]}`)
    const proxy = await start(t, stays, both, ports[2] as number)
    const load = new Load(proxy.main, 6)
    await load.more(60)
    const open: ProxyClient[] = []
    const holds = async () => (await leaves.admin('GET', '/admin/accounts/rich'))['held'] !== '0.000000'
    await until('a stream that stands still is open at the gateway that leaves', async () => {
      if (open.length < 8) open.push(new ProxyClient(proxy.main, streamed(`[[sim ${stallAfter(2)}]]`)))
      await open.at(-1)?.sees('data: ')
      return open.length >= 4 && (await holds())
    })
    leaves.child.kill('SIGTERM')
    await load.more(100)
    leaves.letGoOn()
    stays.letGoOn()
    for (const client of open) t.match((await client.end()).text, DONE, 'what was open ends whole')
    await load.more(20)
    await load.stop()
    t.same(load.wrong, [], 'nobody was refused')
  })
