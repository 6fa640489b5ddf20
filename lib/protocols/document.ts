/** A whole JSON answer as it passes: the few top-level values that matter, however many megabytes stand around them. */
import { JsonScanner, type Kind, parse, type ScanEvents } from './scan.ts'
import { type Fields, isFields } from './fields.ts'

const LONGEST_VALUE = 64 * 1024
/** Top-level arrays of an answer that are looked at. */
const MOST_ARRAYS = 32
/** Most answers are this short and come in one piece: to parse them costs less than to look at each byte. */
const SHORT = 4096

export class DocumentReader implements ScanEvents {
  readonly #wanted: ReadonlySet<string>
  readonly #own: readonly string[]
  readonly #values = new Map<string, unknown>()
  readonly #items = new Map<string, number>()
  #scanner: JsonScanner | null = null
  /** A short one that was read at once; `spoilt` by what came behind it. */
  #short: 'no' | 'whole' | 'spoilt' = 'no'
  /** A member was seen that is one of the protocol's own. */
  known = false

  /**
   * Values of the wanted members are kept, up to 64 KiB each. In an array of objects the latest that is not null counts.
   * `own`: members that show whose document it is.
   */
  constructor(wanted: ReadonlySet<string>, own: readonly string[]) {
    this.#wanted = wanted
    this.#own = own
  }

  /** `text`: the same as Latin-1. */
  feed(chunk: Buffer, text: string): void {
    if (this.#short !== 'no') this.#more(text)
    else if (this.#scanner !== null || chunk.length > SHORT) this.#scan(chunk, text)
    else {
      const whole = parse(text)
      if (isFields(whole)) this.#take(whole)
      else this.#scan(chunk, text)
    }
  }

  #take(whole: Fields): void {
    this.#short = 'whole'
    for (const key in whole) {
      const value = whole[key]
      this.known ||= this.#own.includes(key)
      if (Array.isArray(value) && this.#items.size < MOST_ARRAYS) this.#items.set(key, value.filter(isNested).length)
      if (value !== null && this.#wanted.has(key)) this.#values.set(key, value)
    }
  }

  /** Behind the end only space may come. */
  #more(text: string): void {
    if (text.trim() !== '') this.#short = 'spoilt'
  }

  #scan(chunk: Buffer, text: string): void {
    this.#scanner ??= new JsonScanner(this, { arrays: true })
    this.#scanner.feed(chunk, text)
  }

  wants(key: string): number {
    return this.#wanted.has(key) ? LONGEST_VALUE : 0
  }

  member(key: string, kind: Kind, _start: number, _end: number, text: string | null, items: number): void {
    this.known ||= this.#own.includes(key)
    if (kind === 'array' && this.#items.size < MOST_ARRAYS) this.#items.set(key, items)
    if (text === null || !this.#wanted.has(key)) return
    const value = parse(text)
    if (value !== null && value !== undefined) this.#values.set(key, value)
  }

  /** undefined = missing, null, or too long. */
  value(key: string): unknown {
    return this.#values.get(key)
  }

  /** How many objects stand in the top-level array of that name. */
  itemsOf(key: string): number {
    return this.#items.get(key) ?? 0
  }

  /** It is no JSON document, whatever may still come. */
  get bad(): boolean {
    return this.#short === 'spoilt' || (this.#scanner?.bad ?? false)
  }

  /** The document is syntactically closed. */
  get complete(): boolean {
    return this.#short === 'whole' || (this.#scanner?.complete ?? false)
  }
}

const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null
