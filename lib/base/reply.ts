/**
 * Writes an answer as bytes on the client's connection. `node:http` reads requests, and opens and closes connections. An answer is
 * written here, in as few pieces as possible, which costs a fraction of what `ServerResponse` takes for it. It may begin when no
 * earlier one of its connection is under way, which `pipelines.ts` sees to.
 *
 * This relies on one thing of `node:http`: it ends its part of an answer when the response emits `finish`, whoever emits it.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { headerLine, http } from './http.ts'

/** Some clients never read the keep-alive hint, and would reuse a connection that we have just closed. So this is long. */
export const KEEP_ALIVE_MS = 125_000
/** A client may be silent for so long whose request we do not read to its end, so that it can read our answer. */
export const LINGER_MS = 2_000

/** Up to here a chunk is copied to its head and frame, which costs less than writing several pieces. */
const COPIED_BYTES = 2048
const NOTHING = Buffer.alloc(0)
const EXPECTS = /(?:^|\W)100-continue(?:$|\W)/i
const CONTINUE = 'HTTP/1.1 100 Continue\r\n\r\n'
const CLOSE = '\r\nConnection: close'
const KEEP_ALIVE = `\r\nConnection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_MS / 1000}`
const END = '\r\n\r\n'
const CHUNKED = `\r\nTransfer-Encoding: chunked${END}`

function lineOf(name: string, value: string): string {
  const line = headerLine(name, value)
  if (line === null) throw new TypeError(`the header ${JSON.stringify(name)} cannot be sent`)
  return line
}

/** Headers that are the same in many answers, made once: as `node:http` takes them, and as lines of a head. */
class FixedHeaders {
  readonly pairs: readonly string[]
  readonly lines: string = ''
  /** The beginnings of heads, by their status. */
  readonly #begun = new Map<number, string>()

  /** `[name, value, …]` */
  constructor(pairs: readonly string[] = []) {
    this.pairs = pairs
    for (let i = 0; i < pairs.length; i += 2) {
      this.lines += lineOf(pairs[i] as string, pairs[i + 1] as string)
    }
  }

  /** The status line and the lines of these headers. */
  begin(status: number): string {
    let begun = this.#begun.get(status)
    if (begun === undefined) {
      begun = `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? 'Unknown'}${this.lines}`
      this.#begun.set(status, begun) // there are at most nine hundred
    }
    return begun
  }
}

/**
 * What an upstream sends may be a page, and a form on any other page can make a browser ask for it. The console has the same
 * origin, so no answer of the API may run scripts there.
 */
export const NO_PAGE = new FixedHeaders([
  'x-content-type-options',
  'nosniff',
  'content-security-policy',
  "default-src 'none'; sandbox; frame-ancestors 'none'",
])

const NO_HEADERS = new FixedHeaders()

export class Reply {
  readonly #req: IncomingMessage
  readonly #res: ServerResponse
  readonly #fixed: FixedHeaders
  /** Lines that go out with the first bytes. */
  #head = ''
  #chunked = false
  #bodyless = false
  /** The client was asked for its body, which it had held back. */
  #asked = false
  #begun = false
  /** The connection ends with this answer. */
  #closes = false
  #ended = false

  /** `fixed`: headers that stand before the answer's own. */
  constructor(req: IncomingMessage, res: ServerResponse, fixed = NO_HEADERS) {
    this.#req = req
    this.#res = res
    this.#fixed = fixed
  }

