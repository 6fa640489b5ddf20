/**
 * The load balancer: it chooses the channel for each attempt of a request, and one of the channel's keys.
 *
 * Channels form tiers by priority. Within a tier a channel is drawn at random by weight, among those that may be asked,
 * so that the weights keep their proportion when one of them rests. Weight 0 is drawn only when no other channel of its
 * tier is left.
 *
 * The draw (`scoreOf`) is random, except for a request with an affinity number (a hash of its conversation): that draws
 * the same channels in the same order each time, so that a conversation stays with the channel and key that hold its
 * prompt cache.
 *
 * Without affinity two channels are drawn, and the second is taken when the first has clearly more open requests for
 * its weight ("power of two choices"). An upstream that answers slowly collects open requests, so this follows latency.
 * Among keys, the one with the fewest open requests is taken.
 *
 * What rests for the account, or for all, because an upstream is too busy (`rests.ts`) is left out, as are channels whose
 * breaker is open. When every channel rests after failures, one of them is asked all the same: the one that was tried least often in
 * vain lately. So a channel that works again is found soon.
 */
import type { OutputBounds } from '../protocols/words/maxima.ts'
import type { AnswerMaker } from '../store/usage/queries.ts'
import type { Breaker } from './breaker.ts'
import { type ChannelHealth, isFull, type KeyHealth, type Health, placeOf, Claim } from './health.ts'
import type { CompiledKey } from '../world/compiled-channel.ts'
import type { Candidate, Route } from '../world/table.ts'

/** The facts on which the choice depends beside the route. */
export interface Asker {
  account: number
  /**
   * The channel and key that made the answer which this request continues: nobody else may be asked. null = anybody
   * may.
   */
  only: AnswerMaker | null
  /**
   * The request is free (it counts tokens): it is never a breaker's probe, and its outcome is not reported to breakers.
   */
  free: boolean
  /** The request is sent nowhere: it takes nothing of what is let through where channels rest. */
  isTrial: boolean
  /** Tells whether a candidate that was chosen can be asked at all: otherwise it is as if there were none. null = any can. */
  fits: ((candidate: Candidate) => boolean) | null
}
const ANYBODY: Asker = { account: 0, only: null, free: false, isTrial: false, fits: null }

/** The choice of channels for one request, attempt after attempt. */
export class Candidates {
  readonly #route: Route
  readonly #health: Health
  readonly #affinity: number | null
  readonly #asker: Asker
  readonly #random: () => number
  /**
   * The first claim, and in `#triedMore` the later ones: most requests need only one, and no array is allocated for it.
   */
  #tried: Claim | null = null
  #triedMore: Claim[] | null = null
  /** Channels whose key failed, so that their other keys may still be tried. */
  #keyRefused: Candidate[] | null = null
  /** The attempt after which the same key is asked once more. */
  #again: Claim | null = null
  #unfit: Candidate[] | null = null
  /** True when breakers and rests are not told how an attempt ended. */
  readonly #isSilent: boolean
  /** True when channels that rest are left out, also where a request a second is let through. */
  #wellOnly: boolean

  /** `affinity` has 32 bits and is the same for the same conversation; null = the request belongs to none. */
  constructor(route: Route, health: Health, affinity: number | null, random: () => number, asker: Asker = ANYBODY) {
    this.#route = route
    this.#health = health
    this.#affinity = affinity
    this.#random = random
    this.#asker = asker
    this.#wellOnly = this.#isSilent = asker.free || asker.isTrial
  }

  /** The ways in which the channels bound their answers that speak the client's protocol: one for each way that differs. */
  get bounds(): readonly OutputBounds[] {
    return this.#route.bounds
  }

  /**
   * Claims the channel for the next attempt; null = nothing is left that may be asked. The same channel is never
   * claimed twice, unless `keyFailed` allowed another of its keys, or `againWith` the same one. The claim must be released.
   */
  next(): Claim | null {
    const now = this.#health.clock.monotonic()
    const again = this.#again
    this.#again = null
    if (again !== null) return this.#claim(again.candidate, again.key, now)
    const candidate =
      this.#pickWell(now) ?? (this.#asker.free ? null : (this.#pickToFindOut(now) ?? this.#pickAnyway(now)))
    return candidate === null ? null : this.#claim(candidate, this.#key(candidate, now) as CompiledKey, now)
  }

