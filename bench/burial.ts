/**
 * `npm run burial [-- --purses 100000 --rate 500]`: pretends that a process died with leases on this many purses, on a
 * private MariaDB. Its leases are given back while a gateway serves this many requests per second on an account on
 * which the dead process had a lease too. Exits 1 when a request waited longer than a second or was not answered
 * correctly, or when the books do not add up afterwards.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { systemClock } from '../lib/base/clock.ts'
import { returnAllLeases } from '../lib/ledger/recovery.ts'
import { openStore } from '../lib/store/store.ts'
import { startMariadb } from '../test/support/mariadb.ts'
import { scriptOptions } from '../test/support/script.ts'
import { loadRightly, orderFor } from './kinds/context.ts'
import { type Subject, startGateway, startUpstream } from './parts/subjects.ts'
import { chatBody } from './parts/workloads.ts'

const values = scriptOptions(import.meta.filename, {
  purses: { type: 'string', default: '100000' },
  rate: { type: 'string', default: '500' },
})
const PURSES = Number(values.purses)
const RATE = Number(values.rate)
const DEAD = 'dead000000'
const LEASED = 500
const AT_ONCE = 1_000
const LOAD_S = 5
const MOST_MS = 1_000

const load = (gateway: Subject, seconds: number) =>
  loadRightly(
    orderFor(gateway, { mode: 'open', kinds: [{ body: chatBody(200, false) }], requests: RATE * seconds, rate: RATE }),
  )

const server = await startMariadb()
const upstream = await startUpstream()
const gateway = await startGateway(upstream.port, undefined, undefined, { store: server.url })
const store = openStore(server.url, { secret: 'a bench secret' })
try {
  await store.holders.register({ id: DEAD, host: 'gone', beat: 7 })
  const ids = Array.from({ length: PURSES }, (_, i) => `a${1_000_000 + i}`)
  for (let from = 0; from < PURSES; from += AT_ONCE) {
    const some = ids.slice(from, from + AT_ONCE)
    await server.admin(
      `INSERT INTO gateway.purses (id, credit, promised) VALUES ${some.map(id => `('${id}', 0, ${LEASED})`)}`,
    )
    await server.admin(`INSERT INTO gateway.leases VALUES ${some.map(id => `('${id}', '${DEAD}', ${LEASED}, 0, '')`)}`)
  }
  for (const { id } of await store.accounts.list())
    await store.books.lease(`a${id}`, DEAD, LEASED as never, LEASED as never, false)
  await load(gateway, LOAD_S)
  const began = performance.now()
  let buriedMs: number | null = null
  const burial = returnAllLeases({ store, clock: systemClock }, DEAD, undefined).then(
    () => (buriedMs = performance.now() - began),
  )
  let longestMs = 0
  let requests = 0
  while (buriedMs === null) {
    const { longestUs, done } = await load(gateway, LOAD_S)
    longestMs = Math.max(longestMs, longestUs / 1000)
    requests += done
  }
  await burial
  await sleep(2_000)
  const { ok, leased } = await store.audit()
  console.log('| leases | all back after, s | requests meanwhile | failed | longest, ms | books |')
  console.log('|---|---|---|---|---|---|')
  const row = [PURSES, (buriedMs / 1000).toFixed(1), requests, 0, longestMs.toFixed(0), ok ? 'add up' : 'DO NOT ADD UP']
  console.log(`| ${row.join(' | ')} |`)
  if (longestMs > MOST_MS || !ok || leased < 0) process.exitCode = 1
} finally {
  await store.close()
  await gateway.stop()
  await upstream.stop()
  await server.stop()
}
