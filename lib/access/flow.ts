const SHORTEST_MS = 1000

/** How many come in a while, by those that came since it was last asked for. */
export class Flow {
  #count = 0
  #sinceMs = -1

  add(): void {
    this.#count++
  }

  /** Expected in the next `ms`; nothing after a first one, which may stay the only one. */
  expected(now: number, ms: number): number {
    if (this.#sinceMs < 0) return 0
    return Math.floor((this.#count * ms) / Math.max(SHORTEST_MS, now - this.#sinceMs))
  }

  restart(now: number): void {
    this.#count = 0
    this.#sinceMs = now
  }
}
