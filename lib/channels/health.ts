/**
 * The health of channels, and the claims that attempts have on them: their circuit breakers, their rests (`rests.ts`) and the number of attempts open at each. Health outlives reloads of
 * the catalogue (worlds), and knows nothing of the `status` that administrators set.
 *
 * A channel with one key has one breaker. A channel with several keys has one for itself, which is told what concerns
 * the upstream (no answer, a 5xx), and one for each key, which is told what concerns the key (refused). So one refused
 * key does not stop the others.
 */
import type { Clock } from '../base/clock.ts'
import type { ChannelOrder, ChannelSeen, RestSeen } from '../terms/channel-seen.ts'
import type { BreakerState, ChannelState } from '../terms/records.ts'
import { Breaker, type KeySuspicion, type AttemptOutcome } from './breaker.ts'
import { type RestPlace, Rests, type RestsOptions } from './rests.ts'
import type { CompiledKey } from '../world/compiled-channel.ts'
import type { Candidate } from '../world/table.ts'

export type { AttemptOutcome } from './breaker.ts'

/** The report on one attempt. */
export interface Heard {
  outcome: AttemptOutcome
  /** The account whose request it was. */
  account: number
  /** The upstream's name of the model that it asked for. */
  model: string
  /** The time at which it was sent, monotonic ms. */
  sentMs: number
  /** `retry-after` of an upstream that is too busy, in seconds; 0 = it named none. */
  retryAfterS: number
  /** The channel rested when the attempt began. */
  channelRested: boolean
  /** The key rested when the attempt began. */
  keyRested: boolean
}

/** A breaker has changed its state. */
export interface BreakerChange {
  channel: string
  /** Position among the channel's keys, from 0; null = the breaker is the channel's own. */
  key: number | null
  was: BreakerState
  state: BreakerState
  /** ms until requests may pass again. */
  restMs: number
}

interface HealthOptions {
  clock: Clock
  /** Called when a channel, or one of its keys, begins to rest because the upstream refuses the key. */
  onAuthFailure: (channel: string) => void
  onChange?: (change: BreakerChange) => void
  /**
   * Sends the upstream a harmless request of our own with the key; true = the upstream refuses the key for that too.
   */
  prove?: (channel: string, key: KeyHealth) => Promise<boolean>
  random?: () => number
  rests?: Omit<RestsOptions, 'clock'>
}

/** A key is probed with a request of our own at most this often. */
const PROVE_AGAIN_MS = 60_000

export class Health {
  readonly clock: Clock
  readonly rests: Rests
  readonly #random: () => number
  readonly #options: HealthOptions
  /** Channels of the latest world, by name. */
  #channels = new Map<string, ChannelHealth>()
  /** Health by the channel object of each world, because requests of an older world still use its keys and address. */
  readonly #ofEach = new WeakMap<ChannelIdentity, ChannelHealth>()

  constructor(options: HealthOptions) {
    this.clock = options.clock
    this.#random = options.random ?? Math.random
    this.#options = options
    this.rests = new Rests({ clock: options.clock, ...options.rests })
  }

