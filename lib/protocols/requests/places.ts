/**
 * The places of a request body in which something matters. Each protocol lays out its own. A place is an object, or an
 * array of such objects; its fields are the names that a reader of the protocol knows there. What no place names is the
 * author's text and never looked into, so that nothing in a tool's schema or arguments can pass for a picture.
 *
 * When a field stands twice, or under a name that differs only in case, two readers could take different values: the
 * upstream may read the first and the gateway the last. Such a body is refused, and the field is named.
 */

import type { JsonKind } from '../json/scanner.ts'
import type { ListElement } from '../words/server-tools.ts'
import type { PictureKind } from '../words/usage.ts'
import type { Draft } from './facts.ts'

/**
 * The value of a field. `text` is Latin-1; of a string longer than the field's limit it is the beginning; null =
 * nothing was captured.
 */
export interface Value {
  kind: JsonKind
  /** Offsets of the value in the body. */
  start: number
  end: number
  text: string | null
}

export type Read = (draft: Draft, value: Value, frame: PlaceFrame) => void

export interface FieldOptions {
  /** The most bytes of a string that are captured. Numbers, `true`, `false` and `null` always are. */
  limit?: number
  read?: Read
  /** The place inside, when the value is an object or an array of objects. */
  inside?: Place
  /** Another name of the same field. */
  alias?: string
}

export interface Field {
  /** The name that clients are told. */
  name: string
  /** A bit of `seen`, or of `seenMore`; 0 in the other. */
  bit: number
  bitMore: number
  limit: number
  read: Read | null
  inside: Place | null
}

export interface PlaceOptions {
  begin?: (draft: Draft, start: number) => void
  /** An object of the place is complete. */
  end?: (draft: Draft, frame: PlaceFrame, end: number) => void
  /** Reads elements of an array that are strings or numbers. */
  element?: Read
  /** A field has a name that the place does not know. */
  other?: (draft: Draft, name: string, frame: PlaceFrame) => void
  /** True: only an object is looked into, and not an array. */
  single?: boolean
  /** True: clients choose the names, so that another case is another name. */
  free?: boolean
  /** True: an array of the place may have arrays inside, whose elements are read as its own. */
  nests?: boolean
  /** An array begins inside of an array of the place. */
  list?: (draft: Draft) => void
}

/** The most bytes of a string that are captured, unless a field says otherwise. */
const LIMIT = 64
/** The bytes of a string of data that are enough to tell what it is. */
export const DATA_HEAD = 256

/** Bits of a number on which the language computes with bits. */
const WORD = 32
const MOST_FIELDS = 2 * WORD

/** A few names. A map takes ten times as long to find nothing under a text that the engine has not seen before. */
export class Names<T> {
  /** By the length of the name. */
  readonly #lists: { name: string; value: T }[][] = []

  set(name: string, value: T): void {
    ;(this.#lists[name.length] ??= []).push({ name, value })
  }

  get(name: string): T | undefined {
    const list = this.#lists[name.length]
    if (list === undefined) return undefined
    for (const one of list) if (one.name === name) return one.value
    return undefined
  }
}

export class Place {
  readonly fields = new Map<string, Field>()
  readonly #names = new Names<Field>()
  readonly begin: PlaceOptions['begin']
  readonly end: PlaceOptions['end']
  readonly other: PlaceOptions['other']
  readonly element: Field | null
  readonly single: boolean
  readonly nests: boolean
  readonly list: PlaceOptions['list']
  readonly #free: boolean
  readonly #folded = new Names<Field>()
  readonly #lengths: boolean[] = []
  /**
   * Whether all names have small letters only. Then no other name in small letters differs from one of them only in
   * case.
   */
  #snake = true
  #count = 0

  constructor(options: PlaceOptions = {}) {
    this.begin = options.begin
    this.end = options.end
    this.other = options.other
    this.single = options.single ?? false
    this.nests = options.nests ?? false
    this.list = options.list
    this.#free = options.free ?? false
    this.element =
      options.element === undefined
        ? null
        : { name: '', bit: 0, bitMore: 0, limit: DATA_HEAD, read: options.element, inside: null }
  }

