/**
 * Settlements of one turn of the event loop, which the journal takes with one call at the end of the turn. Where much goes
 * on many share it; where little does, it comes at once.
 */
import type { Settlement } from '../store/store.ts'

export class CommitGroup {
  readonly settlements: Settlement[] = []
  /** The journal or the store has every one of them: their clients may see the end of their answers. */
  kept = false
  readonly whenKept: Promise<void>
  readonly #resolve: () => void
  /** Of those that only the store can take, because the journal could not. */
  #missing = 0

  constructor() {
    const { promise, resolve } = Promise.withResolvers<void>()
    this.whenKept = promise
    this.#resolve = resolve
  }

  keep(): void {
    this.kept = true
    this.#resolve()
  }

  /** The journal did not take them. The returned function is to be called as often as there are settlements. */
  keepOneByOne(): () => void {
    this.#missing = this.settlements.length
    return () => {
      if (--this.#missing === 0) this.keep()
    }
  }
}
