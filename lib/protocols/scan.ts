/**
 * A shallow scanner of JSON that arrives in pieces. It knows the members of the top-level object (or of each object in a
 * top-level array): key, kind and place of each value; and the same of what stands inside of an object or array that its
 * user wants to look into. Everywhere else it only follows strings and brackets, which is what it takes to find the end.
 * No recursion, no copies of what it passes over, any chunking, never throws.
 *
 * Long strings are skipped natively from quote to quote; whether a quote ends the string is told by the backslashes
 * before it. Everything else is a byte loop over a handful of states.
 */
import { bytesAsText } from './patterns.ts'
import { Seen } from './seen.ts'

export type Kind = 'string' | 'object' | 'array' | 'scalar'

/** What the scanner tells; offsets are of the whole document. */
export interface ScanEvents {
  /** Should the value of this member be captured, up to how many bytes? 0 = no. Numbers and words always are. */
  wants(key: string): number
  /**
   * A member has ended. `text`: its value as Latin-1, a character a byte, when it was captured whole. `items`: how many
   * objects and arrays stand directly in it.
   */
  member(key: string, kind: Kind, start: number, end: number, text: string | null, items: number): void
  /**
   * Is this value, which begins at `start`, to be looked into? Then its members, or its elements under the key `''`, are
   * told.
   */
  enter?(key: string, kind: 'object' | 'array', start: number): boolean
  /** What was looked into has ended; its own `member` is not told. */
  leave?(end: number): void
}

export interface ScanOptions {
  /** A top-level array of objects is read like an object. */
  arrays?: boolean
  /** Of a string that is longer than wanted, the beginning is told: `text` is shorter than the value. */
  heads?: boolean
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
/** Between the elements of an array that is looked into. */
const ELEMENT = 13
const ELEMENT_OR_END = 14

const LONGEST_KEY = 256
const LONGEST_SCALAR = 512
const DEEPEST = 1 << 20
/** No deeper than this is looked into anything. */
const MOST_LEVELS = 32
/** Strings shorter than this are cheaper in a byte loop than in a native call. */
const SHORT = 12

/**
 * What may stand between the strings and brackets of what is not looked into. Some readers know quotes and comments that
 * JSON has not: a string of theirs could hide from them, or from us, where a member stands.
 */
const BETWEEN = new Uint8Array(256)
for (const c of Buffer.from(' \t\r\n,:+-.0123456789')) BETWEEN[c] = 1
for (let letter = 0x41; letter <= 0x5a; letter++) BETWEEN[letter] = BETWEEN[letter | 0x20] = 1

const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09

export class JsonScanner {
  readonly #events: ScanEvents
  readonly #arrays: boolean
  readonly #heads: boolean
  #state = START
  /** Bytes before the current chunk. */
  #base = 0
  /** The chunk under way, a character a byte: searching that is cheaper. */
  #text = ''
  /** An odd run of backslashes ended the last chunk inside a string. */
  #escaped = false
  /** Of what is looked into, the byte that closes each, outermost first; and the innermost of them. */
  readonly #levels: number[] = []
  #closer = 0
  /** 1 in a top-level array of objects. */
  #outer = 0
  /** The same of what is not looked into. */
  readonly #closers: number[] = []
  #depth = 0
  #items = 0
  #key = ''
  #kind: Kind = 'scalar'
  #valueStart = 0
  /** Of the key or value under way: what came in earlier chunks, and where it begins in this one (-1 = not captured). */
  #kept = ''
  #limit = 0
  #from = -1
  /** Offset just after the opening brace of the (first) top-level object. */
  openedAt = -1

