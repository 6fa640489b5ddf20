/**
 * Rests of accounts for requests that cost whoever runs the gateway, and nothing their account: the model wrote an answer that cannot be
 * told in the words of the client's protocol, or for which the account's other requests left no memory, or wrote for longer than a first byte
 * is waited for. Who chooses the requests can bring about all three, as often as it likes, and their channel is not to blame.
 *
 * An account that had ten of them within ten minutes, and has paid less than they would have cost it, does not ask the channel for the model
 * for a minute, and for a minute more with each further answer of it that cannot be told, up to an hour: hundreds may have been under way when
 * the tenth ended. Nobody knows what the others would have cost: their hold is what they could at most. Time-outs do not count while the account
 * paid for ten times as many requests. What happens while a channel fails for others too says nothing of the account.
 *
 * Each process counts what it has seen itself; the rests that follow are known to all of its gateway.
 */
import { HOUR_MS } from '../base/clock.ts'
import { latest } from '../base/lru.ts'
import type { Micro } from '../base/money.ts'
import { SlidingCount } from '../base/sliding-count.ts'
import type { Candidate } from '../world/table.ts'
import type { Health } from './health.ts'

const REST_MS = 60_000
const WINDOW_MS = 600_000
const FEWEST_UNPAID = 10
/** The share of an account's requests that may time out before it counts. */
const USUAL_TIMEOUTS = 0.1
const MOST_ACCOUNTS = 10_000
const LONGEST_REST_MS = HOUR_MS

class UnpaidCounts {
  readonly unpaid = new SlidingCount(WINDOW_MS)
  readonly timeouts = new SlidingCount(WINDOW_MS)
  readonly charged = new SlidingCount(WINDOW_MS)
  /** What the unpaid ones would have cost the account, and what the others did; in micro-CNY. */
  readonly worth = new SlidingCount(WINDOW_MS)
  readonly charges = new SlidingCount(WINDOW_MS)
  /** By channel and model, until when answers of it that cannot be told make the account rest; monotonic ms. */
  readonly restsUntilMs = new Map<string, number>()
}

export class UnpaidRests {
  readonly #health: Health
  readonly #accounts = latest<number, UnpaidCounts>(MOST_ACCOUNTS)

  constructor(health: Health) {
    this.#health = health
  }

  paid(account: number, charge: Micro, nowMs: number): void {
    const counts = this.#countsOf(account)
    counts.charged.add(nowMs)
    counts.charges.add(nowMs, charge)
  }

  /** No first byte came in time. `held`: what was held for the request, in micro-CNY. */
  timedOut(account: number, candidate: Candidate, held: Micro): void {
    const now = this.#health.clock.monotonic()
    if (!this.#isWell(candidate, now)) return
    const { timeouts, charged } = this.#countsOf(account)
    timeouts.add(now)
    if (timeouts.sum(now) > USUAL_TIMEOUTS * charged.sum(now)) this.unpaid(account, candidate, held, false)
  }

  /**
   * `worth`: what the account would have been charged for the answer, in micro-CNY. `isCaused`: the
   * request brought that about by itself, so that the rest is a minute longer for it.
   */
  unpaid(account: number, candidate: Candidate, worth: Micro, isCaused: boolean): void {
    const now = this.#health.clock.monotonic()
    if (!this.#isWell(candidate, now)) return
    const counts = this.#countsOf(account)
    counts.unpaid.add(now)
    counts.worth.add(now, worth)
    if (counts.unpaid.sum(now) < FEWEST_UNPAID || counts.worth.sum(now) <= counts.charges.sum(now)) return
    const ms = isCaused ? longerMs(counts.restsUntilMs, candidate, now) : REST_MS
    this.#health.rests.rest(account, candidate.channel.name, candidate.upstreamModel, ms, 'unpaid')
  }

  #isWell({ channel }: Candidate, nowMs: number): boolean {
    return this.#health.of(channel).breaker.state(nowMs) === 'closed'
  }

  #countsOf(account: number): UnpaidCounts {
    let counts = this.#accounts.get(account)
    if (counts === undefined) this.#accounts.set(account, (counts = new UnpaidCounts()))
    return counts
  }
}

/** The length of the rest of a channel and model, with a minute more for an answer of it. */
function longerMs(restsUntilMs: Map<string, number>, { channel, upstreamModel }: Candidate, nowMs: number): number {
  for (const [place, untilMs] of restsUntilMs) if (untilMs <= nowMs) restsUntilMs.delete(place)
  const place = `${channel.name}\n${upstreamModel}`
  const ms = Math.min(LONGEST_REST_MS, (restsUntilMs.get(place) ?? nowMs) - nowMs + REST_MS)
  restsUntilMs.set(place, nowMs + ms)
  return ms
}
