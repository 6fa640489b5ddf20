/** Places for upstreams that are read on although their client has left. One account has at most a share of them. */

/** One account's part of all places. */
const SHARE = 1 / 4

export class Drains {
  readonly #ofAccount = new Map<number, number>()
  /** Places taken. */
  size = 0

  /** Takes one of `most` places; false: there is none for this account. */
  enter(accountId: number, most: number): boolean {
    const own = this.#ofAccount.get(accountId) ?? 0
    if (this.size >= most || own >= Math.max(1, Math.floor(most * SHARE))) return false
    this.#ofAccount.set(accountId, own + 1)
    this.size++
    return true
  }

  leave(accountId: number): void {
    const own = (this.#ofAccount.get(accountId) as number) - 1
    if (own === 0) this.#ofAccount.delete(accountId)
    else this.#ofAccount.set(accountId, own)
    this.size--
  }
}
