/**
 * A scanner of JSON that arrives in chunks. It tells the key, kind and position of each member of the top-level object
 * (or of each object in a top-level array), and the same for objects and arrays inside, where its user asks it to look
 * into them. Everywhere else it only looks for the end. It does not recurse, copies nothing that it passes over, takes
 * any chunks and never throws.
 *
 * It is a state machine over bytes. Strings, and values that are not looked into, have scanners of their own
 * (`ends.ts`), which find their ends fast. Bodies of requests, answers that are documents and the pictures in answers are all
 * read by it. Three others stand beside it for reasons of their own: `last-members.ts` reads from the end what has lost its
 * beginning, the meter of a stream (`answers/content.ts`) searches events for a few keys and parses none of them, and
 * translation (`lib/translate/json`) checks the grammar of whole texts.
 */
import { BROKEN, GOES_ON, NestedEnd, StringEnd } from './ends.ts'
import { decode, scalarOf } from './text.ts'

const QUOTE = 0x22
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
const SCALAR = 8
const AFTER_VALUE = 9
const DONE = 10
const BAD = 11
/** States between the elements of an array that is looked into. */
const ELEMENT = 12
const ELEMENT_OR_END = 13

const LONGEST_KEY = 256
const LONGEST_SCALAR = 512
/** A text is made of so many bytes at a time: a long string may begin among them, which needs none. */
const PIECE_BYTES = 4096
/** The most levels of objects and arrays that are looked into. */
const MOST_LEVELS = 32

export type JsonKind = 'string' | 'object' | 'array' | 'scalar'

/** The user of a scanner. Offsets count from the beginning of the document. */
export interface ScanEvents {
  /**
   * Returns how many bytes of this member's value are to be captured; 0 = none. Numbers, `true`, `false` and `null`
   * always are.
   */
  wants(key: string): number
  /**
   * A member has ended. `text`: its value as Latin-1, when it was captured whole. `items`: how many objects and arrays stand
   * directly in it.
   */
  member(key: string, kind: JsonKind, start: number, end: number, text: string | null, items: number): void
  /**
   * Returns whether the scanner is to look into this value, which begins at `start`. If so, it tells the members of the
   * object, or the elements of the array under the key `''`.
   */
  enter?(key: string, kind: 'object' | 'array', start: number): boolean
  /** A value that was looked into has ended. `member` is not called for it. */
  leave?(end: number): void
}

interface ScanOptions {
  /** True: a top-level array of objects is read like an object. */
  arrays?: boolean
  /** True: the beginning is told of a string that is longer than wanted. `text` is then shorter than the value. */
  heads?: boolean
  /** How strings begin that are looked for, wherever they stand (`startOf`); see `mayHaveSought`. */
  sought?: readonly number[]
}

/** The first two characters of a text as one number. */
export const startOf = (text: string): number => (text.charCodeAt(0) << 8) | text.charCodeAt(1)

const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09

export class JsonScanner {
  readonly #events: ScanEvents
  readonly #arrays: boolean
  readonly #heads: boolean
  #state = START
  /** The number of bytes that came before the current chunk. */
  #base = 0
  /** The current chunk as Latin-1, which is faster to search than bytes. */
  #text = ''
  /** The bytes that close the objects and arrays that are looked into, outermost first. */
  readonly #levels: number[] = []
  #depth = 0
  /** The last of them; 0 = there is none. */
  #closer = 0
  /** The number of levels around the top-level objects: 1 in a top-level array, else 0. */
  #outer = 0
  readonly #strings: StringEnd
  readonly #nested: NestedEnd
  /** The text of the current key or value. */
  readonly #captured = new CapturedText()
  #key = ''
  #kind: JsonKind = 'scalar'
  /** Offset after the opening brace of the first top-level object; -1 = none has begun. */
  openedAt = -1
  /** Offset of the quote with which the last key began. */
  keyStart = 0
  /** Offset of the first byte of the last value. */
  valueStart = 0

  constructor(events: ScanEvents, { arrays = false, heads = false, sought = [] }: ScanOptions = {}) {
    this.#events = events
    this.#strings = new StringEnd(sought)
    this.#nested = new NestedEnd(this.#strings)
    this.#arrays = arrays
    this.#heads = heads
  }

  /** Another document begins. */
  begin(): void {
    this.#state = START
    this.#base = this.#depth = this.#closer = this.#outer = this.keyStart = this.valueStart = 0
    this.#strings.begin()
    this.#nested.items = 0
    this.#captured.begin(0, 0)
    this.openedAt = -1
  }

