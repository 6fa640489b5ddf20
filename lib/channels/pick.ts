/**
 * Which channel next? Tiers by priority; within a tier by weight, among those that may be asked, so that the weights of
 * the others stay right when one rests; weight 0 only when nothing else of its tier is left.
 *
 * The draw: every candidate gets -ln(u) / weight with u between 0 and 1, and the smallest wins, which happens in
 * proportion to the weights, whoever takes part. Taking the smallest of the rest again and again is drawing by weight
 * without replacement. For a conversation with an affinity number, u is a hash of it and of the channel (weighted
 * rendezvous hashing): the order is the same every time, so it moves on when its channel rests, comes back afterwards,
 * and a channel that joins or leaves moves no other conversation. Its key is chosen in the same way.
 *
 * Without affinity two are drawn, and the second is taken when the first has clearly more open for its weight: an
 * upstream that answers slowly collects open requests, so this is what follows latency. Among keys, the one with the
 * least open is taken.
 *
 * When nothing may be asked because all rest after failures, one of them is asked all the same: the one that was tried least
 * in vain lately, so that one which is well again is found soon.
 */
import type { AnswerMaker } from '../store/store.ts'
import type { Breaker } from './breaker.ts'
import { Claim } from './claim.ts'
import type { ChannelHealth, Health, KeyHealth } from './health.ts'
import type { Candidate, CompiledKey, Route } from './table.ts'

/** Why there was no candidate at all. `saturated`: all that are enabled are full, or rest because they said they are busy. */
export type Verdict = 'disabled' | 'resting' | 'saturated'

/** Whose request it is, and of what kind. */
export interface Asker {
  account: number
  /** Nobody else may be asked. */
  only: AnswerMaker | null
  /** It costs nothing: it takes no probe's place, and what an upstream says to it is no verdict. */
  free: boolean
}
const ANYBODY: Asker = { account: 0, only: null, free: false }

export class Candidates {
  readonly #route: Route
  readonly #health: Health
  readonly #affinity: number | null
  readonly #asker: Asker
  readonly #random: () => number
  /** The first one tried, and then the others: most requests try only one. */
  #tried: Claim | null = null
  #triedMore: Claim[] | null = null
  /** Channels of which other keys may still be tried. */
  #keyRefused: Candidate[] | null = null

  /** `affinity`: 32 bits, the same for the same conversation. */
  constructor(route: Route, health: Health, affinity: number | null, random: () => number, asker: Asker = ANYBODY) {
    this.#route = route
    this.#health = health
    this.#affinity = affinity
    this.#random = random
    this.#asker = asker
  }

  /**
   * Never the same channel twice, but with another of its keys when `keyFailed` said so. null when nothing is left that
   * may be asked. The claim must be released.
   */
  next(): Claim | null {
    const now = this.#health.clock.monotonic()
    const candidate = this.#pickWell(now) ?? (this.#asker.free ? null : this.#pickAnyway(now))
    return candidate === null ? null : this.#claim(candidate, now)
  }

  /** The same without those that rest: for an attempt that need not be. */
  nextWell(): Claim | null {
    const now = this.#health.clock.monotonic()
    const candidate = this.#pickWell(now)
    return candidate === null ? null : this.#claim(candidate, now)
  }

