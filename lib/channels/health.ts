/**
 * How the channels fare: their breakers and what is open at them. It outlives worlds, and an administrator's `status` is
 * none of its business.
 *
 * A channel with one key has one breaker. With several, the channel's own hears what is about the upstream (no answer, a
 * 5xx), and each key's hears what is about the key (refused, too busy): one exhausted key does not rest the others.
 */
import type { Clock } from '../base/clock.ts'
import type { BreakerState, ChannelState } from '../terms/channel.ts'
import { Breaker, type Credential, type Outcome } from './breaker.ts'

export type { Outcome } from './breaker.ts'

/** What decides whether a channel is still the one that failed. */
export interface ChannelIdentity {
  name: string
  connection: { origin: string }
  basePath: string
  keys: readonly { secret: string }[]
}

/** One upstream key's part. */
export class KeyHealth {
  readonly secret: string
  /** null: the channel's only key, which the channel's breaker speaks for. */
  readonly breaker: Breaker | null
  /** Monotonic ms. */
  proveAgainMs = 0
  /** Attempts under way. */
  open = 0

  constructor(secret: string, breaker: Breaker | null) {
    this.secret = secret
    this.breaker = breaker
  }
}

export class ChannelHealth {
  readonly identity: ChannelIdentity
  readonly breaker: Breaker
  readonly keys: readonly KeyHealth[]
  /** Attempts under way. */
  open = 0

  constructor(identity: ChannelIdentity, breaker: Breaker, keys: readonly KeyHealth[]) {
    this.identity = identity
    this.breaker = breaker
    this.keys = keys
  }

  /** By the breakers: what is full is another question. */
  mayAsk(nowMs: number): boolean {
    return this.breaker.mayAsk(nowMs) && this.keys.some(key => key.breaker?.mayAsk(nowMs) ?? true)
  }

  state(nowMs: number): ChannelState {
    const own = this.breaker.state(nowMs)
    const keys = this.keys.map(key => key.breaker?.state(nowMs) ?? own)
    return { state: own === 'closed' ? best(keys) : own, keys, open: this.open }
  }

  /** For a request that has no other candidate: how often this one was asked in vain lately; null = it may not be asked. */
  triedAnyway(nowMs: number): number | null {
    return this.keys.some(key => key.breaker?.mayAsk(nowMs) ?? true) ? this.breaker.triedAnyway(nowMs) : null
  }

  restsForBusy(nowMs: number): boolean {
    if (this.breaker.restsForBusy()) return true
    const rest = this.keys.map(key => key.breaker).filter(breaker => breaker !== null)
    return rest.length > 0 && rest.every(one => !one.mayAsk(nowMs)) && rest.some(breaker => breaker.restsForBusy())
  }

  /** Until the first moment when it may be asked again. */
  restMs(nowMs: number): number {
    const keys = this.keys.map(key => key.breaker?.restMs(nowMs) ?? 0)
    return Math.max(this.breaker.restMs(nowMs), Math.min(...keys))
  }
}

/** One attempt's verdict. */
export interface Heard {
  outcome: Outcome
  /** Whose request it was. */
  account: number
  /** It was made while its channel, or key, rested. */
  channelRested: boolean
  keyRested: boolean
  /** As the upstream named it; 0 = it did not. */
  retryAfterS: number
}

export interface BreakerChange {
  channel: string
  /** Its place among the channel's keys; null = the channel itself. */
  key: number | null
  was: BreakerState
  state: BreakerState
  restMs: number
}

export interface HealthOptions {
  clock: Clock
  /** A channel, or one of its keys, begins to rest because its upstream refuses the key. */
  onAuthFailure: (channel: string) => void
  onChange?: (change: BreakerChange) => void
  /** Asks the upstream something harmless with the key: true when it refuses the key for that too. */
  prove?: (channel: string, key: KeyHealth) => Promise<boolean>
  random?: () => number
}

/** A question of our own about a key is not asked again within this. */
const PROVE_AGAIN_MS = 60_000

const GOODNESS: Record<BreakerState, number> = { open: 0, half_open: 1, closed: 2 }
const best = (states: readonly BreakerState[]): BreakerState =>
  states.reduce((a, b) => (GOODNESS[b] > GOODNESS[a] ? b : a))

