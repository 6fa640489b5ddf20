const SLICES = 10

/** How often something happened lately: over the last window, to a tenth of it. Times are monotonic ms. */
export class SlidingCount {
  readonly #sliceMs: number
  readonly #counts = new Float64Array(SLICES)
  #slice = 0
  #sum = 0

  constructor(windowMs: number) {
    this.#sliceMs = windowMs / SLICES
  }

  add(nowMs: number): void {
    this.#turn(nowMs)
    this.#counts[this.#slice % SLICES]! += 1
    this.#sum++
  }

  sum(nowMs: number): number {
    this.#turn(nowMs)
    return this.#sum
  }

  clear(): void {
    this.#counts.fill(0)
    this.#sum = 0
  }

  /** Empties the slices that are being begun again. */
  #turn(nowMs: number): void {
    const now = Math.floor(nowMs / this.#sliceMs)
    for (let slice = Math.max(this.#slice + 1, now - SLICES + 1); slice <= now; slice++) {
      this.#sum -= this.#counts[slice % SLICES]!
      this.#counts[slice % SLICES] = 0
    }
    this.#slice = now
  }
}