  /** Adds a field, whose value is read. Places that contain each other are tied together by later calls. */
  has(name: string, options: FieldOptions | Read = {}): this {
    const { limit = LIMIT, read, inside, alias } = typeof options === 'function' ? { read: options } : options
    const at = this.#count++
    if (at >= MOST_FIELDS) throw new Error(`a place has too many fields: ${name}`)
    const bit = at < WORD ? 1 << at : 0
    const bitMore = at < WORD ? 0 : 1 << (at - WORD)
    const field = { name, bit, bitMore, limit, read: read ?? null, inside: inside ?? null }
    for (const spelling of alias === undefined ? [name] : [name, alias]) {
      this.fields.set(spelling, field)
      this.#names.set(spelling, field)
      this.#folded.set(folded(spelling) as string, field)
      this.#lengths[spelling.length] = true
      this.#snake &&= isSnake(spelling)
    }
    return this
  }

  /** Returns the field of this name. */
  find(name: string): Field | undefined {
    return this.#names.get(name)
  }

  /** Returns the field whose name differs from this name only in case; null = there is none. */
  almost(name: string): Field | null {
    if (this.#free || this.#lengths[name.length] !== true || (this.#snake && isSnake(name))) return null
    const text = folded(name)
    return text === null ? null : (this.#folded.get(text) ?? null)
  }
}

/** Tells whether a name has only small letters and underscores. A loop is the fastest test, because names are short. */
function isSnake(name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const c = name.charCodeAt(i)
    if ((c < 0x61 || c > 0x7a) && c !== 0x5f) return false
  }
  return true
}

/** The characters that become letters of ASCII when their case is changed, there and back; the dot of an i becomes nothing. */
const ALIKE = new Map(
  [...'\u00df\u0130\u0131\u017f\u0307\u212a\ufb00\ufb01\ufb02\ufb03\ufb04\ufb05\ufb06'].map(
    c => [c, c.toUpperCase().toLowerCase().replaceAll('\u0307', '')] as const,
  ),
)

/**
 * Returns the same text for all names that some reader that ignores case could take for one another, the Kelvin sign
 * for a k, the long s, and the i with and without its dot included; null = no name in ASCII is meant. The language's own change of case
 * takes ten times as long, and a client may send a million names in one body.
 */
function folded(name: string): string | null {
  let text = ''
  for (const c of name) {
    const one = c < '\u0080' ? c : ALIKE.get(c)
    if (one === undefined) return null
    text += one
  }
  return text.toLowerCase()
}

const NO_SETTINGS: readonly string[] = []

/** The state of a scan in one object of a place, or in a form. Frames are used again. */
export class PlaceFrame {
  /** The frame of the object around this one; for an element of an array, of the object that has the array. */
  owner: PlaceFrame | null = null
  place: Place | null = null
  isArray = false
  /** Offset of its opening brace. */
  start = 0
  /** True for an element of an array, false for the value of a member. */
  inList = false
  /** The last of the tools that it has; true when one of them stays when those are left out that may be. */
  lastTool: ListElement | null = null
  toolStays = false
  /** The size of the container that a tool names; true when its shell is the client's. */
  size: string | null = null
  isLocal = false
  /** The settings by which a search is made dearer. */
  settings: readonly string[] = NO_SETTINGS
  /** A tool whose members are tools has one that is known, and one that does not search. */
  hasMembers = false
  hasOthers = false
  /** The value of `type`, and the media type that stands beside the data. */
  type = ''
  mime = ''
  /** Length of the string of data; -1 = there is none. */
  dataLength = -1
  /** The beginning of the data. */
  head = ''
  /** The number of things that the object names by URL. */
  urls = 0
  /** The uses that a tool may have, and the most tokens that it may write; null = not said. */
  uses: number | null = null
  maximum: number | null = null
  hasId = false
  hasRole = false
  /** The size and quality of pictures that the object names; null = none. */
  picture: PictureKind | null = null
  /** The fields of the place that were seen: a bit for each of the first 32, and for each of those behind them. */
  seen = 0
  seenMore = 0

  reset(place: Place, isArray: boolean, owner: PlaceFrame | null, start = 0, inList = false): void {
    this.owner = owner
    this.place = place
    this.isArray = isArray
    this.start = start
    this.inList = inList
    this.lastTool = null
    this.toolStays = this.isLocal = this.hasMembers = this.hasOthers = false
    this.size = null
    this.settings = NO_SETTINGS
    this.type = this.mime = this.head = ''
    this.dataLength = -1
    this.urls = this.seen = this.seenMore = 0
    this.uses = this.maximum = null
    this.hasId = this.hasRole = false
    this.picture = null
  }

  /** Notes that a field stands in the object. False: it stood there already. */
  isFirst({ bit, bitMore }: Field): boolean {
    if (((this.seen & bit) | (this.seenMore & bitMore)) !== 0) return false
    this.seen |= bit
    this.seenMore |= bitMore
    return true
  }
}
