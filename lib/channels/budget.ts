/** Retries are at most a share of requests over a while, so that a failing upstream is not beaten with its own traffic. */
import type { Clock } from '../base/clock.ts'
import { SlidingCount } from './sliding.ts'

export class RetryBudget {
  readonly #share: number
  readonly #floor: number
  readonly #clock: Clock
  readonly #requests: SlidingCount
  readonly #retries: SlidingCount

  /** `share`: 0.2 = one retry for five requests. `floorPerS`: so many are always allowed. */
  constructor(options: { share: number; floorPerS: number; windowS: number; clock: Clock }) {
    this.#share = options.share
    this.#floor = options.floorPerS * options.windowS
    this.#clock = options.clock
    this.#requests = new SlidingCount(options.windowS * 1000)
    this.#retries = new SlidingCount(options.windowS * 1000)
  }

  request(): void {
    this.#requests.add(this.#clock.monotonic())
  }

  /** Whether one more retry fits. */
  allows(): boolean {
    const now = this.#clock.monotonic()
    return this.#retries.sum(now) + 1 <= Math.max(this.#floor, this.#requests.sum(now) * this.#share)
  }

  retry(): void {
    this.#retries.add(this.#clock.monotonic())
  }
}
