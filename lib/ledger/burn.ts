/**
 * How fast a purse is being used: the charges per ms, as an exponentially decaying average, and the decaying maximum of
 * what was held at once. A lease is sized by these two numbers (`lease.ts`).
 */
/** The time constant of the decay. */
const BURN_MS = 10_000
/** In the first moments after the first charge, the average is taken over this time: one charge is no fast flow yet. */
const SHORTEST_MS = 1_000

export class Burn {
  /**
   * The decaying average of charges per ms, as it was at the last charge. It is too low at first, because it begins at 0;
   * `perMs` corrects that.
   */
  #average = 0
  #atMs: number
  /** When the first charge came; null before it. */
  #fromMs: number | null = null
  /** The decaying maximum of the sum of open holds. */
  peakHeld = 0

  constructor(nowMs: number) {
    this.#atMs = nowMs
  }

  charge(amount: number, held: number, nowMs: number): void {
    this.#fromMs ??= nowMs
    const kept = Math.exp(-(nowMs - this.#atMs) / BURN_MS)
    this.#atMs = nowMs
    this.#average = this.#average * kept + amount / BURN_MS
    this.peakHeld = Math.max(held, this.peakHeld * kept)
  }

  hold(held: number): void {
    if (held > this.peakHeld) this.peakHeld = held
  }

  /** Charges per ms, averaged over the time since the first charge. */
  perMs(nowMs: number): number {
    if (this.#fromMs === null) return 0
    return this.#average / (1 - Math.exp(-Math.max(SHORTEST_MS, nowMs - this.#fromMs) / BURN_MS))
  }
}
