/**
 * A shallow scanner of JSON that arrives in pieces. It knows the members of the top-level object (or of each object in a
 * top-level array): key, kind and place of each value; below that it only follows strings and brackets, which is what it
 * takes to find the end. No recursion, no copies of what it passes over, any chunking, never throws.
 *
 * Long strings are skipped natively from quote to quote; whether a quote ends the string is told by the backslashes
 * before it. Everything else is a byte loop over a handful of states.
 */
import { bytesAsText } from './patterns.ts'

export type Kind = 'string' | 'object' | 'array' | 'scalar'

/** What the scanner tells; offsets are of the whole document. */
export interface ScanEvents {
  /** Should the value of this member be captured, up to how many bytes? 0 = no. */
  wants(key: string): number
  /** A top-level member has ended. `bytes`: its value's text when it was captured whole. */
  /** `items`: how many objects and arrays stand directly in it. */
  member(key: string, kind: Kind, start: number, end: number, bytes: Buffer | null, items: number): void
  /** A string below the top level is one of the words of the options, to the letter. */
  word?(word: string): void
}

export interface ScanOptions {
  /** A top-level array of objects is read like an object. */
  arrays?: boolean
  /** Strings below the top level, keys or values, that are to be told. ASCII, without escapes. */
  words?: readonly string[]
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d
const COMMA = 0x2c
const COLON = 0x3a

const START = 0
const KEY_OR_END = 1
const KEY = 2
const IN_KEY = 3
const BEFORE_COLON = 4
const BEFORE_VALUE = 5
const IN_STRING = 6
const NESTED = 7
const NESTED_STRING = 8
const SCALAR = 9
const AFTER_VALUE = 10
const DONE = 11
const BAD = 12
/** Between the elements of a top-level array of objects. */
const ELEMENT = 13
const ELEMENT_OR_END = 14
const AFTER_ELEMENT = 15

const LONGEST_KEY = 256
const LONGEST_SCALAR = 512
const DEEPEST = 1 << 20
/** Strings shorter than this are cheaper in a byte loop than in a native call. */
const SHORT = 12

const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09

export class JsonScanner {
  readonly #events: ScanEvents
  readonly #arrays: boolean
  readonly #words: readonly string[]
  readonly #longestWord: number
  #state = START
  /** Bytes before the current chunk. */
  #base = 0
  /** The chunk under way, a character a byte: searching that is cheaper. */
  #text = ''
  /** An odd run of backslashes ended the last chunk inside a string. */
  #escaped = false
  /** Kinds of the open brackets below the top-level object: the byte that closes each. */
  readonly #closers: number[] = []
  #depth = 0
  #items = 0
  /** How a string below the top level began in earlier chunks; null when it is too long for a word. */
  #begun: string | null = null
  #inArray = false
  #key = ''
  #kind: Kind = 'scalar'
  #valueStart = 0
  /** Of the key or value under way: parts from earlier chunks, and where it begins in this one (-1 = not captured). */
  #parts: Buffer[] = []
  #partBytes = 0
  #limit = 0
  #from = -1
  /** Offset just after the opening brace of the (first) top-level object. */
  openedAt = -1

  constructor(events: ScanEvents, { arrays = false, words = [] }: ScanOptions = {}) {
    this.#events = events
    this.#arrays = arrays
    this.#words = words
    this.#longestWord = Math.max(0, ...words.map(word => word.length))
  }

  /** A syntactically closed object (or array of objects), with nothing but space after it so far. */
  get complete(): boolean {
    return this.#state === DONE
  }

  get bad(): boolean {
    return this.#state === BAD
  }

