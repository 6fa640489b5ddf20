/**
 * Counts the searches that are seen in an answer. Each search has a key, such as its id, under which it may be seen several
 * times. Memory is bounded: no honest answer makes more searches than are told apart here.
 */
import { hash } from 'node:crypto'

const MOST = 1000
/** A key that is longer is kept as its hash. */
const LONGEST_KEY = 64

export class Searches {
  /** Whether what has this key counts. */
  readonly #seen = new Map<string, boolean>()
  count = 0

  /** `counts` false: the call proved to be no search, whatever it looked like before. */
  note(key: string, counts: boolean): void {
    const short = key.length > LONGEST_KEY ? hash('sha256', key) : key
    const before = this.#seen.get(short)
    if (before === false || before === counts || (before === undefined && this.#seen.size === MOST)) return
    this.#seen.set(short, counts)
    if (counts) this.count++
    else if (before) this.count--
  }
}