  /** A client that waits to be asked for its body is asked for it. Who is refused without it need not send it. */
  askForBody(): void {
    if (!EXPECTS.test(this.#req.headers.expect ?? '') || this.#req.httpVersion !== '1.1') return
    if (this.#begun || this.#req.complete || !this.#res.socket?.writable) return
    this.#asked = true
    this.#res.socket.write(CONTINUE, 'latin1')
  }

  /** The connection ends with this answer, and its head says so. To be called before `begin`. */
  closeAfter(): void {
    this.#closes = true
  }

  /**
   * `headers`: `[name, value, …]`, with a `content-length` or without. `nowMs`: epoch. `lines`: lines of a head, each behind its line end, which
   * are known to be right and stand before them. Throws when one of the headers cannot be sent.
   */
  begin(status: number, headers: readonly string[], nowMs: number, lines = ''): void {
    this.#begun = true
    // the client was not asked for its body, and may send it all the same: the next request cannot be told from it
    this.#closes ||= !this.#asked && !this.#req.complete && EXPECTS.test(this.#req.headers.expect ?? '')
    let head = this.#fixed.begin(status) + lines
    let sized = false
    for (let i = 0; i < headers.length; i += 2) {
      const name = headers[i] as string
      sized ||= name === 'content-length'
      head += lineOf(name, headers[i + 1] as string)
    }
    const { method, httpVersionMajor, httpVersionMinor } = this.#req
    this.#bodyless = method === 'HEAD' || status === 204 || status === 304
    this.#chunked = !sized && !this.#bodyless && httpVersionMajor === 1 && httpVersionMinor > 0
    // without length or frames the end of the connection is the end of the answer
    this.#closes ||= !this.#res.shouldKeepAlive || !(sized || this.#bodyless || this.#chunked)
    this.#head = head + dateLine(nowMs) + (this.#closes ? CLOSE : KEEP_ALIVE) + (this.#chunked ? CHUNKED : END)
  }

  /** The answer has begun, and nothing of it has reached the connection, so that another one may take its place. */
  get unseen(): boolean {
    return this.#head !== ''
  }

  /** Writes these pieces as one. False: the connection is full. `whenDrained` says when it is not. */
  write(...pieces: Buffer[]): boolean {
    return this.#put(pieces, false)
  }

  end(...pieces: Buffer[]): void {
    if (this.#ended) return
    this.#ended = true
    if (this.#req.complete) {
      this.#put(pieces, true)
      const { socket } = this.#res
      if (socket !== null && hasTaken(socket)) this.#finish()
      else whenTaken(socket, this.#finisher)
    } else this.#put(pieces, true, this.#finisher) // a turn later: `node:http` may be in the middle of this request
  }

  get #finisher(): (error?: Error | null) => void {
    return error => this.#finish(error)
  }

  /** Writes these bytes and cuts the connection. */
  breakOff(chunk: Buffer): void {
    this.#put([chunk], false, () => this.#res.destroy())
  }

  /** Cuts the connection. */
  destroy(): void {
    this.#res.destroy()
  }

  /** Calls `act` once, when the connection has taken what `write` could not. */
  whenDrained(act: () => void): void {
    this.#res.socket?.once('drain', act)
  }

  #put(pieces: readonly Buffer[], isLast: boolean, done?: (error?: Error | null) => void): boolean {
    const { socket } = this.#res
    if (!socket?.writable) return true // it is closing, and the exchange will hear of it
    const body = this.#bodyless ? [] : pieces
    let length = 0
    for (const piece of body) length += piece.length
    let before = this.#head
    let after = ''
    this.#head = ''
    if (this.#chunked && length > 0) {
      before += `${length.toString(16)}\r\n`
      after = '\r\n'
    }
    if (this.#chunked && isLast) after += '0\r\n\r\n'
    if (length <= COPIED_BYTES) {
      const bytes = Buffer.allocUnsafe(before.length + length + after.length)
      let at = bytes.write(before, 'latin1')
      for (const piece of body) at += piece.copy(bytes, at)
      bytes.write(after, at, 'latin1')
      return socket.write(bytes, done)
    }
    socket.cork()
    if (before !== '') socket.write(before, 'latin1')
    let room = true
    for (const [i, piece] of body.entries())
      room = socket.write(piece, after === '' && i === body.length - 1 ? done : undefined)
    if (after !== '') room = socket.write(after, 'latin1', done)
    socket.uncork()
    return room
  }

  #finish(error: Error | null = null): void {
    const { socket } = this.#res
    if (error || socket === null) return
    const { complete } = this.#req
    if (this.#closes && complete) socket.destroySoon() // first, so that no answer behind this one is begun
    this.#res.emit('finish')
    if (this.#closes && !complete) this.#linger(socket)
  }

  /** A client that still sends must not find its connection reset before it has read the answer. */
  #linger(socket: Socket): void {
    socket.end()
    this.#req.once('end', () => socket.destroy())
    socket.setTimeout(LINGER_MS)
  }
}

const hasTaken = ({ writable, writableLength, errored }: Socket): boolean =>
  writable && writableLength === 0 && errored === null

/**
 * Calls `act` when a socket has taken all that was written to it: mostly at once. A callback of its `write` would cost a turn of the queue
 * of ticks all the same.
 */
export function whenTaken(socket: Socket | null, act: (error?: Error | null) => void): void {
  if (!socket?.writable) return // it is closing, and says so by its events
  if (hasTaken(socket)) act()
  else socket.write(NOTHING, act)
}

let dateS = 0
let dateText = ''

/** The line is made once a second. */
function dateLine(nowMs: number): string {
  const nowS = Math.floor(nowMs / 1000)
  if (nowS !== dateS) {
    dateS = nowS
    dateText = `\r\nDate: ${new Date(nowMs).toUTCString()}`
  }
  return dateText
}
