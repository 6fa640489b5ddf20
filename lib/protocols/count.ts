/**
 * Counts output from content text as it passes: the strings under certain keys (`"content":"…"`), wherever they stand.
 * Nothing is parsed and nothing kept: a search that hops over bytes which cannot begin a key, and a count of the bytes
 * between the quotes, escapes undone. A key inside a string has its quotes escaped, so it is never mistaken for one.
 */
import { Patterns } from './patterns.ts'

const LF = 0x0a
const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const LETTER_U = 0x75

/** UTF-8 bytes of text per token, as measured over prose, code and tool calls. */
const BYTES_PER_TOKEN = 4.4
/** `\uXXXX` stands for about three bytes of UTF-8. */
const UNICODE_ESCAPE_BYTES = 3

const NOTHING = Buffer.alloc(0)

const SEARCH = 0
const AFTER_KEY = 1
const BEFORE_VALUE = 2
const IN_TEXT = 3

/** The keys whose strings are content; made once per protocol. */
export const keySet = (keys: readonly string[]): Patterns => new Patterns(keys.map(key => `"${key}"`))

export class TextCounter {
  readonly #keys: Patterns
  #state = SEARCH
  /** The end of the last chunk, where a key may have begun. */
  #tail: Buffer = NOTHING
  /** After a backslash. */
  #escaped = false
  /** Digits of an escape that are still to come. */
  #skip = 0
  #bytes = 0

  constructor(keys: Patterns) {
    this.#keys = keys
  }

  get tokens(): number {
    return Math.ceil(this.#bytes / BYTES_PER_TOKEN)
  }

  feed(chunk: Buffer): void {
    let i = 0
    if (this.#state === SEARCH && this.#tail.length > 0) {
      const joined = Buffer.concat([this.#tail, chunk.subarray(0, this.#keys.longest)])
      const before = this.#tail.length
      const end = this.#search(joined, 0, before)
      if (this.#found) i = end - before
    }
    while (i < chunk.length) {
      if (this.#state === SEARCH) i = this.#search(chunk, i, chunk.length)
      else if (this.#state === IN_TEXT) i = this.#text(chunk, i)
      else i = this.#between(chunk, i)
    }
    if (this.#state === SEARCH) this.#keepTail(chunk)
  }

  #keepTail(chunk: Buffer): void {
    if (chunk[chunk.length - 1] === LF) {
      this.#tail = NOTHING // no key goes on after the end of a line
      return
    }
    const most = this.#keys.longest - 1
    if (chunk.length >= most) this.#tail = Buffer.from(chunk.subarray(-most))
    else this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-most)
  }

  get #found(): boolean {
    return this.#state === AFTER_KEY
  }

  /** To just after the next key that begins before `before`, or to the end. */
  #search(bytes: Buffer, from: number, before: number): number {
    const at = this.#keys.find(bytes, from, before)
    if (at < 0) return bytes.length
    this.#state = AFTER_KEY
    this.#tail = NOTHING
    return at + this.#keys.foundLength
  }

  #between(chunk: Buffer, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      const c = chunk[i] as number
      if (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) continue
      if (this.#state === AFTER_KEY && c === COLON) this.#state = BEFORE_VALUE
      else {
        this.#state = this.#state === BEFORE_VALUE && c === QUOTE ? IN_TEXT : SEARCH
        return c === QUOTE && this.#state === SEARCH ? i : i + 1
      }
    }
    return chunk.length
  }

  #text(chunk: Buffer, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      const c = chunk[i] as number
      if (this.#skip > 0) this.#skip--
      else if (this.#escaped) {
        this.#escaped = false
        if (c !== LETTER_U) continue
        this.#skip = 4
        this.#bytes += UNICODE_ESCAPE_BYTES - 1
      } else if (c === QUOTE) {
        this.#state = SEARCH
        return i + 1
      } else {
        this.#bytes++
        this.#escaped = c === BACKSLASH
      }
    }
    return chunk.length
  }
}