  /** True when the document is complete by its syntax, and only space has followed. */
  get complete(): boolean {
    return this.#state === DONE
  }

  /** True when a key has begun whose value nobody can know yet: it has not begun, or is a number or word that has not ended. */
  get undecided(): boolean {
    const state = this.#state
    return state === IN_KEY || state === BEFORE_COLON || state === BEFORE_VALUE || state === SCALAR
  }

  /** A string value that goes on in the next chunk: its bytes behind the quote, and its beginning as far as it is wanted; null = there is none. */
  get openString(): { key: string; bytes: number; head: string } | null {
    if (this.#state !== IN_STRING) return null
    return { key: this.#key, bytes: this.#base - this.valueStart - 1, head: this.#captured.kept }
  }

  get bad(): boolean {
    return this.#state === BAD
  }

  /** False: no string so far begins as one of those that are sought. */
  get mayHaveSought(): boolean {
    return this.#strings.found
  }

  /** Takes the next chunk. `text`: the same bytes as Latin-1, where the caller has it; else it is made of what lies outside of long strings. */
  feed(chunk: Buffer, text = ''): void {
    for (let at = 0; at < chunk.length && this.#state !== BAD; ) {
      const rest = at === 0 ? chunk : chunk.subarray(at)
      const isInString = this.#state === IN_STRING || (this.#state === NESTED && this.#nested.inString)
      if (text !== '' || isInString) at += this.#read(rest, text)
      else {
        const piece = rest.length > PIECE_BYTES ? rest.subarray(0, PIECE_BYTES) : rest
        at += this.#read(piece, piece.toString('latin1'))
      }
    }
  }

  /** Returns how many bytes it has read: without a text, those up to the end of the string with which they begin. */
  #read(chunk: Buffer, text: string): number {
    let i = 0
    const { length } = chunk
    this.#text = text
    do {
      if (this.#state === IN_KEY) i = this.#ownKey(chunk, i)
      else if (this.#state === IN_STRING) i = this.#ownString(chunk, i)
      else if (this.#state === NESTED) i = this.#ownNested(chunk, i)
      else i = this.#step(chunk, i)
    } while (i < length && text !== '' && this.#state !== BAD)
    this.#captured.endChunk(chunk, i, this.#heads && this.#state === IN_STRING)
    this.#base += i
    this.#text = ''
    return i
  }

  /**
   * Takes a chunk from the middle of a string, whose end is not in it. It reads no more of it than is captured. Where all of it is read, an
   * escape may go on in the next chunk. Where not, the rest of the middle is passed over, behind which no escape is open.
   */
  pass(chunk: Buffer): void {
    const read = Math.min(chunk.length, this.#captured.room)
    if (read > 0) this.feed(chunk.subarray(0, read))
    if (read === chunk.length) return
    this.#captured.pass(this.#heads && this.#state === IN_STRING)
    this.#strings.pass()
    this.#base += chunk.length - read
  }

  /** Reads one byte outside of strings and of values that are not looked into. */
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
        this.#state = BAD // something follows the end
    }
    return i + 1
  }

  /** Begins a top-level object. */
  #open(i: number): void {
    if (this.openedAt < 0) this.openedAt = this.#base + i + 1
    this.#enter(CLOSE_OBJECT)
  }

  #enter(closer: number): void {
    this.#levels[this.#depth++] = closer
    this.#closer = closer
    this.#state = closer === CLOSE_OBJECT ? KEY_OR_END : ELEMENT_OR_END
  }

  #close(i: number): void {
    const around = --this.#depth
    this.#closer = around === 0 ? 0 : (this.#levels[around - 1] as number)
    this.#state = around === 0 ? DONE : AFTER_VALUE
    if (around > this.#outer) this.#events.leave?.(this.#base + i + 1)
  }

  #beginElement(i: number, c: number): void {
    this.#key = ''
    if (this.#depth > this.#outer) this.#beginValue(i, c)
    else if (c === OPEN_OBJECT) this.#open(i)
    else this.#state = BAD
  }

  #beginKey(i: number, c: number): void {
    if (c !== QUOTE) {
      this.#state = BAD
      return
    }
    this.#captured.begin(i, LONGEST_KEY)
    this.keyStart = this.#base + i
    this.#state = IN_KEY
  }

  #beginValue(i: number, c: number): void {
    this.valueStart = this.#base + i
    if (c === QUOTE) {
      this.#kind = 'string'
      this.#state = IN_STRING
      this.#captured.begin(i, this.#events.wants(this.#key))
    } else if (c === OPEN_OBJECT || c === OPEN_ARRAY) {
      this.#kind = c === OPEN_OBJECT ? 'object' : 'array'
      if (this.#entered(this.#kind)) {
        this.#enter(c + 2)
        return
      }
      this.#state = NESTED
      this.#nested.begin(c + 2)
      this.#captured.begin(i, this.#events.wants(this.#key))
    } else {
      this.#kind = 'scalar'
      this.#state = SCALAR
      this.#captured.begin(i, LONGEST_SCALAR) // a number or word is checked, whether it is wanted or not
    }
  }

