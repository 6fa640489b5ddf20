import { invariant } from '../base/assert.ts'

/** Open requests per account in this process. */
export class Concurrency {
  readonly #open = new Map<number, number>()

  /** False: the account has as many open as `limit` allows; 0 = unlimited. Every true is followed by one `leave`. */
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
    else this.#open.delete(accountId) // only accounts with something open take memory
  }
}