export class Health {
  readonly clock: Clock
  readonly #random: () => number
  readonly #options: HealthOptions
  /** Of the latest world, by name. */
  #channels = new Map<string, ChannelHealth>()
  /** A request of an older world goes on with the keys and the address that it knew. */
  readonly #ofEach = new WeakMap<ChannelIdentity, ChannelHealth>()

  constructor(options: HealthOptions) {
    this.clock = options.clock
    this.#random = options.random ?? Math.random
    this.#options = options
  }

  /** The channels of a new world: one with another address is a new one, as is a new key; what is gone is forgotten. */
  keep(channels: Iterable<ChannelIdentity>): void {
    const kept = new Map<string, ChannelHealth>()
    for (const channel of channels) {
      const health = this.#kept(channel)
      kept.set(channel.name, health)
      this.#ofEach.set(channel, health)
    }
    this.#channels = kept
  }

  #kept(channel: ChannelIdentity): ChannelHealth {
    const before = this.#channels.get(channel.name)
    if (before === undefined || !sameUpstream(before.identity, channel)) return this.#create(channel, [])
    const same = channel.keys.every(({ secret }, i) => before.keys[i]?.secret === secret)
    if (same && before.keys.length === channel.keys.length) return before
    const single = channel.keys.length === 1 || before.keys.length === 1
    return this.#create(channel, single ? [] : before.keys, single ? undefined : before.breaker)
  }

  #create(identity: ChannelIdentity, before: readonly KeyHealth[], breaker = new Breaker(this.#random)): ChannelHealth {
    const several = identity.keys.length > 1
    const keys = identity.keys.map(
      ({ secret }) =>
        before.find(key => key.secret === secret) ?? new KeyHealth(secret, several ? new Breaker(this.#random) : null),
    )
    return new ChannelHealth(identity, breaker, keys)
  }

  of(channel: ChannelIdentity): ChannelHealth {
    let health = this.#ofEach.get(channel) ?? this.#channels.get(channel.name)
    if (health === undefined) this.#channels.set(channel.name, (health = this.#create(channel, [])))
    return health
  }

  report(channel: ChannelHealth, key: KeyHealth, heard: Heard): void {
    const { outcome, account, channelRested, keyRested, retryAfterS } = heard
    if (key.breaker === null) {
      this.#watch(channel, key, b => b.report(outcome, this.clock.monotonic(), account, channelRested, retryAfterS))
      return
    }
    const ofKey = outcome === 'auth' || outcome === 'busy'
    // an upstream that refuses a key, or is too busy for it, is up
    this.#watch(channel, null, b => b.report(ofKey ? 'ok' : outcome, this.clock.monotonic(), account, channelRested))
    const said = outcome === 'failed' ? 'ignored' : outcome
    this.#watch(channel, key, b => b.report(said, this.clock.monotonic(), account, keyRested, retryAfterS))
  }

  /** Tells a breaker something and others what came of it. `key`: it is about the key. */
  #watch(channel: ChannelHealth, key: KeyHealth | null, tell: (breaker: Breaker) => Credential): void {
    const breaker = key?.breaker ?? channel.breaker
    const was = breaker.state(this.clock.monotonic())
    const credential = tell(breaker)
    const now = this.clock.monotonic()
    const state = breaker.state(now)
    const { name } = channel.identity
    const place = key === null || key.breaker === null ? null : channel.keys.indexOf(key)
    if (state !== was) this.#options.onChange?.({ channel: name, key: place, was, state, restMs: breaker.restMs(now) })
    if (credential === 'refused') this.#options.onAuthFailure(name)
    else if (credential === 'suspected' && key !== null) this.#proveSoon(channel, key)
  }

  /** Refusals of one account's requests may be about the requests. */
  #proveSoon(channel: ChannelHealth, key: KeyHealth): void {
    const { prove } = this.#options
    const now = this.clock.monotonic()
    if (prove === undefined || now < key.proveAgainMs) return
    key.proveAgainMs = now + PROVE_AGAIN_MS
    prove(channel.identity.name, key).then(
      refused => {
        if (refused) this.#watch(channel, key, breaker => breaker.refuse(this.clock.monotonic()))
      },
      () => {}, // nothing was learnt
    )
  }

  states(): Map<string, ChannelState> {
    const now = this.clock.monotonic()
    return new Map([...this.#channels].map(([name, channel]) => [name, channel.state(now)]))
  }
}

const sameUpstream = (a: ChannelIdentity, b: ChannelIdentity): boolean =>
  a.connection.origin === b.connection.origin && a.basePath === b.basePath
