/**
 * The retry budget: within a sliding window, retries are at most a share of the requests, so that a failing upstream is
 * not hit by a storm of retries. Some requests fail whoever answers them, so one account gets at most half of the
 * retries as long as other accounts send requests too.
 */
import type { Clock } from '../base/clock.ts'
import { latest } from '../base/lru.ts'
import { LatestTwo, SlidingCount } from '../base/sliding-count.ts'

/** The most accounts whose retries are counted separately. */
const MOST_ACCOUNTS = 10_000
const PART_OF_ONE = 1 / 2

export class RetryBudget {
  readonly #share: number
  readonly #floor: number
  readonly #clock: Clock
  readonly #requests: SlidingCount
  readonly #retries: SlidingCount
  readonly #ofAccount = latest<number, SlidingCount>(MOST_ACCOUNTS)
  readonly #asked = new LatestTwo()
  readonly #windowMs: number

  /** `share` 0.2 means one retry for five requests. `floorPerS` retries per second are always allowed. */
  constructor(options: { share: number; floorPerS: number; windowS: number; clock: Clock }) {
    this.#share = options.share
    this.#floor = options.floorPerS * options.windowS
    this.#clock = options.clock
    this.#windowMs = options.windowS * 1000
    this.#requests = new SlidingCount(this.#windowMs)
    this.#retries = new SlidingCount(this.#windowMs)
  }

  /** A request of the account was first sent to an upstream at `nowMs` (monotonic). */
  request(account: number, nowMs: number): void {
    this.#requests.add(nowMs)
    this.#asked.note(account, nowMs)
  }

  /** True when the budget has room for one more retry of the account. */
  allows(account: number): boolean {
    const now = this.#clock.monotonic()
    const most = Math.max(this.#floor, this.#requests.sum(now) * this.#share)
    if (this.#retries.sum(now) + 1 > most) return false
    const own = (this.#ofAccount.get(account)?.sum(now) ?? 0) + 1
    return own <= Math.max(1, most * PART_OF_ONE) || !this.#asked.hasOther(account, now - this.#windowMs)
  }

  retry(account: number): void {
    const now = this.#clock.monotonic()
    this.#retries.add(now)
    let own = this.#ofAccount.get(account)
    if (own === undefined) this.#ofAccount.set(account, (own = new SlidingCount(this.#windowMs)))
    own.add(now)
  }
}
