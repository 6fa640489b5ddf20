/**
 * Bytes that are no HTTP. A request that they break off is answered by its exchange; where nothing is owed they get an
 * envelope of their own. In the midst of an answer, or in front of one, that would be taken for a part of it, so the
 * connection is cut there.
 */
import type { Socket } from 'node:net'
import type { Exchange } from '../exchange/exchange.ts'
import { NO_PAGE } from '../reply/fixed-headers.ts'
import { LINGER_MS } from '../reply/reply.ts'
import { renderError } from '../terms/errors.ts'

/** What a client may go on to send while it does not read its answer. */
const MOST_NOISE_BYTES = 64 * 1024 * 1024

export class BadBytes {
  readonly #nextId: () => string
  readonly #refuse: (x: Exchange) => void
  /** Connections that speak no HTTP any more: what they had sent when that began. */
  readonly #noise = new WeakMap<Socket, number>()

  /** `refuse`: answers an exchange whose request is not JSON. */
  constructor(nextId: () => string, refuse: (x: Exchange) => void) {
    this.#nextId = nextId
    this.#refuse = refuse
  }

  /** `x`: the newest exchange of the connection. */
  onError(error: NodeJS.ErrnoException, socket: Socket, x: Exchange | undefined): void {
    if (isNoise(error)) this.#hear(error, socket, x)
    else if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesRead === 0) socket.destroy()
    else this.#answer(socket, x)
  }

  /** The parser says the same again with each further piece: it is dropped, so that the client can read what it is owed. */
  #hear(error: NodeJS.ErrnoException, socket: Socket, x: Exchange | undefined): void {
    const fromBytes = this.#noise.get(socket)
    if (fromBytes !== undefined) {
      if (socket.bytesRead - fromBytes > MOST_NOISE_BYTES) socket.destroy()
      return
    }
    this.#noise.set(socket, socket.bytesRead)
    const isBehindTheLast = error.code === 'HPE_CLOSED_CONNECTION' && x !== undefined && !owesNothing(x)
    if (socket.writable && !isBehindTheLast) this.#answer(socket, x)
  }

  #answer(socket: Socket, x: Exchange | undefined): void {
    if (x === undefined || owesNothing(x)) this.#sendEnvelope(socket)
    else if (x.status === 0 && !x.ended && !x.req.complete) {
      x.reply.closeAfter()
      this.#refuse(x)
    } else socket.destroy()
  }

  #sendEnvelope(socket: Socket): void {
    const id = this.#nextId()
    const body = renderError('not_json', [], id, false, false)
    socket.end(
      `HTTP/1.1 400 Bad Request\r\nx-request-id: ${id}\r\nrequest-id: ${id}\r\nx-should-retry: false\r\n` +
        `${NO_PAGE.lines}content-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    )
    socket.setTimeout(LINGER_MS)
  }
}

/** The parser's own, but for a connection that has ended in the midst of a request. */
const isNoise = ({ code = '' }: NodeJS.ErrnoException): boolean =>
  code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE'

/** Its answer is out, and with it all before; one that was cut before its turn may have others in front of it. */
const owesNothing = (x: Exchange): boolean => x.closed && !x.reply.cut
