/**
 * Searches for any of a few patterns. Bytes are looked at as a Latin-1 text, a character a byte: the engine's own search
 * for alternatives in such a text is several times faster than a loop over bytes or a native search per pattern, and
 * making the text costs a copy of the memory.
 */
export const bytesAsText = (bytes: Buffer): string => bytes.toString('latin1')

/**
 * The engine compiles a search by the letters of the first text that it is tried on, and for good: by a short one, or one
 * full of quotes, it takes rare letters for frequent ones, and each later search looks at two to three times more of them.
 * So the first text is this one, as long as is needed for being compiled at once.
 */
const FIRST_TEXT = 'The quick brown fox jumps over a lazy dog, and each of them knows where it stands; '.repeat(15)

function compiled(source: string, flags: string): RegExp {
  const pattern = new RegExp(source, flags)
  pattern.test(FIRST_TEXT)
  return pattern
}

export class Patterns {
  readonly #source: string
  /** Compiled when they are wanted, as a process that starts wants none. */
  #one: RegExp | null = null
  #next: RegExp | null = null
  /** Characters of the longest. */
  readonly longest: number

  /** ASCII only. */
  constructor(texts: readonly string[]) {
    // the empty group keeps a single pattern from being taken for a plain text, which the engine searches slower
    this.#source = `(?:${texts.map(text => RegExp.escape(text)).join('|')})(?:)`
    this.longest = Math.max(...texts.map(text => text.length))
  }

  /** Where the first one begins; the length when there is none. */
  first(text: string): number {
    this.#one ??= compiled(this.#source, '')
    const at = text.search(this.#one)
    return at < 0 ? text.length : at
  }

  isIn(text: string): boolean {
    this.#one ??= compiled(this.#source, '')
    return this.#one.test(text)
  }

  /** Where the next one from `from` on ends; -1 when there is none. */
  endOfNext(text: string, from: number): number {
    this.#next ??= compiled(this.#source, 'g')
    const pattern = this.#next
    pattern.lastIndex = from
    return pattern.test(text) ? pattern.lastIndex : -1
  }
}
