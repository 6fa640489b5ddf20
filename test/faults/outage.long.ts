/**
 * The store is away for a while, under load, on each engine: what can be served from memory is served, who would need the store is told
 * so soon, nobody is told that his key or his money is bad, the store is not asked again and again, and afterwards everything is in the
 * books once and no lease is lost. `npm run outage` makes it half a minute each.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { startMariadb } from '../support/mariadb.ts'
import type { MysqlServer } from '../support/mysql-server.ts'
import { OCEANBASE_MISSING, startOceanbase } from '../support/oceanbase.ts'
import type { Seen } from './clients.ts'
import { startSlowProxy } from './slow-proxy.ts'
import { onMariadb } from './stores.ts'
import { type FaultyGateway, LATE_KEY, MOST, Scene } from './support.ts'

const OUTAGE_MS = Number(process.env['GATEWAY_FAULT_OUTAGE'] ?? 8) * 1000
const WARM_MS = 1500
/** It only ends a test that waits in vain. */
const WELL_AGAIN_MS = 60_000
const CLIENTS = 8
/** Between two requests of a client: enough of them fall into the outage. */
const PAUSE_MS = 200
/** Of these, no lease covers anything. */
const POOR_CLIENTS = 3
const UNKNOWN_KEY = 'sk-faults-nobody-0123456789'
const SLOW_MS = 5_000
/** One that may not write to a read-only server. */
const USER = 'gateway'
const PASSWORD = 'for-a-test'
/**
 * The bound of what a request waits for money is a second. These tests run on machines that are busy with other things, so it is
 * compared with the bucket of the metric that leaves as much again and a half.
 */
const MOST_WAITED_S = '2.5'
/** One call that finds the store away, and one for who waited meanwhile. */
const CALLS_A_PURSE = 2

interface Engine {
  server: MysqlServer
  slow: { delayMs: number }
}

interface Outage {
  begin(engine: Engine): unknown
  end(engine: Engine): unknown
  /** The gateway's way to the server leads through a proxy. */
  proxied?: true
  /** What an unknown key is told: 503, when nobody can say whether it is good. */
  stranger: 401 | 503
}

const OUTAGES: Record<string, Outage> = {
  refused: { stranger: 503, begin: ({ server }) => server.halt(), end: ({ server }) => server.start() },
  killed: { stranger: 503, begin: ({ server }) => server.kill(), end: ({ server }) => server.start() },
  silent: { stranger: 503, begin: ({ server }) => server.pause(), end: ({ server }) => server.resume() },
  slow: {
    proxied: true,
    stranger: 503,
    begin: ({ slow }) => void (slow.delayMs = SLOW_MS),
    end: ({ slow }) => void (slow.delayMs = 0),
  },
  readonly: {
    stranger: 401,
    begin: ({ server }) => server.admin('SET GLOBAL read_only = 1'),
    end: ({ server }) => server.admin('SET GLOBAL read_only = 0'),
  },
}

const ENGINES: Record<string, { start: () => Promise<MysqlServer>; missing: string | null }> = {
  MariaDB: { start: startMariadb, missing: null },
  OceanBase: { start: startOceanbase, missing: OCEANBASE_MISSING },
}

const askWith = (gateway: FaultyGateway, key: string) =>
  fetch(`${gateway.main}/v1/models`, { headers: { authorization: `Bearer ${key}` } }).then(answer => answer.status)

const statuses = (seen: readonly Seen[]) => [...new Set(seen.map(({ status }) => status))].sort()

const readiness = async (gateway: FaultyGateway) => {
  const answer = await fetch(`${gateway.ops}/readyz`)
  return { status: answer.status, ...((await answer.json()) as { ready: boolean; store: string }) }
}

async function wellAgain(gateway: FaultyGateway): Promise<boolean> {
  for (const until = Date.now() + WELL_AGAIN_MS; Date.now() < until; await sleep(50))
    if ((await readiness(gateway)).store === 'ok') return true
  return false
}

async function strangers(t: Test, gateway: FaultyGateway, status: number): Promise<void> {
  const [ready, alive, stranger] = await Promise.all([
    readiness(gateway),
    fetch(`${gateway.ops}/healthz`).then(answer => answer.status),
    askWith(gateway, UNKNOWN_KEY),
  ])
  t.strictSame(ready, { status: 200, ready: true, store: 'away' }, 'ready as long as it serves from memory')
  t.equal(alive, 200)
  t.equal(stranger, status, 'an unknown key')
}

