/**
 * Which channel next? Tiers by priority; within a tier by weight, among those that may be asked, so that the weights of
 * the others stay right when one rests; weight 0 only when nothing else of its tier is left.
 *
 * The draw: every candidate gets -ln(u) / weight with u between 0 and 1, and the smallest wins, which happens in
 * proportion to the weights, whoever takes part. Taking the smallest of the rest again and again is drawing by weight
 * without replacement. For a conversation with an affinity number, u is a hash of it and of the channel (weighted
 * rendezvous hashing): the order is the same every time, so it moves on when its channel rests, comes back afterwards,
 * and a channel that joins or leaves moves no other conversation.
 */
import type { Health } from './health.ts'
import type { Candidate, Route } from './table.ts'

export type { Candidate } from './table.ts'

/** Why there was no candidate at all. `saturated`: all that are enabled rest because their upstreams said they are busy. */
export type Verdict = 'disabled' | 'resting' | 'saturated'

export class Candidates {
  readonly #route: Route
  readonly #health: Health
  readonly #affinity: number | null
  readonly #random: () => number
  /** The first one tried, and then the others: most requests try only one. */
  #tried: Candidate | null = null
  #triedMore: Candidate[] | null = null

  /** `affinity`: 32 bits, the same for the same conversation. */
  constructor(route: Route, health: Health, affinity: number | null, random: () => number) {
    this.#route = route
    this.#health = health
    this.#affinity = affinity
    this.#random = random
  }

  /** Never the same channel twice; null when nothing is left that may be asked. What came of it must be reported. */
  next(): Candidate | null {
    for (const tier of this.#route.tiers) {
      const candidate = this.#pick(tier)
      if (candidate === null) continue
      this.#remember(candidate)
      this.#health.admit(candidate.channel.name)
      return candidate
    }
    return null
  }

  #pick(tier: readonly Candidate[]): Candidate | null {
    let best: Candidate | null = null
    let bestWeighted = false
    let bestScore = 0
    for (const candidate of tier) {
      const { name, enabled, weight, hash } = candidate.channel
      if (!enabled || this.#wasTried(candidate) || !this.#health.mayAsk(name)) continue
      const weighted = weight > 0
      const score = -Math.log(this.#draw(hash)) / (weighted ? weight : 1)
      if (best !== null && (weighted === bestWeighted ? score >= bestScore : bestWeighted)) continue
      best = candidate
      bestWeighted = weighted
      bestScore = score
    }
    return best
  }

  /** Above 0, up to 1. */
  #draw(hash: number): number {
    return this.#affinity === null ? 1 - this.#random() : (mix(this.#affinity ^ hash) + 1) / 2 ** 32
  }

  #wasTried(candidate: Candidate): boolean {
    return candidate === this.#tried || (this.#triedMore?.includes(candidate) ?? false)
  }

  #remember(candidate: Candidate): void {
    if (this.#tried === null) this.#tried = candidate
    else if (this.#triedMore === null) this.#triedMore = [candidate]
    else this.#triedMore.push(candidate)
  }

  get verdict(): Verdict {
    const enabled = this.#enabled
    if (enabled.length === 0) return 'disabled'
    return enabled.every(c => this.#health.restsForBusy(c.channel.name)) ? 'saturated' : 'resting'
  }

  /** Whole seconds until the first of them may be asked again, at least 1; 0 = nobody knows. */
  get retryAfterS(): number {
    const waits = this.#enabled.map(c => this.#health.restMs(c.channel.name))
    return waits.length === 0 ? 0 : Math.max(1, Math.ceil(Math.min(...waits) / 1000))
  }

  get #enabled(): Candidate[] {
    return this.#route.tiers.flat().filter(c => c.channel.enabled)
  }
}

/** Murmur3's finalizer: every bit of the input moves every bit of the output. */
function mix(h: number): number {
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b)
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35)
  return (h ^ (h >>> 16)) >>> 0
}
