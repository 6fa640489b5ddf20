/** In what the lines of an event stream end, as its first line shows. CR alone is allowed, and rare: it is read as if it were LF. */
const LF = 0x0a
const CR = 0x0d

export class Returns {
  #known = false
  /** The last byte of what came so far was a CR, and nobody knows yet whether an LF follows. */
  afterReturn = false

  /** `feed`: in LF, with a CR before it or none. `return`: in CR alone. null: not known yet. */
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