  /** `text`: the same bytes as Latin-1, where it is at hand. */
  feed(chunk: Buffer, text = this.#isInside(chunk) ? '' : bytesAsText(chunk)): void {
    let i = 0
    const { length } = chunk
    this.#text = text
    while (i < length && this.#state !== BAD) {
      if (this.#state === NESTED) i = this.#nested(chunk, i)
      else if (this.#state === NESTED_STRING) i = this.#goOn(chunk, i)
      else if (this.#state === IN_STRING || this.#state === IN_KEY) i = this.#ownString(chunk, i)
      else i = this.#step(chunk, i)
    }
    if (this.#from >= 0) {
      this.#keep(chunk.subarray(this.#from))
      if (this.#from >= 0) this.#from = 0
    }
    this.#base += length
    this.#text = ''
  }

  /** All of it stands inside of one long string, as most of an image's chunks do: nothing is looked for in its text. */
  #isInside(chunk: Buffer): boolean {
    const inString = this.#state === NESTED_STRING || this.#state === IN_STRING
    if (!inString || chunk.length <= this.#longestWord || chunk.indexOf(QUOTE) >= 0) return false
    this.#begun = null
    return true
  }

  /** The text of the value under way goes on in the next chunk. */
  #keep(part: Buffer): void {
    this.#partBytes += part.length
    if (this.#partBytes > this.#limit) this.#drop()
    else this.#parts.push(Buffer.from(part))
  }

  #drop(): void {
    this.#from = -1
    this.#parts = []
  }

  #begin(at: number, limit: number): void {
    this.#parts = []
    this.#partBytes = 0
    this.#limit = limit
    this.#from = limit > 0 ? at : -1
  }

  /** What was captured up to `end` of this chunk; null when it was too long or not wanted. */
  #captured(chunk: Buffer, end: number): Buffer | null {
    if (this.#from < 0) return null
    const last = chunk.subarray(this.#from, end)
    this.#from = -1
    if (this.#partBytes + last.length > this.#limit) return null
    return this.#parts.length === 0 ? last : Buffer.concat([...this.#parts, last])
  }

  /** One byte outside of strings and nesting. */
  #step(chunk: Buffer, i: number): number {
    const c = chunk[i] as number
    if (this.#state === SCALAR) return this.#scalar(chunk, i, c)
    if (isSpace(c)) return i + 1
    switch (this.#state) {
      case START:
        if (c === OPEN_OBJECT) this.#open(i)
        else if (c === OPEN_ARRAY && this.#arrays) {
          this.#inArray = true
          this.#state = ELEMENT_OR_END
        } else this.#state = BAD
        break
      case KEY_OR_END:
        if (c === CLOSE_OBJECT) this.#close()
        else this.#beginKey(i, c)
        break
      case KEY:
        this.#beginKey(i, c)
        break
      case BEFORE_COLON:
        this.#state = c === COLON ? BEFORE_VALUE : BAD
        break
      case BEFORE_VALUE:
        this.#beginValue(i, c)
        break
      case AFTER_VALUE:
        if (c === COMMA) this.#state = KEY
        else if (c === CLOSE_OBJECT) this.#close()
        else this.#state = BAD
        break
      case ELEMENT:
      case ELEMENT_OR_END:
        if (c === OPEN_OBJECT) this.#open(i)
        else this.#state = c === CLOSE_ARRAY && this.#state === ELEMENT_OR_END ? DONE : BAD
        break
      case AFTER_ELEMENT:
        this.#state = c === COMMA ? ELEMENT : c === CLOSE_ARRAY ? DONE : BAD
        break
      default:
        this.#state = BAD // something after the end
    }
    return i + 1
  }

  #open(i: number): void {
    if (this.openedAt < 0) this.openedAt = this.#base + i + 1
    this.#state = KEY_OR_END
  }

  #close(): void {
    this.#state = this.#inArray ? AFTER_ELEMENT : DONE
  }

  #beginKey(i: number, c: number): void {
    if (c !== QUOTE) {
      this.#state = BAD
      return
    }
    this.#begin(i, LONGEST_KEY)
    this.#state = IN_KEY
  }

  #beginValue(i: number, c: number): void {
    this.#valueStart = this.#base + i
    const wanted = this.#events.wants(this.#key)
    if (c === QUOTE) {
      this.#kind = 'string'
      this.#state = IN_STRING
      this.#begin(i, wanted)
    } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      this.#kind = c === OPEN_OBJECT ? 'object' : 'array'
      this.#state = NESTED
      this.#depth = 1
      this.#items = 0
      this.#closers[0] = c + 2
      this.#begin(i, wanted)
    } else {
      this.#kind = 'scalar'
      this.#state = SCALAR
      this.#begin(i, LONGEST_SCALAR) // checked, wanted or not
    }
  }

