/** One walk of a relay: a real exchange, from its plan on, to which chance does what upstreams, clients, stores and time may do. */
import assert from 'node:assert/strict'
import type { IncomingMessage } from 'node:http'
import { Exchange, type ListenerName } from '../../../lib/exchange/record/exchange.ts'
import { fail, onClose, NEXT } from '../../../lib/exchange/record/ending.ts'
import { findTarget } from '../../../lib/exchange/paths.ts'
import { type Fact, Plan, runPlan } from '../../../lib/exchange/plan.ts'
import { PLANS } from '../../../lib/exchange/plans.ts'
import type { Relay } from '../../../lib/exchange/relay/relay.ts'
import { RelayState } from '../../../lib/exchange/relay/states.ts'
import type { Services } from '../../../lib/exchange/record/services.ts'
import { readBody } from '../../../lib/exchange/stages/body.ts'
import { protocolRow } from '../../../lib/protocols/table.ts'
import type { Reply } from '../../../lib/base/reply.ts'
import type { TestClock } from '../../support/clock.ts'
import type { Random } from '../../support/random.ts'
import { KEY, MODEL } from '../support/gateway.ts'
import { answer, type Said, type Spoken } from './answers.ts'
import type { Elsewhere } from './elsewhere.ts'
import { type FakeLedger, FakeReply, FakeUpstream } from './fakes.ts'
import { check, checkOver, type Scene } from './model.ts'

/** A model of its own, so that no answer of `MODEL` has a picture's worth of money for its text. */
export const PICTURES = 'pictures'
const MOST_EVENTS = 40
/** Enough to end any exchange, by events that bring it nearer to its end. */
const MOST_TO_THE_END = 400

export interface Ground {
  services: Services
  clock: TestClock
  ledger: FakeLedger
  elsewhere: Elsewhere
  /** Results of the attempts that were reported, and reasons for which answers were read on no longer. */
  counted: { reports: string[]; readOnsClosed: string[] }
  /** What the log says, since it was last emptied. */
  logged: Record<string, unknown>[]
}

type Event = [name: string, weight: number, act: () => void | Promise<void>]

/** What is asked, as a client or an upstream speaks. */
type Asked = Spoken | 'count'
const PATHS: Record<Asked, string> = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  images: '/v1/images/generations',
  count: '/v1/messages/count_tokens',
}
/** Answers cost the same whichever way they come. */
const ASKED: readonly Asked[] = ['messages', 'messages', 'messages', 'messages', 'chat', 'count', 'images']

export class Walk {
  readonly #ground: Ground
  readonly #random: Random
  readonly #upstreams: FakeUpstream[] = []
  readonly events: string[] = []
  #isFaulty = false
  #scene: Scene | null = null
  trace: Scene['trace'] = []

  constructor(ground: Ground, random: Random) {
    this.#ground = ground
    this.#random = random
  }

