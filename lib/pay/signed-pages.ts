/**
 * Addresses of pages that are signed when they are shown. A signature has a time in it, and providers take it for minutes only, while
 * an order lives for half an hour and more. Whoever looks again and again gets the same address for a while: a signature costs most
 * of a millisecond.
 */
const KEPT_MS = 60_000
const MOST_KEPT = 1_000

export class SignedPages {
  /** By order and place to return to; the oldest first. */
  readonly #made = new Map<string, { at: number; address: string }>()

  /** `now`: ms of a clock that never jumps. */
  of(key: string, now: number, sign: () => string): string {
    const known = this.#made.get(key)
    if (known !== undefined && now - known.at < KEPT_MS) return known.address
    const address = sign()
    this.#made.delete(key)
    if (this.#made.size >= MOST_KEPT) this.#made.delete(this.#made.keys().next().value as string)
    this.#made.set(key, { at: now, address })
    return address
  }
}