  #pickWell(nowMs: number): Candidate | null {
    for (const tier of this.#route.tiers) {
      const candidate = this.#pick(tier, nowMs)
      if (candidate !== null) return candidate
    }
    return null
  }

  /** Of those that rest after failures. */
  #pickAnyway(nowMs: number): Candidate | null {
    let best: Candidate | null = null
    let least = Number.POSITIVE_INFINITY
    for (const candidate of this.#enabled) {
      if (this.#wasTried(candidate)) continue
      const health = this.#health.of(candidate.channel)
      if (!this.#hasRoom(candidate, health, nowMs)) continue
      const tried = health.triedAnyway(nowMs)
      if (tried === null || tried >= least) continue
      best = candidate
      least = tried
    }
    return best
  }

  #claim(candidate: Candidate, nowMs: number): Claim {
    const claim = new Claim(
      this.#health,
      candidate,
      this.#key(candidate, nowMs) as CompiledKey,
      this.#asker.account,
      this.#asker.free,
    )
    if (this.#tried === null) this.#tried = claim
    else if (this.#triedMore === null) this.#triedMore = [claim]
    else this.#triedMore.push(claim)
    return claim
  }

  /** The failure was about the key: another one of the channel may do. */
  keyFailed(claim: Claim): void {
    if (claim.candidate.channel.keys.length === 1) return
    this.#keyRefused ??= []
    this.#keyRefused.push(claim.candidate)
  }

  #pick(tier: readonly Candidate[], nowMs: number): Candidate | null {
    let best: Candidate | null = null
    let second: Candidate | null = null
    let bestScore = 0
    let secondScore = 0
    for (const candidate of tier) {
      if (!this.#mayTry(candidate, nowMs)) continue
      const score = this.#score(candidate)
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

  /** Smaller is better. Weight 0 scores in a range of its own, behind all others. */
  #score({ channel }: Candidate): number {
    const score = -Math.log(this.#draw(channel.hash))
    return channel.weight > 0 ? score / channel.weight : BEHIND + score
  }

  /** Even with one more the second would have less open for its weight. */
  #isBusier(first: Candidate, second: Candidate): boolean {
    const { weight } = second.channel
    if (weight === 0) return false
    return (
      this.#health.of(first.channel).open / first.channel.weight > (this.#health.of(second.channel).open + 1) / weight
    )
  }

  #mayTry(candidate: Candidate, nowMs: number): boolean {
    const { channel } = candidate
    if (!this.#isOffered(channel) || this.#wasTried(candidate)) return false
    const health = this.#health.of(channel)
    return this.#mayAsk(health.breaker, nowMs) && this.#hasRoom(candidate, health, nowMs)
  }

  #hasRoom(candidate: Candidate, health: ChannelHealth, nowMs: number): boolean {
    const { channel } = candidate
    if (isFull(channel, health)) return false
    return channel.keys.length === 1 ? !isFull(channel.keys[0]!, health.keys[0]!) : this.#key(candidate, nowMs) !== null
  }

  #mayAsk(breaker: Breaker, nowMs: number): boolean {
    return this.#asker.free ? breaker.state(nowMs) === 'closed' : breaker.mayAsk(nowMs)
  }

  /** Which of the channel's keys; null = none may be asked. */
  #key({ channel }: Candidate, nowMs: number): CompiledKey | null {
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
      const score = this.#draw(key.hash) + (this.#affinity === null ? state.open : 0)
      if (best !== null && score >= bestScore) continue
      best = key
      bestScore = score
    }
    return best
  }

  /** Above 0, up to 1. */
  #draw(hash: number): number {
    return this.#affinity === null ? 1 - this.#random() : (mix(this.#affinity ^ hash) + 1) / 2 ** 32
  }

  #wasTried(candidate: Candidate): boolean {
    if (this.#tried === null) return false
    const tried =
      candidate === this.#tried.candidate || (this.#triedMore?.some(c => c.candidate === candidate) ?? false)
    return tried && !(this.#keyRefused?.includes(candidate) ?? false)
  }

  #triedKey(key: CompiledKey): boolean {
    return key === this.#tried?.key || (this.#triedMore?.some(claim => claim.key === key) ?? false)
  }

  get verdict(): Verdict {
    const now = this.#health.clock.monotonic()
    const enabled = this.#enabled
    if (enabled.length === 0) return 'disabled'
    return enabled.every(({ channel }) => this.#isSaturated(channel, now)) ? 'saturated' : 'resting'
  }

  #isSaturated(channel: Candidate['channel'], nowMs: number): boolean {
    const health = this.#health.of(channel)
    if (health.restsForBusy(nowMs)) return true
    if (!health.breaker.mayAsk(nowMs)) return false
    return isFull(channel, health) || channel.keys.some(key => isFull(key, health.keys[key.index] as KeyHealth))
  }

  /** Whole seconds until the first of them may be asked again, at least 1; 0 = nobody knows. */
  get retryAfterS(): number {
    const now = this.#health.clock.monotonic()
    const waits = this.#enabled.map(({ channel }) => this.#health.of(channel).restMs(now))
    return waits.length === 0 ? 0 : Math.max(1, Math.ceil(Math.min(...waits) / 1000))
  }

  get #enabled(): Candidate[] {
    return this.#route.tiers.flat().filter(({ channel }) => this.#isOffered(channel))
  }

  #isOffered({ enabled, name }: Candidate['channel']): boolean {
    const { only } = this.#asker
    return enabled && (only === null || only.channel === name)
  }
}

/** Beyond any score of a weight: -ln of the smallest draw is about 22. */
const BEHIND = 1e6

const isFull = ({ maxConcurrency }: { maxConcurrency: number }, { open }: ChannelHealth | KeyHealth): boolean =>
  maxConcurrency > 0 && open >= maxConcurrency

/** Murmur3's finalizer: every bit of the input moves every bit of the output. */
function mix(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
