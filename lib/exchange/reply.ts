/**
 * The answer as bytes on the client's connection. `node:http` reads requests, keeps the order of answers and the life of the
 * connection; the bytes of an answer are written here, in as few pieces as there are, and `node:http` is told when they are
 * out by the event that its own writing would end with. Its way costs several times as much.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { HEADER_LINE } from '../base/header-line.ts'
import { http } from '../base/http.ts'

/** Some clients never read the keep-alive hint; a connection they reuse must not be one we have just closed. */
export const KEEP_ALIVE_MS = 125_000

/** Up to here a chunk is copied to its head and frame, which costs less than writing several pieces. */
const COPIED_BYTES = 2048
/** What may wait until an earlier answer on the same connection is out, before the upstream has to. */
const MOST_LATER_BYTES = 64 * 1024
const NOTHING = Buffer.alloc(0)

export class Reply {
  readonly #res: ServerResponse
  readonly #isHead: boolean
  readonly #isOld: boolean
  /** Lines that go out with the first bytes. */
  #head = ''
  #chunked = false
  #bodyless = false
  /** The connection ends with this answer. */
  #last = false
  /** What waits for its turn. */
  #laterBytes = 0

  constructor(req: IncomingMessage, res: ServerResponse) {
    this.#res = res
    this.#isHead = req.method === 'HEAD'
    this.#isOld = req.httpVersionMajor === 1 && req.httpVersionMinor === 0
  }

  /** The connection ends with this answer, and its head says so. To be called before `begin`. */
  closeAfter(): void {
    this.#last = true
  }

  /** `headers`: `[name, value, …]`, with a `content-length` or without. `nowMs`: epoch. Throws when one cannot be sent. */
  begin(status: number, headers: readonly string[], nowMs: number): void {
    let head = `HTTP/1.1 ${status} ${http.STATUS_CODES[status] ?? 'Unknown'}\r\n`
    let sized = false
    for (let i = 0; i < headers.length; i += 2) {
      const line = `${headers[i]}: ${headers[i + 1]}`
      if (!HEADER_LINE.test(line)) throw new TypeError(`the header ${JSON.stringify(headers[i])} cannot be sent`)
      sized ||= headers[i] === 'content-length'
      head += `${line}\r\n`
    }
    this.#bodyless = this.#isHead || status === 204 || status === 304
    this.#chunked = !sized && !this.#bodyless && !this.#isOld
    // without length or frames the end of the connection is the end of the answer
    this.#last ||= !this.#res.shouldKeepAlive || !(sized || this.#bodyless || this.#chunked)
    this.#head = `${head}${dateLine(nowMs)}${this.#last ? CLOSE : KEEP_ALIVE}${this.#chunked ? CHUNKED : '\r\n'}`
  }

  /** False: the client is slower; see `whenDrained`. */
  write(chunk: Buffer): boolean {
    if (this.#inTurn) return this.#put(chunk, false)
    this.#later(chunk, this.write)
    return (this.#laterBytes += chunk.length) <= MOST_LATER_BYTES
  }

  end(chunk: Buffer = NOTHING): void {
    if (this.#inTurn) this.#put(chunk, true, error => this.#finish(error))
    else this.#later(chunk, this.end)
  }

  /** Bytes, and then the connection is cut. */
  breakOff(chunk: Buffer): void {
    if (this.#inTurn) this.#put(chunk, false, () => this.#res.destroy())
    else this.#later(chunk, this.breakOff)
  }

  destroy(): void {
    if (this.#inTurn) this.#res.destroy()
    else this.#res.once('socket', () => this.#res.destroy()) // by itself it would leave the connection waiting
  }

  /** Once, when the connection has taken what waits in it. */
  whenDrained(act: () => void): void {
    const { socket } = this.#res
    if (socket === null) this.#res.once('socket', () => this.whenDrained(act))
    else if (socket.writableNeedDrain) socket.once('drain', act)
    else act()
  }

  /** Answers on one connection go out in the order of their requests. */
  get #inTurn(): boolean {
    return this.#res.socket !== null
  }

  #later(chunk: Buffer, say: (this: Reply, chunk: Buffer) => void): void {
    this.#res.once('socket', () => say.call(this, chunk))
  }

  #put(chunk: Buffer, isLast: boolean, done?: (error?: Error | null) => void): boolean {
    const { socket } = this.#res
    if (!socket?.writable) return true // it is closing, and the exchange will hear of it
    const body = this.#bodyless ? NOTHING : chunk
    let before = this.#head
    let after = ''
    this.#head = ''
    if (this.#chunked) {
      if (body.length > 0) before += `${body.length.toString(16)}\r\n`
      after = body.length > 0 ? (isLast ? '\r\n0\r\n\r\n' : '\r\n') : isLast ? '0\r\n\r\n' : ''
    }
    if (body.length <= COPIED_BYTES) {
      const bytes = Buffer.allocUnsafe(before.length + body.length + after.length)
      bytes.write(before, 'latin1')
      body.copy(bytes, before.length)
      bytes.write(after, before.length + body.length, 'latin1')
      return socket.write(bytes, done)
    }
    socket.cork()
    if (before !== '') socket.write(before, 'latin1')
    let room = socket.write(body, after === '' ? done : undefined)
    if (after !== '') room = socket.write(after, 'latin1', done)
    socket.uncork()
    return room
  }

  #finish(error?: Error | null): void {
    const { socket } = this.#res
    if (error || socket === null) return
    if (this.#last) socket.destroySoon()
    this.#res.emit('finish')
  }
}

const CLOSE = 'Connection: close\r\n'
const KEEP_ALIVE = `Connection: keep-alive\r\nKeep-Alive: timeout=${KEEP_ALIVE_MS / 1000}\r\n`
const CHUNKED = 'Transfer-Encoding: chunked\r\n\r\n'

let dateS = 0
let dateText = ''

/** Of a second, made once. */
function dateLine(nowMs: number): string {
  const nowS = Math.floor(nowMs / 1000)
  if (nowS !== dateS) {
    dateS = nowS
    dateText = `Date: ${new Date(nowMs).toUTCString()}\r\n`
  }
  return dateText
}
