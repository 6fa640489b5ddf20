/**
 * One HTTP/1.1 connection to an upstream, which carries one request at a time. It connects when its first request is
 * sent, and tells the pool when it is free again or gone. A request of which nothing was sent when the connection
 * closed goes back to the pool, to be sent on another connection. What was sent is never sent again.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Socket } from 'node:net'
import type { Dial, Target } from './dial.ts'
import { type Flight, OtherSideClosed } from './http1-flight.ts'
import { Http1Reader, type ReaderEvents } from './http1-reader.ts'

export interface ConnectionEvents {
  /** The connection may carry the next request. */
  onFree(connection: Http1Connection): void
  /** The connection is closed. `unsent` is its request if nothing of it was sent. */
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
  /** The upstream closed its side while reading was paused. */
  #ended = false
  /** Monotonic ms at which the connection was opened, and at which its last answer ended. */
  openedMs = 0
  freeMs = 0
  /** An answer has ended in this turn, so a close right behind the answer cannot have been read yet. */
  justFree = false

  constructor(options: ConnectionOptions, events: ConnectionEvents) {
    this.#o = options
    this.#events = events
    this.#reader = new Http1Reader(this, options.maxHeaderBytes)
  }

  /** How long the upstream keeps the idle connection open, by its last answer; null = it did not say. */
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

  /** Takes the next request. `send` will send it. */
  take(flight: Flight): void {
    this.#flight = flight
    this.#sent = false
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
      this.#events.onFree(this)
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
    this.#reader.close()
    this.end()
  }

  // --- events of the reader

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

  // --- calls of the request and of the pool

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
      this.#events.onGone(this, unsent)
    }
  }
}
