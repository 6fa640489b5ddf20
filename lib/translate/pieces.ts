/** A long text of which the pieces come one by one, where all of it is written at the end. */
import { EMPTY, join, type Literal } from './json/literal.ts'

const MOST_PIECES = 128

/**
 * A piece is a view of the event that it came in and would keep all of that in memory, so that pieces are copied together
 * now and then.
 */
export class Pieces {
  #copied: Literal[] = []
  #views: Literal[] = []

  add(piece: Literal): void {
    this.#views.push(piece)
    if (this.#views.length < MOST_PIECES) return
    this.#copied.push(Buffer.from(join(this.#views), 'latin1').toString('latin1'))
    this.#views = []
  }

  get text(): Literal {
    const all = [...this.#copied, ...this.#views]
    return all.length === 0 ? EMPTY : join(all)
  }
}
