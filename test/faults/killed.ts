/** kill -9 of the gateway at each point of a request. What was settled before is charged once; nothing else is. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import { startCommitProxy } from '../support/commit-proxy.ts'
import { seeded } from '../support/random.ts'
import { type Approach, afterCommit, answered, POINTS } from './points.ts'
import { mariadbStore } from './stores.ts'
import { type FaultyGateway, Scene } from './support.ts'

async function killedAt(t: Test, scene: Scene, name: string, approach: Approach): Promise<void> {
  const gateway = scene.gateways[0] as FaultyGateway
  await t.test(name, async t => {
    await answered(scene, gateway) // some are settled, whatever becomes of the others
    const asks = await approach(scene, gateway, t)
    await gateway.kill()
    await Promise.all(asks)
    await gateway.start()
    await scene.checkBooks(t, gateway)
  })
}

async function killedUnderLoad(t: Test, scene: Scene): Promise<void> {
  const gateway = scene.gateways[0] as FaultyGateway
  await t.test('anywhere, under load', async t => {
    const random = seeded(t)
    for (let round = 0; round < 3; round++) {
      const stop = scene.clients.load(gateway.main, 12, { pauseMs: 0 })
      await sleep(random.int(300, 1200))
      await gateway.kill()
      await stop()
      await gateway.start()
    }
    await scene.checkBooks(t, gateway, { atRandom: true })
  })
}

export async function killOnSqlite(t: Test): Promise<void> {
  const scene = await Scene.open(t, { kind: 'sqlite' })
  await scene.gateway()
  for (const [name, approach] of Object.entries(POINTS)) await killedAt(t, scene, name, approach)
  await killedUnderLoad(t, scene)
  await t.test('the end', t => scene.checkEnd(t))
}

export async function killOnMariadb(t: Test): Promise<void> {
  const store = await mariadbStore()
  t.teardown(() => store.stop())
  const proxy = await startCommitProxy(store.server.port)
  t.teardown(() => proxy.close())
  const scene = await Scene.open(t, { store, storeUrl: store.url.replace(`:${store.server.port}/`, `:${proxy.port}/`) })
  await scene.gateway()
  for (const [name, approach] of Object.entries(POINTS)) await killedAt(t, scene, name, approach)
  await killedAt(t, scene, 'after COMMIT, before its answer', afterCommit(proxy, 'answer'))
  await killedAt(t, scene, 'before COMMIT', afterCommit(proxy, 'commit'))
  await killedUnderLoad(t, scene)
  await t.test('the end', t => scene.checkEnd(t))
}
