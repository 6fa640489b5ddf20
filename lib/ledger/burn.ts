/** How fast a purse is used up, averaged over the last seconds: charges per ms, and the most that was held at once. */
/** Over which the average is taken. */
const BURN_MS = 10_000
/** A flow that has just begun is not taken for faster than over this. */
const SHORTEST_MS = 1_000

export class Burn {
  #charged = 0
  #atMs: number
  /** The first charge; what came before it is no quiet time. */
  #fromMs: number | null = null
  /** Most held at once lately. */
  peakHeld = 0

  constructor(nowMs: number) {
    this.#atMs = nowMs
  }

  charge(amount: number, held: number, nowMs: number): void {
    this.#fromMs ??= nowMs
    const kept = Math.exp(-(nowMs - this.#atMs) / BURN_MS)
    this.#atMs = nowMs
    this.#charged = (this.#charged + amount / BURN_MS) * kept
    this.peakHeld = Math.max(held, this.peakHeld * kept)
  }

  hold(held: number): void {
    if (held > this.peakHeld) this.peakHeld = held
  }

  /** An average that began with the first charge. */
  perMs(nowMs: number): number {
    if (this.#fromMs === null) return 0
    return this.#charged / (1 - Math.exp(-Math.max(SHORTEST_MS, nowMs - this.#fromMs) / BURN_MS))
  }
}
