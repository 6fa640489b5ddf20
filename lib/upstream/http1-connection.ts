/**
 * One HTTP/1.1 connection to an upstream, which carries one request at a time. It connects when its first request is
 * sent, and tells the pool when it is free again or gone. A request of which nothing was sent when the connection
 * closed goes back to the pool, to be sent on another connection. What was sent is never sent again.
 *
 * Its answers are parsed by a state machine that is fed the bytes of the connection, in whatever pieces they arrive. It is
 * as strict as a relay has to be: an answer whose end two readers could find in different places is an error (RFC 9112,
 * section 6.3). However many chunks one read of the socket contains, their data is passed on as one piece.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { OnReadOpts, Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import { whenTaken } from '../base/reply.ts'
import type { Dial, DialTarget } from './dial.ts'
import { BadAnswer, CHUNKED, checkHeader, HeadReader, TO_END } from './http1-head.ts'

/** The upstream closed the connection before it had answered the request. */
export class OtherSideClosed extends Error {
  override name = 'OtherSideClosed'
  readonly code = 'OTHER_SIDE_CLOSED'

  constructor(message = 'the upstream closed the connection') {
    super(message)
  }
}

/**
 * A request on its way, from the pool to the end of its answer, whichever connection carries it. Whoever sent it can pause,
 * resume and abort it.
 */
export class Flight implements Dispatcher.DispatchController {
  /** The bytes of the request; empty once a connection has them. */
  #bytes: readonly Buffer[]
  readonly handler: Dispatcher.DispatchHandler
  reason: Error | null = null
  /** The kernel has all of the request, whose bytes nobody reads any more. */
  taken = false
  /** What is being told are the last bytes of the answer, whose end follows at once. */
  ends = false
  /** The connection that carries the request; null = none does yet, or any more. */
  #connection: Http1Connection | null = null

  constructor(bytes: readonly Buffer[], handler: Dispatcher.DispatchHandler) {
    this.#bytes = bytes
    this.handler = handler
  }

  get aborted(): boolean {
    return this.reason !== null
  }

  get paused(): boolean {
    return this.#connection?.paused ?? false
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.reason = reason
    this.#connection?.end(reason)
  }

  pause(): void {
    this.#connection?.pause()
  }

  resume(): void {
    if (this.paused) this.#connection?.resume()
  }

  /** Called when the socket has taken the last byte of the request, or with an error. */
  readonly written = (error?: Error | null): void => {
    if (error) return
    this.taken = true
    this.handler.onRequestSent?.()
  }

  /** Takes a request, which this connection carries from now on. Returns the bytes to send. */
  goOn(connection: Http1Connection): readonly Buffer[] {
    const bytes = this.#bytes
    this.#bytes = []
    this.#connection = connection
    return bytes
  }

  /** No connection carries the request any more. */
  detach(): void {
    this.#connection = null
  }

  fail(error: Error): void {
    this.detach()
    this.handler.onResponseError?.(this, error)
  }
}

/** The options that all connections of a pool share. */
export interface ConnectionOptions {
  dial: Dial
  target: DialTarget
  maxHeaderBytes: number
  heads: HeadReader
  clock: Pick<Clock, 'monotonic'>
  /** The connection may carry the next request. */
  onFree(connection: Http1Connection): void
  /** The connection is closed. `unsent` is its request if nothing of it was sent. */
  onGone(connection: Http1Connection, unsent: Flight | null): void
}

const READ_BYTES = 64 * 1024

/**
 * The buffer that every socket reads into. They can share it because nothing else runs between a read and its callback.
 * Normally, `net.Socket` allocates 64 KiB for each read and passes the bytes through its stream machinery, which costs more
 * than to copy them out of here at their true length.
 */
const memory = Buffer.allocUnsafeSlow(READ_BYTES)

