/**
 * Counts the pictures of an answer while it passes, where pictures have a price of their own. A picture is an object in
 * a place where the protocol has pictures. Nothing else is looked into, so that the arguments of a tool cannot pass for
 * a picture. Memory is bounded however large a picture is, and a picture counts as soon as it has begun.
 */
import { DataLines, type DataSink } from './data-lines.ts'
import { decode } from '../json/text.ts'
import type { Patterns } from '../json/patterns.ts'
import { kindOf, PictureKinds } from '../words/picture-kinds.ts'
import { Frame, type Places, type Spot } from './picture-places.ts'
import type { CountedKind } from '../words/usage.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const BACKSLASH = 0x5c
const LETTER_T = 0x74
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/** How many characters of keys, kinds and data are looked at. */
const LONGEST = 64
const MOST_FRAMES = 32

interface Sum {
  found: number
  again: number
  characters: number
}

export class PictureCounter implements DataSink {
  readonly #root: Spot
  readonly #markers: Patterns
  /** Takes the data out of an event stream; null = the answer is one document. */
  readonly #lines: DataLines | null
  /** What was found in all objects that are closed. */
  readonly #sum: Sum = { found: 0, again: 0, characters: 0 }
  /** The kinds of pictures that are closed, and of those that the end of a stream repeats. */
  readonly #kinds = new PictureKinds()
  readonly #kindsAgain = new PictureKinds()
  #frames: Frame[] = []
  /** How many brackets are open in a value that is not looked into. */
  #deep = 0
  /** The place of the member whose value comes next, or has begun. */
  #spot: Spot | null = null
  #valueNext = false
  #inString = false
  #isKey = false
  /** The last character was a backslash inside a string. */
  #escaped = false
  #kept = ''
  #length = 0

  constructor({ root, markers }: Places, events: boolean) {
    this.#root = root
    this.#markers = markers
    this.#lines = events ? new DataLines(this) : null
  }

  get count(): number {
    const { found, again } = this.#sumNow()
    return Math.max(found, again)
  }

