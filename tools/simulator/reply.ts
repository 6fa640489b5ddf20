/**
 * Sends the answer to one request, after its latency, whole or as a stream, and enters it into the books when it has
 * ended.
 */
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Clock } from '../../lib/base/clock.ts'
import type { Usage } from '../../lib/protocols/words/usage.ts'
import type { Books, End } from './books.ts'
import { Delivery } from './delivery.ts'
import { type Answer, type Ask, Bytes, type Dialect, type Routed } from './dialect.ts'
import type { Directive } from './directive.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const NO_DIRECTIVE: Directive = {}

export class Reply {
  readonly id: string
  readonly #setting: Setting
  readonly #res: ServerResponse
  readonly route: Routed
  readonly #dialect: Dialect
  #ask: Ask | null = null
  #directive = NO_DIRECTIVE
  #delivery: Delivery | null = null
  #cancelTimer: (() => void) | null = null
  #status = 0
  #end: End | null = null
  #usage: Usage | null = null
  #delivered = 0

  constructor(setting: Setting, res: ServerResponse, route: Routed, id: string) {
    this.#setting = setting
    this.#res = res
    this.route = route
    this.#dialect = route.dialect
    this.id = id
  }

  /** Enters the request into the books as one that is open. */
  begin(ask: Ask, directive: Directive): void {
    this.#ask = ask
    this.#directive = directive
    this.#setting.books.begin()
    if (!directive.prepared) this.#res.on('close', () => this.#close())
  }

  /** Refuses a request that was not understood, or has the wrong key. */
  refuse(status: number, message: string): void {
    this.#sendJson(status, this.#dialect.error(status, message, this.#requestId()))
  }

  count(tokens: number): void {
    const { count } = this.#dialect
    if (count === null) this.refuse(404, 'not found')
    else this.#sendJson(200, count(tokens))
  }

