/**
 * Finds the pictures in an answer that is a JSON document while it passes: strings of base64 in the elements of one
 * array. It takes the document apart, in order, into bytes that pass as they are, and the text of each picture, so that
 * a link can stand in the place of a picture. Memory is bounded however long a picture is.
 *
 * A member is known by its name only when its value begins, so the name is held back until then. Where an element has a
 * link already that is null or empty, the two members change their names, because no member may stand there twice.
 */
import { HeldBytes } from './held-bytes.ts'
import { decode } from '../json/text.ts'
import { bytesAsText } from '../json/patterns.ts'
import { type Part, type PictureMembers, renamed, type Span } from './picture-parts.ts'
import { PictureText, type TextPiece } from './picture-text.ts'
import { StringEnd } from '../json/string-end.ts'

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const LETTER_N = 0x6e
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d
const OPEN_ARRAY = 0x5b
const CLOSE_ARRAY = 0x5d

/** The longest name of a member that is read, in characters as they stand in the document. */
const LONGEST_KEY = 64

/** How deep the scan stands in what matters: outside, in the document, in the array, in an element. */
const OUTSIDE = 0
const DOCUMENT = 1
const ARRAY = 2
const ELEMENT = 3

export class EncodedPictures {
  readonly #members: PictureMembers
  readonly #end = new StringEnd()
  readonly #text = new PictureText()
  #place = OUTSIDE
  /** How many brackets are open in a value that is not looked into. */
  #deep = 0
  #over = false
  /** A colon has come, so that what follows is a value. */
  #valueNext = false
  /** The string in which the scan stands; `first`: the value of a link whose first character decides. */
  #string: 'none' | 'skipped' | 'key' | 'first' | 'picture' = 'none'
  #key = ''
  /** The name of the member whose value comes next, or has begun; null = it is too long, or of no interest. */
  #name: string | null = null

  /** Of the element: it has a link of its own; it had a picture. */
  #hasLink = false
  #hasPicture = false

  /** What is held back: with bytes of earlier chunks those of this chunk from `#from` on. */
  readonly #held = new HeldBytes()
  /** In what is held back: the name of the member, and the name of a link that is null or empty. */
  #keySpan: Span = { at: 0, length: 0 }
  #blankSpan: Span | null = null

  #parts: Part[] = []
  /** Where in the chunk that begins which has not become a part. */
  #from = 0

  constructor(members: PictureMembers) {
    this.#members = members
  }