  /**
   * Takes over the channels of a new world. A channel keeps its health, unless its address has changed; a key keeps its
   * health, unless it is new. The health of channels that are gone is dropped.
   */
  keep(channels: Iterable<ChannelIdentity>): void {
    const kept = new Map<string, ChannelHealth>()
    for (const channel of channels) {
      const health = this.#kept(channel)
      if (health !== this.#channels.get(channel.name)) this.rests.forget(channel.name)
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
      key =>
        before.find(({ secret }) => secret === key.secret) ??
        new KeyHealth(key, several ? new Breaker(this.#random) : null),
    )
    return new ChannelHealth(identity, breaker, keys)
  }

  of(channel: ChannelIdentity): ChannelHealth {
    let health = this.#ofEach.get(channel) ?? this.#channels.get(channel.name)
    if (health === undefined) this.#channels.set(channel.name, (health = this.#create(channel, [])))
    return health
  }

  /** Tells the rests, and the breakers of the channel and of the key, how an attempt ended. */
  report(channel: ChannelHealth, key: KeyHealth, heard: Heard): void {
    const { outcome, account, channelRested, keyRested } = heard
    const now = this.clock.monotonic()
    this.#tellRests(channel, key, heard, now)
    if (key.breaker === null) {
      this.#tell(channel, key, channel.breaker, outcome, account, channelRested, now)
      return
    }
    const ofKey = outcome === 'auth' || outcome === 'busy'
    // an upstream that refuses a key, or is too busy for it, works: that is a success for the channel's own breaker
    this.#tell(channel, null, channel.breaker, ofKey ? 'ok' : outcome, account, channelRested, now)
    this.#tell(channel, key, key.breaker, outcome === 'failed' ? 'ignored' : outcome, account, keyRested, now)
  }

  /** Tells a breaker how an attempt ended. `key` null = the channel's own breaker is told of what concerns no key. */
  #tell(
    channel: ChannelHealth,
    key: KeyHealth | null,
    breaker: Breaker,
    outcome: AttemptOutcome,
    account: number,
    rested: boolean,
    now: number,
  ): void {
    const was = breaker.state(now)
    this.#follow(channel, key, breaker, was, breaker.report(outcome, now, account, rested), now)
  }

  /** A failure says nothing of how busy the upstream is. */
  #tellRests(channel: ChannelHealth, key: KeyHealth, heard: Heard, now: number): void {
    const { outcome, account, model, sentMs, retryAfterS } = heard
    if (outcome === 'busy') {
      if (this.#channels.get(channel.identity.name) !== channel) return // its catalogue's row has changed since
      this.rests.busy(placeOf(channel, key, model), account, sentMs, retryAfterS)
    } else if ((outcome === 'ok' || outcome === 'auth') && now < this.rests.mindsUntilMs)
      this.rests.answered(placeOf(channel, key, model), account, sentMs)
  }

  /** Tells others what followed of a report: a change of state, a refused key. */
  #follow(
    channel: ChannelHealth,
    key: KeyHealth | null,
    breaker: Breaker,
    was: BreakerState,
    suspicion: KeySuspicion,
    now: number,
  ): void {
    const state = breaker.state(now)
    const { name } = channel.identity
    if (state !== was) {
      const place = key === null || key.breaker === null ? null : channel.keys.indexOf(key)
      this.#options.onChange?.({ channel: name, key: place, was, state, restMs: breaker.restMs(now) })
    }
    if (suspicion === 'refused') this.#options.onAuthFailure(name)
    else if (suspicion === 'suspected' && key !== null) this.#proveSoon(channel, key)
  }

  /** Probes the key with a request of our own, because refusals of one account alone may be caused by its requests. */
  #proveSoon(channel: ChannelHealth, key: KeyHealth): void {
    const { prove } = this.#options
    const now = this.clock.monotonic()
    if (prove === undefined || now < key.proveAgainMs) return
    key.proveAgainMs = now + PROVE_AGAIN_MS
    prove(channel.identity.name, key).then(
      refused => {
        if (!refused) return
        const breaker = key.breaker ?? channel.breaker
        const atMs = this.clock.monotonic()
        const was = breaker.state(atMs)
        this.#follow(channel, key, breaker, was, breaker.refuse(atMs), atMs)
      },
      () => {}, // nothing was learnt
    )
  }

  /**
   * Does what an operator wants of a channel, and tells how it stands then; null = there is none of that name. What rests by hand
   * gets no requests, and is asked again after that time as after a failure: by one request at first.
   */
  order(order: ChannelOrder): Omit<ChannelSeen, 'failures' | 'lately'> | null {
    const health = this.#channels.get(order.channel)
    if (health === undefined) return null
    const now = this.clock.monotonic()
    const was = health.breaker.state(now)
    if (order.what === 'rest') health.breaker.restByHand(now, order.forMs)
    if (order.what === 'wake') {
      health.breaker.wake()
      for (const { breaker } of health.keys) breaker?.wake()
      this.rests.forget(order.channel)
    }
    this.#follow(health, null, health.breaker, was, null, now)
    return health.seen(now)
  }

