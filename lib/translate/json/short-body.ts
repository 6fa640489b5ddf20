/**
 * A body without the middles of its long strings, which stand in its text by number. The rest is read and written as any other body is: a
 * literal that is only moved keeps the number in it, and where the body for the upstream is put together, the client's own bytes stand
 * in its place. So the megabytes of a conversation are not copied, made into texts, or looked through again.
 *
 * A number stands between bytes that are in no UTF-8. A body that has such a byte is not shortened. The beginning of a string stays in the
 * text as far as readers and writers look at it, and its end, too; both have something else than space.
 */
import { mayStandInside } from '../../protocols/json/inside.ts'
import { isBlank, type JsonText } from './literal.ts'

const NO_UTF8 = 0xff
const MARK = String.fromCharCode(NO_UTF8)
/** The bytes of a string that stay: more than the beginning of an address with its data in it (`dataUrl`), and enough of the end to be trimmed. */
const HEAD_BYTES = 320
const TAIL_BYTES = 64
/** Between these and the middle stands no escape, which is found among so many bytes more. */
const MORE_BYTES = 128
/** What is left of a long string. */
export const MOST_LEFT_BYTES = HEAD_BYTES + TAIL_BYTES + 2 * MORE_BYTES
const WHOLE = /[^\\]{6}/g

/** Where no escape is open, at or behind `from`; -1 = nowhere. */
function wholeAt(text: string, from: number): number {
  WHOLE.lastIndex = from
  return WHOLE.test(text) ? WHOLE.lastIndex : -1
}

const isFilled = (text: string): boolean => !isBlank(`"${text}"`)

/** The request has so much to be looked into that it should be translated elsewhere. */
export class ManyValues extends Error {}

export class ShortBody {
  text: JsonText = ''
  /** The middles, as they stand in the body. */
  readonly #middles: (readonly Buffer[])[] = []
  readonly #parts: readonly Buffer[]
  /** The part in which was read last, and where it begins in the body. */
  #part = 0
  #partStart = 0
  #room: number

  /** `long`: the offsets of the long strings in the body (`Facts.longStrings`). `room`: the most bytes that may be read whole (`ManyValues`). */
  constructor(parts: readonly Buffer[], long: readonly number[], room = Number.POSITIVE_INFINITY) {
    this.#parts = parts
    this.#room = room
    if (!this.#shorten(long)) {
      this.#middles.length = 0
      this.#shorten([])
    }
    this.#takeRoom(this.text.length)
  }

  /** False: the body has what stands around numbers. */
  #shorten(long: readonly number[]): boolean {
    const texts: string[] = []
    let at = 0
    for (let n = 0; n < long.length; n += 2) {
      const middle = this.#middleOf(long[n] as number, long[n + 1] as number)
      if (middle === null) continue
      texts.push(this.#textOf(at, middle.start), String(this.#middles.length))
      this.#middles.push(this.#bytes(middle.start, middle.end))
      at = middle.end
    }
    const length = this.#parts.reduce((sum, { length }) => sum + length, 0)
    texts.push(this.#textOf(at, length))
    this.text = texts.join(MARK)
    return !texts.some(text => text.includes(MARK)) && !this.#middles.flat().some(bytes => bytes.includes(NO_UTF8))
  }

  /** Strings stand in the text by number. */
  get isShort(): boolean {
    return this.#middles.length > 0
  }

  /** False: a string has something in it that may not stand there. */
  get isValid(): boolean {
    return this.#middles.every(mayStandInside)
  }

  #middleOf(start: number, end: number): { start: number; end: number } | null {
    const headEnd = start + 1 + HEAD_BYTES + MORE_BYTES
    const tailStart = end - 1 - TAIL_BYTES - MORE_BYTES
    if (headEnd >= tailStart) return null
    const head = this.#textOf(start + 1, headEnd)
    const tail = this.#textOf(tailStart, end - 1)
    const from = wholeAt(head, HEAD_BYTES - 6)
    const to = wholeAt(tail, 0)
    if (from < 0 || to < 0 || !isFilled(head.slice(0, from)) || !isFilled(tail.slice(to))) return null
    return { start: start + 1 + from, end: tailStart + to }
  }

  /** What stands there, as views of the body. Mostly it is behind what was asked for last. */
  #bytes(start: number, end: number): Buffer[] {
    while (start < this.#partStart) this.#partStart -= (this.#parts[--this.#part] as Buffer).length
    const found: Buffer[] = []
    for (let at = start; at < end; ) {
      const part = this.#parts[this.#part] as Buffer
      const from = at - this.#partStart
      if (from >= part.length) {
        this.#partStart += part.length
        this.#part++
        continue
      }
      const piece = part.subarray(from, Math.min(part.length, end - this.#partStart))
      found.push(piece)
      at += piece.length
    }
    return found
  }

  #textOf(start: number, end: number): string {
    return this.#bytes(start, end)
      .map(piece => piece.toString('latin1'))
      .join('')
  }

  #takeRoom(bytes: number): void {
    this.#room -= bytes
    if (this.#room < 0) throw new ManyValues()
  }

  /** The text with all of its strings whole. */
  whole(text: JsonText): JsonText {
    if (!text.includes(MARK)) return text
    const whole = Buffer.concat(this.pieces(text).map(({ bytes }) => bytes)).toString('latin1')
    this.#takeRoom(whole.length)
    return whole
  }

  /** The text as bytes: its own, and the client's. */
  pieces(text: JsonText): { bytes: Buffer; isMiddle: boolean }[] {
    return text.split(MARK).flatMap((part, n) => {
      const isMiddle = n % 2 === 1
      const pieces = isMiddle ? (this.#middles[Number(part)] as readonly Buffer[]) : [Buffer.from(part, 'latin1')]
      return pieces.map(bytes => ({ bytes, isMiddle }))
    })
  }
}
