/**
 * A scanner of multipart forms (RFC 7578) that arrive in chunks. It tells the head of each part, passes on the content, and
 * says where each part ends; nothing of a part is kept. It takes a bounded amount of memory and never throws.
 *
 * The boundary is searched natively. Wherever it stands it must be a delimiter: behind a line end (CR LF), and followed by
 * one, or by the two dashes that end the form. A form that has its boundary in any other place, a line end without CR, or
 * spaces behind the boundary is refused: some readers would take such a place for the end of a part, and others not.
 */
import { bytesAsText } from '../json/patterns.ts'
import { type PartHead, partHeadOf } from './part-head.ts'

const CR = 0x0d
const LF = 0x0a
const DASH = 0x2d
const LINE_END = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const NOTHING = Buffer.alloc(0)
const MOST_HEAD_BYTES = 4096
const MOST_PARTS = 256

/** Offsets count from the beginning of the body. */
export interface PartEvents {
  /** A part begins; its content stands from `start` on. */
  part(head: PartHead, start: number): void
  /** More of its content, which is only valid until the call returns. */
  content(bytes: Buffer): void
  /** The part ends; its content stands up to `end`. */
  endPart(end: number): void
}

/**
 * `preamble` and `epilogue` are what readers pass over before the first boundary and behind the last one; `delimiter` and
 * `last` stand directly behind a boundary, and behind the dashes of the last one.
 */
type State = 'preamble' | 'delimiter' | 'head' | 'content' | 'last' | 'epilogue' | 'bad'

export class MultipartScanner {
  readonly #events: PartEvents
  readonly #needle: Buffer
  #state: State = 'preamble'
  /** The end of the last chunk, which cannot be understood without the next. */
  #rest: Buffer = NOTHING
  /** What is read, the position in it, and its offset in the body. */
  #data: Buffer = NOTHING
  #at = 0
  #base = 0
  #parts = 0

  constructor(boundary: string, events: PartEvents) {
    this.#events = events
    this.#needle = Buffer.from(`--${boundary}`)
  }

  /** Whether the form has come to its last boundary. */
  get complete(): boolean {
    return this.#state === 'epilogue' || (this.#state === 'last' && this.#rest.length === 0)
  }

  feed(chunk: Buffer): void {
    this.#data = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk])
    this.#at = 0
    while (this.#step());
    this.#base += this.#at
    this.#rest = this.#state === 'bad' ? NOTHING : Buffer.from(this.#data.subarray(this.#at))
    this.#data = NOTHING
  }

  /** Returns whether it may go on with the bytes that are there. */
  #step(): boolean {
    switch (this.#state) {
      case 'delimiter':
        return this.#delimiter()
      case 'last':
        return this.#last()
      case 'head':
        return this.#head()
      case 'bad':
        return false
      default:
        return this.#search()
    }
  }

  #refuse(): false {
    this.#state = 'bad'
    return false
  }

  /** Looks for the next boundary. What cannot be a part of it is passed on. */
  #search(): boolean {
    const at = this.#data.indexOf(this.#needle, this.#at)
    if (at < 0) {
      this.#pass(this.#data.length - this.#needle.length - LINE_END.length)
      return false
    }
    const begins = this.#state === 'preamble' && this.#base + at === 0
    const isBehindLine = at - LINE_END.length >= this.#at && this.#data[at - 2] === CR && this.#data[at - 1] === LF
    if (this.#state === 'epilogue' || !(begins || isBehindLine)) return this.#refuse()
    if (isBehindLine) this.#pass(at - LINE_END.length)
    if (this.#state === 'content') this.#events.endPart(this.#base + this.#at)
    this.#at = at + this.#needle.length
    this.#state = 'delimiter'
    return true
  }

  #pass(to: number): void {
    if (to <= this.#at) return
    if (this.#state === 'content') this.#events.content(this.#data.subarray(this.#at, to))
    this.#at = to
  }

  #delimiter(): boolean {
    if (this.#data.length < this.#at + 2) return false
    const isLast = this.#data[this.#at] === DASH && this.#data[this.#at + 1] === DASH
    if (!isLast && !this.#endsLine()) return this.#refuse()
    this.#state = isLast ? 'last' : 'head'
    this.#at += 2
    return true
  }

  #last(): boolean {
    if (this.#data.length < this.#at + 2) return false
    if (!this.#endsLine()) return this.#refuse()
    this.#state = 'epilogue'
    return true
  }

  #endsLine(): boolean {
    return this.#data[this.#at] === CR && this.#data[this.#at + 1] === LF
  }

  #head(): boolean {
    const end = this.#data.indexOf(HEAD_END, this.#at)
    if ((end < 0 ? this.#data.length : end) - this.#at > MOST_HEAD_BYTES) return this.#refuse()
    if (end < 0) return false
    const bytes = this.#data.subarray(this.#at, end)
    const head = bytes.includes(this.#needle) ? null : partHeadOf(bytesAsText(bytes))
    if (head === null || ++this.#parts > MOST_PARTS) return this.#refuse()
    this.#at = end + HEAD_END.length
    this.#state = 'content'
    this.#events.part(head, this.#base + this.#at)
    return true
  }
}
