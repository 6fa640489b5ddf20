/** One connection over HTTP/1.1, with one request on it at a time. */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Dispatcher } from 'undici'
import type { Dial, Target } from './dial.ts'
import { Http1Reader, type ReaderEvents } from './http1-reader.ts'

/** The upstream closed the connection while it owed an answer. */
export class OtherSideClosed extends Error {
  override name = 'OtherSideClosed'
  readonly code = 'OTHER_SIDE_CLOSED'

  constructor(message = 'the upstream closed the connection') {
    super(message)
  }
}

/** A request on its way: how whoever made it steers it. */
export class Flight implements Dispatcher.DispatchController {
  /** Empty when they are written. */
  bytes: readonly Buffer[]
  readonly handler: Dispatcher.DispatchHandler
  reason: Error | null = null
  paused = false
  /** While it is on one. */
  connection: Http1Connection | null = null

  constructor(bytes: readonly Buffer[], handler: Dispatcher.DispatchHandler) {
    this.bytes = bytes
    this.handler = handler
  }

  get aborted(): boolean {
    return this.reason !== null
  }

  abort(reason: Error): void {
    if (this.aborted) return
    this.reason = reason
    this.connection?.end(reason)
  }

  pause(): void {
    if (this.connection === null) return
    this.paused = true
    this.connection.pause()
  }

  resume(): void {
    if (!this.paused) return
    this.paused = false
    this.connection?.resume()
  }

  /** The connection has taken the last of it, or never will. */
  readonly written = (error?: Error | null): void => {
    if (!error) this.handler.onRequestSent?.()
  }

  fail(error: Error): void {
    this.connection = null
    this.handler.onResponseError?.(this, error)
  }
}

export interface ConnectionEvents {
  /** It may carry the next request. */
  onFree(connection: Http1Connection): void
  /** It is no more; `unsent`: a request of which it took nothing. */
  onGone(connection: Http1Connection, unsent: Flight | null): void
}

export interface ConnectionOptions {
  dial: Dial
  target: Target
  maxHeaderBytes: number
  /** Monotonic ms. */
  now: () => number
}

export class Http1Connection implements ReaderEvents {
  readonly #o: ConnectionOptions
  readonly #events: ConnectionEvents
  readonly #reader: Http1Reader
  #connecting = false
  #socket: Socket | null = null
  #flight: Flight | null = null
  #sent = false
  #gone = false
  /** The upstream said its last while the request was paused. */
  #ended = false
  openedMs = 0
  /** Since when it has no request. */
  freeMs = 0
  /** An answer has ended, and the close that may stand right behind it cannot have been read yet. */
  justFree = false

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#o = options
    this.#events = events
    this.#reader = new Http1Reader(this, options.maxHeaderBytes)
  }

  /** As the upstream says, with its last answer. */
  get keepAliveMs(): number | null {
    return this.#reader.keepAliveMs
  }

  #connect(): void {
    if (this.#connecting) return
    this.#connecting = true
    try {
      const onBytes = (bytes: Buffer) => this.#read(() => this.#reader.feed(bytes))
      this.#o.dial(this.#o.target, onBytes, (error, socket) => {
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
    this.openedMs = this.#o.now()
    socket.on('end', () => this.#read(() => this.#finish()))
    socket.on('error', (error: Error) => this.end(error))
    socket.on('close', () => {
      if (!this.#ended) this.end()
    })
    this.send()
  }

  /** The request that comes next; `send` sends it, and connects where that is still to be done. */
  take(flight: Flight): void {
    this.#flight = flight
    this.#sent = false
  }

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
    flight.connection = this
    this.#reader.expect()
    const { bytes } = flight
    flight.bytes = []
    if (bytes.length === 1) socket.write(bytes[0] as Buffer, flight.written)
    else {
      socket.cork()
      for (const part of bytes) socket.write(part, part === bytes.at(-1) ? flight.written : undefined)
      socket.uncork()
    }
  }

  /** False: it was given up while it waited, and the next one may come. */
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
      this.#events.onFree(this)
    }
    return false
  }

  #read(act: () => void): void {
    try {
      act()
    } catch (error) {
      this.end(error as Error)
    }
  }

  #finish(): void {
    this.#ended = this.paused // what has been read is told first
    if (this.paused) return
    this.#reader.close()
    this.end()
  }

  // --- what the reader says

  get paused(): boolean {
    return this.#flight?.paused ?? false
  }

  onHead(status: number, headers: IncomingHttpHeaders): void {
    const flight = this.#flight
    flight?.handler.onResponseStart?.(flight, status, headers)
  }

  onBody(bytes: Buffer): void {
    const flight = this.#flight
    flight?.handler.onResponseData?.(flight, bytes)
  }

  onEnd(): void {
    const flight = this.#flight
    if (flight === null) return
    const again = this.#reader.keepAlive && !this.#ended && this.#socket?.writableLength === 0
    this.#flight = flight.connection = null
    this.freeMs = this.#o.now()
    this.justFree = true
    flight.handler.onResponseEnd?.(flight, {})
    if (again && !this.#gone) this.#events.onFree(this)
    else this.end()
  }

  // --- steering

  pause(): void {
    this.#socket?.pause()
  }

  resume(): void {
    this.#read(() => {
      this.#reader.resume()
      if (this.#ended && !this.#gone) this.#finish()
    })
    if (!this.paused) this.#socket?.resume()
  }

  /** Whatever is on it fails, unless nothing of it was sent. */
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
      this.#events.onGone(this, unsent)
    }
  }
}
