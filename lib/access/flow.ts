/**
 * Estimates how many requests will come in the next seconds from the rate at which they came since the last estimate.
 */

/** The rate is measured over at least this long. */
const SHORTEST_MS = 1000

export class Flow {
  #count = 0
  #sinceMs = -1

  add(): void {
    this.#count++
  }

  /**
   * Requests expected in the next `ms`; 0 before the first `restart`, because a first request may stay the only one.
   */
  expected(now: number, ms: number): number {
    if (this.#sinceMs < 0) return 0
    return Math.floor((this.#count * ms) / Math.max(SHORTEST_MS, now - this.#sinceMs))
  }

  restart(now: number): void {
    this.#count = 0
    this.#sinceMs = now
  }
}
