/**
 * The store is away for a while, under load: what can be served from memory is served, nobody is told that his key or
 * his money is bad, and afterwards everything is in the books once. `npm run outage` makes it half a minute each.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Seen } from './clients.ts'
import { type MariadbStore, mariadbStore } from './stores.ts'
import { type FaultyGateway, LATE_KEY, MOST, Scene } from './support.ts'

const OUTAGE_MS = Number(process.env['GATEWAY_FAULT_OUTAGE'] ?? 8) * 1000
const WARM_MS = 1500
/** It only ends a test that waits in vain. */
const WELL_AGAIN_MS = 60_000
const CLIENTS = 8
/** Between two requests of a client: enough of them fall into the outage. */
const PAUSE_MS = 200
const UNKNOWN_KEY = 'sk-faults-nobody-0123456789'

const OUTAGES: Record<string, { begin(store: MariadbStore): unknown; end(store: MariadbStore): unknown }> = {
  stopped: { begin: ({ server }) => server.halt(), end: ({ server }) => server.start() },
  killed: { begin: ({ server }) => server.kill(), end: ({ server }) => server.start() },
  'silent, its connections open': { begin: ({ server }) => server.pause(), end: ({ server }) => server.resume() },
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

async function strangers(t: Test, gateway: FaultyGateway): Promise<void> {
  const [ready, alive, stranger] = await Promise.all([
    readiness(gateway),
    fetch(`${gateway.ops}/healthz`).then(answer => answer.status),
    askWith(gateway, UNKNOWN_KEY),
  ])
  t.strictSame(ready, { status: 200, ready: true, store: 'away' }, 'ready as long as it serves from memory')
  t.equal(alive, 200)
  t.equal(stranger, 503, 'nobody can say whether the key is good')
}

const store = await mariadbStore()
t.teardown(() => store.stop())

for (const [name, { begin, end }] of Object.entries(OUTAGES)) {
  t.test(`the server is ${name}`, async t => {
    const url = await store.server.database(`of_${name.slice(0, 6)}`)
    const scene = await Scene.open(t, { store: { ...store, url } })
    const gateway = await scene.gateway()
    await scene.peak(gateway)
    const stop = scene.clients.load(gateway.main, CLIENTS, { most: MOST, pauseMs: PAUSE_MS })
    await sleep(WARM_MS)

    await begin(store)
    const beganMs = performance.now()
    const late = sleep(OUTAGE_MS / 4).then(() => scene.clients.ask(gateway.main, { key: LATE_KEY }))
    await strangers(t, gateway)
    await sleep(Math.max(0, OUTAGE_MS - (performance.now() - beganMs)))
    const endedMs = performance.now()
    await end(store)

    t.ok(await wellAgain(gateway), 'ready again')
    await sleep(WARM_MS)
    const seen = await stop()
    const during = seen.filter(({ askedMs }) => askedMs > beganMs && askedMs < endedMs)
    const served = during.filter(({ askedMs, tookMs }) => askedMs + tookMs < endedMs)
    t.ok(served.length >= CLIENTS, `${served.length} of ${during.length} requests were answered in the outage`)
    t.strictSame(statuses(during), [200], 'all were served from memory')
    t.strictSame(statuses(seen), [200], 'so were all before and after')
    t.ok([200, 503].includes((await late).status), 'an account without a lease waits, or hears that nobody can say')
    t.equal((await scene.clients.ask(gateway.main, { key: LATE_KEY })).status, 200, 'and is served afterwards')
    t.equal(await askWith(gateway, UNKNOWN_KEY), 401, 'a bad key is a bad key again')
    await scene.checkBooks(t, gateway)
    await scene.checkEnd(t)
  })
}
