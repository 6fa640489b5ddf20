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

  /** Whether the thing happened to another account than this one after `sinceMs`. */
  hasOther(account: number, sinceMs: number): boolean {
    return (account === this.#latest ? this.#otherMs : this.#latestMs) > sinceMs
  }

  clear(): void {
    this.#latestMs = this.#otherMs = Number.NEGATIVE_INFINITY
  }
}
