/** Counts of what happened lately, for breakers, budgets and rests. All times are monotonic ms. */
const SLICES = 10

/** Counts events, or amounts in whole numbers, in a sliding window. The window is a ring of ten slices, so a count is exact to a tenth of the window. */
export class SlidingCount {
  readonly #sliceMs: number
  readonly #counts = new Float64Array(SLICES)
  #slice = 0
  #sum = 0

  constructor(windowMs: number) {
    this.#sliceMs = windowMs / SLICES
  }

  add(nowMs: number, amount = 1): void {
    this.#turn(nowMs)
    this.#counts[this.#slice % SLICES]! += amount
    this.#sum += amount
  }

  sum(nowMs: number): number {
    this.#turn(nowMs)
    return this.#sum
  }

  clear(): void {
    this.#counts.fill(0)
    this.#sum = 0
  }

  /** Moves to the present slice, and empties those that have left the window. */
  #turn(nowMs: number): void {
    const now = Math.floor(nowMs / this.#sliceMs)
    for (let slice = Math.max(this.#slice + 1, now - SLICES + 1); slice <= now; slice++) {
      this.#sum -= this.#counts[slice % SLICES]!
      this.#counts[slice % SLICES] = 0
    }
    this.#slice = now
  }
}

/**
 * Remembers the latest account for which something happened, and the latest time of any other account. That is enough
 * to tell whether something happened to one account only.
 */
export class LatestTwo {
  #latest = 0
  #latestMs = Number.NEGATIVE_INFINITY
  #otherMs = Number.NEGATIVE_INFINITY

  note(account: number, nowMs: number): void {
    if (account !== this.#latest) {
      this.#otherMs = this.#latestMs
      this.#latest = account
    }
    this.#latestMs = nowMs
  }

  /** True when the thing happened to another account than this one after `sinceMs`. */
  hasOther(account: number, sinceMs: number): boolean {
    return (account === this.#latest ? this.#otherMs : this.#latestMs) > sinceMs
  }

  clear(): void {
    this.#latestMs = this.#otherMs = Number.NEGATIVE_INFINITY
  }
}
