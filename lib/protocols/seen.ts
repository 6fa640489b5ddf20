/** Short texts that were read before, so that the frequent ones, which are few, are not made again. */
const SLOTS = 512
/** Of the product with this odd number, the upper bits differ most; as many of them are left as there are slots. */
const SPREAD = 0x9e3779b1
const SHIFT = 23
const LONGEST = 24

export class Seen {
  readonly #texts: string[] = Array.from({ length: SLOTS }, () => '')
  readonly #pattern: RegExp | null

  /** `pattern`: of those that are told; null = all. */
  constructor(pattern: RegExp | null = null) {
    this.#pattern = pattern
  }

  /** What stands there; null when it is long, or not of the pattern. */
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

/** A dictionary from the beginning, which never has more than one member. */
const NAMES = Object.create(null) as Record<string, boolean>

/** The engine's own copy of a text: it is found faster in a map, and keeps nothing of what the text was cut from. */
function unique(text: string): string {
  NAMES[text] = true
  const [name] = Object.keys(NAMES)
  delete NAMES[text]
  return name as string
}