  states(): Map<string, ChannelState> {
    const now = this.clock.monotonic()
    return new Map([...this.#channels].map(([name, channel]) => [name, channel.state(now)]))
  }
}

const sameUpstream = (a: ChannelIdentity, b: ChannelIdentity): boolean =>
  a.connection.origin === b.connection.origin && a.basePath === b.basePath

/** The place that rests when the upstream is too busy: a limit is that of a key, as far as there are several. */
export const placeOf = (
  { identity }: ChannelHealth,
  { breaker, fingerprint }: KeyHealth,
  model: string,
): RestPlace => ({
  channel: identity.name,
  key: breaker === null ? '' : fingerprint,
  model,
})

// --- one channel

/** The identity of a channel over reloads: with another address it is a new channel, which has not failed yet. */
export interface ChannelIdentity {
  name: string
  connection: { origin: string }
  basePath: string
  keys: readonly { secret: string; fingerprint: string }[]
}

export class KeyHealth {
  readonly secret: string
  readonly fingerprint: string
  /** null = the channel has only this key, and the channel's breaker serves for it. */
  readonly breaker: Breaker | null
  /** Monotonic ms before which the key is not probed again. */
  proveAgainMs = 0
  /** The number of attempts under way with this key. */
  open = 0

  constructor({ secret, fingerprint }: { secret: string; fingerprint: string }, breaker: Breaker | null) {
    this.secret = secret
    this.fingerprint = fingerprint
    this.breaker = breaker
  }
}

/** The health of one channel and of its keys: their circuit breakers, and how many attempts are under way. */
export class ChannelHealth {
  readonly identity: ChannelIdentity
  readonly breaker: Breaker
  readonly keys: readonly KeyHealth[]
  /** The number of attempts under way at this channel. */
  open = 0

  constructor(identity: ChannelIdentity, breaker: Breaker, keys: readonly KeyHealth[]) {
    this.identity = identity
    this.breaker = breaker
    this.keys = keys
  }

  /** True when the breakers allow a request. Limits of concurrency are not looked at. */
  mayAsk(nowMs: number): boolean {
    return this.breaker.mayAsk(nowMs) && this.keys.some(key => key.breaker?.mayAsk(nowMs) ?? true)
  }

  state(nowMs: number): ChannelState {
    const own = this.breaker.state(nowMs)
    const keys = this.keys.map(key => key.breaker?.state(nowMs) ?? own)
    return { state: own === 'closed' ? best(keys) : own, keys, open: this.open }
  }

  /** How the channel and its keys stand, for operators. */
  seen(nowMs: number): RestSeen & { keys: RestSeen[] } {
    const of = (breaker: Breaker, open: number): RestSeen => ({
      state: breaker.state(nowMs),
      why: breaker.why,
      restMs: Math.round(breaker.restMs(nowMs)),
      open,
    })
    return { ...of(this.breaker, this.open), keys: this.keys.map(key => of(key.breaker ?? this.breaker, key.open)) }
  }

  /**
   * For a request without another candidate: how often this channel was tried while it rested; null = it may not be.
   */
  triedAnyway(nowMs: number, account: number): number | null {
    return this.keys.some(key => key.breaker?.mayAsk(nowMs) ?? true) ? this.breaker.triedAnyway(nowMs, account) : null
  }
}

/** True when as many attempts are under way at a channel, or with a key, as it may have. */
export const isFull = ({ maxConcurrency }: { maxConcurrency: number }, { open }: ChannelHealth | KeyHealth): boolean =>
  maxConcurrency > 0 && open >= maxConcurrency

const GOODNESS: Record<BreakerState, number> = { open: 0, half_open: 1, closed: 2 }
const best = (states: readonly BreakerState[]): BreakerState =>
  states.reduce((a, b) => (GOODNESS[b] > GOODNESS[a] ? b : a))

// --- claims

/**
 * A claim is the place that one attempt takes at a channel and at one of its keys. It counts as open there from the
 * choice of the channel until `release`, and reports once how the attempt ended, in between or later: what is compressed or long
 * is read when its upstream is done.
 */
export class Claim {
  readonly candidate: Candidate
  readonly key: CompiledKey
  readonly #health: Health
  readonly #ofChannel: ChannelHealth
  readonly #ofKey: KeyHealth
  /** The account that sent the request. */
  readonly #account: number
  /** When true, breakers and rests are not told how the attempt ended. */
  readonly #silent: boolean
  /** True when the channel, or the key, rested when the attempt began, or the attempt is its breaker's probe. */
  readonly #channelRested: boolean
  readonly #keyRested: boolean
  /** True when it rests, and this request was let through. */
  readonly #isTurn: boolean
  readonly #sentMs: number
  #reported = false
  #released = false

  constructor(health: Health, candidate: Candidate, key: CompiledKey, nowMs: number, account: number, silent: boolean) {
    this.candidate = candidate
    this.#account = account
    this.#silent = silent
    this.key = key
    this.#health = health
    this.#ofChannel = health.of(candidate.channel)
    this.#ofKey = this.#ofChannel.keys[key.index] as KeyHealth
    this.#channelRested = !silent && this.#ofChannel.breaker.admit(nowMs)
    this.#keyRested = !silent && (this.#ofKey.breaker?.admit(nowMs) ?? false)
    this.#sentMs = nowMs
    this.#isTurn = nowMs < health.rests.untilMs && !silent && health.rests.admit(this.#place, account, nowMs)
    this.#ofChannel.open++
    this.#ofKey.open++
  }

  get #place(): RestPlace {
    return placeOf(this.#ofChannel, this.#ofKey, this.candidate.upstreamModel)
  }

  /** Reports how the attempt ended. Only the first report counts; returns whether this was the first. */
  report(outcome: AttemptOutcome, retryAfterS?: number): boolean {
    if (this.#reported) return false
    this.#reported = true
    this.#tell(outcome, retryAfterS)
    return true
  }

  /** Reports that an answer broke off whose beginning was reported as good: a failure beside that success. */
  broke(): void {
    this.#tell('failed')
  }

  #tell(outcome: AttemptOutcome, retryAfterS = 0): void {
    if (this.#silent) return
    this.#health.report(this.#ofChannel, this.#ofKey, {
      outcome,
      account: this.#account,
      model: this.candidate.upstreamModel,
      sentMs: this.#sentMs,
      channelRested: this.#channelRested,
      keyRested: this.#keyRested,
      retryAfterS,
    })
  }

  /** Gives the place back. */
  release(): void {
    if (this.#released) return
    this.#released = true
    this.#ofChannel.open--
    this.#ofKey.open--
  }

  /** Gives everything back of a claim with which nobody was asked. */
  drop(): void {
    if (this.#released) return
    if (this.#isTurn) this.#health.rests.giveBack(this.#place, this.#account, this.#health.clock.monotonic())
    this.report('ignored')
    this.release()
  }
}
