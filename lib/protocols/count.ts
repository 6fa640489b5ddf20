/**
 * Counts output from content as it passes: what stands under certain keys (`"content":"…"`), wherever they stand.
 * Nothing is parsed and nothing kept: a search for the keys, and a count of the bytes between the quotes, escapes undone.
 * A key inside a string has its quotes escaped, so it is never mistaken for one.
 *
 * Events of one stream are much alike: what stood between two texts is compared with what stands there now, which costs a
 * sixth of searching it for keys again.
 */
import type { ContentKeys, Kind } from './content-keys.ts'
import type { Patterns } from './patterns.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COLON = 0x3a
const LETTER_U = 0x75
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/** UTF-8 bytes of text per token, as measured over prose, code and tool calls. */
const BYTES_PER_TOKEN = 4.4
/** `\uXXXX` stands for about three bytes of UTF-8. */
const UNICODE_ESCAPE_BYTES = 3

/**
 * Bytes of base64 per token. Upstreams report between 1,000 and 3,000 of them for pictures and speech, so what is counted is
 * never nothing, and never the price of as much text.
 */
const ENCODED_PER_TOKEN = 1000
/** A stream of the responses protocol says each text up to four times more, behind its deltas. */
const MOST_REPEATS = 4

const SEARCH = 0
const AFTER_KEY = 1
const BEFORE_VALUE = 2
const IN_TEXT = 3
const IN_VALUE = 4

/** A longer piece is not remembered. */
const LONGEST_ALIKE = 1024
/** A stream whose pieces differ each time is not tried any longer. */
const MOST_TRIES = 4

/** A piece of text that comes again and again at the same point of a stream. */
class Alike {
  #text = ''
  #tries = MOST_TRIES
  /** Of the key that it ends with. */
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

/** To the next quote or backslash, or the end. */
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
  /** To the end of the first key of a chunk, to that of the next one after a text, and what follows the last text. */
  readonly #lead = new Alike()
  readonly #gap = new Alike()
  readonly #rest = new Alike()
  #state = SEARCH
  #kind: Kind = 'text'
  /** The end of the last chunk, where a key may have begun. */
  #tail = ''
  /** After a backslash. */
  #escaped = false
  /** Digits of an escape that are still to come. */
  #skip = 0
  /** Open brackets of a value that counts as a whole, and whether one of its strings is open. */
  #depth = 0
  #quoted = false
  #fresh = false
  #text = 0
  #again = 0
  #encoded = 0
  /** Strings of base64 that have begun. */
  pieces = 0

  constructor(keys: ContentKeys) {
    this.#keys = keys
    this.#patterns = keys.patterns
  }

  get tokens(): number {
    return this.tokensBeside(0)
  }

  /** Without so many characters of base64, which are charged otherwise. */
  tokensBeside(encoded: number): number {
    const text = Math.max(this.#text, this.#again / MOST_REPEATS)
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
    else {
      this.#text += bytes
      this.#patterns = this.#keys.first
    }
  }

  /** A key that began in the last chunk. Returns where to go on in this one. */
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

  /** `text`: after the last key and its value, which would hide the next one if they were searched again. */
  #keepTail(text: string): void {
    const most = this.#patterns.longest - 1
    if (text.endsWith('\n'))
      this.#tail = '' // no key goes on after the end of a line
    else this.#tail = text.length >= most ? text.slice(-most) : (this.#tail + text).slice(-most)
  }

  /** To just after the next key, or to the end. */
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

  /** A value, by its first byte. */
  #begin(c: number): void {
    this.#fresh = true
    if (c === QUOTE) this.#state = IN_TEXT
    else if (this.#kind === 'whole' && (c === OPEN_OBJECT || c === OPEN_ARRAY)) {
      this.#state = IN_VALUE
      this.#depth = 1
      this.#quoted = false
    } else this.#state = SEARCH
  }

  /** Nothing is escaped in base64 that could hide its end, so that is searched natively. */
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

  /** From just after a backslash, or from the midst of what follows it, to after that. */
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

  /** To just after the bracket that closes the value. */
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
