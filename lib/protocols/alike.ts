/**
 * The events of a stream are much alike. This class remembers the piece of text that comes again and again at one point
 * of a stream, so that the piece is compared and not searched for keys again, which costs six times as much.
 */
import type { Kind } from './content-keys.ts'

/** The longest piece that is remembered. */
const LONGEST_ALIKE = 1024
/** After so many pieces that differ from each other, nothing more is remembered. */
const MOST_TRIES = 4

export class Alike {
  #text = ''
  #tries = MOST_TRIES
  /** How the value of the key counts with which the piece ends. */
  kind: Kind = 'text'

  get length(): number {
    return this.#text.length
  }

  standsAt(text: string, from: number): boolean {
    const { length } = this.#text
    return length > 0 && text.slice(from, from + length) === this.#text
  }

  learn(text: string, kind: Kind = 'text'): void {
    if (this.#tries === 0 || text.length > LONGEST_ALIKE) return
    this.#tries--
    this.kind = kind
    this.#text = Buffer.from(text, 'latin1').toString('latin1') // a copy: a slice would keep all it was cut from
  }
}
