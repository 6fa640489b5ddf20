/**
 * The client's side of a relay: the head, the bytes, and what the gateway itself says inside a stream. Only between two
 * events, never into a compressed answer, and never a clean end for an answer that broke off.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { passResponseHeaders } from '../upstream/headers.ts'
import type { Exchange } from './exchange.ts'
import { answer, ownHeaders } from './refuse.ts'
import type { Services } from './services.ts'
import { cdnTimeoutPage } from './timeout-page.ts'

/** What upstreams that are too busy leave out, and clients want. */
const BUSY_RETRY_AFTER_S = '2'

export interface ClientEvents {
  /** A client that was too slow has taken what waited for it. */
  onDrained(): void
}

export class ClientSide {
  readonly #x: Exchange
  readonly #services: Services
  readonly #events: ClientEvents
  /** Monotonic ms. */
  lastWriteMs = 0
  /** The head went out before any upstream answered; what is said from now on is said inside the stream. */
  early = false
  /** The client was told how many bytes come: fewer of them are no answer, however whole they look. */
  announced = false
  /** The upstream has said all: what is written now goes out with the end. */
  lastComes = false
  #last: Buffer[] = []
  /** For the connection to take what is in it. */
  #waits = false

  constructor(x: Exchange, services: Services, events: ClientEvents) {
    this.#x = x
    this.#services = services
    this.#events = events
  }

  /** Nothing has been sent that binds us to one upstream's answer. */
  get open(): boolean {
    return this.#x.status === 0 || this.early
  }

  /** `withLength`: the answer is as long as the upstream says. */
  head(status: number, upstream: IncomingHttpHeaders, withLength: boolean): void {
    const x = this.#x
    if (x.status !== 0) return
    const headers = ownHeaders(x)
    passResponseHeaders(upstream, headers)
    const length = upstream['content-length']
    this.announced = length !== undefined && withLength
    if (this.announced) headers.push('content-length', length as string)
    if (status === 429 && upstream['retry-after'] === undefined) headers.push('retry-after', BUSY_RETRY_AFTER_S)
    x.status = status
    x.reply.begin(status, headers, this.#services.clock.now())
  }

  /** True: nothing of the answer has reached the connection, and it is as if none had begun. */
  takeBack(): boolean {
    const x = this.#x
    if (this.early || !x.reply.unseen) return false
    this.#last = []
    this.announced = false
    x.status = 0
    return true
  }

  /** False: the client is slower than the upstream; `onDrained` will be called. */
  write(chunk: Buffer, nowMs: number): boolean {
    this.lastWriteMs = nowMs
    if (this.lastComes) {
      this.#last.push(chunk)
      return true
    }
    if (this.#x.reply.write(chunk)) return true
    if (!this.#waits) this.#wait()
    return false
  }

  #wait(): void {
    this.#waits = true
    this.#x.reply.whenDrained(() => {
      this.#waits = false
      this.#events.onDrained()
    })
  }

  #takeLast(): Buffer | undefined {
    const last = this.#last.length > 1 ? Buffer.concat(this.#last) : this.#last[0]
    this.#last = []
    return last
  }

  end(words = ''): void {
    const last = this.#takeLast()
    this.#x.ended = true
    const { reply } = this.#x
    if (words === '') {
      reply.end(last)
      return
    }
    if (last !== undefined) reply.write(last)
    reply.end(Buffer.from(words))
  }

  /** A stream on the main address shows life before a CDN would give up on it, whatever its upstream does. */
  startEarly(): void {
    const x = this.#x
    this.early = true
    x.status = 200
    const headers = ownHeaders(x)
    headers.push('content-type', 'text/event-stream; charset=utf-8')
    x.reply.begin(200, headers, this.#services.clock.now())
    x.reply.write(Buffer.from('\n'))
  }

  keepAlive(words: string, nowMs: number): void {
    this.lastWriteMs = nowMs
    this.#x.reply.write(Buffer.from(words))
  }

  /** What a CDN would say when nothing came for so long. */
  cdnTimeout(): void {
    const x = this.#x
    const headers = ownHeaders(x)
    headers.push('content-type', 'text/html; charset=utf-8')
    answer(x, this.#services, 524, headers, Buffer.from(cdnTimeoutPage(x.id, x.world.config.public.direct)))
  }

  /** Never a clean end, which clients take for a whole answer. */
  breakOff(words: string): void {
    const { reply } = this.#x
    this.#x.ended = true
    const last = this.#takeLast()
    if (last !== undefined) reply.write(last)
    reply.breakOff(Buffer.from(words))
  }

  destroy(): void {
    this.#x.reply.destroy()
  }
}
