/**
 * Searches for any of a few patterns. Bytes are looked at as a Latin-1 text, a character a byte: the engine's own search
 * for alternatives in such a text is several times faster than a loop over bytes or a native search per pattern, and
 * making the text costs a copy of the memory.
 */
export const bytesAsText = (bytes: Buffer): string => bytes.toString('latin1')

export class Patterns {
  readonly #one: RegExp
  readonly #next: RegExp
  /** Characters of the longest. */
  readonly longest: number

  /** ASCII only. */
  constructor(texts: readonly string[]) {
    // the empty group keeps a single pattern from being taken for a plain text, which the engine searches slower
    const source = `(?:${texts.map(text => RegExp.escape(text)).join('|')})(?:)`
    this.#one = new RegExp(source)
    this.#next = new RegExp(source, 'g')
    this.longest = Math.max(...texts.map(text => text.length))
  }

  /** Where the first one begins; the length when there is none. */
  first(text: string): number {
    const at = text.search(this.#one)
    return at < 0 ? text.length : at
  }

  isIn(text: string): boolean {
    return this.#one.test(text)
  }

  /** Where the next one from `from` on ends; -1 when there is none. */
  endOfNext(text: string, from: number): number {
    const pattern = this.#next
    pattern.lastIndex = from
    return pattern.test(text) ? pattern.lastIndex : -1
  }
}
