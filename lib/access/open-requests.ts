/** What the open requests of accounts take of this process: places, and bytes of their bodies in memory. */
import { invariant } from '../base/assert.ts'

/** Counts the open requests of each account in this process, for `limits.concurrency`. */
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

/**
 * Counts the bytes of request bodies in memory, of all accounts together and of each, for `limits.buffered`. An
 * account with several bodies in memory may take at most half of the limit, so that one that sends large bodies
 * slowly cannot keep all others out.
 */
export class Buffered {
  /** Bytes of all accounts together. */
  bytes = 0
  readonly #ofAccount = new Map<number, number>()

  /**
   * Takes room for `more` bytes of a body that has `had` bytes in memory already; false = there is no room. `give`
   * gives room back.
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
    else this.#ofAccount.delete(accountId) // so that only accounts with bodies in memory take memory here
  }
}
