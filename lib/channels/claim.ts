/** A place at a channel and one of its keys: taken when they are chosen, given back once, with one verdict in between. */
import type { Outcome } from './breaker.ts'
import type { ChannelHealth, Health, KeyHealth } from './health.ts'
import type { Candidate, CompiledKey } from './table.ts'

export class Claim {
  readonly candidate: Candidate
  readonly key: CompiledKey
  readonly #health: Health
  readonly #ofChannel: ChannelHealth
  readonly #ofKey: KeyHealth
  #reported = false
  #released = false

  constructor(health: Health, candidate: Candidate, key: CompiledKey) {
    this.candidate = candidate
    this.key = key
    this.#health = health
    this.#ofChannel = health.of(candidate.channel)
    this.#ofKey = this.#ofChannel.keys[key.index] as KeyHealth
    const now = health.clock.monotonic()
    this.#ofChannel.breaker.admit(now)
    this.#ofKey.breaker?.admit(now)
    this.#ofChannel.open++
    this.#ofKey.open++
  }

  /** What came of it; the first word counts. True when this was it. */
  report(outcome: Outcome, retryAfterS?: number): boolean {
    if (this.#reported) return false
    this.#reported = true
    this.#health.report(this.#ofChannel, this.#ofKey, outcome, retryAfterS)
    return true
  }

  /** Its answer was good at first, and broke off: the channel has failed once more than its first word says. */
  broke(): void {
    this.#health.report(this.#ofChannel, this.#ofKey, 'failed')
  }

  /** Nothing is under way there any more. Without a verdict, nothing was learnt. */
  release(): void {
    if (this.#released) return
    this.#released = true
    this.report('ignored')
    this.#ofChannel.open--
    this.#ofKey.open--
  }
}
