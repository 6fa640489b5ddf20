/**
 * Finds the end of a JSON string, which may go on over several chunks. The first bytes are read in a loop, because most
 * strings are short. The rest is searched for a quote by the engine, and the backslashes before the quote tell whether it
 * ends the string. Where one quote is escaped many are, and a pattern passes over all of them.
 */
const QUOTE = 0x22
const BACKSLASH = 0x5c
/** For so many bytes a loop is faster than a native search. */
const SHORT = 12
/** The inside of a string. It is bounded, as the stack of patterns is. */
const INSIDE = /(?:[^"\\]+|\\.){1,4096}/sy

export class StringEnd {
  /** Whether the last chunk ended with a backslash that escapes the next byte. */
  #escaped = false

  /**
   * Returns the position after the closing quote; -1 = the string goes on in the next chunk. `from` is inside the
   * string; `text` is the chunk as Latin-1.
   */
  find(chunk: Buffer, text: string, from: number): number {
    let i = from
    const { length } = chunk
    if (this.#escaped && i < length) {
      this.#escaped = false
      i++
    }
    const near = Math.min(length, i + SHORT)
    for (; i < near; i++) {
      const c = chunk[i] as number
      if (c === QUOTE) return i + 1
      if (c === BACKSLASH && ++i >= length) {
        this.#escaped = true
        return -1
      }
    }
    return this.#findFar(chunk, text, i)
  }

  #findFar(chunk: Buffer, text: string, from: number): number {
    const quote = text.indexOf('"', from)
    if (quote < 0) {
      this.#escaped = isEscaped(chunk, from, chunk.length)
      return -1
    }
    return isEscaped(chunk, from, quote) ? this.#findBehind(text, quote + 1) : quote + 1
  }

  /** `from`: behind an escaped quote. */
  #findBehind(text: string, from: number): number {
    for (let i = from; i < text.length; ) {
      INSIDE.lastIndex = i
      if (INSIDE.test(text)) i = INSIDE.lastIndex
      else if (text.charCodeAt(i) === QUOTE) return i + 1
      else {
        this.#escaped = true // by a backslash at the very end
        return -1
      }
    }
    return -1
  }
}

/** Whether an odd number of backslashes is right before `at`, from `from` on. Mostly it is one or none. */
function isEscaped(chunk: Buffer, from: number, at: number): boolean {
  if (at === from || chunk[at - 1] !== BACKSLASH) return false
  let run = at - 1
  while (run > from && chunk[run - 1] === BACKSLASH) run--
  return ((at - run) & 1) === 1
}
