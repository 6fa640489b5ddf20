/**
 * Sends an answer of any length. A piece is made when the caller has taken what was sent before, so that no more than one
 * piece is in memory for a slow caller. One that takes nothing for a minute is cut off, and so is one that is slow without
 * end, because few answers of this kind are made at once and others wait for their turn.
 */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'
import type { AnswerPieces } from './operation.ts'

/** How an answer ended. `left`: the caller closed it; `stalled`: it took nothing for too long; `slow`: too little in all. */
export type StreamEnd = 'complete' | 'left' | 'stalled' | 'slow'

/** How long a caller may keep us waiting: at a time, and in all beside what its bytes take at the slowest rate. */
const STALLED_MS = 60_000
const SLOWEST_BYTES_PER_MS = 32

class Patience {
  readonly #res: ServerResponse
  readonly #clock: Clock
  #sentBytes = 0
  #waitedMs = 0
  /** Why the caller is gone. */
  end: StreamEnd = 'left'

  constructor(res: ServerResponse, clock: Clock) {
    this.#res = res
    this.#clock = clock
  }

  sent(piece: string | Uint8Array): void {
    this.#sentBytes += Buffer.byteLength(piece)
  }

  /** Resolves when the caller has room for more; false when it is gone. */
  async room(): Promise<boolean> {
    const res = this.#res
    if (res.destroyed) return false
    if (!res.writableNeedDrain) return true
    const sinceMs = this.#clock.monotonic()
    const { promise, resolve } = Promise.withResolvers<boolean>()
    const [drained, closed] = [() => resolve(true), () => resolve(false)]
    const leftMs = this.#leftMs()
    const cancel = this.#clock.after(leftMs, () => {
      this.end = leftMs < STALLED_MS ? 'slow' : 'stalled'
      res.destroy()
    })
    res.once('drain', drained).once('close', closed)
    const isThere = await promise
    this.#waitedMs += this.#clock.monotonic() - sinceMs
    cancel()
    res.off('drain', drained).off('close', closed)
    return isThere
  }

  #leftMs(): number {
    const inAllMs = STALLED_MS + this.#sentBytes / SLOWEST_BYTES_PER_MS
    return Math.max(0, Math.min(STALLED_MS, inAllMs - this.#waitedMs))
  }
}

/**
 * The head is sent already. A failure in the middle cuts the answer off, which the caller sees. When the caller leaves while a
 * piece is awaited, the making ends at once.
 */
export async function sendPieces(res: ServerResponse, pieces: AnswerPieces, clock: Clock): Promise<StreamEnd> {
  const patience = new Patience(res, clock)
  const end = () => void pieces.return?.().catch(() => {}) // whoever makes them has been told by the loop
  res.once('close', end)
  if (res.destroyed) end()
  try {
    for await (const piece of pieces) {
      res.write(piece)
      patience.sent(piece)
      if (!(await patience.room())) return patience.end
    }
    if (res.destroyed) return patience.end
    res.end()
    return 'complete'
  } catch (error) {
    res.destroy()
    throw error
  } finally {
    res.off('close', end)
  }
}