  /** Numbers and words end where something that is none of theirs comes. */
  #scalar(chunk: Buffer, i: number, c: number): number {
    if (c !== COMMA && c !== CLOSE_OBJECT && !isSpace(c)) return i + 1
    const bytes = this.#captured(chunk, i)
    if (bytes === null || !isScalar(bytes)) {
      this.#state = BAD
      return i
    }
    this.#endMember(i, bytes)
    return i
  }

  #endMember(end: number, bytes: Buffer | null): void {
    this.#state = AFTER_VALUE
    this.#events.member(this.#key, this.#kind, this.#valueStart, this.#base + end, bytes, this.#items)
  }

  /** A key or a top-level string value. */
  #ownString(chunk: Buffer, i: number): number {
    const isKey = this.#state === IN_KEY
    const next = this.#skipString(chunk, i, isKey ? BEFORE_COLON : AFTER_VALUE)
    if (this.#state === IN_KEY || this.#state === IN_STRING) return next
    const bytes = this.#captured(chunk, next)
    if (!isKey) this.#endMember(next, bytes)
    else this.#key = bytes === null ? '' : (decode(bytes) ?? this.#fail())
    return next
  }

  #fail(): string {
    this.#state = BAD
    return ''
  }

  /** From inside a string to just after its closing quote (then the state is `after`), or to the end of the chunk. */
  #skipString(chunk: Buffer, from: number, after: number): number {
    let i = from
    const { length } = chunk
    if (this.#escaped && i < length) {
      this.#escaped = false
      i++
    }
    const near = Math.min(length, i + SHORT)
    for (; i < near; i++) {
      const c = chunk[i] as number
      if (c === QUOTE) {
        this.#state = after
        return i + 1
      }
      if (c === BACKSLASH && ++i >= length) {
        this.#escaped = true
        return length
      }
    }
    return this.#skipLong(chunk, i, after)
  }

  #skipLong(chunk: Buffer, from: number, after: number): number {
    const text = this.#text
    for (let i = from; ; ) {
      const quote = text.indexOf('"', i)
      if (quote < 0) {
        this.#escaped = isEscaped(chunk, from, chunk.length)
        return chunk.length
      }
      i = quote + 1
      if (!isEscaped(chunk, from, quote)) {
        this.#state = after
        return i
      }
    }
  }

  /** Below the top level: only strings and brackets. */
  #nested(chunk: Buffer, from: number): number {
    const { length } = chunk
    for (let i = from; i < length; i++) {
      const c = chunk[i] as number
      if (c === QUOTE) {
        const begin = i + 1
        this.#state = NESTED_STRING
        i = this.#skipString(chunk, begin, NESTED)
        if (this.#state === NESTED_STRING) {
          this.#begun = length - begin <= this.#longestWord ? this.#text.slice(begin) : null
          return length
        }
        this.#tellWord(begin, --i)
      } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
        if (!this.#push(c + 2)) return length
      } else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
        if (this.#closers[--this.#depth] !== c) {
          this.#state = BAD
          return length
        }
        if (this.#depth === 0) {
          this.#endMember(i + 1, this.#captured(chunk, i + 1))
          return i + 1
        }
      }
    }
    return length
  }

  /** A string below the top level that began in an earlier chunk. */
  #goOn(chunk: Buffer, from: number): number {
    const next = this.#skipString(chunk, from, NESTED)
    const ends = this.#state === NESTED
    if (this.#begun === null) return next
    const whole = this.#begun + this.#text.slice(from, Math.min(ends ? next - 1 : next, from + this.#longestWord + 1))
    if (!ends) this.#begun = whole.length <= this.#longestWord ? whole : null
    else if (this.#words.includes(whole)) this.#events.word?.(whole)
    return next
  }

  #tellWord(from: number, end: number): void {
    const length = end - from
    if (length > this.#longestWord) return
    for (const word of this.#words)
      if (word.length === length && this.#text.startsWith(word, from)) this.#events.word?.(word)
  }

  #push(closer: number): boolean {
    if (this.#depth >= DEEPEST) {
      this.#state = BAD
      return false
    }
    if (this.#depth === 1) this.#items++
    this.#closers[this.#depth++] = closer
    return true
  }
}

/** An odd run of backslashes stands before `at`, mostly one or none; what is before `from` is none of its business. */
function isEscaped(chunk: Buffer, from: number, at: number): boolean {
  if (at === from || chunk[at - 1] !== BACKSLASH) return false
  let run = at - 1
  while (run > from && chunk[run - 1] === BACKSLASH) run--
  return ((at - run) & 1) === 1
}

/** A string that says what it says: ASCII, nothing escaped. */
const PLAIN = /^"[ !#-[\]-~]*"$/

/** `"…"` with its escapes undone; null when it is not valid. */
export function decode(bytes: Buffer): string | null {
  const text = bytesAsText(bytes)
  if (PLAIN.test(text)) return text.slice(1, -1)
  try {
    return JSON.parse(bytes.toString()) as string
  } catch {
    return null
  }
}

/** Any JSON; undefined when it is none. */
export function parse(bytes: Buffer): unknown {
  try {
    return JSON.parse(bytes.toString())
  } catch {
    return undefined
  }
}

/** A whole number of few digits, which is what most scalars are; -1 for anything else. */
function smallNumber(bytes: Buffer): number {
  const { length } = bytes
  if (length > 9 || (length > 1 && bytes[0] === 0x30)) return -1
  let value = 0
  for (let i = 0; i < length; i++) {
    const digit = (bytes[i] as number) - 0x30
    if (digit < 0 || digit > 9) return -1
    value = value * 10 + digit
  }
  return length === 0 ? -1 : value
}

/** `true` by its bytes. */
const isTrue = (b: Buffer): boolean =>
  b.length === 4 && b[0] === 0x74 && b[1] === 0x72 && b[2] === 0x75 && b[3] === 0x65

/** A number or word; undefined when it is none. */
export function scalarOf(bytes: Buffer): unknown {
  const number = smallNumber(bytes)
  if (number >= 0) return number
  return isTrue(bytes) ? true : parse(bytes)
}

const isScalar = (bytes: Buffer): boolean => scalarOf(bytes) !== undefined
