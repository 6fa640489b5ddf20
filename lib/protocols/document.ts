/** A whole JSON answer as it passes: the few top-level values that matter, however many megabytes stand around them. */
import { JsonScanner, type Kind, parse, type ScanEvents } from './scan.ts'

const LONGEST_VALUE = 64 * 1024
/** Top-level arrays of an answer that are looked at. */
const MOST_ARRAYS = 32

export class DocumentReader implements ScanEvents {
  readonly #scanner = new JsonScanner(this, { arrays: true })
  readonly #wanted: ReadonlySet<string>
  readonly #values = new Map<string, unknown>()
  readonly #items = new Map<string, number>()

  /** Values of these members are kept, up to 64 KiB each. In an array of objects the latest that is not null counts. */
  constructor(wanted: readonly string[]) {
    this.#wanted = new Set(wanted)
  }

  feed(chunk: Buffer): void {
    this.#scanner.feed(chunk)
  }

  wants(key: string): number {
    return this.#wanted.has(key) ? LONGEST_VALUE : 0
  }

  member(key: string, kind: Kind, _start: number, _end: number, bytes: Uint8Array | null, items: number): void {
    if (kind === 'array' && this.#items.size < MOST_ARRAYS) this.#items.set(key, items)
    if (bytes === null || !this.#wanted.has(key)) return
    const value = parse(bytes)
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

  /** The document is syntactically closed. */
  get complete(): boolean {
    return this.#scanner.complete
  }
}
