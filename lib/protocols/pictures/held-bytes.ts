/** Bytes of a document that are held back until it is known what is to become of them, over the ends of chunks. */

/** The most bytes of earlier chunks. */
const MOST = 16 * 1024

export class HeldBytes {
  #pieces: Buffer[] = []
  /** How many bytes of earlier chunks are held back. */
  length = 0
  /** Whether bytes are held back, those of this chunk included. */
  on = false

  /** The chunk ends, and these bytes of it are held back. False: they are too many. */
  keep(bytes: Buffer): boolean {
    this.#pieces.push(Buffer.from(bytes))
    this.length += bytes.length
    return this.length <= MOST
  }

  /** All that is held back of earlier chunks, with what is added to it. Nothing is held back any more. */
  take(more: Buffer | null = null): Buffer {
    if (more !== null) this.#pieces.push(more)
    const all = this.#pieces.length === 1 ? (this.#pieces[0] as Buffer) : Buffer.concat(this.#pieces)
    this.#pieces = []
    this.length = 0
    this.on = false
    return all
  }
}
