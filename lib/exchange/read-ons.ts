/**
 * Limits how many upstreams are read on although their client has left ("read-ons"). Each read-on takes a place, and one account
 * can take only a part of all places. How a whole process drains when it ends is in `lib/process/server-drain.ts`.
 */

/** The part of all places that one account can take. */
const SHARE = 1 / 4

export class ReadOns {
  readonly #ofAccount = new Map<number, number>()
  /** How many places are taken. */
  size = 0

  /** Takes one of `most` places. False: this account can have none. */
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
