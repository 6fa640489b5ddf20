/**
 * Searches bytes for any of a few patterns, hopping over what cannot begin one (Horspool's way, for a set): the byte at
 * the window's end tells how far the window may move. On the short chunks of event streams this costs a fraction of a
 * native search per pattern.
 */
export class Patterns {
  readonly #patterns: readonly Buffer[]
  /** Length of the shortest pattern. */
  readonly #window: number
  readonly #hops = new Uint8Array(256)
  readonly longest: number
  /** Length of the pattern that was found last. */
  foundLength = 0

  constructor(texts: readonly string[]) {
    this.#patterns = texts.map(text => Buffer.from(text))
    this.#window = Math.min(...this.#patterns.map(p => p.length))
    this.longest = Math.max(...this.#patterns.map(p => p.length))
    this.#hops.fill(this.#window)
    for (const pattern of this.#patterns) {
      for (let i = 0; i < this.#window; i++) {
        const byte = pattern[i] as number
        this.#hops[byte] = Math.min(this.#hops[byte] as number, this.#window - 1 - i)
      }
    }
  }

  /** Where the next one begins, from `from` and before `before`; -1 when there is none. */
  find(bytes: Buffer, from: number, before: number): number {
    const hops = this.#hops
    const ahead = this.#window - 1
    const last = Math.min(bytes.length - this.#window, before - 1)
    for (let i = from; i <= last; ) {
      const hop = hops[bytes[i + ahead] as number] as number
      if (hop > 0) i += hop
      else if (this.#matches(bytes, i)) return i
      else i++
    }
    return -1
  }

  #matches(bytes: Buffer, at: number): boolean {
    for (const pattern of this.#patterns) {
      if (!startsAt(bytes, at, pattern)) continue
      this.foundLength = pattern.length
      return true
    }
    return false
  }

  /** Where the first one begins; the length when there is none. */
  first(bytes: Buffer): number {
    const at = this.find(bytes, 0, bytes.length)
    return at < 0 ? bytes.length : at
  }

  isIn(bytes: Buffer): boolean {
    return this.find(bytes, 0, bytes.length) >= 0
  }
}

function startsAt(bytes: Buffer, at: number, pattern: Buffer): boolean {
  if (at + pattern.length > bytes.length) return false
  for (let i = 0; i < pattern.length; i++) if (bytes[at + i] !== pattern[i]) return false
  return true
}