/** The option `onread` of a socket whose reads are copied out of the shared buffer. `onBytes` gets each and may keep it. */
export const copiedOut = (onBytes: (bytes: Buffer) => void): OnReadOpts => ({
  buffer: memory,
  callback(size, buffer) {
    const bytes = Buffer.allocUnsafe(size)
    ;(buffer as Buffer).copy(bytes, 0, 0, size)
    onBytes(bytes)
    return true
  },
})

export class Http1Connection implements ParserEvents {
  readonly #o: ConnectionOptions
  readonly #parser: AnswerParser
  #connecting = false
  #socket: Socket | null = null
  #flight: Flight | null = null
  #sent = false
  #gone = false
  /** The upstream closed its side while reading was paused. */
  #ended = false
  /** The request holds its answer up. */
  paused = false
  /** Monotonic ms at which the connection was opened, and at which its last answer ended. */
  openedMs = 0
  freeMs = 0
  #justFree = false

  constructor(options: ConnectionOptions) {
    this.#o = options
    this.#parser = new AnswerParser(this, options.maxHeaderBytes, options.heads)
  }

  /** The time for which the upstream keeps the idle connection open, by its last answer; null = it did not say. */
  get keepAliveMs(): number | null {
    return this.#parser.keepAliveMs
  }

  #connect(): void {
    if (this.#connecting) return
    this.#connecting = true
    try {
      const onread = copiedOut(bytes => {
        try {
          this.#parser.feed(bytes)
        } catch (error) {
          this.end(error as Error)
        }
      })
      this.#o.dial(this.#o.target, onread, (error, socket) => {
        if (error === null) this.#opened(socket as Socket)
        else this.end(error)
      })
    } catch (error) {
      this.end(error as Error)
    }
  }

  #opened(socket: Socket): void {
    if (this.#gone) {
      socket.on('error', () => {}).destroy()
      return
    }
    if (socket.destroyed) {
      this.end()
      return
    }
    this.#socket = socket
    this.openedMs = this.#o.clock.monotonic()
    socket.on('end', () => this.#read(() => this.#finish()))
    socket.on('error', (error: Error) => this.end(error))
    socket.on('close', () => {
      if (!this.#ended) this.end()
    })
    this.send()
  }

  /** The loop has read once since the last answer, so that a close right behind it is known. A request that came before looks for itself. */
  settle(): void {
    if (this.#flight === null) this.#justFree = false
  }

  /** Whether the last answer has ended in the turn in which the request came; true once, because a turn later it is known. */
  wasJustFreed(): boolean {
    const isJustFree = this.#justFree
    this.#justFree = false
    return isJustFree
  }

  /** Takes the next request. `send` will send it. */
  take(flight: Flight): void {
    this.#flight = flight
    this.#sent = false
    this.paused = false
  }

  /** Sends the request that was taken, or connects first; then sending follows by itself. */
  send(): void {
    const socket = this.#socket
    const flight = this.#flight
    if (this.#gone || flight === null || this.#sent) return
    if (socket === null) {
      this.#connect()
      return
    }
    this.#sent = true
    if (!this.#mayStart(flight)) return
    this.#parser.expect()
    const bytes = flight.goOn(this)
    if (bytes.length > 1) socket.cork()
    for (const part of bytes) socket.write(part)
    if (bytes.length > 1) socket.uncork()
    whenTaken(socket, flight.written)
  }

  /** Returns false for a request that was aborted while it waited; the connection is then free for the next one. */
  #mayStart(flight: Flight): boolean {
    try {
      flight.handler.onRequestStart?.(flight, null)
    } catch (error) {
      flight.abort(error as Error)
    }
    if (flight.reason === null) return true
    this.#flight = null
    try {
      flight.fail(flight.reason)
    } finally {
      this.#o.onFree(this)
    }
    return false
  }

  /** Runs something that reads. An error (a malformed answer, a fault in a handler) ends the connection. */
  #read(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.end(error as Error)
    }
  }

  /** The upstream has closed its side. */
  #finish(): void {
    this.#ended = this.paused // when paused, what has been read is passed on first
    if (this.paused) return
    this.#parser.close()
    this.end()
  }

  // --- events of the parser

  onHead(status: number, headers: IncomingHttpHeaders): void {
    const flight = this.#flight
    flight?.handler.onResponseStart?.(flight, status, headers)
  }

  onBody(bytes: Buffer, isLast: boolean): void {
    const flight = this.#flight
    if (flight === null) return
    flight.ends = isLast
    flight.handler.onResponseData?.(flight, bytes)
  }

  onEnd(): void {
    const flight = this.#flight
    if (flight === null) return
    const again = this.#parser.keepAlive && !this.#ended && this.#socket?.writableLength === 0
    this.#flight = null
    flight.detach()
    this.freeMs = this.#o.clock.monotonic()
    this.#justFree = true
    flight.handler.onResponseEnd?.(flight, {})
    if (again && !this.#gone) this.#o.onFree(this)
    else this.end()
  }

  // --- calls of the request and of the pool

  pause(): void {
    this.paused = true
    this.#socket?.pause()
  }

  resume(): void {
    this.paused = false
    this.#read(() => {
      this.#parser.resume()
      if (this.#ended && !this.#gone) this.#finish()
    })
    if (!this.paused) this.#socket?.resume()
  }

  /** Closes the connection. Its request fails, unless nothing of it was sent: then it goes back to the pool. */
  end(error: Error = new OtherSideClosed()): void {
    if (this.#gone) return
    this.#gone = true
    const flight = this.#flight
    this.#flight = null
    this.#socket?.destroy()
    const unsent = this.#socket !== null && !this.#sent ? flight : null
    try {
      if (unsent === null) flight?.fail(error)
    } finally {
      this.#o.onGone(this, unsent)
    }
  }
}

