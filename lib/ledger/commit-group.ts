/**
 * Group commit for the journal: the settlements of one turn of the event loop are written together, with one call at
 * the end of the turn. Under load one write serves many settlements, and an idle process adds no delay. The last bytes
 * of an answer wait for the write of its group (`whenKept`).
 */
import type { Settlement } from '../store/store.ts'

export class CommitGroup {
  readonly settlements: Settlement[] = []
  /** True once the journal or the store has every settlement of the group. */
  kept = false
  readonly #acts: (() => void)[] = []
  /** How many settlements are kept neither by the journal nor by the store, after the journal could not be written. */
  #missing = 0

  /**
   * Calls `act` once the group is kept, or at once when it is. Acts run in the order of the calls and must not throw.
   */
  whenKept(act: () => void): void {
    if (this.kept) act()
    else this.#acts.push(act)
  }

  keep(): void {
    for (const act of this.#acts) act() // an act may add another one, which then runs at the end of this loop
    this.kept = true
  }

  /** For when the journal refused the group: the returned function is called each time one settlement has been kept. */
  keepOneByOne(): () => void {
    this.#missing = this.settlements.length
    return () => {
      if (--this.#missing === 0) this.keep()
    }
  }
}
