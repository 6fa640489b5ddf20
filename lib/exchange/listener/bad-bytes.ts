/**
 * Answers bytes that the HTTP parser cannot read. When they stand in the middle of a request, the exchange of that
 * request refuses it. When every request of the connection has been answered, the error envelope is written to the
 * socket by hand. When an answer is under way or still to come, an envelope would be taken for a part of it, so the
 * connection is cut.
 */
import type { Socket } from 'node:net'
import type { Exchange } from '../record/exchange.ts'
import { speaksMessages } from '../record/ending.ts'
import { NO_PAGE, LINGER_MS } from '../../base/reply.ts'
import { renderError } from '../../base/errors.ts'
import { http } from '../../base/http.ts'

/** A client that still sends after its bad bytes is cut after this many. */
const MOST_NOISE_BYTES = 64 * 1024 * 1024

export class BadBytes {
  readonly #nextId: () => string
  readonly #refuse: (x: Exchange) => void
  /** Connections on which the parser has given up, with the number of bytes that had come until then. */
  readonly #noise = new WeakMap<Socket, number>()

  /** `refuse`: answers an exchange whose request is not JSON. */
  constructor(nextId: () => string, refuse: (x: Exchange) => void) {
    this.#nextId = nextId
    this.#refuse = refuse
  }

  /** Called with every error of the parser or the connection. `x` is the newest exchange of the connection. */
  onError(error: NodeJS.ErrnoException, socket: Socket, x: Exchange | undefined): void {
    if (isParseError(error)) this.#onParseError(error, socket, x)
    else if (error.code === 'ECONNRESET' || !socket.writable || socket.bytesRead === 0) socket.destroy()
    else this.#answer(socket, x)
  }

  /**
   * The parser reports the error again with every chunk that follows. Those chunks are dropped, and the connection
   * stays open, so that the client can read answers that are still to come.
   */
  #onParseError(error: NodeJS.ErrnoException, socket: Socket, x: Exchange | undefined): void {
    const fromBytes = this.#noise.get(socket)
    if (fromBytes !== undefined) {
      if (socket.bytesRead - fromBytes > MOST_NOISE_BYTES) socket.destroy()
      return
    }
    this.#noise.set(socket, socket.bytesRead)
    const isBehindTheLast = error.code === 'HPE_CLOSED_CONNECTION' && x?.closed === false
    if (socket.writable && !isBehindTheLast) this.#answer(socket, x, askedBy(error))
  }

  #answer(socket: Socket, x: Exchange | undefined, asked: Asked | null = null): void {
    if (x === undefined || x.closed) this.#sendEnvelope(socket, asked)
    else if (x.status === 0 && !x.answered && !x.req.complete) {
      x.reply.closeAfter()
      this.#refuse(x)
    } else socket.destroy()
  }

  #sendEnvelope(socket: Socket, asked: Asked | null): void {
    const id = this.#nextId()
    const [status, body] =
      asked === null
        ? ['400 Bad Request', renderError('not_json', [], id, false, false)]
        : ['404 Not Found', renderError('url', asked, id, false, speaksMessages(asked[1]))]
    socket.end(
      `HTTP/1.1 ${status}\r\nx-request-id: ${id}\r\nrequest-id: ${id}\r\nx-should-retry: false` +
        `${NO_PAGE.lines}\r\ncontent-type: application/json; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
    )
    socket.setTimeout(LINGER_MS)
  }
}

type Asked = [method: string, path: string]
const REQUEST_LINE = /^([\w!#$%&'*+.^`|~-]{1,64}) (\/[^ ?\r\n]*)(?:\?[^ \r\n]*)? HTTP\/1\.[01]\r?\n/

/**
 * What a request asks whose method the parser does not know, which no path has; null = the bytes are no request, or stand behind one that
 * came in the same packet and was answered.
 */
function askedBy({ code, rawPacket }: NodeJS.ErrnoException & { rawPacket?: Buffer }): Asked | null {
  const line = code === 'HPE_INVALID_METHOD' ? REQUEST_LINE.exec(rawPacket?.toString('latin1') ?? '') : null
  return line === null || http.METHODS.includes(line[1] as string) ? null : [line[1] as string, line[2] as string]
}

/** An error of the parser, except that the client closed the connection in the middle of a request. */
const isParseError = ({ code = '' }: NodeJS.ErrnoException): boolean =>
  code.startsWith('HPE_') && code !== 'HPE_INVALID_EOF_STATE'
