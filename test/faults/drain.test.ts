/** SIGTERM at each point of a request: what is open is completed and charged, and the exit code is 0. */
import { setTimeout as sleep } from 'node:timers/promises'
import t, { type Test } from 'tap'
import type { Seen } from './clients.ts'
import { answered, standingAt, withHalfABody } from './points.ts'
import type { StoreKind } from './stores.ts'
import { type FaultyGateway, idsOf, Scene } from './support.ts'
import { POINTS } from './upstream.ts'

/** Long enough for a signal to be acted on; whatever is released before is a test of less. */
const SIGNALLED_MS = 200

/** What is open when the signal comes, and what lets it go on. */
type Opening = (scene: Scene, gateway: FaultyGateway) => Promise<{ open: Promise<Seen>[]; goOn(): unknown }>

const OPENINGS: Record<string, Opening> = {
  async 'half a body'(scene, gateway) {
    const { promise, resolve } = Promise.withResolvers<void>()
    return { open: await withHalfABody(scene, gateway, promise), goOn: resolve }
  },
  ...Object.fromEntries(
    POINTS.map((point): [string, Opening] => [
      point,
      async (scene, gateway) => {
        const open = await standingAt(scene, gateway, point)
        const tags = scene.clients.seen.slice(-open.length).map(({ tag }) => tag)
        const goOn = () => {
          for (const tag of tags) scene.upstream.release(tag)
        }
        return { open, goOn }
      },
    ]),
  ),
  async 'between journal and store'(scene, gateway) {
    await answered(scene, gateway)
    await scene.settled(gateway)
    const unlock = await scene.store.lock()
    return { open: (await answered(scene, gateway)).map(seen => Promise.resolve(seen)), goOn: unlock }
  },
}

const refused = (gateway: FaultyGateway): Promise<boolean> =>
  fetch(gateway.main).then(
    () => false,
    () => true,
  )

async function drained(t: Test, scene: Scene, opening: Opening): Promise<void> {
  const gateway = scene.gateways[0] as FaultyGateway
  const { open, goOn } = await opening(scene, gateway)
  gateway.signal('SIGTERM')
  await sleep(SIGNALLED_MS)
  t.ok(await refused(gateway), 'new connections are refused')
  await goOn()
  const seen = await Promise.all(open)
  t.ok(
    seen.every(({ status, whole }) => status === 200 && whole),
    'what was open is answered whole',
  )
  t.equal(await gateway.ended(), 0)
  t.strictSame((await scene.store.has(idsOf(seen))).sort(), idsOf(seen).sort(), 'the store has them at the end')
  await gateway.start()
  await scene.checkBooks(t, gateway)
}

for (const kind of ['sqlite', 'mysql'] satisfies StoreKind[]) {
  t.test(kind, async t => {
    const scene = await Scene.open(t, { kind, config: { timeouts: { drain: '3s' } } })
    await scene.gateway()
    for (const [name, opening] of Object.entries(OPENINGS)) await t.test(name, t => drained(t, scene, opening))
    await t.test('what does not end is ended, and charged as far as it went', async t => {
      const gateway = scene.gateways[0] as FaultyGateway
      const open = [...(await standingAt(scene, gateway, 'usage')), ...(await standingAt(scene, gateway, 'silent'))]
      t.equal(await gateway.stop(), 0)
      await Promise.all(open)
      await gateway.start()
      await scene.checkBooks(t, gateway, { atRandom: true })
      const rows = await scene.settled(gateway)
      const cut = open.length - [...rows.values()].filter(({ end }) => end !== 'completed').length
      t.equal(cut, 0, 'each is in the books, as cut')
    })
    await t.test('the end', t => scene.checkEnd(t))
  })
}
