/** Two gateways on one store, and one account whose money ends: never more than there is, never less. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { Seen } from './clients.ts'
import type { MariadbStore } from './stores.ts'
import { EDGE_KEY, type FaultyGateway, Scene } from './support.ts'

const EDGE = 40_000
/** A holder on the same host is missed after 5 s; a busy machine may take longer. */
const BACK_MS = 60_000
const CROWD = 6
const ASK = { key: EDGE_KEY, kind: 'messages' } as const
/** In the text of the refusal of an estimate: what is there, and what would be held. */
const AMOUNTS = /剩余额度: ¥(-?[\d.]+), 需要预扣费额度: ¥([\d.]+)/

const micro = (amount: string | undefined) => Math.round(Number(amount) * 1e6)

const left = async (gateway: FaultyGateway): Promise<number> =>
  micro(String((await gateway.admin('GET', '/admin/accounts/edge'))['balance']))

/** One after the other, here and there, until the money is refused. Then what is left is less than what one needs. */
async function spend(t: Test, scene: Scene, gateways: FaultyGateway[]): Promise<number> {
  const untilMs = Date.now() + BACK_MS
  for (let turn = 0; ; turn++) {
    const gateway = gateways[turn % gateways.length] as FaultyGateway
    const seen = await scene.clients.ask(gateway.main, ASK)
    if (seen.status === 200) continue
    // the rest is in the other gateway's lease, and not given back within the second that a request waits for money
    const comesAgain = seen.status === 503 || !AMOUNTS.test(seen.text)
    if (comesAgain && Date.now() < untilMs) {
      await sleep(100)
      continue
    }
    t.equal(seen.status, 403, 'the money is refused, and nothing else')
    await scene.settled(gateway)
    const rest = await left(gateway)
    const [, available, need] = AMOUNTS.exec(seen.text) ?? []
    t.ok(rest >= 0 && rest < micro(need), `${rest} is left, ${need} is needed after ${turn}`)
    t.equal(micro(available), rest, 'the refusal says what there is')
    return micro(need)
  }
}

/** Many at once on both, until everybody has been refused. */
async function crowd(scene: Scene, gateways: FaultyGateway[]): Promise<void> {
  const one = async (gateway: FaultyGateway) => {
    for (let seen: Seen | null = null; seen === null || seen.status === 200; )
      seen = await scene.clients.ask(gateway.main, ASK)
  }
  await Promise.all(gateways.flatMap(gateway => Array.from({ length: CROWD }, () => one(gateway))))
}

const topUp = (gateway: FaultyGateway, reference: string) =>
  gateway.admin('POST', '/admin/accounts/edge/topups', { amount: EDGE / 1e6, reference })

/** With a lease, and three requests open: what is open at a kill is charged nothing. */
async function killedWithLeases(t: Test, scene: Scene, gateway: FaultyGateway, reference: string): Promise<void> {
  await topUp(gateway, reference)
  const open = await Promise.all(Array.from({ length: 3 }, () => scene.standing(gateway, { ...ASK, hold: 'silent' })))
  const { leased } = await gateway.admin('GET', '/admin/audit')
  t.ok(micro(String(leased)) > 0, `${leased} is leased`)
  await gateway.kill()
  await Promise.all(open.map(({ ended }) => ended))
}

async function free(t: Test, gateway: FaultyGateway): Promise<void> {
  for (const until = Date.now() + BACK_MS; Date.now() < until; await sleep(100)) {
    const { held } = await gateway.admin('GET', '/admin/accounts/edge')
    const { leased } = await gateway.admin('GET', '/admin/audit')
    if (held === '0.000000' && micro(String(leased)) === 0) {
      t.pass('the money is back')
      return
    }
  }
  t.fail('the money is still leased')
}

/** The catalogue knows the opening balance only; the rest was paid in. */
const books = (t: Test, scene: Scene, gateway: FaultyGateway, topUps: number) =>
  scene.checkBooks(t, gateway, { poor: EDGE_KEY, edge: EDGE * (1 + topUps) })

/** In databases of their own, on two hosts and on one. */
export function twoGateways(t: Test, store: MariadbStore): void {
  for (const [name, journals] of [
    ['on two hosts', ['journal-a', 'journal-b']],
    ['on one host, with one journal folder', ['journal', 'journal']],
  ] as const)
    t.test(name, t => untilTheEnd(t, store, journals))
}

async function untilTheEnd(t: Test, store: MariadbStore, journals: readonly [string, string]): Promise<void> {
  const url = await store.server.database(`of_${journals[0].replace('-', '_')}`)
  const scene = await Scene.open(t, { store: { ...store, url }, edge: EDGE })
  const first = await scene.gateway(journals[0])
  const second = await scene.gateway(journals[1])
  const both = [first, second]

  await t.test('in turn to the end of the money', async t => {
    await spend(t, scene, both)
    await books(t, scene, first, 0)
  })
  await t.test('many at once to the end of the money', async t => {
    await topUp(first, 'crowd')
    await crowd(scene, both)
    await spend(t, scene, both)
    await books(t, scene, second, 1)
  })
  await t.test('one is killed with leases: what it had can be spent again', async t => {
    await killedWithLeases(t, scene, second, 'killed')
    if (journals[0] !== journals[1]) await second.start() // nobody else sees its journal's lock
    await free(t, first)
    await spend(t, scene, [first])
    if (!second.running) await second.start()
    await books(t, scene, second, 2)
  })
  await t.test('the end', t => scene.checkEnd(t))
}