export interface ParserEvents {
  /** The head of the final answer; interim answers (1xx) are skipped. */
  onHead(status: number, headers: IncomingHttpHeaders): void
  /** `isLast`: `onEnd` follows at once. */
  onBody(bytes: Buffer, isLast: boolean): void
  onEnd(): void
  /** While this is true no event may be raised (back-pressure); the rest of a read is kept until `resume`. */
  readonly paused: boolean
}

// The states say what comes next on the connection.
/** Nothing: no answer is expected. */
const IDLE = 0
const HEAD = 1
/** A body whose length is known. */
const SIZED = 2
/** A body that ends when the connection closes. */
const OPEN = 3
// The chunked body: `SIZE [;EXTENSION] CR LF DATA CR LF` for each chunk, then the trailer.
const SIZE = 4
const EXTENSION = 5
const SIZE_LF = 6
const DATA = 7
const DATA_CR = 8
const DATA_LF = 9
const TRAILER = 10
/** Nothing: the answer is complete, and only `onEnd` is still to be called. */
const ENDING = 11

const CR = 0x0d
const LF = 0x0a
const TAB = 0x09
const SEMICOLON = 0x3b
const LINE_END = Buffer.from('\r\n')
const HEAD_END = Buffer.from('\r\n\r\n')
const MAX_SIZE_DIGITS = 12
const MAX_EXTENSION_BYTES = 4096
/** The value of each byte as a hexadecimal digit; -1 = it is none. */
const HEX_DIGITS = Int8Array.from({ length: 256 }, (_, c) =>
  '0123456789abcdef'.indexOf(String.fromCharCode(c).toLowerCase()),
)

export class AnswerParser {
  readonly #events: ParserEvents
  readonly #maxHeaderBytes: number
  readonly #heads: HeadReader
  #state = IDLE
  /** The beginning of a head or trailer line that earlier reads brought. */
  #begun: Buffer | null = null
  /** The bytes of the read that come after its head or trailer line. */
  #after = 0
  /** The bytes of the body, or of its chunk, that are still to come. */
  #left = 0
  /** The digits that the size of the chunk has so far, and the bytes of its extension. */
  #digits = 0
  #extension = 0
  /** Bytes that came while reading was paused. */
  #rest: Buffer | null = null
  /** `feed` is running. */
  #feeding = false
  /** The connection may be used again after this answer. */
  keepAlive = false
  /** The time for which the upstream keeps an idle connection open, by its `keep-alive` header; null = it did not say. */
  keepAliveMs: number | null = null

