/**
 * Where in a request body something stands that matters, as a protocol lays it out. A place is an object, or an array of
 * such objects; its fields are the names that a reader of the protocol knows there. What no place names is text of the
 * request's author and never looked into, so that nothing in a tool's schema or arguments can pass for a picture.
 *
 * A field that stands twice, or under a name that only differs in case, could be taken differently by two readers: the
 * upstream may read the first where we read the last. Such a body is refused, and the field named.
 */
import type { Draft } from './draft.ts'
import type { Kind } from './scan.ts'

/** The value of a field, as Latin-1; its beginning where a string is longer than the field's limit; null = not captured. */
export interface Value {
  kind: Kind
  /** Offsets in the body. */
  start: number
  end: number
  text: string | null
}

/** What was seen in one object of a place so far. */
export interface Frame {
  /** The object around this one; for an element of an array, the object that has the array. */
  owner: Frame | null
  /** Its `type`, and the media type that stands beside its data. */
  type: string
  mime: string
  /** Length of its string of data; -1 = none. */
  dataLength: number
  /** How the data begins. */
  head: string
  /** Things by URL in it. */
  urls: number
  /** How often the tool may be used, and the most that it may write; null = not said. */
  uses: number | null
  maximum: number | null
  hasId: boolean
  hasRole: boolean
  /** The fields of its place that it has, by their bits. */
  seen: number
}

export type Read = (draft: Draft, value: Value, frame: Frame) => void

export interface FieldOptions {
  /** How many bytes of a string are captured; numbers and words always are. */
  limit?: number
  read?: Read
  /** What stands in it, when it is an object or an array of objects. */
  inside?: Place
  /** The same field under another name. */
  alias?: string
}

export interface Field {
  /** As it is named to clients. */
  name: string
  bit: number
  limit: number
  read: Read | null
  inside: Place | null
}

export interface PlaceOptions {
  /** The object has begun. */
  begin?: (draft: Draft, start: number) => void
  /** The object is whole. */
  end?: (draft: Draft, frame: Frame, end: number) => void
  /** Elements of an array that are strings or numbers. */
  element?: Read
  /** A field that the place does not name. */
  other?: (draft: Draft, name: string) => void
  /** Only an object of it is looked into, not an array. */
  single?: boolean
  /** Clients choose its names: another case is another name. */
  free?: boolean
}

/** How much of a string is looked at, unless a field says otherwise. */
const LIMIT = 64
/** Enough of a string of data to tell what it is. */
export const HEAD = 256

export class Place {
  readonly fields = new Map<string, Field>()
  readonly begin: PlaceOptions['begin']
  readonly end: PlaceOptions['end']
  readonly other: PlaceOptions['other']
  readonly element: Field | null
  readonly single: boolean
  readonly #free: boolean
  readonly #folded = new Map<string, Field>()
  readonly #lengths: boolean[] = []
  /** All its names are in small letters, so a name in small letters does not differ from one only in case. */
  #snake = true
  #bits = 0

  constructor(options: PlaceOptions = {}) {
    this.begin = options.begin
    this.end = options.end
    this.other = options.other
    this.single = options.single ?? false
    this.#free = options.free ?? false
    this.element =
      options.element === undefined ? null : { name: '', bit: 0, limit: HEAD, read: options.element, inside: null }
  }

  /** Adds a field. Places that contain each other are joined by further calls. */
  has(name: string, { limit = LIMIT, read, inside, alias }: FieldOptions = {}): this {
    const field = { name, bit: 1 << this.#bits++, limit, read: read ?? null, inside: inside ?? null }
    for (const spelling of alias === undefined ? [name] : [name, alias]) {
      this.fields.set(spelling, field)
      this.#folded.set(folded(spelling), field)
      this.#lengths[spelling.length] = true
      this.#snake &&= isSnake(spelling)
    }
    return this
  }

  /** The field whose name differs from this one only in case; null = there is none. */
  almost(name: string): Field | null {
    if (this.#free || this.#lengths[name.length] !== true || (this.#snake && isSnake(name))) return null
    return this.#folded.get(folded(name)) ?? null
  }
}

/** Nothing but small letters and underscores; looked at one by one, as names are short. */
function isSnake(name: string): boolean {
  for (let i = 0; i < name.length; i++) {
    const c = name.charCodeAt(i)
    if ((c < 0x61 || c > 0x7a) && c !== 0x5f) return false
  }
  return true
}

/**
 * The same for names that any reader blind to case takes for one another: the Kelvin sign for a k, the long s, and the i
 * with and without its dot.
 */
const folded = (name: string): string => name.toUpperCase().toLowerCase().replaceAll('\u0307', '')
