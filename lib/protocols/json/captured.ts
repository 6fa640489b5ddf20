/**
 * The text of a key or value while it passes. A text within one chunk is cut out of it; of a text that goes on over several
 * chunks, each part is kept until the end is there, up to a limit.
 */
import { Seen } from './seen.ts'

const PLAIN_KEY = /^[ !#-[\]-~]*$/

const KEYS = new Seen(PLAIN_KEY)
const VALUES = new Seen()

/** Up to this length the engine copies a part of a text; a longer part would keep the whole text in memory. */
const COPIED = 12

export class Captured {
  /** The parts of the text that came in earlier chunks. */
  #kept = ''
  #limit = 0
  /** Where the text begins in this chunk; -1 = it is not captured. */
  #from = -1

  /** A key or value begins at `at`. `limit`: how many bytes of it are wanted; 0 = none. */
  begin(at: number, limit: number): void {
    this.#kept = ''
    this.#limit = limit
    this.#from = limit > 0 ? at : -1
  }

  /** Is called when a chunk ends before the text does. `head`: the beginning of a text is kept that is too long. */
  endChunk(chunk: Buffer, head: boolean): void {
    const from = this.#from
    if (from < 0) return
    const room = this.#limit - this.#kept.length
    const fits = chunk.length - from <= room
    if (fits || head) this.#kept += chunk.toString('latin1', from, Math.min(chunk.length, from + room))
    else this.#kept = ''
    this.#from = fits ? 0 : -1
  }

  /**
   * Returns the text up to `end` of this chunk; null = it was too long, or not wanted. `text`: the chunk as Latin-1.
   */
  take(chunk: Buffer, text: string, end: number, head: boolean): string | null {
    const from = this.#from
    if (from < 0) return this.#kept === '' ? null : this.#kept
    this.#from = -1
    const room = this.#limit - this.#kept.length
    if (end - from > room && !head) return null
    if (this.#kept === '' && end - from <= room) {
      const short = end - from <= COPIED ? text.slice(from, end) : VALUES.at(text, from, end)
      if (short !== null) return short
    }
    return this.#kept + chunk.toString('latin1', from, Math.min(end, from + room))
  }

  /** Returns a key without its quotes when all of it is in this chunk and nothing in it is escaped, else null. */
  takeKey(text: string, end: number): string | null {
    const from = this.#from
    if (from < 0 || this.#kept !== '' || end - from > this.#limit) return null
    const key = KEYS.at(text, from + 1, end - 1)
    if (key !== null) this.#from = -1
    return key
  }
}
