/**
 * Keeps a body as it arrives, in few pieces. A client may send a million chunks of one byte, and each arrives as a buffer that
 * takes a hundred times the memory of its content. Small chunks are therefore copied into pages, which grow with the body, so
 * that a body takes at most about three times its length, whatever its chunks are. A large chunk is kept as it came. So is the
 * first chunk, because that is mostly the whole body.
 */
const LARGE_BYTES = 16 * 1024
const LEAST_BYTES = 4 * 1024
const MOST_BYTES = 64 * 1024
const NOTHING = Buffer.alloc(0)

export class Pages {
  readonly #take: (part: Buffer) => void
  #total = 0
  #page: Buffer = NOTHING
  /** The bytes of the page from here up to `#to` have not been handed on yet. */
  #from = 0
  #to = 0

  /** `take` receives the parts in order. They do not change afterwards. */
  constructor(take: (part: Buffer) => void) {
    this.#take = take
  }

  add(chunk: Buffer): void {
    const isFirst = this.#total === 0
    this.#total += chunk.length
    if (isFirst || chunk.length >= LARGE_BYTES) {
      this.flush()
      this.#take(chunk)
    } else this.#copy(chunk)
  }

  #copy(chunk: Buffer): void {
    for (let at = 0; at < chunk.length; ) {
      if (this.#to === this.#page.length) this.#turn()
      const copied = chunk.copy(this.#page, this.#to, at)
      this.#to += copied
      at += copied
    }
  }

  #turn(): void {
    this.flush()
    this.#page = Buffer.allocUnsafeSlow(Math.min(MOST_BYTES, Math.max(LEAST_BYTES, this.#total)))
    this.#from = this.#to = 0
  }

  /** Hands on what has come so far. */
  flush(): void {
    if (this.#to > this.#from) this.#take(this.#page.subarray(this.#from, this.#to))
    this.#from = this.#to
  }
}
