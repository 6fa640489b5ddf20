/**
 * Checks the arguments of a call while they come in pieces: whether they are one JSON object so far, and whether it has
 * ended. Protocols in which arguments are an object cannot pass on anything else, and clients run what looks whole.
 */
import type { Literal } from './literal.ts'

const QUOTE = 0x22
const BACKSLASH = 0x5c
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_OBJECT = 0x7b
const OPEN_ARRAY = 0x5b
const CLOSE_OBJECT = 0x7d

const START = 0
const VALUE = 1
const VALUE_OR_END = 2
const KEY = 3
const KEY_OR_END = 4
const BEFORE_COLON = 5
const AFTER = 6
const STRING = 7
const ESCAPE = 8
const HEX = 9
const SCALAR = 10
const DONE = 11
const BAD = 12

const MOST_DEPTH = 1000
const LONGEST_SCALAR = 400
const SCALARS = /^(?:true|false|null|-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)$/
/** What may become one. Clients parse what they have so far, and throw at what can become nothing. */
const BEGUN =
  /^(?:t(?:r(?:ue?)?)?|f(?:a(?:l(?:se?)?)?)?|n(?:u(?:ll?)?)?|-?(?:(?:0|[1-9][0-9]*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]*)?)?)$/
const IN_SCALAR = /[-+.0-9a-zA-Z]/
const AFTER_ESCAPE = '"\\/bfnrt'
const MEANT: Readonly<Record<string, number>> = { b: 8, f: 12, n: 10, r: 13, t: 9 }
const isSpace = (c: number): boolean => c === 0x20 || c === 0x0a || c === 0x0d || c === 0x09

export class ObjectCheck {
  #state = START
  /** Whether the string is a key. */
  #isKey = false
  #hex = 0
  #scalar = ''
  readonly #closers: number[] = []

  /** Nothing but space has come. */
  get empty(): boolean {
    return this.#state === START
  }

  /** The object has ended. */
  get whole(): boolean {
    return this.#state === DONE
  }

  /** What has come is not the beginning of an object, or something follows its end. */
  get bad(): boolean {
    return this.#state === BAD
  }

  /** Takes more of the arguments. */
  feed(text: Literal): void {
    const end = text.length - 1
    for (let i = 1; i < end && this.#state !== BAD; i++) {
      const c = text.charCodeAt(i)
      if (c !== BACKSLASH) {
        this.#next(c)
        continue
      }
      const letter = text[++i] as string
      if (letter !== 'u') this.#next(MEANT[letter] ?? letter.charCodeAt(0))
      else {
        this.#next(Math.min(0x80, Number.parseInt(text.slice(i + 1, i + 5), 16)))
        i += 4
      }
    }
  }

  #next(c: number): void {
    if (this.#state === STRING) {
      if (c === QUOTE) this.#state = this.#isKey ? BEFORE_COLON : AFTER
      else if (c === BACKSLASH) this.#state = ESCAPE
      else if (c < 0x20) this.#state = BAD
    } else if (this.#state === ESCAPE) this.#escape(c)
    else if (this.#state === HEX) this.#hexDigit(c)
    else if (this.#state !== SCALAR || !this.#inScalar(c)) this.#between(c)
  }

  #escape(c: number): void {
    this.#hex = 4
    if (c === 0x75) this.#state = HEX
    else this.#state = AFTER_ESCAPE.includes(String.fromCharCode(c)) ? STRING : BAD
  }

  #hexDigit(c: number): void {
    if (!/[0-9a-fA-F]/.test(String.fromCharCode(c))) this.#state = BAD
    else if (--this.#hex === 0) this.#state = STRING
  }

  /** False: the scalar has ended before this character. */
  #inScalar(c: number): boolean {
    const char = String.fromCharCode(c)
    if (IN_SCALAR.test(char) && this.#scalar.length < LONGEST_SCALAR) {
      this.#begin(this.#scalar + char)
      return true
    }
    this.#state = SCALARS.test(this.#scalar) ? AFTER : BAD
    return false
  }

  #between(c: number): void {
    if (isSpace(c) || this.#state === BAD) return
    switch (this.#state) {
      case START:
        if (c === OPEN_OBJECT) this.#open(c)
        else this.#state = BAD
        return
      case KEY_OR_END:
      case KEY:
        if (c === QUOTE) this.#string(true)
        else if (c === CLOSE_OBJECT && this.#state === KEY_OR_END) this.#close()
        else this.#state = BAD
        return
      case BEFORE_COLON:
        this.#state = c === COLON ? VALUE : BAD
        return
      case VALUE:
      case VALUE_OR_END:
        if (this.#state === VALUE_OR_END && c === this.#closer) this.#close()
        else this.#value(c)
        return
      case AFTER:
        if (c === this.#closer) this.#close()
        else if (c !== COMMA) this.#state = BAD
        else this.#state = this.#closer === CLOSE_OBJECT ? KEY : VALUE
        return
      default:
        this.#state = BAD // something follows the end
    }
  }

  get #closer(): number {
    return this.#closers[this.#closers.length - 1] ?? 0
  }

  #value(c: number): void {
    if (c === QUOTE) this.#string(false)
    else if (c === OPEN_OBJECT || c === OPEN_ARRAY) this.#open(c)
    else this.#begin(String.fromCharCode(c))
  }

  #begin(scalar: string): void {
    this.#state = BEGUN.test(scalar) ? SCALAR : BAD
    this.#scalar = scalar
  }

  #string(isKey: boolean): void {
    this.#isKey = isKey
    this.#state = STRING
  }

  #open(c: number): void {
    if (this.#closers.length >= MOST_DEPTH) this.#state = BAD
    else {
      this.#closers.push(c + 2)
      this.#state = c === OPEN_OBJECT ? KEY_OR_END : VALUE_OR_END
    }
  }

  #close(): void {
    this.#closers.pop()
    this.#state = this.#closers.length === 0 ? DONE : AFTER
  }
}
