/** Open requests per account in this process. */
export class Concurrency {
  readonly #open = new Map<number, number>()

  /** False: the account has as many open as `limit` allows. */
  enter(accountId: number, limit: number): boolean {
    const open = this.#open.get(accountId) ?? 0
    if (open >= limit) return false
    this.#open.set(accountId, open + 1)
    return true
  }

  leave(accountId: number): void {
    const open = this.#open.get(accountId) ?? 0
    if (open > 1) this.#open.set(accountId, open - 1)
    else this.#open.delete(accountId) // only accounts with something open take memory
  }
}
