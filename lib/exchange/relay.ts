/**
 * From the first attempt to the last byte: attempts over the candidates while nothing was relayed, then status, headers
 * and each chunk to the client as it comes, metered on the way.
 *
 * The states are few. `#attempt` runs until the upstream ended or was given up. `x.status` is 0 until something was sent.
 * `x.row` is set by `settle`, once: before the client can see the end of the answer. `#goneMs` > 0: the client has left
 * and the upstream is read on for its usage. Everything that waits has its deadline in `check`.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { Candidate } from '../channels/pick.ts'
import { editBody } from '../protocols/edit.ts'
import type { Meter, ProtocolRow } from '../protocols/protocol.ts'
import { protocolRow } from '../protocols/table.ts'
import { Withholder } from '../protocols/withhold.ts'
import { ERRORS, type ErrorName, errorText } from '../terms/errors.ts'
import type { End, Protocol } from '../terms/records.ts'
import { Attempt, type AttemptEvents } from '../upstream/attempt.ts'
import { passResponseHeaders, requestHeaders } from '../upstream/headers.ts'
import { decoderFor, type SideDecoder } from './decode.ts'
import type { Exchange } from './exchange.ts'
import { Growth } from './growth.ts'
import { answer, ownHeaders } from './refuse.ts'
import { type How, settle } from './settle.ts'
import { answerEstimate } from './stages/count.ts'
import type { Swept } from './sweeper.ts'
import { cdnTimeoutPage } from './timeout-page.ts'
import { upstreamBody, upstreamPath } from './upstream-request.ts'
import { CLIENT_CLOSED } from './verdict.ts'

/** The gateway gave up on the upstream; not a fault of the connection. */
class GaveUp extends Error {
  override name = 'GaveUp'
  readonly row: ErrorName

  constructor(row: ErrorName) {
    super(row)
    this.row = row
  }
}

const SLOW_CLIENT = 1
const GROWING = 2
const DECODING = 4

/** Retried on the next candidate while nothing was relayed: the client did nothing wrong. */
const retryable = (status: number): boolean =>
  status === 401 || status === 403 || status === 408 || status === 429 || status >= 500

const saysBusy = (status: number): boolean => status === 429 || status === 529

export class Relay implements AttemptEvents, Swept {
  previous: Swept | null = null
  next: Swept | null = null

  readonly #x: Exchange
  readonly #row: ProtocolRow
  #attempt: Attempt | null = null
  #candidate: Candidate | null = null
  #attemptMs = 0
  #upstreamStatus = 0
  #upstreamHeaders: IncomingHttpHeaders = {}
  #events = false
  /** The answer is compressed: nothing of ours can stand in it. */
  #encoded = false
  #meter: Meter | null = null
  #decoder: SideDecoder | null = null
  #withholder: Withholder | null = null
  #growth: Growth | null = null
  /** Reasons (bits) why the upstream is not read at the moment. */
  #paused = 0
  #pausedMs = 0
  #firstByteMs = -1
  #lastByteMs = 0
  #lastWriteMs = 0
  #goneMs = 0
  /** Counted among the upstreams that are read on without a client. */
  #draining = false
  #reported = false
  /** The journal could not be written: the store's word is awaited before the client may see the end. */
  #unsafe: Promise<void> | null = null
  #upstreamDone = false
  /** The head went out before any upstream answered; what is said from now on is said inside the stream. */
  #early = false
  /** The upstream's part is over and the books are closed. */
  closed = false

  constructor(x: Exchange) {
    this.#x = x
    this.#row = protocolRow(x.protocol as Protocol)
    x.relay = this
    x.dispatchedMs = x.services.clock.monotonic()
  }

  start(): void {
    const { services } = this.#x
    services.retries.request()
    services.sweeper.add(this)
    this.#try(this.#x.candidate as Candidate)
  }

  // --- attempts

