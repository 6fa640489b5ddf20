/**
 * Estimates the output tokens of an answer from its content while it passes. Content is the value of certain keys
 * (`"content":"…"`), wherever they stand. Nothing is parsed and nothing is kept: the text is searched for the keys, and
 * the bytes between the quotes are counted, an escape as the bytes it stands for. Inside a string the quotes of a key
 * would be escaped, so a string never passes for a key.
 *
 * Events of one stream are much alike, so what stands between two texts is first compared with what stood there before
 * (`Alike`).
 */
import { Alike } from './alike.ts'
import type { ContentKeys, Kind } from './content-keys.ts'
import type { Patterns } from './json/patterns.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const LETTER_U = 0x75
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/** UTF-8 bytes of text per token, as measured over prose, code and tool calls. */
export const BYTES_PER_TOKEN = 4.4
/** `\uXXXX` stands for about three bytes of UTF-8. */
export const UNICODE_ESCAPE_BYTES = 3

/**
 * Bytes of base64 per token. Upstreams report a token for 1,000 to 3,000 bytes of pictures and speech. With this number
 * base64 always counts as something, and never as much as text of the same length.
 */
const ENCODED_PER_TOKEN = 1000
/** How often a stream of the responses protocol repeats a text after its deltas, at most. */
const MOST_REPEATS = 4

const SEARCH = 0
const AFTER_KEY = 1
const BEFORE_VALUE = 2
const IN_TEXT = 3
const IN_VALUE = 4

/** Returns where the next quote or backslash is, or the length of the text. */
function plainUntil(text: string, from: number): number {
  let i = from
  for (; i < text.length; i++) {
    const c = text.charCodeAt(i)
    if (c === QUOTE || c === BACKSLASH) break
  }
  return i
}

export class ContentCounter {
  readonly #keys: ContentKeys
  #patterns: Patterns
  /**
   * The pieces that come again: from the beginning of a chunk to the end of its first key, from the end of a text to
   * the end of the next key, and from the end of the last text to the end of the chunk.
   */
  readonly #lead = new Alike()
  readonly #gap = new Alike()
  readonly #rest = new Alike()
  #state = SEARCH
  #kind: Kind = 'text'
  /** The end of the last chunk, in which a key may have begun. */
  #tail = ''
  /** The last character was a backslash inside a string. */
  #escaped = false
  /** How many hexadecimal digits of a `\u` escape are still to come. */
  #skip = 0
  /** How many brackets are open in a value of kind `whole`, and whether a string is open in it. */
  #depth = 0
  #quoted = false
  #fresh = false
  #text = 0
  #thought = 0
  #beside = 0
  #again = 0
  #encoded = 0
  /** How many strings of base64 have begun. */
  pieces = 0

  constructor(keys: ContentKeys) {
    this.#keys = keys
    this.#patterns = keys.patterns
  }

  get tokens(): number {
    return this.tokensBeside(0)
  }

  /** Whether some of the content is thoughts. */
  get thinks(): boolean {
    return this.#thought > 0
  }