  #entered(kind: 'object' | 'array'): boolean {
    const { enter } = this.#events
    if (enter === undefined || this.#depth >= MOST_LEVELS) return false
    return enter.call(this.#events, this.#key, kind, this.valueStart)
  }

  /** Reads a number or word, which ends where a byte comes that cannot be a part of it. */
  #scalar(chunk: Buffer, i: number, c: number): number {
    if (c !== COMMA && c !== CLOSE_OBJECT && c !== CLOSE_ARRAY && !isSpace(c)) return i + 1
    const text = this.#captured.take(chunk, this.#text, i, false)
    if (text === null || scalarOf(text) === undefined) {
      this.#state = BAD
      return i
    }
    this.#endMember(i, text)
    return i
  }

  #endMember(end: number, text: string | null): void {
    this.#state = AFTER_VALUE
    this.#events.member(this.#key, this.#kind, this.valueStart, this.#base + end, text, this.#nested.items)
  }

  /** Reads a key, and at once the colon that mostly follows it directly. */
  #ownKey(chunk: Buffer, i: number): number {
    const next = this.#strings.find(chunk, this.#text, i)
    if (next < 0) return chunk.length
    this.#state = BEFORE_COLON
    this.#key = this.#captured.takeKey(this.#text, next) ?? this.#decodedKey(chunk, next)
    if (chunk[next] !== COLON || this.#state === BAD) return next
    this.#state = BEFORE_VALUE
    return next + 1
  }

  /** Reads a key with escapes, or in several chunks. A key that is too long to be a known one reads as an empty one. */
  #decodedKey(chunk: Buffer, end: number): string {
    const text = this.#captured.take(chunk, this.#text, end, false)
    const key = text === null ? '' : decode(text)
    if (key === null) this.#state = BAD
    return key ?? ''
  }

  /** Reads a string value, and at once the comma and the quote that mostly follow it directly. */
  #ownString(chunk: Buffer, i: number): number {
    const next = this.#strings.find(chunk, this.#text, i)
    if (next < 0) return chunk.length
    this.#endMember(next, this.#captured.take(chunk, this.#text, next, this.#heads))
    if (this.#text === '' || chunk[next] !== COMMA || chunk[next + 1] !== QUOTE || this.#closer !== CLOSE_OBJECT)
      return next
    this.#beginKey(next + 1, QUOTE)
    return next + 2
  }

  /** Passes over an object or array that is not looked into. */
  #ownNested(chunk: Buffer, i: number): number {
    if (this.#text === '') {
      const end = this.#nested.endOfString(chunk)
      return end < 0 ? chunk.length : end
    }
    const next = this.#nested.find(chunk, this.#text, i)
    if (next === BROKEN) this.#state = BAD
    if (next === BROKEN || next === GOES_ON) return chunk.length
    this.#endMember(next, this.#captured.take(chunk, this.#text, next, false))
    return next
  }
}

// --- the text of a key or value while it passes. A text within one chunk is cut out of it; of one that goes on over several chunks, each
// part is kept until the end is there, up to a limit. Most texts are among a few frequent ones, which are not made into strings again

const SLOTS = 512
/**
 * The hash is multiplied by this odd number, and its upper bits say the slot, because they differ most between texts.
 */
const SPREAD = 0x9e3779b1
const SHIFT = 23
const LONGEST = 24
/** A text is kept when it was read so often in a row in its slot: that takes longer than reading it, and a body may have a million names. */
const FREQUENT = 8

/** Short texts that were read before. */
class SeenTexts {
  readonly #texts: string[] = Array.from({ length: SLOTS }, () => '')
  /** The hash of the text that was read last in each slot and is not kept, and how often. */
  readonly #others = new Int32Array(SLOTS)
  readonly #times = new Uint8Array(SLOTS)
  readonly #pattern: RegExp | null

