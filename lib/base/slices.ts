/** Work on large bodies that is done a slice at a time: between slices everything else of the process goes on. */

const SLICE_BYTES = 256 * 1024
const PIECE_BYTES = 64 * 1024

/** Work on a body above this size is done in slices, and on others at once, because that takes less than a few milliseconds. */
export const LARGE_BYTES = 1024 * 1024

interface Turns {
  soon(fn: () => void): void
}

/**
 * Hands all of the bytes to `take` in order, in pieces of 64 KiB, with a pause after each slice. `isOver`: nobody wants the rest any more.
 * Resolves with true when all were taken, and with false when it was over before.
 */
export async function inSlices(
  turns: Turns,
  parts: readonly Buffer[],
  take: (piece: Buffer) => void,
  isOver: () => boolean = () => false,
): Promise<boolean> {
  let bytes = 0
  for (const part of parts)
    for (let at = 0; at < part.length; at += PIECE_BYTES) {
      if (isOver()) return false
      const piece = part.subarray(at, at + PIECE_BYTES)
      take(piece)
      bytes += piece.length
      if (bytes < SLICE_BYTES) continue
      bytes = 0
      await new Promise<void>(resolve => turns.soon(resolve))
    }
  return !isOver()
}

/**
 * What follows when a large body is there: it is looked through, translated and sent as a whole, some milliseconds of work. Bodies that
 * are whole in one turn of the event loop go on one by one, each in a turn of its own.
 */
export class LargeBodies {
  readonly #turns: Turns
  readonly #line: (() => void)[] = []

  constructor(turns: Turns) {
    this.#turns = turns
  }

  /** A large body is there. */
  whole(goOn: () => void): void {
    if (this.#line.push(goOn) === 1) this.#turns.soon(() => this.#next()) // this turn has read the body
  }

  #next(): void {
    this.#turns.soon(() => {
      const goOn = this.#line.shift()
      if (this.#line.length > 0) this.#next()
      goOn?.()
    })
  }
}
