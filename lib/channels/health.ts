/**
 * The health of channels: their circuit breakers, their rests (`rests.ts`) and the number of attempts open at each. Health outlives reloads of
 * the catalogue (worlds), and knows nothing of the `status` that administrators set.
 *
 * A channel with one key has one breaker. A channel with several keys has one for itself, which is told what concerns
 * the upstream (no answer, a 5xx), and one for each key, which is told what concerns the key (refused). So one refused
 * key does not stop the others.
 */
import type { Clock } from '../base/clock.ts'
import type { BreakerState, ChannelState } from '../terms/records.ts'
import { Breaker, type Credential, type Outcome } from './breaker.ts'
import { ChannelHealth, type ChannelIdentity, KeyHealth } from './channel-health.ts'
import { type RestPlace, Rests, type RestsOptions } from './rests.ts'

export type { Outcome } from './breaker.ts'

/** The report on one attempt. */
export interface Heard {
  outcome: Outcome
  /** The account whose request it was. */
  account: number
  /** The upstream's name of the model that it asked for. */
  model: string
  /** When it was sent, monotonic ms. */
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

export interface HealthOptions {
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
    this.#tellRests(channel, key, heard)
    if (key.breaker === null) {
      this.#watch(channel, key, b => b.report(outcome, this.clock.monotonic(), account, channelRested))
      return
    }
    const ofKey = outcome === 'auth' || outcome === 'busy'
    // an upstream that refuses a key, or is too busy for it, works: that is a success for the channel's own breaker
    this.#watch(channel, null, b => b.report(ofKey ? 'ok' : outcome, this.clock.monotonic(), account, channelRested))
    const said = outcome === 'failed' ? 'ignored' : outcome
    this.#watch(channel, key, b => b.report(said, this.clock.monotonic(), account, keyRested))
  }

  /** A failure says nothing of how busy the upstream is. */
  #tellRests(channel: ChannelHealth, key: KeyHealth, { outcome, account, model, sentMs, retryAfterS }: Heard): void {
    if (outcome === 'busy') {
      if (this.#channels.get(channel.identity.name) !== channel) return // its catalogue's row has changed since
      this.rests.busy(placeOf(channel, key, model), account, sentMs, retryAfterS)
    } else if ((outcome === 'ok' || outcome === 'auth') && this.rests.minds(this.clock.monotonic()))
      this.rests.answered(placeOf(channel, key, model), account, sentMs)
  }

  /**
   * Tells a breaker something, and then tells others what followed: a change of state, a refused key. `key` null = the
   * channel's own breaker is told.
   */
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

  /** Probes the key with a request of our own, because refusals of one account alone may be caused by its requests. */
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

/** What rests when the upstream is too busy: a limit is that of a key, as far as there are several. */
export const placeOf = (
  { identity }: ChannelHealth,
  { breaker, fingerprint }: KeyHealth,
  model: string,
): RestPlace => ({
  channel: identity.name,
  key: breaker === null ? '' : fingerprint,
  model,
})
