/**
 * Finds the end of an object or array that nobody looks into. Only strings and brackets are followed, which is enough
 * to find the bracket that closes it. Between them only bytes are allowed that JSON has there.
 */
import type { StringEnd } from './string-end.ts'

const QUOTE = 0x22
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

const DEEPEST = 1 << 20

/**
 * The bytes that may stand between strings and brackets. Some readers know quotes and comments that JSON does not have.
 * Such a quote or comment could hide a member from those readers, or from the gateway, so they are not allowed.
 */
const BETWEEN = new Uint8Array(256)
for (const c of Buffer.from(' \t\r\n,:+-.0123456789')) BETWEEN[c] = 1
for (let letter = 0x41; letter <= 0x5a; letter++) BETWEEN[letter] = BETWEEN[letter | 0x20] = 1

/** What `Nested.find` returns when the value goes on in the next chunk, and when it is not JSON. */
export const GOES_ON = -1
export const BROKEN = -2

export class Nested {
  /** The bytes that close the open objects and arrays, outermost first. */
  readonly #closers: number[] = []
  #depth = 0
  readonly #strings: StringEnd
  #inString = false
  /** How many objects and arrays stand directly in the value. */
  items = 0

  /** `strings`: finds the ends of strings, one at a time. */
  constructor(strings: StringEnd) {
    this.#strings = strings
  }

  /** Begins a value, just after its first bracket. `closer`: the byte that will close it. */
  begin(closer: number): void {
    this.#depth = 1
    this.items = 0
    this.#closers[0] = closer
  }

  /** Whether all of the chunk is inside one string. */
  isInside(chunk: Buffer): boolean {
    return this.#inString && chunk.indexOf(QUOTE) < 0
  }

  /** Returns the position after the bracket that closes the value, or GOES_ON, or BROKEN. */
  find(chunk: Buffer, text: string, from: number): number {
    const { length } = chunk
    let i = this.#inString ? this.#strings.find(chunk, text, from) : from
    if (i < 0) return GOES_ON
    this.#inString = false
    for (; i < length; i++) {
      const c = chunk[i] as number
      if (c === QUOTE) {
        const end = this.#strings.find(chunk, text, i + 1)
        if (end < 0) {
          this.#inString = true
          return GOES_ON
        }
        i = end - 1
      } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
        if (!this.#open(c + 2)) return BROKEN
      } else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
        if (this.#closers[--this.#depth] !== c) return BROKEN
        if (this.#depth === 0) return i + 1
      } else if (BETWEEN[c] === 0) return BROKEN
    }
    return GOES_ON
  }

  #open(closer: number): boolean {
    if (this.#depth >= DEEPEST) return false
    if (this.#depth === 1) this.items++
    this.#closers[this.#depth++] = closer
    return true
  }
}