  #try(candidate: Candidate): void {
    const x = this.#x
    x.attempts++
    x.candidate = this.#candidate = candidate
    this.#attemptMs = x.services.clock.monotonic()
    this.#firstByteMs = -1
    this.#reported = false
    const { channel } = candidate
    const edits = upstreamBody(x, this.#row, candidate)
    const body = edits.length === 0 ? { chunks: x.body, length: x.bodyBytes } : editBody(x.body, edits)
    const headers = requestHeaders(channel, x.protocol as Protocol, x.world.config.wire, x.req.headers)
    const single = body.chunks.length === 1
    if (!single) headers.push('content-length', String(body.length))
    const attempt = new Attempt(this)
    this.#attempt = attempt
    x.services.pools.of(channel.origin).dispatch(
      {
        method: 'POST',
        path: upstreamPath(x, candidate),
        headers,
        // undici takes any iterable of buffers, which its types do not say
        body: (single ? body.chunks[0] : body.chunks) as Buffer,
      },
      attempt,
    )
  }

  /** Goes on with the next candidate if there is one and it is allowed. */
  #tryNext(): boolean {
    const x = this.#x
    if (this.#goneMs > 0 || (x.status !== 0 && !this.#early) || x.attempts >= x.world.config.retry.attempts)
      return false
    const candidate = x.candidates?.next() ?? null
    if (candidate === null) return false
    if (!x.services.retries.tryRetry()) {
      x.services.health.report(candidate.channel.name, 'ignored')
      return false
    }
    this.#attempt?.discard()
    this.#meter = this.#decoder = this.#withholder = null
    this.#upstreamStatus = 0
    this.#try(candidate)
    return true
  }