  /** Answers with an error, as if the upstream had failed. */
  fail(status: number): void {
    this.#after(this.#latencyMs(), () => {
      this.#end = 'refused'
      const body = this.#dialect.error(status, `simulated failure with status ${status}`, this.#requestId())
      const { retry_after } = this.#directive
      const listed = this.route.stream && !this.route.events
      this.#sendJson(
        status,
        listed ? [body] : body,
        retry_after === undefined ? {} : { 'retry-after': `${retry_after}` },
      )
    })
  }

  /** Drops the connection before there is a status. */
  reset(): void {
    this.#after(this.#latencyMs(), () => {
      this.#end = 'refused'
      this.#res.destroy()
    })
  }

  answer(answer: Answer, directive: Directive): void {
    this.#directive = directive
    const tps = this.#tokensPerSecond()
    const ask = this.#ask as Ask
    if (ask.stream) this.#after(this.#latencyMs(), () => this.#stream(ask, answer))
    else {
      const making = tps === 0 ? 0 : (answer.usage.output * 1000) / tps
      this.#after(this.#latencyMs() + making, () => this.#whole(ask, answer))
    }
  }

  /** Sends the answer at once, and returns it for the next time. */
  prepare(answer: Answer): Prepared {
    const ask = this.#ask as Ask
    const { type, body } = ask.stream
      ? new Bytes(
          this.#type(ask),
          Buffer.from([...this.#dialect.frames(ask, answer)].map(({ bytes }) => bytes).join('')),
        )
      : this.#bytes(ask, answer)
    const framing: Record<string, string> = ask.stream
      ? { 'transfer-encoding': 'chunked' }
      : { 'content-length': `${body.length}` }
    const usage = answer.reports ? answer.usage : null
    const prepared = { head: { ...this.#head(type), ...framing }, body, usage }
    this.#setting.books.endPrepared(usage)
    sendPrepared(this.#res, prepared)
    return prepared
  }

  #stream(ask: Ask, answer: Answer): void {
    this.#status = 200
    this.#res.writeHead(200, { ...this.#head(this.#type(ask)), 'cache-control': 'no-cache' })
    this.#res.flushHeaders()
    this.#delivery = new Delivery({
      res: this.#res,
      frames: this.#dialect.frames(ask, answer),
      directive: this.#directive,
      tokensPerSecond: this.#tokensPerSecond(),
      errorFrame: first => this.#dialect.errorFrame(ask, first),
      clock: this.#setting.clock,
    })
    this.#delivery.start()
  }

  /**
   * Sends a whole answer. It has no events that `cut`, `end_early` and `stall` could count, so with one of these half
   * of the body is sent.
   */
  #whole(ask: Ask, answer: Answer): void {
    const { cut, end_early, stall } = this.#directive
    const { type, body } = this.#bytes(ask, answer)
    if (cut === undefined && end_early === undefined && stall === undefined) {
      this.#end = 'completed'
      this.#usage = answer.reports ? answer.usage : null
      this.#delivered = answer.usage.output
      this.#send(200, body, { 'content-type': type })
      return
    }
    this.#status = 200
    this.#res.writeHead(200, { ...this.#head(type), 'content-length': body.length })
    const half = body.subarray(0, body.length >> 1)
    if (stall !== undefined) this.#res.write(half)
    else {
      this.#end = 'cut'
      this.#res.write(half, () => this.#res.destroy())
    }
  }

  #bytes(ask: Ask, answer: Answer): Bytes {
    const whole = this.#dialect.whole(ask, answer)
    return whole instanceof Bytes ? whole : new Bytes(JSON_TYPE, Buffer.from(JSON.stringify(whole)))
  }

  #sendJson(status: number, body: object, headers: Record<string, string> = {}): void {
    this.#send(status, Buffer.from(JSON.stringify(body)), headers)
  }

  #send(status: number, body: Buffer, headers: Record<string, string> = {}): void {
    this.#status = status
    this.#res.writeHead(status, { ...this.#head(JSON_TYPE), 'content-length': body.length, ...headers })
    this.#res.end(body)
  }

  #head(type: string): Record<string, string> {
    return { 'content-type': type, ...this.#dialect.headers(this.#requestId()) }
  }

  #type(ask: Ask): string {
    return ask.stream && this.#dialect.streamsEvents(ask) ? 'text/event-stream; charset=utf-8' : JSON_TYPE
  }

  #requestId(): string {
    return `req_${this.id}`
  }

  #latencyMs(): number {
    return this.#directive.latency ?? this.#setting.latencyMs
  }

  #tokensPerSecond(): number {
    return this.#directive.tps ?? this.#setting.tokensPerSecond
  }

  #after(ms: number, fn: () => void): void {
    if (ms > 0) this.#cancelTimer = this.#setting.clock.after(ms, fn)
    else fn()
  }

  /** The connection is done: everything was sent, or the other side has left. */
  #close(): void {
    this.#cancelTimer?.()
    this.#delivery?.stop()
    const ask = this.#ask as Ask
    const ended = this.#delivery?.end ?? this.#end
    const whole = ended !== null && (this.#res.writableFinished || ended === 'cut' || ended === 'refused')
    this.#setting.books.end({
      id: this.#directive.id ?? null,
      protocol: this.route.protocol,
      model: ask.model,
      stream: ask.stream,
      status: this.#status,
      end: whole ? (ended as End) : 'gone',
      usage: this.#delivery === null ? this.#usage : this.#delivery.usage,
      delivered: this.#delivery?.delivered ?? this.#delivered,
    })
  }
}

export interface Prepared {
  head: Record<string, string>
  body: Buffer
  usage: Usage | null
}

const MARK = Buffer.from('[[sim prepared')
const LONGEST = 64 * 1024
const MOST = 64

export class PreparedAnswers {
  readonly #known = new Map<string, Prepared>()

  /** Returns what identifies the request; null = it is not marked so. */
  keyOf(req: IncomingMessage, body: Buffer): string | null {
    if (body.length > LONGEST || !body.includes(MARK)) return null
    return `${req.url}\n${body.toString('latin1')}`
  }

  get(key: string): Prepared | undefined {
    return this.#known.get(key)
  }

  put(key: string, prepared: Prepared): void {
    if (this.#known.size >= MOST) this.#known.clear()
    this.#known.set(key, prepared)
  }
}

export function sendPrepared(res: ServerResponse, { head, body }: Prepared): void {
  res.writeHead(200, head)
  res.end(body)
}

export interface Setting {
  origin: string
  latencyMs: number
  tokensPerSecond: number
  errorRate: number
  seed: number
  key: string | null
  clock: Clock
  books: Books
}
