/**
 * Finds the pictures in an answer that is a JSON document while it passes: strings of base64 in the elements of one
 * array. It takes the document apart, in order, into bytes that pass as they are, and the text of each picture, so that
 * a link can stand in the place of a picture. Memory is bounded however long a picture is.
 *
 * A member is known by its name only when its value begins, so the name is held back until then. Where an element has a
 * link already that is null or empty, the two members change their names, because no member may stand there twice.
 */
import { type JsonKind, JsonScanner, type ScanEvents } from '../json/scanner.ts'

/** The place where the documents of a protocol have pictures. */
export interface PictureMembers {
  /** The top-level array. */
  readonly array: string
  /** The member of its elements that is a picture, and the one that is a link to it. */
  readonly encoded: string
  readonly link: string
}

/** A part of the document. `linked` is what stands there when the picture became a link, else `asIs` does. */
export type PicturePart =
  | { is: 'bytes'; bytes: Buffer }
  /** A picture begins. `asIs` ends with the quote that opens its text; `linked` ends before the link. */
  | { is: 'begin'; asIs: Buffer; linked: Buffer }
  /** `raw`: as it stands in the document; `text`: without the escapes of JSON. */
  | { is: 'data'; raw: Buffer; text: Buffer }
  /** The picture ends, with its closing quote. */
  | { is: 'end' }
  /** A member behind the picture that depends on what became of it. */
  | { is: 'either'; asIs: Buffer; linked: Buffer }

/** The most bytes of earlier chunks that are held back. */
const MOST_HELD = 16 * 1024
/** The levels of the document: its members, then the elements of the array, then their members. */
const TOP = 0
const ELEMENT = 2

const NOTHING: Buffer = Buffer.alloc(0)

export class EncodedPictures implements ScanEvents {
  readonly #members: PictureMembers
  readonly #scanner = new JsonScanner(this)
  readonly #text = new PictureText()
  #parts: PicturePart[] = []
  #chunk = NOTHING
  /** The offset of the chunk in the document. */
  #base = 0
  /** All bytes before this offset have become parts. */
  #passed = 0
  /** Bytes of earlier chunks that are held back, from `#passed` on. */
  #held: Buffer[] = []
  #level = TOP
  #inPicture = false
  /** The offset of the key of a link in the element whose value is null, empty, or not known yet; -1 = there is none. */
  #link = -1
  /** True: the element has a link of its own; it had a picture. */
  #hasLink = false
  #hasPicture = false

  constructor(members: PictureMembers) {
    this.#members = members
  }

  /** Takes a chunk and returns the parts that are known now. They are views of the chunk. */
  push(chunk: Buffer): PicturePart[] {
    this.#parts = []
    this.#chunk = chunk
    this.#scanner.feed(chunk)
    const end = this.#base + chunk.length
    if (this.#inPicture) this.#takeData(end)
    else this.#hold(end)
    this.#chunk = NOTHING
    this.#base = end
    return this.#parts
  }

  /** The document has ended, perhaps in the middle. Returns what was held back. A picture may still be open. */
  flush(): PicturePart[] {
    this.#parts = []
    this.#pass(this.#base)
    this.#text.end(this.#parts)
    return this.#parts
  }

  // --- the scanner's events

  /** Nothing of a string is captured: of a link only the length matters, and the text of a picture is taken from the chunk. */
  wants(key: string): number {
    if (!this.#isOpen) return 0
    if (key === this.#members.link && this.#link < 0) this.#link = this.#scanner.keyStart
    else if (key === this.#members.encoded && !this.#hasPicture) this.#beginPicture()
    return 0
  }

  /** True in an element without a link of its own, when the key of the current member has not passed already. */
  get #isOpen(): boolean {
    return this.#level === ELEMENT && !this.#hasLink && this.#scanner.keyStart >= this.#passed
  }

  enter(key: string, kind: 'object' | 'array'): boolean {
    const matters = this.#level === TOP ? kind === 'array' && key === this.#members.array : kind === 'object'
    if (!matters || this.#level === ELEMENT) return false
    this.#level++
    this.#hasLink = this.#hasPicture = false
    return true
  }

  leave(): void {
    this.#level--
    this.#link = -1
  }

  member(key: string, kind: JsonKind, start: number, end: number, text: string | null): void {
    if (this.#inPicture) this.#endPicture(end)
    else if (key === this.#members.link && this.#isOpen)
      this.#endLink(kind, kind === 'string' ? end - start === 2 : text === 'null', end)
  }

  // --- links that are there already

  /** `isBlank`: a link that is null or empty is as good as none. */
  #endLink(kind: JsonKind, isBlank: boolean, end: number): void {
    const start = this.#link < 0 ? this.#scanner.keyStart : this.#link
    this.#link = -1
    if (!isBlank) this.#hasLink = kind === 'string'
    else if (!this.#hasPicture) this.#link = start
    else {
      this.#pass(start)
      const asIs = this.#take(end)
      this.#parts.push({ is: 'either', asIs, linked: renamed(asIs, [[0, this.#members.encoded]]) })
    }
  }

  // --- pictures

  #beginPicture(): void {
    const { encoded, link } = this.#members
    const key = this.#scanner.keyStart
    const start = this.#link < 0 ? key : this.#link
    this.#pass(start)
    const asIs = this.#take(this.#scanner.valueStart + 1)
    const names: [at: number, name: string][] = [[key - start, link]]
    if (this.#link >= 0) names.unshift([0, encoded])
    this.#parts.push({ is: 'begin', asIs, linked: renamed(asIs.subarray(0, -1), names) })
    this.#hasPicture = this.#inPicture = true
    this.#link = -1
  }

  #takeData(end: number): void {
    if (end > this.#passed) this.#text.read(this.#take(end), this.#parts)
  }

  /** `end`: the offset behind its closing quote. */
  #endPicture(end: number): void {
    this.#takeData(end - 1)
    this.#passed = end
    this.#parts.push({ is: 'end' })
    this.#inPicture = false
  }

  // --- bytes that are held back

  /** The chunk ends at this offset. The key of a member whose value has not begun is held back, and so is a link that may be renamed. */
  #hold(end: number): void {
    const isKey = this.#level === ELEMENT && this.#scanner.undecided
    const from = this.#link >= 0 ? this.#link : isKey ? this.#scanner.keyStart : end
    if (this.#scanner.bad || end - from > MOST_HELD) {
      this.#link = -1
      this.#pass(end)
      return
    }
    this.#pass(from)
    const rest = this.#chunk.subarray(Math.max(0, this.#passed - this.#base))
    if (rest.length > 0) this.#held.push(Buffer.from(rest))
  }

  /** Takes the bytes up to this offset, with those that are held back. */
  #take(end: number): Buffer {
    const here = this.#chunk.subarray(Math.max(0, this.#passed - this.#base), Math.max(0, end - this.#base))
    const held = this.#held
    this.#held = []
    this.#passed = end
    return held.length === 0 ? here : Buffer.concat([...held, here])
  }

  /** Bytes up to this offset pass as they are. */
  #pass(end: number): void {
    if (end <= this.#passed) return
    this.#parts.push({ is: 'bytes', bytes: this.#take(end) })
  }
}

/** A key, from its first byte on. */
const KEY = /^"(?:[^"\\]|\\.)*"/s

/** Returns the bytes with other names of the members whose keys begin at these places, in their order. */
function renamed(bytes: Buffer, names: readonly [at: number, name: string][]): Buffer {
  const text = bytes.toString('latin1')
  let renamed = ''
  let from = 0
  for (const [at, name] of names) {
    renamed += text.slice(from, at) + JSON.stringify(name)
    from = at + (KEY.exec(text.slice(at))?.[0].length ?? 0)
  }
  return Buffer.from(renamed + text.slice(from), 'latin1')
}

const BACKSLASH = 0x5c
const LETTER_U = 0x75
const SLASH = 0x2f
const UNICODE_LENGTH = 6
const ASCII_END = 0x80
/** An escape becomes this byte where it stands for nothing in base64. */
const NOT_BASE64 = 0

/** The text of a picture in pieces: as it stands in the document, and without the escapes of JSON. */
class PictureText {
  /** An escape of which the end has not come. */
  #open = ''

