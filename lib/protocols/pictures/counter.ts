/**
 * Counts the pictures of an answer while it passes, where pictures have a price of their own. A picture is an object in
 * a place where the protocol has pictures. Nothing else is looked into, so that the arguments of a tool cannot pass for
 * a picture. Memory is bounded however large a picture is, and a picture counts as soon as it has begun.
 */

import { Patterns } from '../json/patterns.ts'
import { type JsonKind, JsonScanner, type ScanEvents } from '../json/scanner.ts'
import { decode } from '../json/text.ts'
import { type CountedKind, PictureKinds, pictureKind } from '../words/usage.ts'

/** A place in an answer. An array stands for each of its elements. */
export interface Spot {
  /** The members that are looked at. */
  readonly inside?: Readonly<Record<string, Spot>>
  /** An object here is a picture when it has data and its kind matches; `any`: whatever its kind is. */
  readonly picture?: RegExp | 'any'
  /**
   * The value here is a string of base64 or a URL (`data`), the name of a kind (`kind`), the size or the quality of
   * the picture, or a flag that marks the object around it as a draft (`draft`).
   */
  readonly role?: 'data' | 'kind' | 'size' | 'quality' | 'draft'
  /** True: this place repeats what the stream had before. */
  readonly again?: boolean
}

export const DATA: Spot = { role: 'data' }
export const KIND: Spot = { role: 'kind' }
export const SIZE: Spot = { role: 'size' }
export const QUALITY: Spot = { role: 'quality' }

export class PicturePlaces {
  readonly root: Spot
  /** Every event with a picture has one of these patterns. Events without any are not read. */
  readonly markers: Patterns

  /** `marker`: a text that is in the name of each member that leads to a picture. */
  constructor(marker: string, root: Spot) {
    this.root = root
    this.markers = new Patterns([marker, '\\u'])
  }
}

/** The base64 of a picture begins so (PNG, JPEG, GIF, WebP). It is asked for where nothing has named the kind yet. */
const LOOKS_LIKE_PICTURE = /^(iVBORw|\\?\/9j\\?\/|R0lGOD|UklGR\S{6}XRUJQ)/

/** The most characters of kinds and data that are looked at. */
const LONGEST = 64

const SCANNED = { arrays: true, heads: true }

/** An object or array that is looked into. */
class Frame {
  readonly spot: Spot
  readonly isArray: boolean
  draft = false
  kind: string | null = null
  size: string | null = null
  quality: string | null = null
  head = ''
  /** The number of characters of data that the object has. */
  data = 0
  /** The number of pictures in the closed objects inside, and of their characters of data. */
  found = 0
  characters = 0

  constructor(spot: Spot, isArray: boolean) {
    this.spot = spot
    this.isArray = isArray
  }

  /** Returns the place of a member, or of each element. */
  spotOf(key: string): Spot | undefined {
    if (this.isArray) return this.spot
    const { inside } = this.spot
    return inside !== undefined && Object.hasOwn(inside, key) ? inside[key] : undefined
  }

  /** Returns the role of a member; an element has none. */
  roleOf(key: string): Spot['role'] {
    return this.isArray ? undefined : this.spotOf(key)?.role
  }

  /** `more`, `head`: characters of data that are still coming, and how they begin. */
  isPicture(more = 0, head = this.head): boolean {
    const { picture } = this.spot
    if (picture === undefined || this.isArray || this.data + more === 0) return false
    if (picture === 'any') return true
    return this.kind === null ? LOOKS_LIKE_PICTURE.test(head) : picture.test(this.kind)
  }
}

interface Sum {
  found: number
  again: number
  characters: number
}

export class PictureCounter implements ScanEvents {
  readonly #root: Spot
  /** Every event with a picture has one of these patterns. */
  readonly markers: Patterns
  /** Takes the data out of an event stream; null = the answer is one document. */
  readonly #lines: DataLines | null
  #scanner = new JsonScanner(this, SCANNED)
  /** The pictures of all objects that are closed. */
  readonly #sum: Sum = { found: 0, again: 0, characters: 0 }
  /** The kinds of pictures that are closed, and of those that the end of a stream repeats. */
  readonly #kinds = new PictureKinds()
  readonly #kindsAgain = new PictureKinds()
  /** The objects and arrays that are open, the whole answer or event first. */
  #frames: Frame[]

  constructor({ root, markers }: PicturePlaces, events: boolean) {
    this.#root = root
    this.markers = markers
    this.#frames = [new Frame(root, false)]
    this.#lines = events ? new DataLines(this) : null
  }

  get count(): number {
    const { found, again } = this.#sumNow()
    return Math.max(found, again)
  }