  /** Takes a chunk and returns the parts that are known now. They are views of the chunk. */
  push(chunk: Buffer): Part[] {
    this.#parts = []
    this.#from = 0
    const text = bytesAsText(chunk)
    for (let i = 0; i < chunk.length; ) i = this.#step(chunk, text, i)
    const rest = chunk.subarray(this.#from)
    if (!this.#held.on) this.#pass(rest)
    else if (!this.#held.keep(rest)) this.#release()
    return this.#parts
  }

  /** The document has ended, perhaps in the middle. Returns what was held back. A picture may still be open. */
  flush(): Part[] {
    this.#parts = []
    this.#release()
    const rest = this.#text.rest()
    if (rest !== null) this.#takeText(rest)
    return this.#parts
  }

  #step(chunk: Buffer, text: string, i: number): number {
    switch (this.#string) {
      case 'none':
        return this.#between(chunk, i)
      case 'key':
        return this.#readKey(chunk, text, i)
      case 'first':
        return this.#firstOfLink(chunk, i)
      case 'picture':
        return this.#picture(chunk, i)
      case 'skipped': {
        const end = this.#end.find(chunk, text, i)
        if (end >= 0) this.#string = 'none'
        return end < 0 ? chunk.length : end
      }
    }
  }

  /** Moves to the position after the next quote, or to the end. */
  #between(chunk: Buffer, from: number): number {
    for (let i = from; i < chunk.length; i++) {
      switch (chunk[i]) {
        case QUOTE:
          this.#beginString(chunk, i)
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
          if (this.#deep === 0) this.#valueNext = true
          break
        case COMMA:
          if (this.#deep === 0) this.#endMember()
          break
        case LETTER_N:
          if (this.#isLinkNext) this.#blankLink(chunk, i)
      }
    }
    return chunk.length
  }

  #open(isArray: boolean): void {
    const next =
      this.#deep > 0
        ? OUTSIDE
        : this.#place === OUTSIDE && !isArray && !this.#over
          ? DOCUMENT
          : this.#place === DOCUMENT && isArray && this.#valueNext && this.#name === this.#members.array
            ? ARRAY
            : this.#place === ARRAY && !isArray
              ? ELEMENT
              : OUTSIDE
    if (next === OUTSIDE) {
      this.#deep++
      return
    }
    this.#place = next
    this.#valueNext = next === ARRAY
    this.#hasLink = this.#hasPicture = false
  }

  #close(): void {
    if (this.#deep > 0) {
      this.#deep--
      return
    }
    if (this.#place === ELEMENT) this.#release()
    if (this.#place === DOCUMENT) this.#over = true
    if (this.#place > OUTSIDE) this.#place--
    this.#valueNext = true
    this.#name = null
  }

  #endMember(): void {
    this.#valueNext = this.#place === ARRAY
    if (this.#held.on && this.#blankSpan === null) this.#release()
  }

  // --- names

  get #isElement(): boolean {
    return this.#place === ELEMENT && this.#deep === 0
  }

  get #isLinkNext(): boolean {
    return this.#held.on && this.#isElement && this.#valueNext && this.#name === this.#members.link
  }

  #beginString(chunk: Buffer, i: number): void {
    const { encoded } = this.#members
    if (this.#deep === 0 && !this.#valueNext && (this.#place === DOCUMENT || this.#place === ELEMENT)) {
      if (this.#place === ELEMENT) this.#beginKey(chunk, i)
      this.#key = '"'
      this.#string = 'key'
    } else if (this.#isLinkNext) this.#string = 'first'
    else if (this.#held.on && this.#isElement && this.#name === encoded && !this.#hasPicture)
      this.#beginPicture(chunk, i)
    else this.#string = 'skipped'
  }

  #beginKey(chunk: Buffer, i: number): void {
    if (!this.#held.on) {
      this.#pass(chunk.subarray(this.#from, i))
      this.#from = i
      this.#held.on = true
    }
    this.#keySpan = { at: this.#held.length + i - this.#from, length: 0 }
  }

  #readKey(chunk: Buffer, text: string, i: number): number {
    const end = this.#end.find(chunk, text, i)
    if (this.#key.length <= LONGEST_KEY) this.#key += text.slice(i, end < 0 ? text.length : end)
    if (end < 0) return chunk.length
    this.#string = 'none'
    this.#name = this.#key.length <= LONGEST_KEY ? decode(this.#key) : null
    if (this.#place === ELEMENT) {
      this.#keySpan.length = this.#held.length + end - this.#from - this.#keySpan.at
      const { encoded, link } = this.#members
      const matters = !this.#hasLink && (this.#name === link || (this.#name === encoded && !this.#hasPicture))
      if (!matters && this.#blankSpan === null) this.#release()
    }
    return end
  }

  // --- links that are there already

  /** An empty string is as good as none. */
  #firstOfLink(chunk: Buffer, i: number): number {
    if (chunk[i] === QUOTE) {
      this.#blankLink(chunk, i)
      this.#string = 'none'
      return i + 1
    }
    this.#hasLink = true
    this.#release()
    this.#string = 'skipped'
    return i
  }

  #blankLink(chunk: Buffer, i: number): void {
    if (!this.#hasPicture) {
      this.#blankSpan ??= this.#keySpan
      return
    }
    const asIs = this.#takeHeld(chunk, i)
    this.#parts.push({ is: 'either', asIs, linked: renamed(asIs, [[this.#keySpan, this.#members.encoded]]) })
  }

  // --- pictures

  #beginPicture(chunk: Buffer, i: number): void {
    const { encoded, link } = this.#members
    const names: [Span, string][] = [[this.#keySpan, link]]
    if (this.#blankSpan !== null) names.unshift([this.#blankSpan, encoded])
    const asIs = this.#takeHeld(chunk, i + 1)
    this.#parts.push({ is: 'begin', asIs, linked: renamed(asIs.subarray(0, -1), names) })
    this.#hasPicture = true
    this.#string = 'picture'
  }

  #picture(chunk: Buffer, i: number): number {
    const quote = this.#text.read(chunk, i, this.#takeText)
    this.#from = quote < 0 ? chunk.length : quote + 1
    if (quote < 0) return chunk.length
    this.#parts.push({ is: 'end' })
    this.#string = 'none'
    return quote + 1
  }

  readonly #takeText = ({ raw, text }: TextPiece): void => {
    this.#parts.push({ is: 'data', raw, text })
  }

  // --- what is held back

  #pass(bytes: Buffer): void {
    if (bytes.length > 0) this.#parts.push({ is: 'bytes', bytes })
  }

  /** What is held back passes as it is, that of this chunk with the rest of the chunk. */
  #release(): void {
    this.#pass(this.#held.take())
    this.#blankSpan = null
  }

  /** All that is held back, up to this position of the chunk. */
  #takeHeld(chunk: Buffer, end: number): Buffer {
    const held = this.#held.take(chunk.subarray(this.#from, end))
    this.#blankSpan = null
    this.#from = end
    return held
  }
}
