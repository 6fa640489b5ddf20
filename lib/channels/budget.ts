/** Retries are at most a share of requests over a while, so that a failing upstream is not beaten with its own traffic. */
import type { Clock } from '../base/clock.ts'

const SLICES = 10

export class RetryBudget {
  readonly #share: number
  readonly #floor: number
  readonly #sliceMs: number
  readonly #clock: Clock
  readonly #requests = new Float64Array(SLICES)
  readonly #retries = new Float64Array(SLICES)
  #slice = 0

  constructor(options: { share: number; floorPerS: number; windowS: number; clock: Clock }) {
    this.#share = options.share
    this.#floor = options.floorPerS * options.windowS
    this.#sliceMs = (options.windowS * 1000) / SLICES
    this.#clock = options.clock
  }

  request(): void {
    const at = this.#turn()
    this.#requests[at] = (this.#requests[at] as number) + 1
  }

  /** True when one more retry fits; it counts as made. */
  tryRetry(): boolean {
    const at = this.#turn()
    const most = Math.max(this.#floor, sum(this.#requests) * this.#share)
    if (sum(this.#retries) >= most) return false
    this.#retries[at] = (this.#retries[at] as number) + 1
    return true
  }

  /** Empties the slices that time has passed since the last call. */
  #turn(): number {
    const now = Math.floor(this.#clock.monotonic() / this.#sliceMs)
    const passed = Math.min(SLICES, now - this.#slice)
    for (let i = 1; i <= passed; i++)
      this.#requests[(this.#slice + i) % SLICES] = this.#retries[(this.#slice + i) % SLICES] = 0
    this.#slice = now
    return now % SLICES
  }
}

const sum = (slices: Float64Array): number => slices.reduce((a, b) => a + b, 0)
