/**
 * When requests of one connection begin. A client may send the next ones before it has read the first answer. Those wait, and each begins
 * when the answer before it has left: if they began at once, the answers of thousands would be kept for a client that reads nothing,
 * who has sent a few bytes for each. What waits has bounds, and a client that sends more loses its connection.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'

/** The most requests of a connection that may wait. */
const MOST_WAITING = 100
/** The most bytes that may be read since the oldest of them came: their bodies wait too, as far as they have come. */
const MOST_WAITING_BYTES = 256 * 1024

type Begin = (req: IncomingMessage, res: ServerResponse) => void

export class Pipelines {
  readonly #onRefused: () => void
  /** For each request that waits, the oldest first: the bytes that had been read of its connection. */
  readonly #waiting = new WeakMap<Socket, number[]>()

  /** `onRefused` hears of each connection that is cut. */
  constructor(onRefused: () => void) {
    this.#onRefused = onRefused
  }

  /** Calls `begin` when it is the turn of this request, if its connection lasts until then. */
  take(req: IncomingMessage, res: ServerResponse, begin: Begin): void {
    if (res.socket === null) this.#wait(req, res, begin)
    // not behind a request with which the connection ends: what was read there may be a part of that request
    else if (res.socket.writable) begin(req, res)
  }

  #wait(req: IncomingMessage, res: ServerResponse, begin: Begin): void {
    const { socket } = req
    if (!socket.writable) return
    const waiting = this.#waiting.get(socket) ?? []
    const sinceBytes = waiting[0] ?? socket.bytesRead
    if (waiting.length === MOST_WAITING || socket.bytesRead - sinceBytes > MOST_WAITING_BYTES) {
      this.#onRefused()
      socket.destroy()
      return
    }
    waiting.push(socket.bytesRead)
    this.#waiting.set(socket, waiting)
    res.once('socket', () => {
      waiting.shift()
      // later: `node:http` is inside of the end of the answer before, and many short answers would call one another
      process.nextTick(() => socket.writable && begin(req, res))
    })
  }
}