  /** Hands over what there is of the text by this piece of it. */
  read(piece: Buffer, parts: PicturePart[]): void {
    if (this.#open === '' && !piece.includes(BACKSLASH)) parts.push({ is: 'data', raw: piece, text: piece })
    else this.#unescape(piece, parts)
  }

  #unescape(piece: Buffer, parts: PicturePart[]): void {
    const all = Buffer.concat([Buffer.from(this.#open, 'latin1'), piece])
    const text = Buffer.allocUnsafe(all.length)
    let length = 0
    this.#open = ''
    for (const c of all) {
      if (this.#open === '' && c !== BACKSLASH) text[length++] = c
      else {
        this.#open += String.fromCharCode(c)
        if (!isWhole(this.#open)) continue
        text[length++] = meaningOf(this.#open)
        this.#open = ''
      }
    }
    const raw = all.subarray(0, all.length - this.#open.length)
    if (raw.length > 0) parts.push({ is: 'data', raw, text: text.subarray(0, length) })
  }

  /** The document has ended: what is left of an escape is handed over. */
  end(parts: PicturePart[]): void {
    if (this.#open === '') return
    parts.push({ is: 'data', raw: Buffer.from(this.#open, 'latin1'), text: Buffer.of(NOT_BASE64) })
    this.#open = ''
  }
}

const isWhole = (sequence: string): boolean =>
  sequence.length === UNICODE_LENGTH || (sequence.length === 2 && sequence.charCodeAt(1) !== LETTER_U)

/** Returns the character as one byte. */
function meaningOf(sequence: string): number {
  if (sequence.length === 2) return sequence[1] === '/' ? SLASH : NOT_BASE64
  const code = Number.parseInt(sequence.slice(2), 16)
  return code < ASCII_END ? code : NOT_BASE64
}

const QUAD = 4
/** Letters of another alphabet, which the decoder of Node takes too. */
const FOREIGN = /[-_]/

/**
 * Decodes base64 that comes in pieces, and is strict: what it has decoded is, encoded again, the very same text. So a text
 * whose decoding was given up in the middle can be written out again from the bytes.
 */
export class Base64Reader {
  /** The text that is not decoded yet: fewer than four characters, or the last four with their padding. */
  rest = ''

  /** Returns the bytes of all groups of four that are complete; null = this is not base64, and nothing has changed. */
  read(text: Buffer): Buffer | null {
    const all = this.rest + text.toString('latin1')
    const padding = all.indexOf('=')
    const plain = padding < 0 ? all.length : padding
    const whole = plain - (plain % QUAD)
    if (all.length - whole > QUAD) return null
    const groups = all.slice(0, whole)
    const bytes = Buffer.from(groups, 'base64')
    if (bytes.length !== (whole / QUAD) * 3 || FOREIGN.test(groups)) return null
    this.rest = all.slice(whole)
    return bytes
  }

  /** No more text comes. Returns the bytes of the rest, which stays until `clear`; null = the text is not complete. */
  end(): Buffer | null {
    const bytes = Buffer.from(this.rest, 'base64')
    return bytes.toString('base64') === this.rest ? bytes : null
  }

  clear(): void {
    this.rest = ''
  }
}
