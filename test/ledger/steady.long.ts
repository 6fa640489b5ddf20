/** How little of the store a steady flow needs: on both engines, counted by the gateway's own metric. */
import t from 'tap'
import { Pool } from 'undici'
import { KEY, startGateway, type TestGateway, testCatalog } from '../support/gateway.ts'
import { startMariadb } from '../support/mariadb.ts'

const PER_SECOND = 200
const WARM_MS = 4_000
const MEASURED_MS = 16_000
/**
 * Statements per request at that flow; on a machine that does not keep up, as many as the same time would have allowed.
 * A settlement must be in the books within a second, so that there are about 1.05 batches a second, one for 190 requests.
 * A batch takes four statements: rows, leases, sums of usage, charges by the hour of booking. A server takes two more: one
 * tells its time, and the rows of such a batch need two INSERTs. With 3.4 questions for changes a second, by which a recall is
 * heard while the request waits that caused it, and now and then a lease, a sign of life or the windows of rates, that is
 * 0.038 to 0.041 on SQLite, and 0.048 to 0.051 on a server.
 */
const MOST = { sqlite: 0.043, server: 0.053 }

const mariadb = await startMariadb()
t.teardown(() => mariadb.stop())

/** With a rate limit, whose windows are in the store too. */
const limited = (upstream: string) => ({
  ...testCatalog(upstream),
  groups: ['default', 'slow'].map(name => ({ name, rate: { requests: 1_000_000, minutes: 1 } })),
})

async function statements(gateway: TestGateway): Promise<Map<string, number>> {
  const text = await (await fetch(`${gateway.ops}/metrics`)).text()
  const counts = text.matchAll(/^gateway_store_queries_total\{op="(\w+)"\} (\d+)/gm)
  return new Map([...counts].map(([, op, count]) => [op as string, Number(count)]))
}

/** One request each 5 ms, however long answers take. Resolves with how many were answered with 200. */
async function flow(gateway: TestGateway, ms: number): Promise<number> {
  const pool = new Pool(gateway.main, { connections: 64 })
  const body = JSON.stringify({ model: 'beta-4.7', max_tokens: 100, messages: [{ role: 'user', content: 'hi' }] })
  const headers = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }
  const answers: Promise<boolean>[] = []
  const one = async () => {
    const answer = await pool.request({ method: 'POST', path: '/v1/chat/completions', headers, body })
    await answer.body.dump()
    return answer.statusCode === 200
  }
  const began = performance.now()
  while (performance.now() - began < ms) {
    const due = Math.floor(((performance.now() - began) * PER_SECOND) / 1000)
    while (answers.length < due) answers.push(one())
    await new Promise(resolve => setTimeout(resolve, 2))
  }
  const good = (await Promise.all(answers)).filter(Boolean).length
  t.equal(good, answers.length, 'all answered')
  await pool.close()
  return good
}

for (const [engine, store, most] of [
  ['SQLite', {}, MOST.sqlite],
  ['MariaDB', { store: mariadb.url }, MOST.server],
] as const) {
  t.test(`${engine}: 200 requests a second of one account`, async t => {
    const gateway = await startGateway({ config: { ...store }, catalog: limited })
    t.teardown(() => gateway.stop())
    await flow(gateway, WARM_MS)
    const before = await statements(gateway)
    const beganMs = performance.now()
    const requests = await flow(gateway, MEASURED_MS)
    const after = await statements(gateway)
    const due = Math.max(requests, (PER_SECOND * (performance.now() - beganMs)) / 1000)
    const spent = [...after].map(([op, count]) => [op, count - (before.get(op) ?? 0)] as const).filter(([, n]) => n > 0)
    const sum = spent.reduce((total, [, n]) => total + n, 0)
    t.comment(`${sum} statements for ${requests} requests: ${spent.map(([op, n]) => `${op} ${n}`).join(', ')}`)
    t.ok(sum / due <= most, `${(sum / requests).toFixed(4)} statements a request`)
  })
}
