/**
 * The scan of a JSON body, which finds its facts while it arrives. The JSON scanner tells each member, the protocol's
 * layout of places says which field that is, and the reader of the field writes down in the draft what the value says.
 */

import { type JsonKind, JsonScanner, type ScanEvents } from '../json/scanner.ts'
import { REMOVABLE } from './edits.ts'
import { added, Draft, type Facts, factsOf, LONG_STRING_BYTES, STATE_STARTS } from './facts.ts'
import { type Field, Names, PlaceFrame, type Place, type Value } from './places.ts'

const MAY_GO = new Names<boolean>()
for (const name of REMOVABLE) MAY_GO.set(name, true)

/** Readers of short bodies that have ended, which are used again: they consist of many objects. */
const idle: Reader[] = []
const MOST_IDLE = 64
const SHORT_BYTES = 8 * 1024

export class JsonBodyScan {
  /** null: the body has ended, and its reader may have another one. */
  #reader: Reader | null = idle.pop() ?? new Reader()

  constructor(place: Place) {
    this.#reader?.begin(place)
  }

  feed(chunk: Buffer, text?: string): void {
    this.#reader?.feed(chunk, text)
  }

  pass(chunk: Buffer): void {
    this.#reader?.pass(chunk)
  }

  end(): Facts | null {
    const reader = this.#reader
    this.#reader = null
    const facts = reader?.end() ?? null
    if (reader !== null && reader.bytes <= SHORT_BYTES && idle.length < MOST_IDLE) idle.push(reader)
    return facts
  }
}

class Reader implements ScanEvents {
  readonly #scanner = new JsonScanner(this, { heads: true, sought: STATE_STARTS })
  #draft = new Draft()
  readonly #value: Value = { kind: 'scalar', start: 0, end: 0, text: null }
  /**
   * A frame for each open object and array that is looked into, outermost first. Frames are used again, for fewer
   * objects.
   */
  readonly #frames: PlaceFrame[] = [new PlaceFrame()]
  #depth = 0
  #frame = this.#frames[0] as PlaceFrame
  /** The field of the current member; null = nothing is read in it. */
  #field: Field | null = null
  /** True when `#field` was looked up already, when the scanner asked whether to look into the value. */
  #isFound = false
  bytes = 0
  /** The number of members of the body itself so far, where the last one ended, and where its key begins. */
  #members = 0
  #memberEnd = -1
  #keyStart = 0
  #key = ''

  begin(place: Place): void {
    this.#scanner.begin()
    this.#draft = new Draft()
    this.#depth = this.bytes = this.#members = this.#keyStart = 0
    this.#memberEnd = -1
    this.#field = null
    this.#isFound = false
    this.#frame = this.#frames[0] as PlaceFrame
    this.#frame.reset(place, false, null)
    place.begin?.(this.#draft, 0)
  }

  feed(chunk: Buffer, text?: string): void {
    this.bytes += chunk.length
    this.#scanner.feed(chunk, text)
  }

  pass(chunk: Buffer): void {
    this.bytes += chunk.length
    this.#scanner.pass(chunk)
  }

  /** Looks up the field of a member. A name that is refused is noticed here, whatever the value is. */
  #find(key: string): Field | null {
    const { place, isArray } = this.#frame
    if (place === null || isArray) return place?.element ?? null
    if (this.#depth === 0) this.#beginMember(key)
    const field = place.find(key)
    if (field === undefined) {
      const almost = place.almost(key)
      if (almost !== null) this.#draft.invalid ??= almost.name
      place.other?.(this.#draft, key, this.#frame)
      return null
    }
    if (!this.#frame.isFirst(field)) this.#draft.invalid ??= field.name
    return field
  }

  /** A member of the body itself begins. */
  #beginMember(key: string): void {
    const { keyStart } = this.#scanner
    const last = this.#draft.removable.at(-1)
    if (last !== undefined && last.next < 0) last.next = keyStart
    this.#key = key
    this.#keyStart = keyStart
  }

  #endMember(end: number): void {
    const index = this.#members++
    if (MAY_GO.get(this.#key) && this.#draft.removable.length < REMOVABLE.size)
      this.#draft.removable = added(this.#draft.removable, {
        name: this.#key,
        index,
        start: this.#keyStart,
        end,
        before: this.#memberEnd,
        next: -1,
      })
    this.#memberEnd = end
  }

  wants(key: string): number {
    if (!this.#isFound) this.#field = this.#find(key)
    this.#isFound = false
    return this.#field === null || this.#field.read === null ? 0 : this.#field.limit
  }

  enter(key: string, kind: 'object' | 'array', start: number): boolean {
    const { place, isArray } = this.#frame
    if (isArray) {
      if (place === null || (kind === 'array' && !place.nests)) return false
      if (kind === 'array') place.list?.(this.#draft)
      this.#push(place, kind === 'array', start)
      return true
    }
    this.#field = this.#find(key)
    const inside = this.#field?.inside ?? null
    this.#isFound = inside === null || (inside.single && kind === 'array')
    if (this.#isFound || inside === null) return false
    this.#push(inside, kind === 'array', start)
    return true
  }

  #push(place: Place, isArray: boolean, start: number): void {
    const around = this.#frame
    const frame = (this.#frames[++this.#depth] ??= new PlaceFrame())
    frame.reset(place, isArray, around.isArray ? around.owner : around, start, around.isArray)
    this.#frame = frame
    if (!isArray) place.begin?.(this.#draft, start)
  }

  leave(end: number): void {
    const { place, isArray } = this.#frame
    if (!isArray) place?.end?.(this.#draft, this.#frame, end)
    this.#frame = this.#frames[--this.#depth] as PlaceFrame
    if (this.#depth === 0) this.#endMember(end)
  }

  member(key: string, kind: JsonKind, start: number, end: number, text: string | null): void {
    const field = kind === 'scalar' ? this.#find(key) : this.#field
    if (this.#depth === 0) this.#endMember(end)
    if (kind === 'string' && end - start >= LONG_STRING_BYTES) this.#noteLong(start, end)
    if (field === null || field.read === null) return
    const value = this.#value
    value.kind = kind
    value.start = start
    value.end = end
    value.text = text
    field.read(this.#draft, value, this.#frame)
  }

  #noteLong(start: number, end: number): void {
    const draft = this.#draft
    draft.longStrings = added(draft.longStrings, start)
    draft.longStrings.push(end)
  }

  end(): Facts | null {
    if (!this.#scanner.complete) return null
    const { place } = this.#frame
    place?.end?.(this.#draft, this.#frame, this.bytes)
    this.#draft.mayHaveState = this.#scanner.mayHaveSought
    return factsOf(this.#draft, this.bytes, this.#scanner.openedAt)
  }
}
