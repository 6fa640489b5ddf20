/**
 * Finds the ends of JSON strings, and of objects and arrays that nobody looks into, over the ends of chunks. In a string the
 * first bytes are read in a loop, because most strings are short. Where there is a text of the chunk, the engine searches the rest of it for
 * a quote, and the backslashes before the quote tell whether it ends the string. Where one quote is escaped many are, and the bytes are
 * searched (`inside.ts`). Of an object or array only strings and brackets are followed, which is enough to find the bracket that closes
 * it.
 */
import { endInBytes, ESCAPING } from './inside.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
/** For so many bytes a loop is faster than a native search. */
const SHORT = 12

export class StringEnd {
  /** True when the last chunk ended with a backslash that escapes the next byte. */
  #escaped = false
  readonly #sought: readonly number[]
  /** True when a string has begun as one of those that are looked for. */
  found = false
  /** The string goes on in the next chunk. */
  #goesOn = false
  /** How many of its first two bytes are still to come, and the first of them. */
  #awaited = 0
  #first = 0

  /** `sought`: how strings begin that are looked for: their first two bytes, as one number. */
  constructor(sought: readonly number[] = []) {
    this.#sought = sought
  }

  /** Another document begins. */
  begin(): void {
    this.#escaped = this.found = this.#goesOn = false
    this.#awaited = 0
  }

  /**
   * Returns the position after the closing quote; -1 = the string goes on in the next chunk. `from` is inside the
   * string; `text` is the chunk as Latin-1, or empty: then the bytes are searched, and nothing is allocated.
   */
  find(chunk: Buffer, text: string, from: number): number {
    if (this.#sought.length > 0) this.#compare(chunk, from)
    const end = this.#findEnd(chunk, text, from)
    this.#goesOn = end < 0
    return end
  }

  /** More of the string has gone by, and no escape is open at its end. */
  pass(): void {
    this.#escaped = false
  }

  #compare(chunk: Buffer, from: number): void {
    if (!this.#goesOn) this.#awaited = 2
    for (let i = from; this.#awaited > 0 && i < chunk.length; i++) {
      const c = chunk[i] as number
      if (this.#awaited-- === 2) this.#first = c
      else if (this.#sought.includes((this.#first << 8) | c)) this.found = true
    }
  }

  #findEnd(chunk: Buffer, text: string, from: number): number {
    let i = from
    const { length } = chunk
    if (this.#escaped && i < length) {
      this.#escaped = false
      i++
    }
    for (const near = Math.min(length, i + SHORT); i < near; i++) {
      const c = chunk[i] as number
      if (c === QUOTE) return i + 1
      if (c === BACKSLASH && ++i >= length) this.#escaped = true
    }
    if (i >= length) return -1
    if (text === '') return this.#findFar(chunk, i)
    const quote = text.indexOf('"', i)
    if (quote < 0) {
      this.#escaped = isEscaped(chunk, i, length)
      return -1
    }
    return isEscaped(chunk, i, quote) ? this.#findFar(chunk, quote + 1) : quote + 1
  }

  #findFar(chunk: Buffer, from: number): number {
    const end = endInBytes(chunk, from)
    this.#escaped = end === ESCAPING
    return end < 0 ? -1 : end
  }
}

/** Tells whether an odd number of backslashes is right before `at`, from `from` on. Mostly it is one or none. */
function isEscaped(chunk: Buffer, from: number, at: number): boolean {
  if (at === from || chunk[at - 1] !== BACKSLASH) return false
  let run = at - 1
  while (run > from && chunk[run - 1] === BACKSLASH) run--
  return ((at - run) & 1) === 1
}

const DEEPEST = 1 << 20

/**
 * The bytes that may stand between strings and brackets. Some readers know quotes and comments that JSON does not have.
 * Such a quote or comment could hide a member from those readers, or from the gateway, so they are not allowed.
 */
const BETWEEN = new Uint8Array(256)
for (const c of Buffer.from(' \t\r\n,:+-.0123456789')) BETWEEN[c] = 1
for (let letter = 0x41; letter <= 0x5a; letter++) BETWEEN[letter] = BETWEEN[letter | 0x20] = 1

/** `NestedEnd.find` returns these when the value goes on in the next chunk, and when it is not JSON. */
export const GOES_ON = -1
export const BROKEN = -2

export class NestedEnd {
  /** The bytes that close the open objects and arrays, outermost first. */
  readonly #closers: number[] = []
  #depth = 0
  readonly #strings: StringEnd
  /** True when a string goes on in the next chunk. */
  inString = false
  /** The number of objects and arrays that stand directly in the value. */
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
    this.inString = false
  }

  /** Returns the position after the string with which the chunk begins; -1 = it goes on. */
  endOfString(chunk: Buffer): number {
    const end = this.#strings.find(chunk, '', 0)
    this.inString = end < 0
    return end
  }

  /** Returns the position after the bracket that closes the value, or GOES_ON, or BROKEN. */
  find(chunk: Buffer, text: string, from: number): number {
    const { length } = chunk
    let i = this.inString ? this.#strings.find(chunk, text, from) : from
    if (i < 0) return GOES_ON
    this.inString = false
    for (; i < length; i++) {
      const c = chunk[i] as number
      if (c === QUOTE) {
        const end = this.#strings.find(chunk, text, i + 1)
        if (end < 0) {
          this.inString = true
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
