/** Counts the open requests of each account in this process, for `limits.concurrency`. */
import { invariant } from '../base/assert.ts'

export class Concurrency {
  readonly #open = new Map<number, number>()

  /**
   * Counts one more open request; false = the account has as many as `limit` allows (0 = unlimited). Whoever got true
   * must call `leave` once.
   */
  enter(accountId: number, limit: number): boolean {
    const open = this.#open.get(accountId) ?? 0
    if (limit > 0 && open >= limit) return false
    this.#open.set(accountId, open + 1)
    return true
  }

  leave(accountId: number): void {
    const open = this.#open.get(accountId) ?? 0
    invariant(open > 0, `account ${accountId} leaves and has nothing open`)
    if (open > 1) this.#open.set(accountId, open - 1)
    else this.#open.delete(accountId) // so that only accounts with open requests take memory
  }
}