  constructor(events: ScanEvents, { arrays = false, heads = false }: ScanOptions = {}) {
    this.#events = events
    this.#arrays = arrays
    this.#heads = heads
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
      if (this.#state === IN_KEY) i = this.#ownKey(chunk, i)
      else if (this.#state === IN_STRING) i = this.#ownString(chunk, i)
      else if (this.#state === NESTED) i = this.#nested(chunk, i)
      else if (this.#state === NESTED_STRING) i = this.#skipString(chunk, i, NESTED)
      else i = this.#step(chunk, i)
    }
    if (this.#from >= 0) this.#keep(chunk)
    this.#base += length
    this.#text = ''
  }

  /** All of it stands inside of one long string, as most of an image's chunks do: nothing is looked for in its text. */
  #isInside(chunk: Buffer): boolean {
    return (this.#state === NESTED_STRING || this.#state === IN_STRING) && chunk.indexOf(QUOTE) < 0
  }

  /** The text of the value under way goes on in the next chunk. */
  #keep(chunk: Buffer): void {
    const room = this.#limit - this.#kept.length
    const fits = chunk.length - this.#from <= room
    if (fits || (this.#heads && this.#state === IN_STRING))
      this.#kept += chunk.toString('latin1', this.#from, Math.min(chunk.length, this.#from + room))
    else this.#kept = ''
    this.#from = fits ? 0 : -1
  }

  #begin(at: number, limit: number): void {
    this.#kept = ''
    this.#limit = limit
    this.#from = limit > 0 ? at : -1
  }

  /** What was captured up to `end` of this chunk; null when it was too long or not wanted. */
  #captured(chunk: Buffer, end: number, head: boolean): string | null {
    const from = this.#from
    if (from < 0) return this.#kept === '' ? null : this.#kept
    this.#from = -1
    const room = this.#limit - this.#kept.length
    if (end - from > room && !head) return null
    if (this.#kept === '' && end - from <= room) {
      const text = textAt(this.#text, from, end)
      if (text !== null) return text
    }
    return this.#kept + chunk.toString('latin1', from, Math.min(end, from + room))
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
          this.#outer = 1
          this.#enter(CLOSE_ARRAY)
        } else this.#state = BAD
        break
      case KEY_OR_END:
        if (c === CLOSE_OBJECT) this.#close(i)
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
        if (c === this.#closer) this.#close(i)
        else if (c !== COMMA) this.#state = BAD
        else this.#state = this.#closer === CLOSE_OBJECT ? KEY : ELEMENT
        break
      case ELEMENT:
      case ELEMENT_OR_END:
        if (c === CLOSE_ARRAY && this.#state === ELEMENT_OR_END) this.#close(i)
        else this.#beginElement(i, c)
        break
      default:
        this.#state = BAD // something after the end
    }
    return i + 1
  }

  /** A top-level object. */
  #open(i: number): void {
    if (this.openedAt < 0) this.openedAt = this.#base + i + 1
    this.#enter(CLOSE_OBJECT)
  }

  #enter(closer: number): void {
    this.#levels.push(closer)
    this.#closer = closer
    this.#state = closer === CLOSE_OBJECT ? KEY_OR_END : ELEMENT_OR_END
  }

  #close(i: number): void {
    this.#levels.pop()
    this.#closer = this.#levels.length === 0 ? 0 : (this.#levels[this.#levels.length - 1] as number)
    this.#state = this.#levels.length === 0 ? DONE : AFTER_VALUE
    if (this.#levels.length > this.#outer) this.#events.leave?.(this.#base + i + 1)
  }

  #beginElement(i: number, c: number): void {
    this.#key = ''
    if (this.#levels.length > this.#outer) this.#beginValue(i, c)
    else if (c === OPEN_OBJECT) this.#open(i)
    else this.#state = BAD
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
    if (c === QUOTE) {
      this.#kind = 'string'
      this.#state = IN_STRING
      this.#begin(i, this.#events.wants(this.#key))
    } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      this.#kind = c === OPEN_OBJECT ? 'object' : 'array'
      if (this.#entered(this.#kind)) {
        this.#enter(c + 2)
        return
      }
      this.#state = NESTED
      this.#depth = 1
      this.#items = 0
      this.#closers[0] = c + 2
      this.#begin(i, this.#events.wants(this.#key))
    } else {
      this.#kind = 'scalar'
      this.#state = SCALAR
      this.#begin(i, LONGEST_SCALAR) // checked, wanted or not
    }
  }

  #entered(kind: 'object' | 'array'): boolean {
    const { enter } = this.#events
    if (enter === undefined || this.#levels.length >= MOST_LEVELS) return false
    return enter.call(this.#events, this.#key, kind, this.#valueStart)
  }

  /** Numbers and words end where something that is none of theirs comes. */
  #scalar(chunk: Buffer, i: number, c: number): number {
    if (c !== COMMA && c !== CLOSE_OBJECT && c !== CLOSE_ARRAY && !isSpace(c)) return i + 1
    const text = this.#captured(chunk, i, false)
    if (text === null || scalarOf(text) === undefined) {
      this.#state = BAD
      return i
    }
    this.#endMember(i, text)
    return i
  }

  #endMember(end: number, text: string | null): void {
    this.#state = AFTER_VALUE
    this.#events.member(this.#key, this.#kind, this.#valueStart, this.#base + end, text, this.#items)
  }

