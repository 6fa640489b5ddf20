/** What is kept of a line or an event of a stream that goes on in the next chunk. */

/** The most bytes that are kept of an event, where nobody needs more. */
const LONGEST = 64 * 1024
/** How many bytes of the beginning are kept of an event that is longer. */
export const HEAD = 256
const SMALLEST = 512
const NOTHING = Buffer.alloc(0)

/**
 * A buffer that grows up to a bound, and beyond it keeps the first and the last bytes. Each byte is moved only a few
 * times, however small the parts are.
 */
export class Kept {
  readonly #longest: number
  #bytes = NOTHING // most streams never keep anything, and there are many
  #start = 0
  #end = 0
  /** The beginning of a text longer than the bound; null = the buffer has all of it. */
  head: Buffer | null = null

  constructor(longest = LONGEST) {
    this.#longest = longest
  }

  get length(): number {
    return this.#end - this.#start
  }

  add(part: Buffer): void {
    if (this.length + part.length > this.#longest)
      this.head ??= Buffer.concat([this.view().subarray(0, HEAD), part.subarray(0, HEAD)]).subarray(0, HEAD)
    const tail = part.length > this.#longest ? part.subarray(part.length - this.#longest) : part
    const kept = Math.min(this.length, this.#longest - tail.length)
    this.#start = this.#end - kept
    if (this.#end + tail.length > this.#bytes.length) this.#makeRoom(kept, tail.length)
    tail.copy(this.#bytes, this.#end)
    this.#end += tail.length
  }

  /**
   * Makes room for more bytes. What is moved fills at most half of the buffer, so that at least as many bytes must come
   * before the next move.
   */
  #makeRoom(kept: number, more: number): void {
    const has = this.#bytes.length
    const need = Math.max(SMALLEST, kept + more, Math.min(has * 2, this.#longest * 2))
    const room = kept + more > has / 2 ? Buffer.allocUnsafe(need) : this.#bytes
    this.#bytes.copy(room, 0, this.#start, this.#end)
    this.#bytes = room
    this.#start = 0
    this.#end = kept
  }

  view(): Buffer {
    return this.#bytes.subarray(this.#start, this.#end)
  }

  clear(): void {
    this.#start = this.#end = 0
    this.head = null
  }
}
