/**
 * Finds out how the lines of an event stream end, by its first line. A line may end in CR alone, which is rare; such a
 * stream is read with each CR replaced by LF.
 */
const LF = 0x0a
const CR = 0x0d

export class Returns {
  #known = false
  /** Whether the last byte so far was a CR, so that the next chunk tells whether an LF follows it. */
  afterReturn = false

  /**
   * Returns `feed` for lines that end in LF, perhaps with a CR before it, `return` for lines that end in CR alone, and
   * null as long as this is not known.
   */
  look(chunk: Buffer): 'feed' | 'return' | null {
    if (this.#known) return 'return'
    if (chunk.length === 0) return null
    const feed = chunk.indexOf(LF)
    const at = this.afterReturn ? -1 : chunk.indexOf(CR)
    const wasReturn = this.afterReturn && feed !== 0
    this.afterReturn = at >= 0 && feed < 0 && at + 1 === chunk.length
    this.#known = wasReturn || (at >= 0 && at + 1 < chunk.length && (feed < 0 || at + 1 < feed))
    if (this.#known) return 'return'
    return feed < 0 ? null : 'feed'
  }
}

export function withFeeds(chunk: Buffer): Buffer {
  const copy = Buffer.from(chunk)
  for (let at = copy.indexOf(CR); at >= 0; at = copy.indexOf(CR, at + 1)) if (copy[at + 1] !== LF) copy[at] = LF
  return copy
}
