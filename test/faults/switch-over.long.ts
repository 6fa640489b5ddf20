/**
 * A fail-over under load, on real servers: the one that is served becomes read-only, another takes its place behind the
 * same address. Nothing is refused, and nothing is lost or counted twice.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { copyDatabase } from '../support/copy-database.ts'
import { startMariadb } from '../support/mariadb.ts'
import { startRewritingProxy } from '../support/rewriting-proxy.ts'
import { onMariadb } from './stores.ts'
import { LATE_KEY, MOST, Scene } from './support.ts'

const CLIENTS = 6
const WARM_MS = 1_500
/** How long only the read-only server can be reached. */
const BETWEEN_MS = 3_000
/** It only ends a test that waits in vain. */
const LATE_MS = 60_000

const [first, second] = await Promise.all([startMariadb(), startMariadb()])
t.teardown(() => Promise.all([first.stop(), second.stop()]))
/** One who may not write to a read-only server. */
for (const server of [first, second]) {
  await server.admin("CREATE USER gateway@'127.0.0.1'")
  await server.admin("GRANT ALL ON gateway.* TO gateway@'127.0.0.1'")
}

/** Until somebody who has no lease is served: the first statement of his that writes must find the new server. */
async function servedAgain(t: Test, scene: Scene, base: string): Promise<void> {
  for (const until = Date.now() + LATE_MS; Date.now() < until; await sleep(100)) {
    const { status } = await scene.clients.ask(base, { key: LATE_KEY })
    if (status === 200) return void t.pass('who has no lease is served')
    if (status !== 503) return void t.fail(`refused with ${status}`)
  }
  t.fail('nobody without a lease is served')
}

t.test('a server that became read-only, and its successor', async t => {
  const proxy = await startRewritingProxy(first.port)
  t.teardown(() => proxy.close())
  const scene = await Scene.open(t, {
    store: { ...onMariadb(second), stop: async () => {} },
    storeUrl: `mysql://gateway@127.0.0.1:${proxy.port}/gateway`,
  })
  const gateway = await scene.gateway()
  await scene.peak(gateway)
  const stop = scene.clients.load(gateway.main, CLIENTS, { most: MOST, pauseMs: 30 })
  await sleep(WARM_MS)

  await first.admin('SET GLOBAL read_only = 1')
  await copyDatabase(first, second)
  await sleep(BETWEEN_MS)
  proxy.target = second.port
  await servedAgain(t, scene, gateway.main)
  await sleep(WARM_MS)

  const seen = await stop()
  t.strictSame([...new Set(seen.map(({ status }) => status))], [200], `all ${seen.length} were served from memory`)
  await scene.checkBooks(t, gateway)
  await scene.checkEnd(t)
})
