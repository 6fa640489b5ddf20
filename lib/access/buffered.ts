/**
 * Request bodies in memory, all together and of each account. The limit is shared: an account that has several there may not
 * take more than half of it, so that nobody who sends large bodies slowly keeps everybody else out.
 */
import { invariant } from '../base/assert.ts'

export class Buffered {
  /** Of all accounts. */
  bytes = 0
  readonly #ofAccount = new Map<number, number>()

  /**
   * Takes room for `more` bytes of a body of which `had` are kept already; false: there is none. `give` gives room back.
   */
  take(accountId: number, had: number, more: number, limit: number): boolean {
    const own = this.#ofAccount.get(accountId) ?? 0
    const hasOthers = own > had
    if (this.bytes + more > limit || (hasOthers && own + more > limit / 2)) return false
    this.bytes += more
    this.#ofAccount.set(accountId, own + more)
    return true
  }

  give(accountId: number, bytes: number): void {
    const left = (this.#ofAccount.get(accountId) ?? 0) - bytes
    invariant(left >= 0, `account ${accountId} gives back more than it has`)
    this.bytes -= bytes
    if (left > 0) this.#ofAccount.set(accountId, left)
    else this.#ofAccount.delete(accountId) // only accounts with something here take memory
  }
}
