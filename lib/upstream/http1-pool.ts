/**
 * Connections to one origin over HTTP/1.1. The free ones are a stack: the one used last serves next, so that what only a
 * wave of requests needed closes for want of work.
 *
 * Requests of one turn of the event loop are written at its end, when all that has arrived is read: a connection that the
 * upstream has closed meanwhile is known by then, and its request takes another one.
 */
import type { Dispatcher } from 'undici'
import type { Clock } from '../base/clock.ts'
import type { Dial, Target } from './dial.ts'
import { type ConnectionEvents, Flight, Http1Connection, OtherSideClosed } from './http1-connection.ts'
import { requestBytes } from './http1-request.ts'

export interface Http1Options {
  dial: Dial
  maxHeaderBytes: number
  /** More requests wait in line. */
  connections: number
  /** A connection takes no request after so long. */
  oldestMs: number
  /** A free one is closed after so long, or somewhat before its upstream would. */
  idleMs: number
  clock: Pick<Clock, 'monotonic' | 'after' | 'soon'>
}

/** Before the moment that the upstream named. */
const MARGIN_MS = 2_000
const SWEEP_MS = 1_000

export class Http1Pool implements ConnectionEvents {
  readonly #o: Http1Options
  readonly #host: string
  readonly #target: Target
  readonly #all = new Set<Http1Connection>()
  readonly #free: Http1Connection[] = []
  readonly #waiting: Flight[] = []
  /** To be written at the end of this turn. */
  #outbox: Http1Connection[] = []
  #cancelSweep: (() => void) | null = null
  #closed = false
  #destroyed: Error | null = null

  constructor(origin: string, options: Http1Options) {
    this.#o = options
    const { host, hostname, protocol, port } = new URL(origin)
    this.#host = host
    this.#target = { host, hostname: hostname.replace(/^\[|\]$/g, ''), protocol, port }
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    let bytes: Buffer[]
    try {
      bytes = requestBytes(options, this.#host)
    } catch (error) {
      // not before the caller knows what it has asked for
      this.#o.clock.soon(() => handler.onResponseError?.(null as never, error as Error))
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
      if (connection.justFree) {
        // a turn later: a close that stands right behind the end of its last answer is not read yet
        connection.justFree = false
        this.#sendSoon(connection)
      } else connection.send()
    }
  }

  #take(): Http1Connection | null {
    for (;;) {
      const connection = this.#free.pop()
      if (connection === undefined) return this.#all.size < this.#o.connections ? this.#open() : null
      if (!this.#isOld(connection)) return connection
      connection.end()
    }
  }

  #open(): Http1Connection {
    const { dial, maxHeaderBytes, clock } = this.#o
    const now = () => clock.monotonic()
    const connection = new Http1Connection({ dial, target: this.#target, maxHeaderBytes, now }, this)
    this.#all.add(connection)
    return connection
  }

  onFree(connection: Http1Connection): void {
    if (this.#isOld(connection) || this.#idleMs(connection) <= 0) {
      connection.end() // who waits gets a new one in its place
      return
    }
    const next = this.#waiting.shift()
    if (next !== undefined) this.#put(next, connection)
    else if (this.#closed) connection.end()
    else {
      this.#free.push(connection)
      this.#cancelSweep ??= this.#o.clock.after(SWEEP_MS, () => this.#sweep())
    }
  }

  #isOld({ openedMs }: Http1Connection): boolean {
    return openedMs < this.#o.clock.monotonic() - this.#o.oldestMs
  }

  /** How long it may be free. */
  #idleMs({ keepAliveMs }: Http1Connection): number {
    return keepAliveMs === null ? this.#o.idleMs : Math.min(this.#o.idleMs, keepAliveMs - MARGIN_MS)
  }

  onGone(connection: Http1Connection, unsent: Flight | null): void {
    this.#all.delete(connection)
    const at = this.#free.lastIndexOf(connection)
    if (at >= 0) this.#free.splice(at, 1)
    const next = unsent ?? this.#waiting.shift()
    if (next !== undefined) this.#assign(next)
  }

  /** Closes what has been free for too long. */
  #sweep(): void {
    this.#cancelSweep = null
    const now = this.#o.clock.monotonic()
    for (const connection of [...this.#free]) if (now - connection.freeMs > this.#idleMs(connection)) connection.end()
    if (this.#free.length > 0) this.#cancelSweep = this.#o.clock.after(SWEEP_MS, () => this.#sweep())
  }

  /** Whoever is served or waits is served; then no connection is left. */
  async close(): Promise<void> {
    this.#closed = true
    this.#cancelSweep?.()
    for (const connection of [...this.#free]) connection.end()
  }

  /** Whoever is served or waits hears an error. */
  async destroy(): Promise<void> {
    const error = new OtherSideClosed('the gateway closed its connections')
    this.#destroyed = error
    await this.close()
    for (const flight of this.#waiting.splice(0)) flight.fail(error)
    for (const connection of [...this.#all]) connection.end(error)
  }
}