  /** `heads` reads the heads of this connection, and of others to the same upstream. */
  constructor(events: ParserEvents, maxHeaderBytes: number, heads = new HeadReader()) {
    this.#heads = heads
    this.#events = events
    this.#maxHeaderBytes = maxHeaderBytes
  }

  /** A request has been sent, so an answer is expected. */
  expect(): void {
    this.#state = HEAD
  }

  /** Takes the bytes of a read. The parser owns them and may change them. Throws BadAnswer. */
  feed(chunk: Buffer): void {
    let at = 0
    this.#feeding = true
    try {
      while (at < chunk.length && this.#state !== ENDING) {
        if (this.#events.paused) {
          this.#keep(chunk.subarray(at))
          return
        }
        if (this.#state === HEAD) at = this.#head(chunk, at)
        else if (this.#state === SIZED) at = this.#sized(chunk, at)
        else if (this.#state === OPEN) {
          this.#events.onBody(at === 0 ? chunk : chunk.subarray(at), false)
          return
        } else if (this.#state === IDLE) throw new BadAnswer('bytes that nobody asked for')
        else at = this.#chunked(chunk, at)
      }
    } finally {
      this.#feeding = false
    }
    if (at < chunk.length) this.keepAlive = false // there are bytes behind the end of the answer
    if (this.#state === ENDING) this.#end()
  }

  #keep(bytes: Buffer): void {
    this.#rest = this.#rest === null ? bytes : Buffer.concat([this.#rest, bytes])
  }

  /** Goes on after a pause, with the bytes that were kept. */
  resume(): void {
    if (this.#feeding) return // `feed` goes on by itself
    const rest = this.#rest
    this.#rest = null
    if (rest !== null) this.feed(rest)
    else if (this.#state === ENDING) this.#end()
  }

  #end(): void {
    if (this.#events.paused) return
    this.#state = IDLE
    this.#events.onEnd()
  }

  /** The upstream has closed its side, which is how an answer without a length ends. */
  close(): void {
    if (this.#state === OPEN && this.#rest === null) this.#state = ENDING
    if (this.#state === ENDING) this.#end()
  }

  /** Reads the head. Returns the offset in `chunk` of what follows, as all methods here do. */
  #head(chunk: Buffer, from: number): number {
    const text = this.#whole(chunk, from, HEAD_END)
    if (text === null) return chunk.length
    const next = chunk.length - this.#after
    const head = this.#heads.read(text)
    if (head === null) return next
    this.keepAlive = head.keepAlive
    this.keepAliveMs = head.keepAliveMs
    if (head.length === CHUNKED) {
      this.#state = SIZE
      this.#left = this.#digits = this.#extension = 0
    } else {
      this.#left = head.length
      this.#state = head.length === TO_END ? OPEN : head.length === 0 ? ENDING : SIZED
    }
    this.#events.onHead(head.status, head.headers)
    return next
  }

  /** What stands before `end`, from this read and the ones before, one character per byte; null = `end` has not come yet. */
  #whole(chunk: Buffer, from: number, end: Buffer): string | null {
    const fresh = from === 0 ? chunk : chunk.subarray(from)
    const bytes = this.#begun === null ? fresh : Buffer.concat([this.#begun, fresh])
    const at = bytes.indexOf(end, Math.max(0, bytes.length - fresh.length - end.length + 1))
    if ((at < 0 ? bytes.length : at) > this.#maxHeaderBytes) throw new BadAnswer('headers without end')
    this.#begun = at < 0 ? bytes : null
    if (at < 0) return null
    this.#after = bytes.length - at - end.length
    return bytes.toString('latin1', 0, at)
  }

  #sized(chunk: Buffer, from: number): number {
    const end = Math.min(chunk.length, from + this.#left)
    this.#left -= end - from
    if (this.#left === 0) this.#state = ENDING
    this.#events.onBody(from === 0 && end === chunk.length ? chunk : chunk.subarray(from, end), this.#left === 0)
    return end
  }

  /** Reads the chunks of one read. Their data is moved together inside the read's own buffer. */
  #chunked(chunk: Buffer, from: number): number {
    let begin = -1
    let end = -1
    let i = from
    try {
      while (i < chunk.length && this.#state !== ENDING) {
        if (this.#state === DATA) {
          const last = Math.min(chunk.length, i + this.#left)
          if (begin < 0) {
            begin = i
            end = last
          } else end += chunk.copy(chunk, end, i, last)
          this.#left -= last - i
          if (this.#left === 0) this.#state = DATA_CR
          i = last
        } else if (this.#state === TRAILER) i = this.#trailer(chunk, i)
        else i = this.#frame(chunk, i)
      }
    } finally {
      // also when an error follows the data
      if (begin >= 0) this.#events.onBody(chunk.subarray(begin, end), this.#state === ENDING)
    }
    return i
  }

  /** Reads what stands between the data of two chunks, as far as it is in this read. */
  #frame(chunk: Buffer, from: number): number {
    if (this.#state === DATA_CR && chunk[from] === CR && chunk[from + 1] === LF) {
      // a shortcut where all of it is in this read, and there is no extension
      const most = Math.min(chunk.length - 2, from + 2 + MAX_SIZE_DIGITS)
      let size = 0
      let at = from + 2
      for (; at < most; at++) {
        const digit = HEX_DIGITS[chunk[at] as number] as number
        if (digit < 0) break
        size = size * 16 + digit
      }
      if (size > 0 && chunk[at] === CR && chunk[at + 1] === LF) {
        this.#left = size
        this.#state = DATA
        return at + 2
      }
    }
    let i = from
    let state = this.#state
    let left = this.#left
    let digits = this.#digits
    while (i < chunk.length && state !== DATA && state !== TRAILER) {
      const c = chunk[i++] as number
      switch (state) {
        case SIZE: {
          const digit = HEX_DIGITS[c] as number
          if (digit >= 0 && digits < MAX_SIZE_DIGITS) {
            digits++
            left = left * 16 + digit
          } else if (digits > 0 && c === CR) state = SIZE_LF
          else if (digits > 0 && c === SEMICOLON) state = EXTENSION
          else throw new BadAnswer('a chunk without size')
          break
        }
        case EXTENSION:
          if (c === CR) state = SIZE_LF
          else if ((c < 0x20 && c !== TAB) || c === 0x7f || ++this.#extension > MAX_EXTENSION_BYTES)
            throw new BadAnswer('a chunk without size')
          break
        case SIZE_LF:
          if (c !== LF) throw new BadAnswer('a chunk without size')
          state = left > 0 ? DATA : TRAILER
          break
        case DATA_CR:
          if (c !== CR) throw new BadAnswer('a chunk without end')
          state = DATA_LF
          break
        default:
          if (c !== LF) throw new BadAnswer('a chunk without end')
          state = SIZE
          left = digits = this.#extension = 0
      }
    }
    this.#state = state
    this.#left = left
    this.#digits = digits
    return i
  }

  /** Reads a line after the last chunk: a trailer header, which is ignored, or the empty line that ends the answer. */
  #trailer(chunk: Buffer, from: number): number {
    const line = this.#whole(chunk, from, LINE_END)
    if (line === null) return chunk.length
    if (line.length === 0) this.#state = ENDING
    else checkHeader(line)
    return chunk.length - this.#after
  }
}
