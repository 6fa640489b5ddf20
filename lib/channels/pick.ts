/**
 * Which channel next? Tiers by priority; within a tier by weight, among those that do not rest, so that the weights of the
 * others stay right when one does; weight 0 only when nothing else of its tier is left. A conversation with an affinity
 * number gets the same order every time (weighted rendezvous hashing): it moves when its channel rests, and comes back.
 */
import type { Health } from './health.ts'
import type { Candidate, Route } from './table.ts'

export type { Candidate } from './table.ts'

/** Why there was no candidate at all. */
export type Verdict = 'disabled' | 'resting' | 'saturated'

export class Candidates {
  readonly #route: Route
  readonly #health: Health
  readonly #affinity: number | null
  readonly #random: () => number
  readonly #tried = new Set<Candidate>()

  constructor(route: Route, health: Health, affinity: number | null, random: () => number) {
    this.#route = route
    this.#health = health
    this.#affinity = affinity
    this.#random = random
  }

  /** Never the same channel twice; null when nothing is left that may be asked. */
  next(): Candidate | null {
    for (const tier of this.#route.tiers) {
      for (;;) {
        const candidate = this.#pick(tier)
        if (candidate === null) break
        this.#tried.add(candidate)
        if (this.#health.admit(candidate.channel.name)) return candidate // a probe may have been taken by another request
      }
    }
    return null
  }

  #pick(tier: readonly Candidate[]): Candidate | null {
    let best: Candidate | null = null
    let bestScore = -1
    for (const candidate of tier) {
      const { channel } = candidate
      if (!channel.enabled || this.#tried.has(candidate) || !this.#health.mayAsk(channel.name)) continue
      const score = this.#score(channel.hash, channel.weight)
      if (score > bestScore) {
        best = candidate
        bestScore = score
      }
    }
    return best
  }

  /** The highest of u^(1/weight) is a draw by weight; weight 0 scores 0, below all others. */
  #score(hash: number, weight: number): number {
    if (weight <= 0) return 0
    const u = this.#affinity === null ? this.#random() : mix(this.#affinity ^ hash) / 2 ** 32
    return Math.max(Number.MIN_VALUE, u) ** (1 / weight)
  }

  get verdict(): Verdict {
    const enabled = this.#enabled
    if (enabled.length === 0) return 'disabled'
    return enabled.every(c => this.#health.restsForBusy(c.channel.name)) ? 'saturated' : 'resting'
  }

  /** Until the first of them may be asked again; 0 = nobody knows. */
  get retryAfterS(): number {
    const waits = this.#enabled.map(c => this.#health.restMs(c.channel.name))
    return waits.length === 0 ? 0 : Math.ceil(Math.min(...waits) / 1000)
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
