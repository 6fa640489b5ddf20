/**
 * A claim is the place that one attempt takes at a channel and at one of its keys. It counts as open there from the
 * choice of the channel until `release`, and reports once in between how the attempt ended.
 */
import type { AttemptOutcome } from './breaker.ts'
import { type ChannelHealth, type KeyHealth, type Health, placeOf } from './health.ts'
import type { CompiledKey } from '../world/compiled-channel.ts'
import type { RestPlace } from './rests.ts'
import type { Candidate } from '../world/table.ts'

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
    this.#sentMs = now
    this.#isTurn = now < health.rests.untilMs && !silent && health.rests.admit(this.#place, account, now)
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

  /** Gives the place back; without a report before, the attempt says nothing about the channel. */
  release(): void {
    if (this.#released) return
    this.#released = true
    if (this.#isTurn && !this.#reported)
      this.#health.rests.giveBack(this.#place, this.#account, this.#health.clock.monotonic())
    this.report('ignored')
    this.#ofChannel.open--
    this.#ofKey.open--
  }
}
