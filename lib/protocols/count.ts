/**
 * Counts output from content text as it passes: the strings under certain keys (`"content":"…"`), wherever they stand.
 * Nothing is parsed and nothing kept: a search that hops over bytes which cannot begin a key, and a count of the bytes
 * between the quotes, escapes undone. A key inside a string has its quotes escaped, so it is never mistaken for one.
 */
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

/** What the search needs of a set of keys; made once per protocol. */
export class KeySet {
  readonly patterns: readonly Buffer[]
  /** Length of the shortest pattern: how far ahead the search looks. */
  readonly window: number
  readonly longest: number
  /** For the byte at the window's end: how far the window may move on. */
  readonly hops = new Uint8Array(256)

  constructor(keys: readonly string[]) {
    this.patterns = keys.map(key => Buffer.from(`"${key}"`))
    this.window = Math.min(...this.patterns.map(p => p.length))
    this.longest = Math.max(...this.patterns.map(p => p.length))
    this.hops.fill(this.window)
    for (const pattern of this.patterns) {
      for (let i = 0; i < this.window; i++) {
        const byte = pattern[i] as number
        this.hops[byte] = Math.min(this.hops[byte] as number, this.window - 1 - i)
      }
    }
  }
}

export class TextCounter {
  readonly #keys: KeySet
  #state = SEARCH
  /** The end of the last chunk, where a key may have begun. */
  #tail: Buffer = Buffer.alloc(0)
  /** After a backslash. */
  #escaped = false
  /** Digits of an escape that are still to come. */
  #skip = 0
  #bytes = 0

  constructor(keys: KeySet) {
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
    const most = this.#keys.longest - 1
    if (chunk.length >= most) this.#tail = Buffer.from(chunk.subarray(-most))
    else this.#tail = Buffer.concat([this.#tail, chunk]).subarray(-most)
  }

  get #found(): boolean {
    return this.#state === AFTER_KEY
  }

  /** To just after the next key that begins before `before`, or to the end. */
  #search(bytes: Buffer, from: number, before: number): number {
    const { hops, window, patterns } = this.#keys
    const last = bytes.length - window
    let i = from
    while (i <= last && i < before) {
      const hop = hops[bytes[i + window - 1] as number] as number
      if (hop > 0) {
        i += hop
        continue
      }
      for (const pattern of patterns) {
        if (matches(bytes, i, pattern)) {
          this.#state = AFTER_KEY
          this.#tail = Buffer.alloc(0)
          return i + pattern.length
        }
      }
      i++
    }
    return bytes.length
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

function matches(bytes: Buffer, at: number, pattern: Buffer): boolean {
  if (at + pattern.length > bytes.length) return false
  for (let i = 0; i < pattern.length; i++) if (bytes[at + i] !== pattern[i]) return false
  return true
}
