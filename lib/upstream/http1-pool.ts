/**
 * A pool of HTTP/1.1 connections to one origin. Free connections form a stack: the one used last serves the next
 * request, so connections that only a wave of requests needed stay idle and are closed.
 *
 * Requests of one turn of the event loop are written at the end of that turn. By then everything that has arrived is
 * read, so the pool knows which connections the upstream has just closed, and their requests take other connections.
 */
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { Dial } from './dial.ts'
import { type ConnectionOptions, Flight, Http1Connection, OtherSideClosed } from './http1-connection.ts'
import { HeadReader, RequestBytes } from './http1-head.ts'

interface Http1Options {
  dial: Dial
  maxHeaderBytes: number
  /** The most connections; further requests wait in a queue. */
  connections: number
  /** A connection that is older takes no more requests. */
  oldestMs: number
  /** A free connection is closed after this long, or two seconds before the upstream would close it (`keep-alive`). */
  idleMs: number
  clock: Pick<Clock, 'monotonic' | 'after' | 'soon'>
}

/** A free connection is closed so long before the upstream's own time-out. */
const MARGIN_MS = 2_000
/** The least time between two searches for idle connections. */
const SWEEP_MS = 1_000

export class Http1Pool {
  readonly #o: Http1Options
  readonly #writer: RequestBytes
  readonly #ofConnections: ConnectionOptions
  readonly #all = new Set<Http1Connection>()
  readonly #free: Http1Connection[] = []
  readonly #waiting: Flight[] = []
  /** Connections whose request is to be written at the end of this turn. */
  #outbox: Http1Connection[] = []
  /** Connections whose answer has ended in this turn. */
  #justFreed: Http1Connection[] = []
  #cancelSweep: () => void = () => {}
  /** When idle connections are looked for next (monotonic ms). Until then an idle process need not wake for them. */
  #sweepMs = Number.POSITIVE_INFINITY
  #closed = false
  #destroyed: Error | null = null

  constructor(origin: string, options: Http1Options) {
    this.#o = options
    const { host, hostname, protocol, port } = new URL(origin)
    this.#writer = new RequestBytes(host)
    this.#ofConnections = {
      dial: options.dial,
      target: { host, hostname: hostname.replace(/^\[|\]$/g, ''), protocol, port },
      maxHeaderBytes: options.maxHeaderBytes,
      heads: new HeadReader(),
      clock: options.clock,
      onFree: connection => this.#onFree(connection),
      onGone: (connection, unsent) => this.#onGone(connection, unsent),
    }
  }

  /** Sends a request; `handler` gets its events, as with a dispatcher of undici. */
  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    let bytes: Buffer[]
    try {
      bytes = this.#writer.write(options)
    } catch (error) {
      this.#failSoon(handler, error as Error)
      return
    }
    this.#assign(new Flight(bytes, handler))
  }

  #assign(flight: Flight): void {
    const destroyed = this.#destroyed
    if (destroyed !== null) {
      this.#o.clock.soon(() => flight.fail(destroyed))
      return
    }
    const connection = this.#take()
    if (connection === null) this.#waiting.push(flight)
    else this.#put(flight, connection)
  }

  #put(flight: Flight, connection: Http1Connection): void {
    connection.take(flight)
    this.#sendSoon(connection)
  }

  #sendSoon(connection: Http1Connection): void {
    if (this.#outbox.push(connection) === 1) this.#o.clock.soon(() => this.#send())
  }

  #send(): void {
    const due = this.#outbox
    this.#outbox = []
    for (const connection of due) {
      // a turn later, because a close that came right behind its last answer has not been read yet
      if (connection.wasJustFreed()) this.#sendSoon(connection)
      else connection.send()
    }
  }

  /** A free connection, or a new one; null = there are as many as allowed. */
  #take(): Http1Connection | null {
    for (;;) {
      const connection = this.#free.pop()
      if (connection === undefined) return this.#all.size < this.#o.connections ? this.#open() : null
      if (!this.#isOld(connection, this.#o.clock.monotonic())) return connection
      connection.end()
    }
  }

  #open(): Http1Connection {
    const connection = new Http1Connection(this.#ofConnections)
    this.#all.add(connection)
    return connection
  }

  /** Fails a turn later, because callers do not expect an event before `dispatch` has returned. */
  #failSoon(handler: Dispatcher.DispatchHandler, error: Error): void {
    this.#o.clock.soon(() => handler.onResponseError?.(null as never, error))
  }

  /** In the turn after next: in between the loop has read what came right behind the answer. */
  #settleSoon(): void {
    this.#o.clock.soon(() => this.#o.clock.soon(() => this.#settle()))
  }

  #onFree(connection: Http1Connection): void {
    if (this.#isOld(connection, connection.freeMs) || this.#idleMs(connection) <= 0) {
      connection.end() // a waiting request gets a new connection instead
      return
    }
    const next = this.#waiting.shift()
    if (next !== undefined) this.#put(next, connection)
    else if (this.#closed) connection.end()
    else {
      this.#free.push(connection)
      if (this.#justFreed.push(connection) === 1) this.#settleSoon()
      this.#sweepFor(connection, connection.freeMs)
    }
  }

  #settle(): void {
    const freed = this.#justFreed
    this.#justFreed = []
    for (const connection of freed) connection.settle()
  }

  #isOld({ openedMs }: Http1Connection, nowMs: number): boolean {
    return openedMs < nowMs - this.#o.oldestMs
  }

  /** The time in ms for which the connection may stay free. */
  #idleMs({ keepAliveMs }: Http1Connection): number {
    return keepAliveMs === null ? this.#o.idleMs : Math.min(this.#o.idleMs, keepAliveMs - MARGIN_MS)
  }

  #onGone(connection: Http1Connection, unsent: Flight | null): void {
    this.#all.delete(connection)
    const at = this.#free.lastIndexOf(connection)
    if (at >= 0) this.#free.splice(at, 1)
    const next = unsent ?? this.#waiting.shift()
    if (next !== undefined) this.#assign(next)
  }

  /** Makes sure that the connection is looked at when it has been free for too long, and soon after: many go together. */
  #sweepFor(connection: Http1Connection, nowMs: number): void {
    const atMs = Math.max(connection.freeMs + this.#idleMs(connection), nowMs + SWEEP_MS)
    if (atMs >= this.#sweepMs) return
    this.#cancelSweep()
    this.#sweepMs = atMs
    this.#cancelSweep = this.#o.clock.after(atMs - nowMs, () => this.#sweep())
  }

  /** Closes the connections that have been free for too long. */
  #sweep(): void {
    this.#sweepMs = Number.POSITIVE_INFINITY
    const nowMs = this.#o.clock.monotonic()
    for (const connection of [...this.#free]) {
      if (nowMs - connection.freeMs >= this.#idleMs(connection)) connection.end()
      else this.#sweepFor(connection, nowMs)
    }
  }

  /** Closes the connections when they are free. Requests under way and waiting ones are still served. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancelSweep()
    for (const connection of [...this.#free]) connection.end()
  }

  /** Closes all connections now. Requests under way and waiting ones fail. */
  async destroy(): Promise<void> {
    const error = new OtherSideClosed('the gateway closed its connections')
    this.#destroyed = error
    await this.close()
    for (const flight of this.#waiting.splice(0)) flight.fail(error)
    for (const connection of [...this.#all]) connection.end(error)
  }
}