  /** Like `next`, but never claims a channel that rests: for a hedge, which can as well be left out. */
  nextWell(): Claim | null {
    const now = this.#health.clock.monotonic()
    const via = this.#tried?.candidate.translation?.via
    this.#wellOnly = true
    const candidate = this.#pickWell(now)
    this.#wellOnly = this.#isSilent
    // what is asked beside another one speaks the same protocol
    if (candidate !== null && candidate.translation?.via !== via) return null
    return candidate === null ? null : this.#claim(candidate, this.#key(candidate, now) as CompiledKey, now)
  }

  #pickWell(nowMs: number): Candidate | null {
    for (const tier of this.#route.tiers)
      for (let candidate = this.#pick(tier, nowMs); candidate !== null; candidate = this.#pick(tier, nowMs))
        if (this.#asker.fits === null || this.#fits(candidate)) return candidate
    return null
  }

  #fits(candidate: Candidate): boolean {
    if (this.#asker.fits?.(candidate) ?? true) return true
    this.#unfit = [...(this.#unfit ?? []), candidate]
    return false
  }

  /** Picks among the channels whose rest for the account is a guess. Of several keys another one would be asked. */
  #pickToFindOut(nowMs: number): Candidate | null {
    const { rests } = this.#health
    if (nowMs >= rests.untilMs) return null
    for (const candidate of this.#enabled) {
      const { channel, upstreamModel } = candidate
      const health = this.#health.of(channel)
      if (channel.keys.length > 1 || this.#wasTried(candidate) || !health.breaker.mayAsk(nowMs)) continue
      if (!this.#hasRoom(candidate, health, nowMs)) continue
      if (rests.mayFindOut(channel.name, upstreamModel, this.#asker.account, nowMs) && this.#fits(candidate))
        return candidate
    }
    return null
  }

  /** Picks among the channels that rest after failures. */
  #pickAnyway(nowMs: number): Candidate | null {
    for (let candidate = this.#leastTried(nowMs); candidate !== null; candidate = this.#leastTried(nowMs))
      if (this.#fits(candidate)) return candidate
    return null
  }

  #leastTried(nowMs: number): Candidate | null {
    let best: Candidate | null = null
    let least = Number.POSITIVE_INFINITY
    for (const candidate of this.#enabled) {
      if (this.#wasTried(candidate)) continue
      const health = this.#health.of(candidate.channel)
      if (!this.#hasRoom(candidate, health, nowMs) || this.#rests(candidate, '', nowMs)) continue
      const tried = health.triedAnyway(nowMs, this.#asker.account)
      if (tried === null || tried >= least) continue
      best = candidate
      least = tried
    }
    return best
  }

  #claim(candidate: Candidate, key: CompiledKey, nowMs: number): Claim {
    const claim = new Claim(this.#health, candidate, key, nowMs, this.#asker.account, this.#isSilent)
    if (this.#tried === null) this.#tried = claim
    else if (this.#triedMore === null) this.#triedMore = [claim]
    else this.#triedMore.push(claim)
    return claim
  }

  /** The attempt failed because of its key, so another key of the channel may be tried. */
  keyFailed(claim: Claim): void {
    if (claim.candidate.channel.keys.length === 1) return
    this.#keyRefused = [...(this.#keyRefused ?? []), claim.candidate]
  }

  /** The attempt was signed with what has ended before its time: the next one is made with the same key, signed anew. */
  againWith(claim: Claim): void {
    this.#again = claim
  }

  /** The claim was for a candidate that has proved not to fit, and it is released: as if it had never been there. */
  isUnfit(claim: Claim): void {
    claim.drop()
    this.#unfit = [...(this.#unfit ?? []), claim.candidate]
    if (claim === this.#tried) this.#tried = this.#triedMore?.shift() ?? null
    else this.#triedMore?.splice(this.#triedMore.indexOf(claim), 1)
  }

  #pick(tier: readonly Candidate[], nowMs: number): Candidate | null {
    if (tier.length === 1) return this.#mayTry(tier[0] as Candidate, nowMs) ? (tier[0] as Candidate) : null
    let best: Candidate | null = null
    let second: Candidate | null = null
    let bestScore = 0
    let secondScore = 0
    for (const candidate of tier) {
      if (!this.#mayTry(candidate, nowMs)) continue
      const score = scoreOf(candidate.channel, this.#affinity, this.#random)
      if (best === null || score < bestScore) {
        second = best
        secondScore = bestScore
        best = candidate
        bestScore = score
      } else if (second === null || score < secondScore) {
        second = candidate
        secondScore = score
      }
    }
    if (best === null || second === null || this.#affinity !== null) return best
    return this.#isBusier(best, second) ? second : best
  }

  /** True when the second channel would have fewer open requests for its weight even with this request. */
  #isBusier(first: Candidate, second: Candidate): boolean {
    const { weight } = second.channel
    if (weight === 0) return false
    return (
      this.#health.of(first.channel).open / first.channel.weight > (this.#health.of(second.channel).open + 1) / weight
    )
  }

  #mayTry(candidate: Candidate, nowMs: number): boolean {
    const { channel } = candidate
    if (!this.#isOffered(candidate) || this.#wasTried(candidate)) return false
    const health = this.#health.of(channel)
    // the rests come last: asking them counts as waiting for a turn
    return (
      this.#mayAsk(health.breaker, nowMs) &&
      this.#hasRoom(candidate, health, nowMs) &&
      (nowMs >= this.#health.rests.untilMs || !this.#rests(candidate, '', nowMs))
    )
  }

  #hasRoom(candidate: Candidate, health: ChannelHealth, nowMs: number): boolean {
    const { channel } = candidate
    if (isFull(channel, health)) return false
    return channel.keys.length === 1 ? !isFull(channel.keys[0]!, health.keys[0]!) : this.#key(candidate, nowMs) !== null
  }

  /** `key`: fingerprint of one of several keys; empty = the channel. */
  #rests({ channel, upstreamModel }: Candidate, key: string, nowMs: number): boolean {
    const { rests } = this.#health
    if (nowMs >= rests.untilMs) return false
    return !rests.mayAsk(channel.name, key, upstreamModel, this.#asker.account, nowMs, !this.#wellOnly)
  }

  #mayAsk(breaker: Breaker, nowMs: number): boolean {
    return this.#asker.free ? breaker.state(nowMs) === 'closed' : breaker.mayAsk(nowMs)
  }

  /** Chooses one of the channel's keys; null = none may be asked. */
  #key(candidate: Candidate, nowMs: number): CompiledKey | null {
    const { channel } = candidate
    if (channel.keys.length === 1) return channel.keys[0] as CompiledKey
    const health = this.#health.of(channel)
    let best: CompiledKey | null = null
    let bestScore = 0
    const { only } = this.#asker
    for (const key of channel.keys) {
      const state = health.keys[key.index] as KeyHealth
      if (state.breaker === null || !this.#mayAsk(state.breaker, nowMs) || isFull(key, state) || this.#triedKey(key))
        continue
      if (only !== null && only.key !== key.fingerprint) continue
      if (this.#rests(candidate, key.fingerprint, nowMs)) continue
      const score = draw(key.hash, this.#affinity, this.#random) + (this.#affinity === null ? state.open : 0)
      if (best !== null && score >= bestScore) continue
      best = key
      bestScore = score
    }
    return best
  }

  #wasTried(candidate: Candidate): boolean {
    if (this.#unfit?.includes(candidate)) return true
    if (this.#tried === null) return false
    const tried =
      candidate === this.#tried.candidate || (this.#triedMore?.some(c => c.candidate === candidate) ?? false)
    return tried && !(this.#keyRefused?.includes(candidate) ?? false)
  }

  #triedKey(key: CompiledKey): boolean {
    return key === this.#tried?.key || (this.#triedMore?.some(claim => claim.key === key) ?? false)
  }

  /** The reason why `next` claimed nothing. */
  get whyNone(): WhyNone {
    return whyNone(this.#health, this.#enabled, this.#unfit, this.#asker.account)
  }

  /** Whole seconds until the first enabled channel may be asked again, at least 1; 0 = none is enabled. */
  get retryAfterS(): number {
    return retryAfterS(this.#health, this.#enabled, this.#asker.account)
  }

  get #enabled(): Candidate[] {
    return this.#route.tiers.flat().filter(candidate => this.#isOffered(candidate))
  }

  /** Tokens are counted only by upstreams that speak the client's protocol. */
  #isOffered({ channel: { enabled, name }, translation }: Candidate): boolean {
    const { only, free } = this.#asker
    return enabled && (only === null || only.channel === name) && (translation === null || !free)
  }
}

// --- the draw

/** Greater than any score of a channel with a weight: -ln of the smallest possible draw (2^-53) is about 37. */
const BEHIND = 1e6

/**
 * The draw by which one of several channels, or one of a channel's keys, is chosen. Every candidate gets the score
 * -ln(u) / weight, with u random between 0 and 1, and the smallest score wins. A channel wins in proportion to its
 * weight, whichever others take part, and drawing again among the rest is drawing by weight without replacement.
 * Scores of weight 0 are greater than all others. For a request with an affinity number (a hash of its conversation),
 * u is a hash of that number and of the channel: weighted rendezvous hashing. So a conversation always gets the same
 * order of channels: it moves on when its channel rests, comes back afterwards, and a channel that joins or leaves
 * moves no other conversation.
 */
function scoreOf(
  { hash, weight }: { hash: number; weight: number },
  affinity: number | null,
  random: () => number,
): number {
  const score = -Math.log(draw(hash, affinity, random))
  return weight > 0 ? score / weight : BEHIND + score
}

/** A number above 0 and up to 1: random, or with affinity a hash. */
function draw(hash: number, affinity: number | null, random: () => number): number {
  return affinity === null ? 1 - random() : (mix(affinity ^ hash) + 1) / 2 ** 32
}

/** Murmur3's finalizer: every bit of the input moves every bit of the output. */
function mix(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}

// --- why none of the enabled channels could be asked, and when one of them may be asked again

/**
 * `disabled`: none is enabled. `saturated`: every enabled one is full, or rests for this account because its upstream said
 * that it is too busy. `unfit`: none that is enabled fits the request. `resting`: all others.
 */
type WhyNone = 'disabled' | 'unfit' | 'resting' | 'saturated'

/** `unfit`: those of the enabled candidates that have proved not to fit the request; null = none has. */
function whyNone(
  health: Health,
  enabled: readonly Candidate[],
  unfit: readonly Candidate[] | null,
  account: number,
): WhyNone {
  const now = health.clock.monotonic()
  if (enabled.length === 0) return 'disabled'
  if (unfit !== null && enabled.every(candidate => unfit.includes(candidate))) return 'unfit'
  return enabled.every(candidate => isSaturated(health, candidate, account, now)) ? 'saturated' : 'resting'
}

function isSaturated(health: Health, candidate: Candidate, account: number, nowMs: number): boolean {
  const { channel } = candidate
  const ofChannel = health.of(channel)
  const rests = restsOf(health, candidate, account, nowMs)
  const areAllHeldBack = ofChannel.keys.every((key, i) => rests[i] !== null || key.breaker?.mayAsk(nowMs) === false)
  if (areAllHeldBack && rests.some(rest => rest?.why === 'busy')) return true
  if (!ofChannel.breaker.mayAsk(nowMs)) return false
  return isFull(channel, ofChannel) || channel.keys.some(key => isFull(key, ofChannel.keys[key.index] as KeyHealth))
}

/** The rests that hold the account back, one for each key of the channel; null = it may be asked with that key. */
function restsOf(health: Health, { channel, upstreamModel: model }: Candidate, account: number, nowMs: number) {
  const ofChannel = health.of(channel)
  const own = health.rests.restOf({ channel: channel.name, key: '', model }, account, nowMs)
  return ofChannel.keys.map(key => {
    const { key: fingerprint } = placeOf(ofChannel, key, model)
    const ofKey = health.rests.restOf({ channel: channel.name, key: fingerprint, model }, account, nowMs)
    return ofKey !== null && (own === null || ofKey.ms > own.ms) ? ofKey : own
  })
}

/** SDKs that are told to wait for longer do not listen, or sleep for all of it. */
const LONGEST_TOLD_MS = 60_000

/** Whole seconds until the first enabled channel may be asked again, at least 1 and at most 60; 0 = none is enabled. */
function retryAfterS(health: Health, enabled: readonly Candidate[], account: number): number {
  const now = health.clock.monotonic()
  const waits = enabled.map(candidate => {
    const { breaker, keys } = health.of(candidate.channel)
    const rests = restsOf(health, candidate, account, now)
    const ofKeys = keys.map((key, i) => Math.max(key.breaker?.restMs(now) ?? 0, rests[i]?.ms ?? 0))
    return Math.max(breaker.restMs(now), Math.min(...ofKeys))
  })
  return waits.length === 0 ? 0 : Math.max(1, Math.ceil(Math.min(LONGEST_TOLD_MS, ...waits) / 1000))
}
