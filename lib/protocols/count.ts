/**
 * Counts output from content text as it passes: the strings under certain keys (`"content":"…"`), wherever they stand.
 * Nothing is parsed and nothing kept: a search for the keys, and a count of the bytes between the quotes, escapes undone.
 * A key inside a string has its quotes escaped, so it is never mistaken for one.
 *
 * Events of one stream are much alike: what stood between two texts is compared with what stands there now, which costs a
 * sixth of searching it for keys again.
 */
import { Patterns } from './patterns.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const LETTER_U = 0x75

/** UTF-8 bytes of text per token, as measured over prose, code and tool calls. */
const BYTES_PER_TOKEN = 4.4
/** `\uXXXX` stands for about three bytes of UTF-8. */
const UNICODE_ESCAPE_BYTES = 3

const SEARCH = 0
const AFTER_KEY = 1
const BEFORE_VALUE = 2
const IN_TEXT = 3

/** The keys whose strings are content; made once per protocol. */
export const keySet = (keys: readonly string[]): Patterns => new Patterns(keys.map(key => `"${key}"`))

/** A longer piece is not remembered. */
const LONGEST_ALIKE = 1024
/** A stream whose pieces differ each time is not tried any longer. */
const MOST_TRIES = 4

/** A piece of text that comes again and again at the same point of a stream. */
class Alike {
  #text = ''
  #tries = MOST_TRIES

  get length(): number {
    return this.#text.length
  }

  standsAt(text: string, from: number): boolean {
    const { length } = this.#text
    return length > 0 && text.slice(from, from + length) === this.#text
  }

  learn(text: string): void {
    if (this.#tries === 0 || text.length > LONGEST_ALIKE) return
    this.#tries--
    this.#text = Buffer.from(text, 'latin1').toString('latin1') // a copy: a slice would keep all it was cut from
  }
}

/** To the next quote or backslash, or the end. */
function plainUntil(text: string, from: number): number {
  let i = from
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE || c === BACKSLASH) break
  }
  return i
}

export class TextCounter {
  readonly #keys: Patterns
  /** To the end of the first key of a chunk, to that of the next one after a text, and what follows the last text. */
  readonly #lead = new Alike()
  readonly #gap = new Alike()
  readonly #rest = new Alike()
  #state = SEARCH
  /** The end of the last chunk, where a key may have begun. */
  #tail = ''
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

  /** `text`: bytes as Latin-1. */
  feed(text: string): void {
    let i = 0
    if (this.#state === SEARCH && this.#tail !== '') i = this.#acrossChunks(text)
    let passed = 0
    while (i < text.length) {
      if (this.#state === SEARCH) i = this.#search(text, i)
      else passed = i = this.#state === IN_TEXT ? this.#text(text, i) : this.#between(text, i)
    }
    if (this.#state === SEARCH) this.#keepTail(text.slice(passed))
  }

  /** A key that began in the last chunk. Returns where to go on in this one. */
  #acrossChunks(text: string): number {
    const before = this.#tail.length
    const end = this.#keys.endOfNext(this.#tail + text.slice(0, this.#keys.longest), 0)
    // one that lies wholly in this chunk will be found there
    if (end <= before || end - before >= this.#keys.longest) return 0
    this.#found()
    return end - before
  }

  #found(): void {
    this.#state = AFTER_KEY
    this.#tail = ''
  }

  /** `text`: after the last key and its value, which would hide the next one if they were searched again. */
  #keepTail(text: string): void {
    const most = this.#keys.longest - 1
    if (text.endsWith('\n'))
      this.#tail = '' // no key goes on after the end of a line
    else this.#tail = text.length >= most ? text.slice(-most) : (this.#tail + text).slice(-most)
  }

  /** To just after the next key, or to the end. */
  #search(text: string, from: number): number {
    const alike = from === 0 ? this.#lead : this.#gap
    if (alike.standsAt(text, from)) {
      this.#found()
      return from + alike.length
    }
    if (this.#rest.length === text.length - from && this.#rest.standsAt(text, from)) return text.length
    const end = this.#keys.endOfNext(text, from)
    if (end < 0) {
      this.#rest.learn(text.slice(from))
      return text.length
    }
    alike.learn(text.slice(from, end))
    this.#found()
    return end
  }

  #between(text: string, from: number): number {
    for (let i = from; i < text.length; i++) {
      const c = text.charCodeAt(i)
      if (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) continue
      if (this.#state === AFTER_KEY && c === COLON) this.#state = BEFORE_VALUE
      else {
        this.#state = this.#state === BEFORE_VALUE && c === QUOTE ? IN_TEXT : SEARCH
        return c === QUOTE && this.#state === SEARCH ? i : i + 1
      }
    }
    return text.length
  }

  #text(text: string, from: number): number {
    let i = this.#escaped || this.#skip > 0 ? this.#escape(text, from) : from
    while (i < text.length) {
      const end = plainUntil(text, i)
      this.#bytes += end - i
      if (end === text.length) return end
      if (text.charCodeAt(end) === QUOTE) {
        this.#state = SEARCH
        return end + 1
      }
      this.#bytes++
      this.#escaped = true
      i = this.#escape(text, end + 1)
    }
    return i
  }

  /** From just after a backslash, or from the midst of what follows it, to after that. */
  #escape(text: string, from: number): number {
    let i = from
    if (this.#escaped && i < text.length) {
      this.#escaped = false
      if (text.charCodeAt(i++) === LETTER_U) {
        this.#skip = 4
        this.#bytes += UNICODE_ESCAPE_BYTES - 1
      }
    }
    const skipped = Math.min(this.#skip, text.length - i)
    this.#skip -= skipped
    return i + skipped
  }
}
