/**
 * Reads a JSON document while it passes, and keeps only the few top-level values that matter, however large the rest
 * is.
 */

import { type Fields, isFields, parse } from './json/text.ts'
import type { ItemReader } from './items.ts'
import { JsonScanner, type JsonKind, type ScanEvents } from './json/scanner.ts'

/** A report of thousands of passes is some hundred KiB long. */
const LONGEST_VALUE = 1024 * 1024
/** How many top-level arrays of an answer are looked at. */
const MOST_ARRAYS = 32
/**
 * Most answers are at most this long and come in one chunk. Parsing such an answer costs less than scanning its bytes.
 */
const SHORT = 4096

export class DocumentReader implements ScanEvents {
  readonly #wanted: ReadonlySet<string>
  readonly #own: readonly string[]
  readonly #array: string
  readonly #reader: ItemReader | null
  readonly #values = new Map<string, unknown>()
  readonly #items = new Map<string, number>()
  #scanner: JsonScanner | null = null
  /** Whether the document was short and parsed at once; `spoilt` = and then something came after its end. */
  #short: 'no' | 'whole' | 'spoilt' = 'no'
  /** Whether a member was seen that every answer of the protocol has. */
  known = false

  /**
   * Values of the wanted members are kept, up to 1 MiB each. In an array of objects the last value that is not null
   * counts. `own`: members that show that the document belongs to the protocol. `reader`: of the elements of its
   * array.
   */
  constructor(wanted: ReadonlySet<string>, own: readonly string[], reader: ItemReader | null = null) {
    this.#wanted = wanted
    this.#own = own
    this.#array = reader?.array ?? ''
    this.#reader = reader
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
      if (Array.isArray(value)) this.#takeArray(key, value)
      if (value !== null && this.#wanted.has(key)) this.#values.set(key, value)
    }
  }

  #takeArray(key: string, array: unknown[]): void {
    if (this.#items.size < MOST_ARRAYS) this.#items.set(key, array.filter(isNested).length)
    if (key === this.#array) this.#reader?.takeAll(array)
  }

  /** After the end only space may come. */
  #more(text: string): void {
    if (text.trim() !== '') this.#short = 'spoilt'
  }

  #scan(chunk: Buffer, text: string): void {
    this.#scanner ??= new JsonScanner(this, { arrays: true })
    this.#scanner.feed(chunk, text)
  }

  wants(key: string): number {
    if (this.#reader?.inside) return this.#reader.wants(key)
    return this.#wanted.has(key) ? LONGEST_VALUE : 0
  }

  enter(key: string, kind: 'object' | 'array'): boolean {
    const reader = this.#reader
    if (reader === null) return false
    if (reader.inside) return reader.enter(key, kind)
    if (kind !== 'array' || key !== this.#array) return false
    reader.begin()
    return true
  }

  leave(): void {
    const reader = this.#reader as ItemReader
    reader.leave()
    if (!reader.inside) this.member(this.#array, 'array', 0, 0, null, reader.items)
  }

  member(key: string, kind: JsonKind, _start: number, _end: number, text: string | null, items: number): void {
    if (this.#reader?.inside) {
      this.#reader.member(key, kind, text)
      return
    }
    this.known ||= this.#own.includes(key)
    if (kind === 'array' && this.#items.size < MOST_ARRAYS) this.#items.set(key, items)
    if (text === null || !this.#wanted.has(key)) return
    const value = parse(text)
    if (value !== null && value !== undefined) this.#values.set(key, value)
  }

  /** The value of a wanted member; undefined = it is missing, null, or too long. */
  value(key: string): unknown {
    return this.#values.get(key)
  }

  /** How many objects and arrays the top-level array of that name has. */
  itemsOf(key: string): number {
    return this.#items.get(key) ?? 0
  }

  /** Whether this is not a JSON document, whatever may still come. */
  get bad(): boolean {
    return this.#short === 'spoilt' || (this.#scanner?.bad ?? false)
  }

  /** Whether the document is complete by its syntax. */
  get complete(): boolean {
    return this.#short === 'whole' || (this.#scanner?.complete ?? false)
  }
}

const isNested = (value: unknown): boolean => typeof value === 'object' && value !== null
