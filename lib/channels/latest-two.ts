/** The two accounts of which something was last heard, and when: enough to tell whether an account is the only one. */
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

  /** Whether somebody else was heard of since then. */
  hasOther(account: number, sinceMs: number): boolean {
    return (account === this.#latest ? this.#otherMs : this.#latestMs) > sinceMs
  }

  clear(): void {
    this.#latestMs = this.#otherMs = Number.NEGATIVE_INFINITY
  }
}