  /** Of the pictures that `count` has, those of which size or quality is said. */
  get kinds(): readonly CountedKind[] {
    const { found, again } = this.#sumNow()
    return (again > found ? this.#kindsAgain : this.#kinds).list
  }

  /** How many characters of data all pictures have, repeated ones included. */
  get characters(): number {
    return this.#sumNow().characters
  }

  /** What was found so far, objects that are still open included. */
  #sumNow(): Sum {
    const sum = { ...this.#sum }
    let found = 0
    let characters = 0
    for (let i = this.#frames.length - 1; i >= 0; i--) {
      const frame = this.#frames[i] as Frame
      found += frame.found
      characters += frame.characters
      if (frame.isPicture) {
        found++
        characters += frame.data
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

  /** `text`: bytes as Latin-1. */
  feed(text: string): void {
    if (this.#lines === null) this.data(text)
    else if (!this.#lines.atBoundary || !text.endsWith('\n\n') || this.#markers.isIn(text)) this.#lines.feed(text)
  }

  /** An event has ended, and with it whatever is still open. */
  endEvent(): void {
    Object.assign(this.#sum, this.#sumNow())
    this.#frames = []
    this.#deep = 0
    this.#inString = this.#escaped = this.#valueNext = false
  }

  /** Takes the next characters of the JSON. */
  data(text: string): void {
    let i = 0
    while (i < text.length) i = this.#inString ? this.#string(text, i) : this.#between(text, i)
  }

  /** Moves to the position after the next quote, or to the end. */
  #between(text: string, from: number): number {
    for (let i = from; i < text.length; i++) {
      switch (text.charCodeAt(i)) {
        case QUOTE:
          this.#beginString()
          return i + 1
        case OPEN_OBJECT:
          this.#open(false)
          break
        case OPEN_ARRAY:
          this.#open(true)
          break
        case CLOSE_OBJECT:
        case CLOSE_ARRAY:
          this.#close()
          break
        case COLON:
          this.#valueNext = true
          break
        case COMMA:
          this.#valueNext = false
          break
        case LETTER_T:
          if (this.#role === 'draft') (this.#frame as Frame).draft = true
      }
    }
    return text.length
  }

  get #frame(): Frame | undefined {
    return this.#frames[this.#frames.length - 1]
  }

  /** The role of the value that begins or has begun. */
  get #role(): Spot['role'] {
    return this.#deep === 0 && this.#valueNext && this.#frame?.isArray === false ? this.#spot?.role : undefined
  }

  #open(isArray: boolean): void {
    const around = this.#frame
    const spot = around === undefined ? this.#root : around.isArray ? around.spot : this.#valueNext ? this.#spot : null
    if (this.#deep > 0 || spot?.inside === undefined || this.#frames.length === MOST_FRAMES) this.#deep++
    else this.#frames.push(new Frame(spot, isArray))
    this.#valueNext = false
  }

  #close(): void {
    this.#valueNext = true
    if (this.#deep > 0) {
      this.#deep--
      return
    }
    const frame = this.#frames.pop()
    if (frame === undefined || frame.draft) return
    const into = this.#frame ?? this.#sum
    const found = frame.found + (frame.isPicture ? 1 : 0)
    into.characters += frame.characters + (frame.isPicture ? frame.data : 0)
    if (frame.isPicture) this.#addKind(frame)
    if (frame.spot.again) this.#sum.again = Math.max(this.#sum.again, found)
    else into.found += found
  }

  #addKind({ spot, size, quality }: Frame): void {
    const isAgain = spot.again || this.#frames.some(frame => frame.spot.again)
    ;(isAgain ? this.#kindsAgain : this.#kinds).add(kindOf(size, quality))
  }

  #beginString(): void {
    this.#inString = true
    this.#isKey = this.#deep === 0 && this.#frame?.isArray === false && !this.#valueNext
    this.#kept = ''
    this.#length = 0
  }

  /** Moves to the position after the quote that ends the string, or to the end. */
  #string(text: string, from: number): number {
    let i = from
    if (this.#escaped) {
      this.#escaped = false
      i++
    }
    let quote = text.indexOf('"', i)
    while (quote >= 0 && isEscaped(text, i, quote)) {
      i = quote + 1
      quote = text.indexOf('"', i)
    }
    this.#take(text, from, quote < 0 ? text.length : quote)
    if (quote < 0) {
      this.#escaped = isEscaped(text, i, text.length)
      return text.length
    }
    this.#inString = false
    const whole = this.#length === this.#kept.length ? decode(`"${this.#kept}"`) : null
    if (this.#isKey) this.#spot = this.#spotOf(whole)
    else this.#named(whole)
    return quote + 1
  }

  /** Notes a string that says what the object around it is. */
  #named(text: string | null): void {
    const role = this.#role
    if (role === 'kind') (this.#frame as Frame).kind = text ?? ''
    else if (role === 'size' || role === 'quality') (this.#frame as Frame)[role] = text
  }

  #take(text: string, from: number, end: number): void {
    const room = LONGEST - this.#kept.length
    if (room > 0) this.#kept += text.slice(from, Math.min(end, from + room))
    this.#length += end - from
    if (this.#isKey || this.#role !== 'data') return
    const frame = this.#frame as Frame
    frame.data += end - from
    frame.head = this.#kept
  }

  #spotOf(key: string | null): Spot | null {
    const inside = this.#frame?.spot.inside
    return key !== null && inside !== undefined && Object.hasOwn(inside, key) ? (inside[key] as Spot) : null
  }
}

/** Whether an odd number of backslashes is right before `at`, from `from` on. */
function isEscaped(text: string, from: number, at: number): boolean {
  let run = at
  while (run > from && text.charCodeAt(run - 1) === BACKSLASH) run--
  return ((at - run) & 1) === 1
}