  /** The kinds of the pictures that `count` has, as far as size or quality is said. */
  get kinds(): readonly CountedKind[] {
    const { found, again } = this.#sumNow()
    return (again > found ? this.#kindsAgain : this.#kinds).list
  }

  /** The number of characters of data that all pictures have, repeated ones included. */
  get characters(): number {
    return this.#sumNow().characters
  }

  /** All that was found so far, objects that are still open included. */
  #sumNow(): Sum {
    const sum = { ...this.#sum }
    const open = this.#scanner.openString
    let found = 0
    let characters = 0
    for (let i = this.#frames.length - 1; i >= 0; i--) {
      const frame = this.#frames[i] as Frame
      const coming = open !== null && i === this.#frames.length - 1 && frame.roleOf(open.key) === 'data' ? open : null
      found += frame.found
      characters += frame.characters
      if (frame.isPicture(coming?.bytes, coming?.head.slice(1))) {
        found++
        characters += frame.data + (coming?.bytes ?? 0)
      }
      if (frame.draft) found = characters = 0
      if (frame.spot.again) {
        sum.again = Math.max(sum.again, found)
        found = 0
      }
    }
    sum.found += found
    sum.characters += characters
    return sum
  }

  /** `text`: the same bytes as Latin-1. */
  feed(chunk: Buffer, text: string): void {
    if (this.#lines === null) this.#scanner.feed(chunk, text)
    else if (!this.#lines.atBoundary || !text.endsWith('\n\n') || this.markers.isIn(text)) this.#lines.feed(chunk, text)
  }

  /** Takes the next piece of an event's data. The line ends between several data lines of one event are left out. */
  data(bytes: Buffer, text: string): void {
    this.#scanner.feed(bytes, text)
  }

  /** An event has ended, and with it whatever is still open. */
  endEvent(): void {
    Object.assign(this.#sum, this.#sumNow())
    this.#frames = [new Frame(this.#root, false)]
    this.#scanner = new JsonScanner(this, SCANNED)
  }

  get #frame(): Frame {
    return this.#frames[this.#frames.length - 1] as Frame
  }

  wants(key: string): number {
    const role = this.#frame.roleOf(key)
    return role === undefined ? 0 : LONGEST + 2
  }

  enter(key: string, kind: 'object' | 'array'): boolean {
    const spot = this.#frame.spotOf(key)
    if (spot?.inside === undefined) return false
    this.#frames.push(new Frame(spot, kind === 'array'))
    return true
  }

  member(key: string, kind: JsonKind, start: number, end: number, text: string | null): void {
    const frame = this.#frame
    const role = frame.roleOf(key)
    if (role === undefined || text === null) return
    if (kind === 'scalar' && role === 'draft') frame.draft ||= text === 'true'
    if (kind !== 'string') return
    if (role === 'data') {
      frame.data += end - start - 2
      frame.head = text.slice(1)
    } else if (role !== 'draft') {
      const said = text.length === end - start ? decode(text) : null
      frame[role] = role === 'kind' ? (said ?? '') : said
    }
  }

  leave(): void {
    const frame = this.#frames.pop() as Frame
    if (frame.draft) return
    const isPicture = frame.isPicture()
    const found = frame.found + (isPicture ? 1 : 0)
    const into = this.#frame
    into.characters += frame.characters + (isPicture ? frame.data : 0)
    if (isPicture) this.#addKind(frame)
    if (frame.spot.again) this.#sum.again = Math.max(this.#sum.again, found)
    else into.found += found
  }

  #addKind({ spot, size, quality }: Frame): void {
    const isAgain = spot.again || this.#frames.some(frame => frame.spot.again)
    ;(isAgain ? this.#kindsAgain : this.#kinds).add(pictureKind(size, quality))
  }
}

const LF = 0x0a
const FIELD = 'data:'
const BOM = '\u00ef\u00bb\u00bf'

/** Takes the data out of the lines of an event stream, in the pieces in which it comes. No line is kept, however long. */
class DataLines {
  readonly #sink: PictureCounter
  /** The number of characters of `data:` that the current line has so far; -1 = it is another line. */
  #intro = 0
  #afterReturn = false
  #atStart = true
  /** True when nothing of an event has come since the last event ended. */
  atBoundary = false

  constructor(sink: PictureCounter) {
    this.#sink = sink
  }

  /** `text`: the same bytes as Latin-1. A line ends in LF, CR or both. */
  feed(chunk: Buffer, text: string): void {
    let from = 0
    if (this.#afterReturn && text !== '') {
      this.#afterReturn = false
      if (text.charCodeAt(0) === LF) from = 1
    }
    let lineFeed = -1
    let carriageReturn = -1
    while (from < text.length) {
      if (lineFeed < from) lineFeed = indexOr(text, '\n', from)
      if (carriageReturn < from) carriageReturn = indexOr(text, '\r', from)
      const end = Math.min(lineFeed, carriageReturn)
      if (end > from) this.#part(chunk, text, from, end)
      if (end === text.length) return
      this.#endLine()
      from = end + 1
      if (end !== carriageReturn) continue
      if (from === text.length) this.#afterReturn = true
      else if (text.charCodeAt(from) === LF) from++
    }
  }

  #part(chunk: Buffer, text: string, from: number, end: number): void {
    let i = from
    for (; i < end && this.#intro >= 0 && this.#intro < FIELD.length; i++) {
      const c = text[i] as string
      if (this.#atStart && BOM.includes(c)) continue
      this.#atStart = false
      this.#intro = c === FIELD[this.#intro] ? this.#intro + 1 : -1
    }
    this.atBoundary = false
    if (this.#intro === FIELD.length && i < end) this.#sink.data(chunk.subarray(i, end), text.slice(i, end))
  }

  #endLine(): void {
    this.#atStart = false
    this.atBoundary = this.#intro === 0
    if (this.atBoundary) this.#sink.endEvent()
    this.#intro = 0
  }
}

/** Returns the place of `what` from `from` on; the length of the text = nowhere. */
function indexOr(text: string, what: string, from: number): number {
  const at = text.indexOf(what, from)
  return at < 0 ? text.length : at
}
