/** The points of a request at which a gateway is ended, and how to bring requests there. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Test } from 'tap'
import type { CommitProxy } from '../support/commit-proxy.ts'
import type { Seen } from './clients.ts'
import { type FaultyGateway, idsOf, type Scene, type Standing } from './support.ts'
import { KINDS, type Kind, type Point } from './upstream.ts'

/** What a client has got when the gateway is known to have passed the point. */
const SHOWS: Record<Point, Record<Kind, string>> = {
  silent: { messages: '', chat: '', whole: '' },
  head: { messages: '', chat: '', whole: '' },
  middle: { messages: 'Hello', chat: 'Hello', whole: 'Hello' },
  usage: { messages: 'message_delta', chat: '"stop"', whole: '"usage"' },
  terminal: { messages: 'message_stop', chat: '[DONE]', whole: '"service_tier":"default"}' },
}
/** It only ends a test that waits in vain. */
const SEEN_MS = 60_000

async function shown(seen: Seen, text: string): Promise<void> {
  for (const until = Date.now() + SEEN_MS; !seen.text.includes(text); await sleep(5))
    if (Date.now() > until) throw new Error(`${seen.tag}: waited for ${text}, saw ${seen.text}`)
}

/** One request of each kind, standing at this point. */
export async function standingAt(scene: Scene, gateway: FaultyGateway, hold: Point): Promise<Standing[]> {
  const all = await Promise.all(KINDS.map(kind => scene.standing(gateway, { kind, hold })))
  for (const { seen } of all) await shown(seen, SHOWS[hold][seen.kind])
  return all
}

const at =
  (hold: Point): Approach =>
  (scene, gateway) =>
    standingAt(scene, gateway, hold).then(endsOf)

export const endsOf = (all: readonly Standing[]): Promise<Seen>[] => all.map(({ ended }) => ended)

/** One request of each kind, of which the gateway has half the body. */
export async function withHalfABody(
  scene: Scene,
  gateway: FaultyGateway,
  rest: Promise<void>,
): Promise<Promise<Seen>[]> {
  const asks = KINDS.map(kind => scene.clients.ask(gateway.main, { kind, rest }))
  for (const until = Date.now() + SEEN_MS; !(await inflight(gateway, KINDS.length)); await sleep(20))
    if (Date.now() > until) throw new Error('half a body did not come to be seen')
  return asks
}

/** One request of each kind, answered. */
export const answered = (scene: Scene, gateway: FaultyGateway): Promise<Seen[]> =>
  Promise.all(KINDS.map(kind => scene.clients.ask(gateway.main, { kind })))

/** Brings a request to its point; the gateway is killed when it resolves, unless it has been already. */
export type Approach = (scene: Scene, gateway: FaultyGateway, t: Test) => Promise<Promise<Seen>[]>

export const POINTS: Record<string, Approach> = {
  'before the hold': (scene, gateway) => withHalfABody(scene, gateway, new Promise(() => {})),
  'after the hold': at('silent'),
  async 'after the head'(scene, gateway) {
    const all = await standingAt(scene, gateway, 'head')
    await sleep(50) // nothing shows that the head has arrived
    return endsOf(all)
  },
  'in the middle': at('middle'),
  'after the usage': at('usage'),
  'after the terminal event': at('terminal'),
  async 'between journal and store'(scene, gateway, t) {
    await answered(scene, gateway) // so that there are leases, and nobody has to wait for one
    await scene.settled(gateway)
    const unlock = await scene.store.lock()
    const seen = await answered(scene, gateway)
    t.ok(
      seen.every(({ status }) => status === 200),
      'served from memory',
    )
    await gateway.kill()
    await unlock()
    t.strictSame(await scene.store.has(idsOf(seen)), [], 'the store does not have them')
    return []
  },
}

const inflight = async (gateway: FaultyGateway, count: number): Promise<boolean> => {
  const text = await (await fetch(`${gateway.ops}/metrics`)).text()
  const open = [...text.matchAll(/^gateway_inflight\{[^}]*\} (\d+)/gm)].map(match => Number(match[1]))
  return open.reduce((sum, n) => sum + n, 0) >= count
}

export function afterCommit(proxy: CommitProxy, lost: 'answer' | 'commit'): Approach {
  return async (scene, gateway, t) => {
    await scene.settled(gateway)
    const [{ seen, ended }] = (await standingAt(scene, gateway, 'middle')) as [Standing]
    const { tag, id } = seen
    const happened = proxy.loseNext(lost, id as string)
    scene.upstream.release(tag)
    await ended
    await happened
    await gateway.kill()
    t.strictSame(await scene.store.has([id as string]), lost === 'answer' ? [id] : [], 'as the store has it')
    return []
  }
}