/** What the metrics say: calls for leases that have begun, and how many requests waited for money, in all and not too long. */
async function figures(gateway: FaultyGateway) {
  const text = await (await fetch(`${gateway.ops}/metrics`)).text()
  const sum = (start: string) =>
    text
      .split('\n')
      .filter(line => line.startsWith(start))
      .reduce((total, line) => total + Number(line.split(' ').at(-1)), 0)
  return {
    calls: sum('gateway_lease_calls_total') + sum('gateway_lease_calls_open'),
    waits: sum('gateway_money_wait_seconds_count'),
    short: sum(`gateway_money_wait_seconds_bucket{le="${MOST_WAITED_S}"}`),
  }
}

const longestMs = (seen: readonly Seen[]) => Math.round(Math.max(0, ...seen.map(({ tookMs }) => tookMs)))

/** The server's database for a user who may do nothing else, by the port that leads to it. */
async function ofUser({ server }: Engine): Promise<(port: number) => string> {
  const { pathname } = new URL(server.url)
  await server.admin(`CREATE USER ${USER} IDENTIFIED BY '${PASSWORD}'`)
  await server.admin(`GRANT ALL ON ${pathname.slice(1)}.* TO ${USER}`)
  return port => `mysql://${USER}:${PASSWORD}@127.0.0.1:${port}${pathname}`
}

for (const [engineName, { start, missing }] of Object.entries(ENGINES)) {
  t.test(engineName, { skip: missing ?? false }, async t => {
    for (const [name, outage] of Object.entries(OUTAGES))
      await t.test(name, async t => {
        // Its own, so that no table is made after an outage: OceanBase's engine may let that wait for a quarter of an hour after a restart.
        const server = await start()
        t.teardown(() => server.stop())
        const slow = await startSlowProxy(server.port)
        t.teardown(() => slow.close())
        await survived(t, { server, slow }, outage, outage.proxied ? slow.port : server.port)
      })
  })
}

async function survived(t: Test, engine: Engine, outage: Outage, port: number): Promise<void> {
  const { server } = engine
  const url = await ofUser(engine)
  const scene = await Scene.open(t, { store: onMariadb(server, url(server.port)), storeUrl: url(port) })
  const gateway = await scene.gateway()
  await scene.peak(gateway)
  // its requests are to wait for money, and not for a place in a rate window
  await gateway.admin('PATCH', '/admin/accounts/late', { rate: { requests: 0, minutes: 1 } })
  t.equal(await askWith(gateway, LATE_KEY), 200, 'this key is known, and its account has no lease')
  const stop = scene.clients.load(gateway.main, CLIENTS, { most: MOST, pauseMs: PAUSE_MS })
  await sleep(WARM_MS)

  await outage.begin(engine)
  const beganMs = performance.now()
  const before = await figures(gateway)
  const stopPoor = scene.clients.load(gateway.main, POOR_CLIENTS, { key: LATE_KEY, pauseMs: PAUSE_MS })
  await strangers(t, gateway, outage.stranger)
  await sleep(Math.max(0, OUTAGE_MS - (performance.now() - beganMs)))
  const poor = await stopPoor()
  const during = await figures(gateway)
  const endedMs = performance.now()
  await outage.end(engine)

  t.ok(await wellAgain(gateway), 'ready again')
  await sleep(WARM_MS)
  const seen = await stop()
  const asked = seen.filter(({ askedMs }) => askedMs > beganMs && askedMs < endedMs)
  const served = asked.filter(({ askedMs, tookMs }) => askedMs + tookMs < endedMs)
  t.ok(served.length >= CLIENTS, `${served.length} of ${asked.length} requests were answered in the outage`)
  t.strictSame(statuses(asked), [200], 'all were served from memory')
  t.strictSame(statuses(seen), [200], 'so were all before and after')
  t.strictSame(statuses(poor), [503], `who has no lease is told to come again (${poor.length})`)
  const after = await figures(gateway)
  t.equal(after.short, after.waits, `of ${after.waits} waits for money none was long`)
  const calls = during.calls - before.calls
  t.ok(calls <= 2 * CALLS_A_PURSE, `${calls} calls for leases of two purses in the outage: none piled up`)
  t.comment(`longest of those told to come again: ${longestMs(poor)} ms; of those served: ${longestMs(asked)} ms`)
  t.equal((await scene.clients.ask(gateway.main, { key: LATE_KEY })).status, 200, 'and is served afterwards')
  t.equal(await askWith(gateway, UNKNOWN_KEY), 401, 'a bad key is a bad key again')
  await scene.checkBooks(t, gateway)
  await scene.checkEnd(t)
}