  /** The tokens without `encoded` characters of base64, which are charged in another way. */
  tokensBeside(encoded: number): number {
    const text = Math.max(this.#text + Math.max(this.#thought, this.#beside), this.#again / MOST_REPEATS)
    return Math.ceil(text / BYTES_PER_TOKEN + Math.max(0, this.#encoded - encoded) / ENCODED_PER_TOKEN)
  }

  /** `text`: bytes as Latin-1. */
  feed(text: string): void {
    let i = 0
    if (this.#state === SEARCH && this.#tail !== '') i = this.#acrossChunks(text)
    let passed = 0
    while (i < text.length) {
      if (this.#state === SEARCH) i = this.#search(text, i)
      else if (this.#state === IN_TEXT) passed = i = this.#inText(text, i)
      else if (this.#state === IN_VALUE) passed = i = this.#inValue(text, i)
      else passed = i = this.#between(text, i)
    }
    if (this.#state === SEARCH) this.#keepTail(text.slice(passed))
  }

  #add(bytes: number): void {
    if (this.#kind === 'encoded') this.#encoded += bytes
    else if (this.#kind === 'again') this.#again += bytes
    else if (this.#kind === 'thought') this.#thought += bytes
    else if (this.#kind === 'beside') this.#beside += bytes
    else {
      this.#text += bytes
      this.#patterns = this.#keys.first
    }
  }

  /** Looks for a key that began in the last chunk. Returns where the search goes on in this chunk. */
  #acrossChunks(text: string): number {
    const before = this.#tail.length
    const joined = this.#tail + text.slice(0, this.#patterns.longest)
    const end = this.#patterns.endOfNext(joined, 0)
    // one that lies wholly in this chunk will be found there
    if (end <= before || end - before >= this.#patterns.longest) return 0
    this.#found(this.#keys.kindAt(joined, end))
    return end - before
  }

  #found(kind: Kind): void {
    this.#state = AFTER_KEY
    this.#kind = kind
    this.#tail = ''
  }

  /** `text`: what follows the last key and its value. These are left out, because they would hide the next key. */
  #keepTail(text: string): void {
    const most = this.#patterns.longest - 1
    if (text.endsWith('\n'))
      this.#tail = '' // no key goes on after the end of a line
    else this.#tail = text.length >= most ? text.slice(-most) : (this.#tail + text).slice(-most)
  }

  /** Moves to the position after the next key, or to the end. */
  #search(text: string, from: number): number {
    const alike = from === 0 ? this.#lead : this.#gap
    if (alike.standsAt(text, from)) {
      this.#found(alike.kind)
      return from + alike.length
    }
    if (this.#rest.length === text.length - from && this.#rest.standsAt(text, from)) return text.length
    const end = this.#patterns.endOfNext(text, from)
    if (end < 0) {
      this.#rest.learn(text.slice(from))
      return text.length
    }
    const kind = this.#keys.kindAt(text, end)
    alike.learn(text.slice(from, end), kind)
    this.#found(kind)
    return end
  }

  #between(text: string, from: number): number {
    for (let i = from; i < text.length; i++) {
      const c = text.charCodeAt(i)
      if (c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09) continue
      if (this.#state === AFTER_KEY && c === COLON) this.#state = BEFORE_VALUE
      else if (this.#state === BEFORE_VALUE) {
        this.#begin(c)
        return i + 1
      } else {
        this.#state = SEARCH
        return c === QUOTE ? i : i + 1
      }
    }
    return text.length
  }

  /** Begins a value, whose first byte tells what it is. */
  #begin(c: number): void {
    this.#fresh = true
    if (c === QUOTE) this.#state = IN_TEXT
    else if (this.#kind === 'whole' && (c === OPEN_OBJECT || c === OPEN_ARRAY)) {
      this.#state = IN_VALUE
      this.#depth = 1
      this.#quoted = false
    } else this.#state = SEARCH
  }

  /** Base64 has no escapes that could hide its end, so the engine's own search finds the closing quote. */
  #inEncoded(text: string, from: number): number {
    const quote = text.indexOf('"', from)
    const end = quote < 0 ? text.length : quote
    if (end > from) this.#plain(end - from)
    if (quote < 0) return end
    this.#state = SEARCH
    return end + 1
  }

  #inText(text: string, from: number): number {
    if (this.#kind === 'encoded') return this.#inEncoded(text, from)
    let i = this.#escaped || this.#skip > 0 ? this.#escape(text, from) : from
    while (i < text.length) {
      const end = plainUntil(text, i)
      if (end > i) this.#plain(end - i)
      if (end === text.length) return end
      if (text.charCodeAt(end) === QUOTE) {
        this.#state = SEARCH
        return end + 1
      }
      this.#add(1)
      this.#escaped = true
      i = this.#escape(text, end + 1)
    }
    return i
  }

  #plain(bytes: number): void {
    if (this.#fresh && this.#kind === 'encoded') this.pieces++
    this.#fresh = false
    this.#add(bytes)
  }

  /** Moves over an escape, which may have begun in an earlier chunk. */
  #escape(text: string, from: number): number {
    let i = from
    if (this.#escaped && i < text.length) {
      this.#escaped = false
      if (text.charCodeAt(i++) === LETTER_U) {
        this.#skip = 4
        this.#add(UNICODE_ESCAPE_BYTES - 1)
      }
    }
    const skipped = Math.min(this.#skip, text.length - i)
    this.#skip -= skipped
    return i + skipped
  }

  /** Moves to the position after the bracket that closes the value. */
  #inValue(text: string, from: number): number {
    let i = from
    for (; i < text.length; i++) {
      const c = text.charCodeAt(i)
      if (this.#escaped) this.#escaped = false
      else if (c === QUOTE) this.#quoted = !this.#quoted
      else if (this.#quoted) this.#escaped = c === BACKSLASH
      else if (c === OPEN_OBJECT || c === OPEN_ARRAY) this.#depth++
      else if ((c === CLOSE_OBJECT || c === CLOSE_ARRAY) && --this.#depth === 0) {
        this.#state = SEARCH
        this.#add(i - from)
        return i + 1
      }
    }
    this.#add(i - from)
    return i
  }
}
