/**
 * Keeps short texts that were read before. Most keys and values are among a few frequent ones, and those need not be
 * made into strings again.
 */
const SLOTS = 512
/**
 * The hash is multiplied by this odd number, and its upper bits say the slot, because they differ most between texts.
 */
const SPREAD = 0x9e3779b1
const SHIFT = 23
const LONGEST = 24

export class Seen {
  readonly #texts: string[] = Array.from({ length: SLOTS }, () => '')
  readonly #pattern: RegExp | null

  /** `pattern`: texts that do not match are not returned; null = all are. */
  constructor(pattern: RegExp | null = null) {
    this.#pattern = pattern
  }

  /** Returns the text between `from` and `end`; null = it is too long, or does not match the pattern. */
  at(text: string, from: number, end: number): string | null {
    const length = end - from
    if (length < 2 || length > LONGEST) return null
    const ends = (text.charCodeAt(from) << 16) ^ (text.charCodeAt(from + 1) << 8) ^ text.charCodeAt(end - 2)
    const slot = Math.imul(ends ^ (text.charCodeAt(end - 1) << 24) ^ length, SPREAD) >>> SHIFT
    const seen = this.#texts[slot] as string
    if (seen.length === length && text.startsWith(seen, from)) return seen
    const found = unique(text.slice(from, end))
    if (this.#pattern !== null && !this.#pattern.test(found)) return null
    this.#texts[slot] = found
    return found
  }
}

/** An object in the engine's dictionary mode, which never has more than one member. */
const NAMES = Object.create(null) as Record<string, boolean>

/**
 * Returns the engine's own copy of a text. A map finds such a copy faster, and the copy does not keep the larger text
 * in memory from which it was cut.
 */
function unique(text: string): string {
  NAMES[text] = true
  const [name] = Object.keys(NAMES)
  delete NAMES[text]
  return name as string
}
