/**
 * Connections to one origin over HTTP/1.1, each with one request at a time. The free ones are a stack: the one used last
 * serves next, so that what only a wave of requests needed closes for want of work. (undici's own pool asks connection
 * after connection whether it is free, twice for each request, which is felt where hundreds of streams are open.)
 */
import type { Dispatcher, Client as UndiciClient } from 'undici'
import { Client, errors } from './undici.ts'

export interface Http1Options {
  client: UndiciClient.Options
  /** More requests wait in line. */
  connections: number
  /** A connection takes no request after so long. */
  oldestMs: number
  /** Monotonic ms. */
  now: () => number
}

/** One connection: opened when first needed, and again after it broke. */
interface Line {
  readonly client: UndiciClient
  openedMs: number
  state: 'busy' | 'free' | 'gone'
}

interface Waiting {
  options: Dispatcher.DispatchOptions
  handler: Dispatcher.DispatchHandler
}

export class Http1Pool {
  readonly #origin: string
  readonly #o: Http1Options
  readonly #lines = new Set<Line>()
  readonly #free: Line[] = []
  readonly #waiting: Waiting[] = []
  #closed = false

  constructor(origin: string, options: Http1Options) {
    this.#origin = origin
    this.#o = options
  }

  dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    const line = this.#take()
    if (line === null) this.#waiting.push({ options, handler })
    else this.#serve(line, options, handler)
  }

  #take(): Line | null {
    const tooOld = this.#o.now() - this.#o.oldestMs
    for (;;) {
      const line = this.#free.pop()
      if (line === undefined) return this.#lines.size < this.#o.connections ? this.#add() : null
      if (line.openedMs >= tooOld) {
        line.state = 'busy'
        return line
      }
      this.#drop(line)
    }
  }

  #add(): Line {
    const client = new Client(this.#origin, this.#o.client)
    const line: Line = { client, openedMs: 0, state: 'busy' }
    client.on('connect', () => {
      line.openedMs = this.#o.now()
    })
    client.on('drain', () => this.#freed(line))
    client.on('connectionError', () => this.#broken(line))
    client.on('disconnect', () => {
      if (line.state === 'free') this.#broken(line)
    })
    this.#lines.add(line)
    return line
  }

  #serve(line: Line, options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler): void {
    line.client.dispatch(options, handler)
    // what cannot be sent at all never made the connection busy
    if (line.client.stats.size === 0) this.#freed(line)
  }

  #freed(line: Line): void {
    if (line.state !== 'busy') return
    const next = this.#waiting.shift()
    if (next !== undefined) this.#serve(line, next.options, next.handler)
    else if (this.#closed) this.#drop(line)
    else {
      line.state = 'free'
      this.#free.push(line)
    }
  }

  /** It has no request; who waits may have another one in its place. */
  #broken(line: Line): void {
    if (line.state === 'gone') return
    const at = this.#free.indexOf(line)
    if (at >= 0) this.#free.splice(at, 1)
    this.#drop(line)
    const next = this.#waiting.shift()
    if (next !== undefined) this.#serve(this.#add(), next.options, next.handler)
  }

  #drop(line: Line): void {
    line.state = 'gone'
    this.#lines.delete(line)
    void line.client.close()
  }

  /** Whoever is served or waits is served; then no connection is left. */
  async close(): Promise<void> {
    this.#closed = true
    for (const line of this.#free.splice(0)) this.#drop(line)
  }

  /** Whoever is served or waits hears an error. */
  async destroy(): Promise<void> {
    this.#closed = true
    for (const { handler } of this.#waiting.splice(0))
      handler.onResponseError?.(null as never, new errors.ClientDestroyedError())
    const lines = [...this.#lines]
    this.#lines.clear()
    this.#free.length = 0
    for (const line of lines) line.state = 'gone'
    await Promise.all(lines.map(line => line.client.destroy()))
  }
}
