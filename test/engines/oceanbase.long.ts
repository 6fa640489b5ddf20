/**
 * What every store must do, and two gateways in trouble, on OceanBase's engine. One server serves them all, because it
 * takes long to start.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import { type MariadbStore, onMariadb } from '../faults/stores.ts'
import { MOST, Scene } from '../faults/support.ts'
import { twoGateways } from '../faults/two.ts'
import { storeSuite } from '../store/suite.ts'
import { databasesOf } from '../support/databases.ts'
import { OCEANBASE_MISSING, startOceanbase } from '../support/oceanbase.ts'

const OUTAGE_MS = 10_000
const WARM_MS = 1_500
const CLIENTS = 4
const MOST_MS = 900_000

/** Killed, and started again when its time is up; both gateways serve from memory meanwhile. */
async function outage(t: Test, store: MariadbStore): Promise<void> {
  const url = await store.server.database('of_outage')
  const scene = await Scene.open(t, { store: { ...store, url } })
  const gateways = [await scene.gateway('journal-a'), await scene.gateway('journal-b')] as const
  for (const gateway of gateways) await scene.peak(gateway)
  const loads = gateways.map(gateway => scene.clients.load(gateway.main, CLIENTS, { most: MOST }))
  await sleep(WARM_MS)
  await store.server.kill()
  const [began] = [performance.now(), await sleep(OUTAGE_MS)]
  await store.server.start()
  await sleep(WARM_MS)
  const seen = (await Promise.all(loads.map(stop => stop()))).flat()
  const during = seen.filter(({ askedMs }) => askedMs > began && askedMs < began + OUTAGE_MS)
  t.ok(during.length > 0, `${during.length} requests in the outage`)
  t.strictSame([...new Set(seen.map(({ status }) => status))], [200], 'all were served')
  await scene.checkBooks(t, gateways[0])
  await scene.checkEnd(t)
}

if (OCEANBASE_MISSING !== null) t.pass(OCEANBASE_MISSING)
else {
  // Changes of the schema are slow on this engine.
  t.setTimeout(MOST_MS)
  const server = await startOceanbase()
  t.teardown(() => server.stop())
  t.test('every store', async t => storeSuite(t, databasesOf(server)))
  t.test('two gateways', async t => twoGateways(t, onMariadb(server)))
  t.test('an outage of ten seconds', t => outage(t, onMariadb(server)))
}
