/** SIGTERM at each point of a request: what is open is completed and charged, and the exit code is 0. */
import { readFileSync, writeFileSync } from 'node:fs'
import net from 'node:net'
import type { Test } from 'tap'
import { until } from '../support/wait.ts'
import type { Seen } from './clients.ts'
import { answered, endsOf, standingAt, withHalfABody } from './points.ts'
import type { StoreKind } from './stores.ts'
import { type FaultyGateway, idsOf, Scene } from './support.ts'
import { POINTS } from './upstream.ts'

/** Longer than a busy machine takes to let go on what is open when the signal comes. */
const DRAIN = '60s'
/** For what never ends by itself. */
const SHORT_DRAIN = '1s'

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
        const all = await standingAt(scene, gateway, point)
        const goOn = () => {
          for (const { seen } of all) scene.upstream.release(seen.tag)
        }
        return { open: endsOf(all), goOn }
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

/** Asked with a new connection: one that a client keeps open is answered on while the gateway drains. */
function refused(gateway: FaultyGateway): Promise<boolean> {
  const { hostname, port } = new URL(gateway.main)
  const socket = net.connect(Number(port), hostname)
  return new Promise(resolve => {
    socket.once('error', () => resolve(true))
    socket.once('connect', () => {
      socket.destroy()
      resolve(false)
    })
  })
}

async function drained(t: Test, scene: Scene, opening: Opening): Promise<void> {
  const gateway = scene.gateways[0] as FaultyGateway
  const { open, goOn } = await opening(scene, gateway)
  gateway.signal('SIGTERM')
  await until('the signal is acted on', () => refused(gateway))
  t.pass('new connections are refused')
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

/** Starts it again with this time to drain. */
async function withDrain(gateway: FaultyGateway, drain: string): Promise<void> {
  await gateway.stop()
  const config = JSON.parse(readFileSync(gateway.configFile, 'utf8')) as object
  writeFileSync(gateway.configFile, JSON.stringify({ ...config, timeouts: { drain } }))
  await gateway.start()
}

export async function drains(t: Test, kind: StoreKind): Promise<void> {
  const scene = await Scene.open(t, { kind, config: { timeouts: { drain: DRAIN } } })
  await scene.gateway()
  for (const [name, opening] of Object.entries(OPENINGS)) await t.test(name, t => drained(t, scene, opening))
  await t.test('what does not end is ended, and charged as far as it went', async t => {
    const gateway = scene.gateways[0] as FaultyGateway
    await withDrain(gateway, SHORT_DRAIN)
    const open = [...(await standingAt(scene, gateway, 'usage')), ...(await standingAt(scene, gateway, 'silent'))]
    t.equal(await gateway.stop(), 0)
    await Promise.all(endsOf(open))
    await gateway.start()
    await scene.checkBooks(t, gateway, { atRandom: true })
    const rows = await scene.settled(gateway)
    const cut = open.length - [...rows.values()].filter(({ end }) => end !== 'completed').length
    t.equal(cut, 0, 'each is in the books, as cut')
  })
  await t.test('the end', t => scene.checkEnd(t))
}
