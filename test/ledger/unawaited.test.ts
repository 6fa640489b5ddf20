/**
 * Once key, prices, rate window and lease are in memory, nothing of the store is waited for between a request's arrival
 * and its answer: the gateway runs here with a store whose every call stops answering.
 */
import { writeFileSync } from 'node:fs'
import path from 'node:path'
import { Writable } from 'node:stream'
import t from 'tap'
import { systemClock } from '../../lib/base/clock.ts'
import { applyCatalog } from '../../lib/operations/catalogue/apply.ts'
import { Gateway } from '../../lib/process/gateway.ts'
import { simulate } from '../../tools/simulator/main.ts'
import type { Store } from '../../lib/store/store.ts'
import { loadCatalog } from '../../lib/catalog-file/catalog.ts'
import { loadConfig } from '../../lib/config/config.ts'
import { createLogger } from '../../lib/base/log.ts'
import { Metrics } from '../../lib/terms/metrics.ts'
import { TestFleet } from '../admin/support.ts'
import { KEY, testCatalog } from '../support/gateway.ts'
import { intercepted, memoryStore } from '../support/store.ts'
import { until } from '../support/wait.ts'

const WARM = 400
const REQUESTS = 60
/** A lease that is not renewed yet pays for what was served in six seconds. A machine that serves few in half of that is asked for no more. */
const LEASED_S = 3
const AT_ONCE = 10

/** While frozen, calls are noted and wait. */
function freezable(store: Store) {
  let thaw: (() => void) | null = null
  let thawed = Promise.resolve()
  const waiting: string[] = []
  const proxy = intercepted(store, (work, name) => {
    if (thaw === null) return work()
    waiting.push(name)
    return thawed.then(work)
  })
  return {
    store: proxy,
    waiting,
    freeze: () => void (thawed = new Promise(resolve => (thaw = resolve))),
    thaw() {
      thaw?.()
      thaw = null
    },
  }
}

t.test('requests are dispatched and answered while no call of the store returns', async t => {
  const simulator = await simulate()
  t.teardown(() => simulator.close())
  const folder = t.testdir()
  const file = (name: string, content: object) => {
    writeFileSync(path.join(folder, name), JSON.stringify(content))
    return path.join(folder, name)
  }
  const catalog = testCatalog(simulator.url) as { keys: object[]; groups: object[] }
  catalog.groups = ['default', 'slow'].map(name => ({ name, rate: { requests: 100_000, minutes: 1 } }))
  catalog.keys[0] = { ...catalog.keys[0], cap: 500 }
  const free = '127.0.0.1:0'
  const config = loadConfig(
    file('gateway.yaml', {
      listen: { main: free, direct: free, ops: free },
      journal: `${folder}/journal`,
      admin_token: 'admin-token-for-tests',
    }),
    {},
  )
  const real = await memoryStore()
  await applyCatalog(real, loadCatalog(file('catalog.yaml', catalog), {}), systemClock)
  const { store, waiting, freeze, thaw } = freezable(real)
  const log = createLogger('fatal', new Writable({ write: (_chunk, _encoding, done) => done() }))
  const gateway = await Gateway.start(config, log, new Metrics(), store)
  const { main } = await gateway.listen(new TestFleet())
  const ask = async () => {
    const answer = await fetch(`${main}/v1/chat/completions`, {
      method: 'POST',
      headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'beta-4.7', max_tokens: 50, messages: [{ role: 'user', content: 'hi' }] }),
    })
    await answer.text()
    return answer.status
  }
  const rounds = async (count: number) => {
    for (let i = 0; i < count; i += AT_ONCE)
      t.strictSame(new Set(await Promise.all(Array.from({ length: AT_ONCE }, ask))), new Set([200]))
  }
  // The lease and the window are sized by the flow, which must be seen for a moment first. Until then a busy machine may grant the lease
  // later than a request waits for it (1 s).
  for (let i = 0; i < 100; i += AT_ONCE)
    await Promise.all(
      Array.from({ length: AT_ONCE }, () => until('the lease is granted', async () => (await ask()) === 200)),
    )
  await new Promise(resolve => setTimeout(resolve, 1_100))
  const beganMs = performance.now()
  await rounds(WARM)
  const perS = (WARM / (performance.now() - beganMs)) * 1000
  await new Promise(resolve => setTimeout(resolve, 1_100))

  freeze()
  const before = simulator.stats.requests
  const requests = Math.min(REQUESTS, Math.max(1, Math.floor((perS * LEASED_S) / AT_ONCE)) * AT_ONCE)
  t.comment(`${requests} requests while the store is frozen, ${perS.toFixed(1)} a second before`)
  await rounds(requests)
  t.equal(simulator.stats.requests - before, requests)
  // Only the first follow or flush can be under way of each kind, and nobody waits for it.
  t.comment(`calls that hang: ${waiting.join(', ')}`)
  await until('the store is asked to settle', () => waiting.includes('settle'))
  t.pass('the store was asked to settle, and does not answer')
  t.equal(await ask(), 200, 'even so')
  t.ok(gateway.ledger.journalEntries >= requests, 'charges wait in the journal')

  thaw()
  await gateway.ledger.flush()
  t.equal(gateway.ledger.journalEntries, 0)
  await gateway.drain(0)
})
