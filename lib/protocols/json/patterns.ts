/**
 * Searches a text for any of a few patterns. Bytes are searched as a Latin-1 text, one character for each byte: a
 * regular expression with alternatives is several times faster on such a text than a loop over bytes, or than a search
 * for each pattern. Making the text costs a copy of the memory.
 */

/**
 * The engine compiles a regular expression once, by how often each letter stands in the first text that is searched. By
 * a short text, or one full of quotes, it would take rare letters for frequent ones, and each later search would look
 * at two to three times more letters. So this is always the first text, long enough for the expression to be compiled
 * at once.
 */
const FIRST_TEXT = 'The quick brown fox jumps over a lazy dog, and each of them knows where it stands; '.repeat(15)

function compiled(source: string, flags: string): RegExp {
  const pattern = new RegExp(source, flags)
  pattern.test(FIRST_TEXT)
  return pattern
}

export class Patterns {
  readonly #source: string
  /** The compiled searches. They are compiled on first use, so that the start of a process is not slowed down. */
  #one: RegExp | null = null
  #next: RegExp | null = null
  /** The results of `and`, by the other patterns: the meters of all answers share them. */
  readonly #with = new Map<Patterns, Patterns>()
  readonly #texts: readonly string[]
  readonly longest: number

  /** `texts`: the patterns, in ASCII. */
  constructor(texts: readonly string[]) {
    // the empty group keeps a single pattern from being taken for a plain text, which the engine searches slower
    this.#source = `(?:${texts.map(text => RegExp.escape(text)).join('|')})(?:)`
    this.#texts = texts
    this.longest = Math.max(...texts.map(text => text.length))
  }

  /** Returns these patterns and the others as one. Both have to be made once in a process. */
  and(others: Patterns): Patterns {
    let both = this.#with.get(others)
    if (both === undefined) this.#with.set(others, (both = new Patterns([...this.#texts, ...others.#texts])))
    return both
  }

  /** Returns where the first match begins that ends behind `from`; the length of the text = there is none. */
  first(text: string, from = 0): number {
    if (from === text.length) return from
    this.#one ??= compiled(this.#source, '')
    const begin = Math.max(0, from - this.longest + 1)
    const at = (begin === 0 ? text : text.slice(begin)).search(this.#one)
    return at < 0 ? text.length : begin + at
  }

  isIn(text: string): boolean {
    this.#one ??= compiled(this.#source, '')
    return this.#one.test(text)
  }

  /** Returns where the next match from `from` on ends; -1 = there is none. */
  endOfNext(text: string, from: number): number {
    this.#next ??= compiled(this.#source, 'g')
    const pattern = this.#next
    pattern.lastIndex = from
    return pattern.test(text) ? pattern.lastIndex : -1
  }
}