  /** The transitions that were made. Throws where the relay does what the model does not allow. */
  async go(): Promise<Scene['trace']> {
    const { ledger, logged, services, elsewhere, counted } = this.#ground
    Object.assign(ledger, { random: this.#random, open: 0, voided: 0, rows: [], asked: [], groups: [] })
    elsewhere.begin(this.#random)
    logged.length = 0
    Object.assign(counted, { reports: [], readOnsClosed: [] })
    const scene = (this.#scene = this.#begin())
    if (scene === null) return []
    const most = this.#random.int(3, MOST_EVENTS)
    for (let i = 0; i < most && !scene.x.finished; i++) await this.#step(this.#possible(scene))
    await this.#goToTheEnd(scene)
    scene.isDisturbed ||= elsewhere.hasRefused
    checkOver(scene)
    const { sweeper, readOns, openCount, buffered } = services
    assert.deepEqual(
      [sweeper.size, readOns.size, openCount, openAttempts(services), buffered.bytes, elsewhere.drafts.size],
      [0, 0, 0, 0, 0, 0],
      'nothing is left: relays, places, exchanges, attempts, memory, files',
    )
    assert.equal(counted.reports.length, scene.x.attempts, 'each attempt is reported once')
    assert.ok(counted.readOnsClosed.length <= 1, 'what is read on is closed once')
    const failures = logged.filter(({ msg }) => /^exchange failed/.test(String(msg)))
    if (!this.#isFaulty) assert.deepEqual(failures, [], 'nothing fails')
    return scene.trace
  }

  async #goToTheEnd(scene: Scene): Promise<void> {
    for (let i = 0; i < MOST_TO_THE_END && !this.#isOver(scene); i++) await this.#step(this.#toTheEnd(scene))
    const { elsewhere } = this.#ground
    for (let work = elsewhere.works[0]; work !== undefined; work = elsewhere.works[0]) {
      await elsewhere.go(work)
      await soon()
    }
  }

  #isOver({ x, isClosed }: Scene): boolean {
    return x.finished && isClosed && this.#upstreams.every(({ phase }) => phase === 'over')
  }

  #begin(): Scene | null {
    const { services, ledger } = this.#ground
    const reply = new FakeReply(this.#random)
    const { trace } = this
    services.pools.of = () =>
      ({
        dispatch: ({ path }, handler) => {
          if (this.#random.next() < 0.03) throw new Error('cannot be sent')
          this.#upstreams.push(new FakeUpstream(handler, spokenAt(path)))
          return true
        },
      }) as ReturnType<Services['pools']['of']>
    const asked = this.#random.pick(ASKED)
    const x = exchange(services, reply, this.#random.pick(['main', 'direct']), PATHS[asked])
    const { go } = RelayState.prototype
    RelayState.prototype.go = function (this: RelayState, transition) {
      trace.push(transition)
      go.call(this, transition)
    }
    try {
      const stream = asked !== 'images' && this.#random.next() < 0.6
      const said =
        asked === 'images'
          ? { model: PICTURES, prompt: 'a cat', n: 2 }
          : { messages: [{ role: 'user', content: 'Hi' }] }
      const body = { model: MODEL, max_tokens: 1000, stream, ...said }
      runPlan(planOf(asked, Buffer.from(JSON.stringify(body))), x, services)
    } finally {
      RelayState.prototype.go = go
    }
    if (x.relay === null) {
      onClose(x, services)
      return null
    }
    const relay = x.relay as Relay
    relay.state.go = transition => {
      trace.push(transition)
      go.call(relay.state, transition)
    }
    const { elsewhere } = this.#ground
    return {
      x,
      relay,
      reply,
      ledger,
      elsewhere,
      upstreams: this.#upstreams,
      trace,
      isClosed: false,
      isDisturbed: false,
    }
  }

  async #step(events: Event[]): Promise<void> {
    const [name, , act] = this.#choose(events)
    this.events.push(name)
    await act()
    const pause = this.#random.next()
    if (pause < 0.7) for (let i = 0; i < 4; i++) await null
    if (pause < 0.1) await soon()
    check(this.#scene as Scene)
  }

  #choose(events: Event[]): Event {
    let at = this.#random.next() * events.reduce((sum, [, weight]) => sum + weight, 0)
    return events.find(([, weight]) => (at -= weight) < 0) ?? (events.at(-1) as Event)
  }

  #possible(scene: Scene): Event[] {
    const { services, clock } = this.#ground
    const { x, relay } = scene
    const ms = this.#random.pick([10, 10, 500, 500, 3_000, 3_000, 20_000, 70_000, 400_000])
    return [
      ...this.#toTheEnd(scene),
      [`time ${ms}`, 1, () => clock.advance(ms)],
      ['shut down', 0.05, () => this.#disturb(scene, () => relay.stop('unavailable'))],
      ['a fault', 0.05, () => this.#disturb(scene, () => this.#breakDown(x, services))],
      ['the client leaves', x.closed || x.answered ? 0 : 0.2, () => this.#close(scene)],
    ]
  }

  #disturb(scene: Scene, act: () => void): void {
    scene.isDisturbed = true
    act()
  }

  #breakDown(x: Exchange, services: Services): void {
    this.#isFaulty = true
    fail(x, services, new Error('a fault'))
  }

  /** What brings an exchange nearer to its end, and is sure to come some time. */
  #toTheEnd(scene: Scene): Event[] {
    const { ledger, clock, elsewhere } = this.#ground
    const { reply, x } = scene
    const events: Event[] = this.#upstreams.flatMap((upstream, i) => this.#ofUpstream(upstream, i))
    if (reply.waiting !== null) events.push(['drained', 2, () => this.#drain(reply)])
    if ((x.answered || reply.isDestroyed) && !scene.isClosed) events.push(['closed', 1, () => this.#close(scene)])
    if (ledger.asked.length > 0)
      events.push([
        'the store says',
        2,
        () => ledger.asked.shift()?.(this.#random.pick([true, true, false, new Error('the store is away')])),
      ])
    for (const work of elsewhere.works) events.push([work.what, 2, () => elsewhere.go(work)])
    if (ledger.groups.length > 0) events.push(['kept', 2, () => ledger.groups.shift()?.keep()])
    return events.length > 0 ? events : [['time', 1, () => clock.advance(1_000_000)]]
  }

  #ofUpstream(upstream: FakeUpstream, i: number): Event[] {
    const { phase, paused, chunks, said } = upstream
    const x = this.#scene?.x as Exchange
    const reset: Event = [`${i} resets`, 0.5, () => upstream.reset()]
    if (phase === 'over') return []
    if (phase === 'connecting') return [[`${i} connects`, 3, () => upstream.connect()], reset]
    if (phase === 'asked') {
      const said = this.#sayingOf(upstream, x)
      return [[`${i} says ${said.status} ${said.headers['content-type']}`, 2, () => upstream.head(said)], reset]
    }
    if (said === chunks.length) return [[`${i} ends`, 3, () => upstream.end()], reset]
    return [
      [`${i} sends ${chunks[said]?.length}`, paused ? 0.3 : 6, () => upstream.data()],
      [`${i} ends early`, 0.2, () => upstream.end()],
      [`${i} sends and resets`, 0.4, () => this.#sendAndReset(upstream)],
      reset,
    ]
  }

  #sayingOf(upstream: FakeUpstream, x: Exchange): Said {
    const { spoken } = upstream
    return (upstream.will ??= answer(this.#random, { free: x.free, streams: x.facts?.stream ?? false, spoken }))
  }

  /** In one tick. */
  #sendAndReset(upstream: FakeUpstream): void {
    upstream.data()
    upstream.reset()
  }

  #drain(reply: FakeReply): void {
    const act = reply.waiting
    reply.waiting = null
    act?.()
  }

  #close(scene: Scene): void {
    scene.isClosed = true
    scene.reply.isDestroyed = true
    onClose(scene.x, this.#ground.services)
  }
}

function exchange(services: Services, reply: FakeReply, listener: ListenerName, path: string): Exchange {
  const req = { method: 'POST', headers: { 'x-api-key': KEY }, socket: { remoteAddress: '127.0.0.1' }, complete: true }
  services.openCount++
  const x = new Exchange({
    id: services.nextId(),
    listener,
    world: services.world,
    req: req as unknown as IncomingMessage,
    reply: reply as unknown as Reply,
    path,
    query: '',
    startedMs: services.clock.monotonic(),
  })
  x.aimAt(findTarget(x))
  return x
}

/** The plan, with a body that is there already. */
function planOf(asked: Asked, body: Buffer): Plan<Fact> {
  const { stages } = PLANS[asked === 'count' ? 'count' : 'relay']
  const given: (typeof stages)[number] = x => {
    const scan = protocolRow(asked === 'count' ? 'messages' : asked).body.scan('application/json')
    scan.feed(body)
    x.body.push(body)
    x.bodyBytes = body.length
    x.facts = scan.end()
    return NEXT
  }
  return new Plan<Fact>(stages.map(stage => (stage === readBody ? given : stage)))
}

const soon = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

const spokenAt = (path: string): Spoken =>
  path.includes('chat') ? 'chat' : path.includes('images') ? 'images' : 'messages'

const openAttempts = ({ health }: Services): number =>
  [...health.states().values()].reduce((sum, { open }) => sum + open, 0)