  /** One verdict per attempt, for the channel's health and the metrics. */
  #report(outcome: 'ok' | 'failed' | 'busy' | 'auth' | 'ignored', retryAfterS?: number): void {
    if (this.#reported) return
    this.#reported = true
    const { services } = this.#x
    const name = (this.#candidate as Candidate).channel.name
    services.health.report(name, outcome, retryAfterS)
    services.metrics.attempt(name, outcome)
  }

  // --- what the upstream says

  onHead(status: number, headers: IncomingHttpHeaders): void {
    this.#upstreamStatus = status
    this.#upstreamHeaders = headers
    this.#lastByteMs = this.#x.services.clock.monotonic()
    if (status < 300) {
      this.#prepareMeter()
      return
    }
    const retryAfterS = Number(headers['retry-after'])
    if (status === 401 || status === 403) this.#report('auth')
    else if (saysBusy(status)) this.#report('busy', Number.isFinite(retryAfterS) ? retryAfterS : undefined)
    else this.#report(status >= 500 || status === 408 ? 'failed' : 'ok')
    if (retryable(status) && this.#tryNext()) return
    if (this.#early) {
      this.#attempt?.discard()
      this.#giveUp('upstream')
    } else if (this.#x.free && (retryable(status) || status === 404 || status === 405)) this.#countInstead()
    else if (status === 401 || status === 403) {
      this.#attempt?.discard()
      this.#giveUp('upstream')
    }
  }

  #prepareMeter(): void {
    const x = this.#x
    const headers = this.#upstreamHeaders
    this.#events = /^text\/event-stream/i.test(String(headers['content-type'] ?? ''))
    const count = x.coveredOutput > 0
    this.#meter = this.#row.meter({ events: this.#events, count, cacheTtl: x.facts?.cacheTtl ?? '5m' })
    const encoding = String(headers['content-encoding'] ?? 'identity').toLowerCase()
    this.#encoded = encoding !== 'identity'
    this.#decoder = this.#encoded ? decoderFor(encoding, this.#meter) : null
    if (this.#events && this.#asksForUsage && !this.#encoded) this.#withholder = new Withholder()
    if (this.#events && count && x.hold !== null && !this.#encoded)
      this.#growth = new Growth(x, x.hold, () => this.#grown())
  }

  get #asksForUsage(): boolean {
    const { facts } = this.#x
    return this.#row.asksForUsage && facts?.stream === true && !facts.includeUsage
  }

  onData(chunk: Buffer): void {
    const x = this.#x
    const now = x.services.clock.monotonic()
    this.#lastByteMs = now
    if (this.#firstByteMs < 0) this.#firstByteMs = now
    const meter = this.#meter
    if (meter === null) {
      this.#send(chunk)
      return
    }
    const boundary = meter.atBoundary
    if (this.#decoder === null) meter.feed(chunk)
    else if (!this.#decoder.write(chunk, () => this.#resume(DECODING))) this.#pause(DECODING)
    if (!this.#reported && !this.#judgeFirst(meter)) return
    if (this.#growth !== null && (this.#growth.holdsBack || !this.#growth.covers(meter.counted))) {
      this.#growth.keep(chunk, boundary)
      this.#pause(GROWING)
      if (!this.#growth.waiting) this.#grown()
      return
    }
    this.#relayMetered(chunk, meter)
  }

  /** False: the answer began with an error and nothing else, and another candidate is being asked. */
  #judgeFirst(meter: Meter): boolean {
    if (!meter.failed || meter.counted > 0) {
      this.#report('ok')
      return true
    }
    this.#report('failed')
    return !this.#tryNext()
  }

  #relayMetered(chunk: Buffer, meter: Meter): void {
    // a client that saw the terminal event may act on it: the charge is in the journal first
    if (meter.terminal && this.#goneMs === 0 && this.#settlesAtTerminal && this.#x.row === null)
      this.#settle('completed')
    this.#whenSafe(() => {
      const out = this.#withholder === null ? chunk : this.#withholder.push(chunk)
      if (out === null) this.#sendHead()
      else if (Array.isArray(out)) for (const part of out) this.#send(part)
      else this.#send(out)
    })
  }

  #whenSafe(then: () => void): void {
    if (this.#unsafe === null) then()
    else this.#unsafe = this.#unsafe.then(then)
  }

  /** Otherwise usage may still come after the event that finishes the answer. */
  get #settlesAtTerminal(): boolean {
    return this.#meter !== null && !this.#meter.failed && (this.#row.terminalIsLast || !this.#events)
  }

  onEnd(): void {
    this.#upstreamDone = true
    if (this.#growth?.holdsBack) return // comes again when the growth has its answer
    if (this.#decoder === null) this.#complete()
    else this.#decoder.end(() => this.#complete())
  }

  #complete(): void {
    const x = this.#x
    const meter = this.#meter
    meter?.end()
    const rest = this.#withholder?.flush() ?? null
    if (rest !== null) this.#send(rest)
    if (meter !== null && this.#firstByteMs < 0) {
      this.#report('failed') // 2xx and then nothing
      if (this.#tryNext()) return
      if (x.free) this.#countInstead()
      else this.#giveUp('upstream')
      return
    }
    if (meter !== null && !meter.terminal && !meter.failed) {
      this.#brokenOff()
      return
    }
    this.#settle(meter === null ? 'nothing' : meter.failed ? 'broken' : 'completed')
    this.#end()
  }

  onError(error: Error): void {
    const x = this.#x
    this.#upstreamDone = true
    if (this.#firstByteMs >= 0) {
      this.#meter?.end()
      this.#brokenOff()
      return
    }
    if (this.#upstreamStatus < 300) this.#report('failed')
    if (this.#tryNext()) return
    if (x.free && this.#goneMs === 0) this.#countInstead()
    else this.#giveUp(error instanceof GaveUp ? error.row : 'upstream')
  }

  // --- what the client gets

  #sendHead(): void {
    const x = this.#x
    if (x.status !== 0 || this.#goneMs > 0) return
    const headers = ownHeaders(x)
    passResponseHeaders(this.#upstreamHeaders, headers)
    const length = this.#upstreamHeaders['content-length']
    // with a length the client sees the end in the last byte, which must not come before the charge is safe
    if (length !== undefined && !this.#events && this.#decoder === null) headers.push('content-length', length)
    if (this.#upstreamStatus === 429 && this.#upstreamHeaders['retry-after'] === undefined)
      headers.push('retry-after', '2')
    x.status = this.#upstreamStatus
    x.body = [] // no other attempt will want it
    x.res.writeHead(x.status, headers)
  }

  #send(chunk: Buffer): void {
    const x = this.#x
    if (this.#goneMs > 0) return
    if (x.status === 0) this.#sendHead()
    this.#lastWriteMs = this.#lastByteMs
    if (x.res.write(chunk)) return
    this.#pause(SLOW_CLIENT)
    x.res.once('drain', () => this.#resume(SLOW_CLIENT))
  }

  #end(): void {
    this.#whenSafe(() => {
      const x = this.#x
      if (this.#goneMs === 0) {
        this.#sendHead()
        x.ended = true
        this.#lastByteMs = x.services.clock.monotonic() // what is left is the client's time
        x.res.end()
      }
      this.#close()
    })
  }

  /** The upstream broke off after something was relayed: the stream says so, and does not end cleanly. */
  #brokenOff(): void {
    const x = this.#x
    if (x.row !== null) {
      this.#end() // all had been said and charged; only the connection's end was wanting
      return
    }
    this.#settle('broken')
    if (this.#goneMs === 0) {
      if (x.status === 0) {
        this.#giveUp('upstream')
        return
      }
      if ((this.#events || this.#early) && !this.#encoded) this.#breakStream('upstream')
      else x.res.destroy()
    }
    this.#close()
  }

  /** Never a clean end, which clients take for a whole answer. */
  #breakStream(name: ErrorName): void {
    const { res } = this.#x
    this.#x.ended = true
    res.write(this.#lastWords(name), () => res.destroy())
  }

  #lastWords(name: ErrorName): string {
    const x = this.#x
    const message = `${errorText(name, [], false)} (request id: ${x.id})`
    return (this.#boundary ? '' : '\n\n') + this.#row.words.error(ERRORS[name].status, message)
  }

  /** No answer of the upstream's can be relayed: one of ours. */
  #giveUp(name: ErrorName): void {
    const x = this.#x
    this.#settle('nothing', name)
    if (this.#goneMs === 0) {
      if (this.#early) this.#breakStream(name)
      else x.refuse(name)
    }
    this.#close()
  }

  #countInstead(): void {
    this.#attempt?.discard()
    if (this.#goneMs === 0) answerEstimate(this.#x)
    this.#close()
  }

  /** The money ended: the protocol's own length stop, and the upstream is closed. */
  #stopByLength(): void {
    const x = this.#x
    const meter = this.#meter as Meter
    this.#attempt?.cut()
    this.#upstreamDone = true
    const delivered = (this.#growth as Growth).delivered
    this.#settle('stopped')
    if (this.#goneMs === 0) {
      this.#sendHead()
      const createdS = Math.floor(x.services.clock.now() / 1000)
      const unknown = { model: x.model, answerId: x.id, createdS, input: x.row?.input ?? 0, openBlock: null }
      const state = { ...unknown, ...meter.lengthStopState(), output: delivered }
      x.ended = true
      x.res.end((this.#boundary ? '' : '\n\n') + this.#row.words.lengthStop(state))
    }
    this.#close()
  }

  /** The client has whole events only; bytes of a half one may not be followed by another. */
  get #boundary(): boolean {
    return this.#withholder?.atBoundary ?? this.#growth?.atBoundary ?? this.#meter?.atBoundary ?? true
  }

  // --- books

  #settle(how: How, refusal?: ErrorName): void {
    const x = this.#x
    if (x.row !== null || x.free || x.hold === null) return
    const end: End =
      this.#goneMs > 0 || (x.left && !x.ended)
        ? 'client_gone'
        : how === 'completed' || how === 'stopped'
          ? 'completed'
          : how === 'broken' && !this.#meter?.failed
            ? 'upstream_cut'
            : 'upstream_error'
    const status =
      x.status !== 0 ? x.status : this.#goneMs > 0 ? CLIENT_CLOSED : refusal === undefined ? this.#upstreamStatus : 0
    const safe = settle(x, {
      how,
      end,
      status,
      refusal,
      channel: (this.#candidate as Candidate).channel.name,
      meter: this.#meter,
      delivered: this.#growth?.delivered ?? -1,
      firstByteMs: this.#firstByteMs < 0 ? null : this.#firstByteMs - x.startedMs,
    })
    if (safe !== undefined) this.#unsafe = safe
  }

  // --- waiting

  #pause(reason: number): void {
    if (this.#paused === 0) this.#attempt?.pause()
    if (reason === SLOW_CLIENT) this.#pausedMs = this.#x.services.clock.monotonic()
    this.#paused |= reason
  }

  #resume(reason: number): void {
    this.#paused &= ~reason
    if (this.#paused !== 0) return
    this.#lastByteMs = this.#x.services.clock.monotonic() // the silence was ours
    this.#attempt?.resume()
  }

  /** The hold has grown, or will grow no more. */
  #grown(): void {
    const growth = this.#growth as Growth
    const meter = this.#meter as Meter
    if (!growth.covers(meter.counted)) {
      if (!growth.waiting) this.#stopByLength()
      return
    }
    for (const chunk of growth.release()) this.#relayMetered(chunk, meter)
    this.#resume(GROWING)
    if (this.#upstreamDone) this.onEnd()
  }

  /** The client's connection closed before its answer was whole. */
  clientLeft(): void {
    this.#leave()
  }

  #leave(): void {
    const x = this.#x
    if (this.#goneMs > 0 || x.finished) return
    this.#goneMs = x.services.clock.monotonic()
    if (this.closed) return
    if (x.services.drainingCount >= x.world.config.clientGone.concurrent) {
      this.#stopDraining()
      return
    }
    x.services.drainingCount++
    this.#draining = true
    this.#resume(SLOW_CLIENT)
  }

  #stopDraining(): void {
    this.#attempt?.cut()
    this.#meter?.end()
    this.#settle('broken')
    this.#close()
  }

  /** Time-outs. `now` is monotonic ms. */
  check(now: number): void {
    const x = this.#x
    const { timeouts } = x.world.config
    if (this.#goneMs > 0) {
      if (now - this.#goneMs > x.world.config.clientGone.drainMs) this.#stopDraining()
      return
    }
    if (x.ended) {
      if (now - this.#lastByteMs > timeouts.idleMs) x.res.destroy() // it takes no more of what is left for it
      return
    }
    if (x.status === 0 && x.listener === 'main' && timeouts.mainMs > 0 && now - x.startedMs >= timeouts.mainMs) {
      this.#cdnTimeout()
    } else if (this.#firstByteMs < 0) {
      this.#startEarly(now)
      if (now - this.#attemptMs > timeouts.firstByteMs) this.#attempt?.abort(new GaveUp('timeout'))
    } else if (this.#paused & SLOW_CLIENT) {
      if (now - this.#pausedMs > timeouts.idleMs) x.res.destroy()
    } else if (this.#paused === 0 && now - this.#lastByteMs > timeouts.idleMs) {
      this.#attempt?.abort(new GaveUp('timeout'))
    } else this.#keepAlive(now)
  }

  /** A stream on the main address shows life before a CDN would give up on it, whatever its upstream does. */
  #startEarly(now: number): void {
    const x = this.#x
    const { earlyMs } = x.world.config.keepalive
    if (earlyMs === 0 || this.#early || x.listener !== 'main' || !x.streams || now - x.startedMs < earlyMs) return
    this.#early = true
    x.status = 200
    const headers = ownHeaders(x)
    headers.push('content-type', 'text/event-stream; charset=utf-8')
    x.res.writeHead(200, headers)
    x.res.write('\n')
  }

  #keepAlive(now: number): void {
    const x = this.#x
    const everyMs = x.world.config.keepalive[`${x.listener}Ms`]
    if (everyMs === 0 || !this.#events || this.#encoded || x.status === 0 || this.#paused !== 0) return
    if (now - this.#lastWriteMs < everyMs || !this.#boundary) return
    this.#lastWriteMs = now
    x.res.write(this.#row.words.keepAlive)
  }

  /** What a CDN would say when nothing came for so long; the upstream goes on as if the client had left. */
  #cdnTimeout(): void {
    const x = this.#x
    const headers = ownHeaders(x)
    headers.push('content-type', 'text/html; charset=utf-8')
    this.#leave()
    answer(x, 524, headers, Buffer.from(cdnTimeoutPage(x.id, x.world.config.public.direct)))
  }

  /** A failure of ours in the middle of it. */
  fail(): void {
    this.#abandon('internal')
  }

  shutDown(): void {
    this.#abandon('unavailable')
  }

  #abandon(name: ErrorName): void {
    const x = this.#x
    if (this.closed) return
    this.#attempt?.cut()
    this.#settle(this.#firstByteMs < 0 ? 'nothing' : 'broken')
    if (x.status === 0 && this.#goneMs === 0) x.refuse(name)
    else x.res.destroy()
    this.#close()
  }

  /** The upstream's part is over; the client's goes on until its connection has taken everything. */
  #close(): void {
    const x = this.#x
    const { services } = x
    if (this.closed) return
    this.closed = true
    this.#report('ignored') // where nothing was learnt about the channel
    x.upstreamMs = services.clock.monotonic() - x.dispatchedMs
    if (this.#draining) services.drainingCount--
    if (this.#goneMs > 0) services.metrics.clientGone(this.#upstreamDone ? 'drained' : 'cut')
    if (this.#goneMs > 0 || x.closed) x.finish()
  }
}
