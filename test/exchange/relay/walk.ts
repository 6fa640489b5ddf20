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
import { answer } from './answers.ts'
import { type FakeLedger, FakeReply, FakeUpstream } from './fakes.ts'
import { check, checkOver, type Scene } from './model.ts'

const MOST_EVENTS = 40
/** Enough to end any exchange, by events that bring it nearer to its end. */
const MOST_TO_THE_END = 200
/** Of the machine's time, for a thread that decodes an answer on a busy machine. */
const DECODING_MS = 30_000

export interface Ground {
  services: Services
  clock: TestClock
  ledger: FakeLedger
  /** What the log says, since it was last emptied. */
  logged: Record<string, unknown>[]
}

type Event = [name: string, weight: number, act: () => void]

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
    const { ledger, logged, services } = this.#ground
    Object.assign(ledger, { random: this.#random, open: 0, voided: 0, rows: [], asked: [], groups: [] })
    logged.length = 0
    const scene = (this.#scene = this.#begin())
    if (scene === null) return []
    const most = this.#random.int(3, MOST_EVENTS)
    for (let i = 0; i < most && !scene.x.finished; i++) await this.#step(this.#possible(scene))
    await this.#goToTheEnd(scene)
    checkOver(scene)
    assert.deepEqual(
      [services.sweeper.size, services.readOns.size, services.openCount, openAttempts(services)],
      [0, 0, 0, 0],
      'nothing is left: relays, places, exchanges, attempts',
    )
    const failures = logged.filter(({ msg }) => /^exchange failed/.test(String(msg)))
    if (!this.#isFaulty) assert.deepEqual(failures, [], 'nothing fails')
    return scene.trace
  }

  async #goToTheEnd(scene: Scene): Promise<void> {
    const untilMs = performance.now() + DECODING_MS
    for (let i = 0; !this.#isOver(scene); i++) {
      const isLate = i >= MOST_TO_THE_END
      if (isLate && !(this.#isPacked && performance.now() < untilMs)) return
      if (isLate) await new Promise(resolve => setTimeout(resolve, 1)) // the decoder's thread has no clock of ours
      await this.#step(this.#toTheEnd(scene))
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
        dispatch: (_options, handler) => {
          if (this.#random.next() < 0.03) throw new Error('cannot be sent')
          this.#upstreams.push(new FakeUpstream(handler))
          return true
        },
      }) as ReturnType<Services['pools']['of']>
    const isFree = this.#random.next() < 0.15
    const x = exchange(services, reply, this.#random.pick(['main', 'direct']), isFree)
    const { go } = RelayState.prototype
    RelayState.prototype.go = function (this: RelayState, transition) {
      trace.push(transition)
      go.call(this, transition)
    }
    try {
      const body = { model: MODEL, max_tokens: 1000, stream: this.#random.next() < 0.6, messages: [] }
      runPlan(planOf(isFree, Buffer.from(JSON.stringify(body))), x, services)
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
    return { x, relay, reply, ledger, upstreams: this.#upstreams, trace, isClosed: false }
  }

  async #step(events: Event[]): Promise<void> {
    const [name, , act] = this.#choose(events)
    this.events.push(name)
    act()
    const pause = this.#random.next()
    if (pause < 0.7) for (let i = 0; i < 4; i++) await null
    if (pause < 0.1 || this.#isPacked) await new Promise(resolve => setImmediate(resolve))
    check(this.#scene as Scene)
  }

  #choose(events: Event[]): Event {
    let at = this.#random.next() * events.reduce((sum, [, weight]) => sum + weight, 0)
    return events.find(([, weight]) => (at -= weight) < 0) ?? (events.at(-1) as Event)
  }

  /** Its answers are decoded by other threads. */
  get #isPacked(): boolean {
    return this.#scene?.relay.asking.answer.reading?.encoded ?? false
  }

  #possible(scene: Scene): Event[] {
    const { services, clock } = this.#ground
    const { x, relay } = scene
    const ms = this.#random.pick([10, 10, 500, 500, 3_000, 3_000, 20_000, 70_000, 400_000])
    return [
      ...this.#toTheEnd(scene),
      [`time ${ms}`, 1, () => clock.advance(ms)],
      ['shut down', 0.05, () => relay.stop('unavailable')],
      ['a fault', 0.05, () => this.#breakDown(x, services)],
      ['the client leaves', x.closed || x.answered ? 0 : 0.2, () => this.#close(scene)],
    ]
  }

  #breakDown(x: Exchange, services: Services): void {
    this.#isFaulty = true
    fail(x, services, new Error('a fault'))
  }

  /** What brings an exchange nearer to its end, and is sure to come some time. */
  #toTheEnd(scene: Scene): Event[] {
    const { ledger, clock } = this.#ground
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
      const {
        status,
        headers,
        plain,
        chunks: all,
      } = answer(this.#random, { free: x.free, streams: x.facts?.stream ?? false })
      return [
        [`${i} says ${status} ${headers['content-type']}`, 2, () => upstream.head(status, headers, plain, all)],
        reset,
      ]
    }
    if (said === chunks.length) return [[`${i} ends`, 3, () => upstream.end()], reset]
    return [
      [`${i} sends ${chunks[said]?.length}`, paused ? 0.3 : 6, () => upstream.data()],
      [`${i} ends early`, 0.1, () => upstream.end()],
      [`${i} sends and resets`, 0.4, () => this.#sendAndReset(upstream)],
      reset,
    ]
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

function exchange(services: Services, reply: FakeReply, listener: ListenerName, isFree: boolean): Exchange {
  const req = { method: 'POST', headers: { 'x-api-key': KEY }, socket: { remoteAddress: '127.0.0.1' }, complete: true }
  const path = isFree ? '/v1/messages/count_tokens' : '/v1/messages'
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
function planOf(isFree: boolean, body: Buffer): Plan<Fact> {
  const { stages } = PLANS[isFree ? 'count' : 'relay']
  const given: (typeof stages)[number] = x => {
    const scan = protocolRow('messages').body.scan('application/json')
    scan.feed(body)
    x.body.push(body)
    x.bodyBytes = body.length
    x.facts = scan.end()
    return NEXT
  }
  return new Plan<Fact>(stages.map(stage => (stage === readBody ? given : stage)))
}

const openAttempts = ({ health }: Services): number =>
  [...health.states().values()].reduce((sum, { open }) => sum + open, 0)
