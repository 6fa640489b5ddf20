/** The text of a picture in a JSON document, in pieces: as it stands there, and without the escapes of JSON. */

/** `raw`: as it stands in the document. */
export interface TextPiece {
  raw: Buffer
  text: Buffer
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
const LETTER_U = 0x75
const SLASH = 0x2f
const UNICODE_LENGTH = 6
const ASCII_END = 0x80
/** What an escape becomes that stands for nothing in base64. */
const NOT_BASE64 = 0

export class PictureText {
  /** An escape of which the end has not come. */
  #open = ''

  /**
   * Reads the text from a position on, and hands over what there is of it. Returns the position of its closing quote; -1 =
   * it goes on in the next chunk.
   */
  read(chunk: Buffer, from: number, take: (piece: TextPiece) => void): number {
    const quote = chunk.indexOf(QUOTE, from)
    const raw = chunk.subarray(from, quote < 0 ? chunk.length : quote)
    if (this.#open !== '' || raw.includes(BACKSLASH)) return this.#unescape(chunk, from, take)
    if (raw.length > 0) take({ raw, text: raw })
    return quote
  }

  #unescape(chunk: Buffer, from: number, take: (piece: TextPiece) => void): number {
    const before = this.#open
    const text = Buffer.allocUnsafe(chunk.length - from + 1)
    let length = 0
    let i = from
    for (; i < chunk.length; i++) {
      const c = chunk[i] as number
      if (this.#open !== '') {
        this.#open += String.fromCharCode(c)
        if (isWhole(this.#open)) {
          text[length++] = meaningOf(this.#open)
          this.#open = ''
        }
      } else if (c === QUOTE) break
      else if (c === BACKSLASH) this.#open = '\\'
      else text[length++] = c
    }
    const all = Buffer.concat([Buffer.from(before, 'latin1'), chunk.subarray(from, i)])
    const raw = all.subarray(0, all.length - this.#open.length)
    if (raw.length > 0) take({ raw, text: text.subarray(0, length) })
    return i < chunk.length ? i : -1
  }

  /** The document has ended. Returns what was left of an escape. */
  rest(): TextPiece | null {
    if (this.#open === '') return null
    const raw = Buffer.from(this.#open, 'latin1')
    this.#open = ''
    return { raw, text: Buffer.of(NOT_BASE64) }
  }
}

const isWhole = (sequence: string): boolean =>
  sequence.length === UNICODE_LENGTH || (sequence.length === 2 && sequence.charCodeAt(1) !== LETTER_U)

/** The character as one byte. */
function meaningOf(sequence: string): number {
  if (sequence.length === 2) return sequence[1] === '/' ? SLASH : NOT_BASE64
  const code = Number.parseInt(sequence.slice(2), 16)
  return code < ASCII_END ? code : NOT_BASE64
}
