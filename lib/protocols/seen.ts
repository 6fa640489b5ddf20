/** Short texts that were read before, so that the frequent ones, which are few, are not made again. */
const SLOTS = 256
const LONGEST = 32

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
    const slot =
      (text.charCodeAt(from) * 7 + text.charCodeAt(from + 1) * 5 + text.charCodeAt(end - 2) * 31 + length * 57) % SLOTS
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
