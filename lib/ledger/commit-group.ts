/**
 * Settlements of one turn of the event loop, which the journal takes with one call at the end of the turn. Where much goes
 * on many share it; where little does, it comes at once.
 */
import type { Settlement } from '../store/store.ts'

export class CommitGroup {
  readonly settlements: Settlement[] = []
  /** The journal or the store has every one of them: their clients may see the end of their answers. */
  kept = false
  readonly #acts: (() => void)[] = []
  /** Of those that only the store can take, because the journal could not. */
  #missing = 0

  /** In the order of the calls, as soon as they are kept. `act` may not throw. */
  whenKept(act: () => void): void {
    if (this.kept) act()
    else this.#acts.push(act)
  }

  keep(): void {
    for (const act of this.#acts) act() // one of them may add another, which has to come after these
    this.kept = true
  }

  /** The journal did not take them. The returned function is to be called as often as there are settlements. */
  keepOneByOne(): () => void {
    this.#missing = this.settlements.length
    return () => {
      if (--this.#missing === 0) this.keep()
    }
  }
}