  /** A key that is looked at, and at once the colon that mostly stands right behind it. */
  #ownKey(chunk: Buffer, i: number): number {
    const next = this.#skipString(chunk, i, BEFORE_COLON)
    if (this.#state === IN_KEY) return next
    this.#key = this.#readKey(chunk, next)
    if (chunk[next] !== COLON || this.#state === BAD) return next
    this.#state = BEFORE_VALUE
    return next + 1
  }

  /** A string that is looked at, and at once what mostly stands between it and the next key. */
  #ownString(chunk: Buffer, i: number): number {
    const next = this.#skipString(chunk, i, AFTER_VALUE)
    if (this.#state === IN_STRING) return next
    this.#endMember(next, this.#captured(chunk, next, this.#heads))
    if (chunk[next] !== COMMA || chunk[next + 1] !== QUOTE || this.#closer !== CLOSE_OBJECT) return next
    this.#beginKey(next + 1, QUOTE)
    return next + 2
  }

  /** A key that is too long to be any of ours reads as an empty one. */
  #readKey(chunk: Buffer, end: number): string {
    if (this.#from >= 0 && this.#kept === '' && end - this.#from <= this.#limit) {
      const key = KEYS.at(this.#text, this.#from + 1, end - 1)
      if (key !== null) {
        this.#from = -1
        return key
      }
    }
    const text = this.#captured(chunk, end, false)
    return text === null ? '' : (decode(text) ?? this.#fail())
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

  /** What is not looked into: only strings and brackets. */
  #nested(chunk: Buffer, from: number): number {
    const { length } = chunk
    for (let i = from; i < length; i++) {
      const c = chunk[i] as number
      if (c === QUOTE) {
        this.#state = NESTED_STRING
        i = this.#skipString(chunk, i + 1, NESTED) - 1
        if (this.#state === NESTED_STRING) return length
      } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
        if (!this.#push(c + 2)) return length
      } else if (c === CLOSE_OBJECT || c === CLOSE_ARRAY) {
        if (this.#closers[--this.#depth] !== c) {
          this.#state = BAD
          return length
        }
        if (this.#depth === 0) {
          this.#endMember(i + 1, this.#captured(chunk, i + 1, false))
          return i + 1
        }
      } else if (BETWEEN[c] === 0) {
        this.#state = BAD
        return length
      }
    }
    return length
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

/** An odd run of backslashes stands before `at`, mostly one or none. Bytes before `from` are not looked at. */
function isEscaped(chunk: Buffer, from: number, at: number): boolean {
  if (at === from || chunk[at - 1] !== BACKSLASH) return false
  let run = at - 1
  while (run > from && chunk[run - 1] === BACKSLASH) run--
  return ((at - run) & 1) === 1
}

/** A string that says what it says: ASCII, nothing escaped. */
const PLAIN = /^"[ !#-[\]-~]*"$/
const PLAIN_KEY = /^[ !#-[\]-~]*$/

const KEYS = new Seen(PLAIN_KEY)
const VALUES = new Seen()

/** The engine copies so short a part of a text; a longer one would keep the whole text. */
const COPIED = 12

/** A short value; null when it is long. */
const textAt = (text: string, from: number, end: number): string | null =>
  end - from <= COPIED ? text.slice(from, end) : VALUES.at(text, from, end)

const ASCII = /^[\0-\x7f]*$/

/** `"…"` with its escapes undone; null when it is not valid. */
export function decode(text: string): string | null {
  if (PLAIN.test(text)) return text.slice(1, -1)
  const value = parse(text)
  return typeof value === 'string' ? value : null
}

/** Any JSON, given as Latin-1; undefined when it is none. */
export function parse(text: string): unknown {
  try {
    return JSON.parse(ASCII.test(text) ? text : Buffer.from(text, 'latin1').toString())
  } catch {
    return undefined
  }
}

/** A whole number of few digits, which is what most scalars are. */
const SMALL = /^(?:0|[1-9]\d{0,8})$/

/** A number or word; undefined when it is none. */
export function scalarOf(text: string): unknown {
  if (SMALL.test(text)) return Number(text)
  return text === 'true' ? true : parse(text)
}