  /** `pattern`: texts that do not match are not returned; null = all are. */
  constructor(pattern: RegExp | null) {
    this.#pattern = pattern
  }

  /** Returns the text between `from` and `end`; null = it is too long, not kept and not copied, or does not match the pattern. */
  at(text: string, from: number, end: number): string | null {
    const length = end - from
    if (length < 2 || length > LONGEST) return null
    const ends = (text.charCodeAt(from) << 16) ^ (text.charCodeAt(from + 1) << 8) ^ text.charCodeAt(end - 2)
    const hash = Math.imul(ends ^ (text.charCodeAt(end - 1) << 24) ^ length, SPREAD)
    const slot = hash >>> SHIFT
    const seen = this.#texts[slot] as string
    if (seen.length === length && text.startsWith(seen, from)) return seen
    const isFrequent = this.#isFrequent(slot, hash)
    if (!isFrequent && length > COPIED) return null
    const found = text.slice(from, end)
    if (this.#pattern !== null && !this.#pattern.test(found)) return null
    return isFrequent ? (this.#texts[slot] = unique(found)) : found
  }

  #isFrequent(slot: number, hash: number): boolean {
    const times = this.#others[slot] === hash ? (this.#times[slot] as number) + 1 : 1
    this.#others[slot] = hash
    this.#times[slot] = times % FREQUENT
    return times >= FREQUENT
  }
}

/** An object in the engine's dictionary mode, which never has more than one member. */
const NAMES = Object.create(null) as Record<string, boolean>

/**
 * Returns the engine's own copy of a text. A map finds such a copy faster, and the copy does not keep the larger text
 * in memory from which it was cut.
 */
function unique(text: string): string {
  NAMES[text] = true
  const [name] = Object.keys(NAMES)
  delete NAMES[text]
  return name as string
}

/** Up to this length the engine copies a part of a text; a longer part would keep the whole text in memory. */
const COPIED = 12

const PLAIN_KEY = /^[ !#-[\]-~]*$/

const KEYS = new SeenTexts(PLAIN_KEY)
const VALUES = new SeenTexts(null)

class CapturedText {
  /** The parts of the text that came in earlier chunks. */
  #kept = ''
  #limit = 0
  /** The place where the text begins in this chunk; -1 = it is not captured. */
  #from = -1

  /** The text so far, when the last chunk has ended before it. */
  get kept(): string {
    return this.#kept
  }

  /** A key or value begins at `at`. `limit`: how many bytes of it are wanted; 0 = none. */
  begin(at: number, limit: number): void {
    this.#kept = ''
    this.#limit = limit
    this.#from = limit > 0 ? at : -1
  }

  /** How many more bytes of the text are wanted. */
  get room(): number {
    return this.#from < 0 ? 0 : this.#limit - this.#kept.length
  }

  /** More of the text has gone by than is wanted. */
  pass(head: boolean): void {
    if (this.#from >= 0 && !head) this.#kept = ''
    this.#from = -1
  }

  /** What is read of a chunk ends at `end`, before the text does. `head`: the beginning of a text is kept that is too long. */
  endChunk(chunk: Buffer, end: number, head: boolean): void {
    const from = this.#from
    if (from < 0) return
    const room = this.#limit - this.#kept.length
    const fits = end - from <= room
    if (fits || head) this.#kept += chunk.toString('latin1', from, Math.min(end, from + room))
    else this.#kept = ''
    this.#from = fits ? 0 : -1
  }

  /**
   * Returns the text up to `end` of this chunk; null = it was too long, or not wanted. `text`: the chunk as Latin-1.
   */
  take(chunk: Buffer, text: string, end: number, head: boolean): string | null {
    const from = this.#from
    if (from < 0) return this.#kept === '' ? null : this.#kept
    this.#from = -1
    const room = this.#limit - this.#kept.length
    if (end - from > room && !head) return null
    if (this.#kept === '' && end - from <= room) {
      const short = end - from <= COPIED ? text.slice(from, end) : VALUES.at(text, from, end)
      if (short !== null) return short
    }
    return this.#kept + chunk.toString('latin1', from, Math.min(end, from + room))
  }

  /** Returns a key without its quotes when all of it is in this chunk and nothing in it is escaped, else null. */
  takeKey(text: string, end: number): string | null {
    const from = this.#from
    if (from < 0 || this.#kept !== '' || end - from > this.#limit) return null
    const key = KEYS.at(text, from + 1, end - 1)
    if (key !== null) this.#from = -1
    return key
  }
}
