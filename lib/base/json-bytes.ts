/**
 * JSON written into bytes, value by value, without a text or a list of what is written. It is for what is written with each request;
 * the bytes are those of `JSON.stringify`.
 */

const QUOTE = 0x22
const COMMA = 0x2c
const ZERO = 0x30
const BACKSLASH = 0x5c
const TILDE = 0x7e
const SPACE = 0x20
/** The most bytes that one UTF-16 unit of a text comes to: `\u0000`; and of one that is written as it is. */
const UNIT_BYTES = 6
const RAW_UNIT_BYTES = 3
/** A longer text is written by the engine, which costs as much as a loop over so many characters. */
const LOOPED = 32
/** The most bytes of a number, or `null`, and of what stands around a value. */
const VALUE_BYTES = 32

export class JsonBytes {
  /** What was written are the first `length` of these. They are others when there was no room left. */
  bytes: Buffer
  length = 0

  constructor(roomBytes: number) {
    this.bytes = Buffer.allocUnsafeSlow(roomBytes)
  }

  /** Makes room for so many bytes more. Whoever has bytes of the old buffer keeps that. */
  #want(more: number): void {
    if (this.length + more > this.bytes.length) this.#grow(this.length + more)
  }

  #grow(least: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(least, this.bytes.length * 2))
    this.bytes.copy(larger, 0, 0, this.length)
    this.bytes = larger
  }

  /** Writes a text as it is. */
  raw(text: string): void {
    this.#want(text.length * RAW_UNIT_BYTES)
    const { bytes } = this
    const at = this.length
    const looped = text.length > LOOPED ? 0 : text.length
    let i = 0
    while (i < looped && (bytes[at + i] = text.charCodeAt(i)) <= TILDE) i++
    this.length = at + (i === text.length ? i : bytes.write(text, at))
  }

  /** Writes bytes as they are: those of a text that is written again and again cost a third of what the text does. */
  copy(text: Uint8Array): void {
    this.#want(text.length)
    this.bytes.set(text, this.length)
    this.length += text.length
  }

  /** Writes a value and a comma. */
  item(value: number | string | null): void {
    this.value(value)
    this.bytes[this.length++] = COMMA
  }

  /** Writes a value, behind which there is room for one byte. */
  value(value: number | string | null): void {
    if (typeof value === 'string') this.#text(value)
    else {
      this.#want(VALUE_BYTES)
      if (value === null) this.raw('null')
      else if ((value | 0) === value && value >= 0) this.#digits(value | 0)
      else this.raw(JSON.stringify(value) ?? 'null') // a value that is missing against its type must not cost the rest of what is written
    }
  }

  /** Writes an array of values, behind which there is room for one byte. */
  list(values: readonly (number | string | null)[]): void {
    this.raw('[')
    for (let i = 0; i < values.length; i++) {
      if (i > 0) this.raw(',')
      this.value(values[i] as number | string | null)
    }
    this.raw(']')
    this.#want(1)
  }

  #digits(value: number): void {
    const { bytes } = this
    let end = this.length + 1
    for (let rest = value; rest >= 10; rest = (rest / 10) | 0) end++
    this.length = end
    for (let rest = value, at = end; at > end - 10; ) {
      const tens = (rest / 10) | 0
      bytes[--at] = ZERO + rest - tens * 10
      if (tens === 0) return
      rest = tens
    }
  }

  #text(text: string): void {
    this.#want(text.length * UNIT_BYTES + VALUE_BYTES)
    const { bytes } = this
    let at = this.length
    bytes[at++] = QUOTE
    for (let i = 0; i < text.length; i++) {
      const unit = text.charCodeAt(i)
      if (unit < SPACE || unit > TILDE || unit === QUOTE || unit === BACKSLASH) {
        this.length += bytes.write(JSON.stringify(text), this.length)
        return
      }
      bytes[at++] = unit
    }
    bytes[at++] = QUOTE
    this.length = at
  }

  /** Makes a text of JSON of what was written from there on, behind which there is room for one byte. */
  quoteFrom(from: number): void {
    let more = 2
    for (let i = from; i < this.length; i++) if (isEscaped(this.bytes[i])) more++
    this.#want(more + 1)
    const { bytes } = this
    let at = this.length
    let to = (this.length += more)
    bytes[--to] = QUOTE
    while (at > from) {
      const byte = (bytes[--to] = bytes[--at] as number)
      if (isEscaped(byte)) bytes[--to] = BACKSLASH
    }
    bytes[from] = QUOTE
  }
}

const isEscaped = (byte: number | undefined): boolean => byte === QUOTE || byte === BACKSLASH
