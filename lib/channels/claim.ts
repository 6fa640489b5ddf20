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
  /** Whose request it is. */
  readonly #account: number
  /** The upstream's answer says nothing about the channel's health. */
  readonly #silent: boolean
  /** It was asked while it rested. */
  readonly #channelRested: boolean
  readonly #keyRested: boolean
  #reported = false
  #released = false

  constructor(health: Health, candidate: Candidate, key: CompiledKey, account: number, silent: boolean) {
    this.candidate = candidate
    this.#account = account
    this.#silent = silent
    this.key = key
    this.#health = health
    this.#ofChannel = health.of(candidate.channel)
    this.#ofKey = this.#ofChannel.keys[key.index] as KeyHealth
    const now = health.clock.monotonic()
    this.#channelRested = !silent && this.#ofChannel.breaker.admit(now)
    this.#keyRested = !silent && (this.#ofKey.breaker?.admit(now) ?? false)
    this.#ofChannel.open++
    this.#ofKey.open++
  }

  /** What came of it; the first word counts. True when this was it. */
  report(outcome: Outcome, retryAfterS?: number): boolean {
    if (this.#reported) return false
    this.#reported = true
    this.#tell(outcome, retryAfterS)
    return true
  }

  /** Its answer was good at first, and broke off: the channel has failed once more than its first word says. */
  broke(): void {
    this.#tell('failed')
  }

  #tell(outcome: Outcome, retryAfterS = 0): void {
    if (this.#silent) return
    this.#health.report(this.#ofChannel, this.#ofKey, {
      outcome,
      account: this.#account,
      channelRested: this.#channelRested,
      keyRested: this.#keyRested,
      retryAfterS,
    })
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
