/**
 * The load balancer: it chooses the channel for each attempt of a request, and one of the channel's keys.
 *
 * Channels form tiers by priority. Within a tier a channel is drawn at random by weight, among those that may be asked,
 * so that the weights keep their proportion when one of them rests. Weight 0 is drawn only when no other channel of its
 * tier is left.
 *
 * The draw (`draw.ts`) is random, except for a request with an affinity number (a hash of its conversation): that draws
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
import type { AnswerMaker } from '../store/store.ts'
import type { Breaker } from './breaker.ts'
import { type ChannelHealth, isFull, type KeyHealth } from './channel-health.ts'
import { Claim } from './claim.ts'
import type { CompiledKey } from '../world/compiled-channel.ts'
import { draw, scoreOf } from './draw.ts'
import type { Health } from './health.ts'
import type { Candidate, Route } from '../world/table.ts'
import { retryAfterS, type WhyNone, whyNone } from './why-none.ts'

/** What the choice depends on beside the route. */
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
  /** Whether a candidate that was chosen can be asked at all: otherwise it is as if there were none. null = any can. */
  fits: ((candidate: Candidate) => boolean) | null
}
const ANYBODY: Asker = { account: 0, only: null, free: false, fits: null }

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
  /** Those that do not fit. */
  #unfit: Candidate[] | null = null
  /** What rests is left out, also where a request a second is let through. */
  #wellOnly: boolean

  /** `affinity` has 32 bits and is the same for the same conversation; null = the request belongs to none. */
  constructor(route: Route, health: Health, affinity: number | null, random: () => number, asker: Asker = ANYBODY) {
    this.#route = route
    this.#health = health
    this.#affinity = affinity
    this.#random = random
    this.#asker = asker
    this.#wellOnly = asker.free
  }

  /** How the channels bound their answers that speak the client's protocol: one for each way that differs. */
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
    if (again !== null) return this.#claim(again.candidate, again.key)
    const candidate =
      this.#pickWell(now) ?? (this.#asker.free ? null : (this.#pickToFindOut(now) ?? this.#pickAnyway(now)))
    return candidate === null ? null : this.#claim(candidate, this.#key(candidate, now) as CompiledKey)
  }

  /** Like `next`, but never claims a channel that rests: for a hedge, which can as well be left out. */
  nextWell(): Claim | null {
    const now = this.#health.clock.monotonic()
    const via = this.#tried?.candidate.lane?.via
    this.#wellOnly = true
    const candidate = this.#pickWell(now)
    this.#wellOnly = this.#asker.free
    // what is asked beside another one speaks the same protocol
    if (candidate !== null && candidate.lane?.via !== via) return null
    return candidate === null ? null : this.#claim(candidate, this.#key(candidate, now) as CompiledKey)
  }

  #pickWell(nowMs: number): Candidate | null {
    for (const tier of this.#route.tiers)
      for (let candidate = this.#pick(tier, nowMs); candidate !== null; candidate = this.#pick(tier, nowMs))
        if (this.#fits(candidate)) return candidate
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

  #claim(candidate: Candidate, key: CompiledKey): Claim {
    const claim = new Claim(this.#health, candidate, key, this.#asker.account, this.#asker.free)
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
    claim.release()
    this.#unfit = [...(this.#unfit ?? []), claim.candidate]
    if (claim === this.#tried) this.#tried = this.#triedMore?.shift() ?? null
    else this.#triedMore?.splice(this.#triedMore.indexOf(claim), 1)
  }

  #pick(tier: readonly Candidate[], nowMs: number): Candidate | null {
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

  /** Whether the second channel would have fewer open requests for its weight even with this request. */
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
      !this.#rests(candidate, '', nowMs)
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

  /** Why `next` claimed nothing. */
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
  #isOffered({ channel: { enabled, name }, lane }: Candidate): boolean {
    const { only, free } = this.#asker
    return enabled && (only === null || only.channel === name) && (lane === null || !free)
  }
}
