/**
 * Sends an answer of any length. A piece is made when the caller has taken what was sent before, so that no more than one
 * piece is in memory for a slow caller; one that takes nothing for a minute is cut off.
 */
import type { ServerResponse } from 'node:http'
import type { Clock } from '../base/clock.ts'

const STALLED_MS = 60_000

/** Resolves when the caller has room for more; false when it is gone. */
function room(res: ServerResponse, clock: Clock): Promise<boolean> {
  if (res.destroyed) return Promise.resolve(false)
  if (!res.writableNeedDrain) return Promise.resolve(true)
  const { promise, resolve } = Promise.withResolvers<boolean>()
  const [drained, closed] = [() => resolve(true), () => resolve(false)]
  const cancel = clock.after(STALLED_MS, () => res.destroy())
  res.once('drain', drained).once('close', closed)
  return promise.finally(() => {
    cancel()
    res.off('drain', drained).off('close', closed)
  })
}

/** The head is sent already. A failure in the middle cuts the answer off, which the caller sees. */
export async function sendPieces(res: ServerResponse, pieces: AsyncGenerator<string>, clock: Clock): Promise<void> {
  try {
    for await (const piece of pieces) {
      res.write(piece)
      if (!(await room(res, clock))) return
    }
    res.end()
  } catch (error) {
    res.destroy()
    throw error
  }
}
