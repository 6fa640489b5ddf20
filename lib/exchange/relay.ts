/**
 * From the first attempt to the last byte: status, headers and each chunk of the one answer that counts go to the client
 * as they come, metered on the way. Who is asked is the business of `attempts`, what the client gets of `client`, what
 * waits for how long of `deadlines`, and what it costs of `settle`.
 *
 * The states are few. `x.status` is 0 until something was sent. `x.row` is set by `settle`, once: before the client can
 * see the end of the answer. `goneMs` > 0: the client has left and the upstream is read on for its usage.
 */
import type { IncomingHttpHeaders } from 'node:http'
import type { KeyEntry } from '../access/keys.ts'
import type { Claim } from '../channels/claim.ts'
import type { CommitGroup } from '../ledger/ledger.ts'
import { bytesAsText } from '../protocols/patterns.ts'
import type { Meter } from '../protocols/meter.ts'
import type { ProtocolRow } from '../protocols/protocol.ts'
import { protocolRow } from '../protocols/table.ts'
import { ERRORS, type ErrorName, errorText } from '../terms/errors.ts'
import type { End, Protocol } from '../terms/records.ts'
import type { Attempt } from '../upstream/attempt.ts'
import type { AnswerEvents } from './answer-events.ts'
import { Attempts } from './attempts.ts'
import { dropBody } from './body-memory.ts'
import { type ClientEvents, ClientSide } from './client.ts'
import { asksNoMore, isAnswer, isCount, mayBeCount } from './count-answers.ts'
import { checkDeadlines, type Waiting } from './deadlines.ts'
import type { SideDecoder } from './decode.ts'
import { answerEstimate } from './estimate-count.ts'
import type { Dispatched, Exchange } from './exchange.ts'
import { guard } from './fail.ts'
import { finish } from './finish.ts'
import { flushSoon, type Gathered } from './gather.ts'
import type { Growth, GrowthEvents } from './growth.ts'
import { Reading } from './reading.ts'
import { refuse } from './refuse.ts'
import type { Services } from './services.ts'
import { type How, settle } from './settle.ts'
import type { Swept } from './sweeper.ts'
import { refusesKey, retryable } from './upstream-status.ts'
import { CLIENT_CLOSED } from './verdict.ts'

/** Reasons (bits) why the upstream is not read at the moment. */
const SLOW_CLIENT = 1
const GROWING = 2
const DECODING = 4

export class Relay implements AnswerEvents, ClientEvents, GrowthEvents, Gathered, Waiting, Swept, Dispatched {
  previous: Swept | null = null
  next: Swept | null = null

  readonly attempts: Attempts
  readonly client: ClientSide
  goneMs = 0
  readOnUntilMs = 0
  firstByteMs = -1
  lastByteMs = 0
  slowSinceMs = 0
  /** The upstream's part is over and the books are closed. */
  closed = false

  readonly #x: Exchange
  readonly #services: Services
  readonly #row: ProtocolRow
  /** An answer to a count route, until it is known to be one. */
  #count: Buffer[] = []
  #status = 0
  #headers: IncomingHttpHeaders = {}
  #judged = false
  /** null: no answer yet, or one that is not 2xx and just passes. */
  #reading: Reading | null = null
  #paused = 0
  /** Bytes of the tick under way. */
  #pending: Buffer | null = null
  #pendingMore: Buffer[] | null = null
  /** Counted among the upstreams that are read on without a client. */
  #draining = false
  /** Its client took nothing for too long. */
  #slow = false
  /** The main address has answered in its place. */
  #missed = false
  /** Until the charge is kept the client may not see the end. */
  #charge: CommitGroup | null = null
  /** Content tokens that the meter had when the answer was charged. */
  #charged = 0
  /** Something of this answer went to the client. */
  #relayed = false
  #upstreamDone = false

  constructor(x: Exchange, services: Services) {
    this.#x = x
    this.#services = services
    this.#row = protocolRow(x.protocol as Protocol)
    this.attempts = new Attempts(x, services, this.#row, this)
    this.client = new ClientSide(x, services, this)
    x.relay = this
    x.dispatchedMs = services.clock.monotonic()
  }

  start(): void {
    this.#services.sweeper.add(this)
    this.attempts.start(this.#x.claim as Claim)
  }

  // --- what the upstream says

  get began(): boolean {
    return this.firstByteMs >= 0
  }

  get open(): boolean {
    return this.goneMs === 0 && this.client.open
  }

  onAsked(): void {
    this.firstByteMs = -1
    this.#status = 0
    this.#judged = false
    this.#upstreamDone = this.client.lastComes = false
    this.#pending = this.#pendingMore = null
    this.#reading = null
    this.#relayed = false
  }

  onHead({ status, headers }: Attempt): void {
    this.#status = status
    this.#headers = headers
    this.lastByteMs = this.#services.clock.monotonic()
    if (status < 300) {
      this.#reading = new Reading(this.#x, this.#services, this.#row, headers, this)
      this.#count = []
      if (this.#x.free && !mayBeCount(this.#reading)) this.#noCount()
      return
    }
    if (this.client.early) {
      this.attempts.discard()
      this.#giveUp('upstream')
    } else if (this.#x.free && (retryable(status) || status === 404 || status === 405)) this.#countInstead()
    else if (refusesKey(status)) {
      this.attempts.discard()
      this.#giveUp('upstream')
    }
  }

  onData(chunk: Buffer): void {
    if (this.#pending !== null) {
      this.#pendingMore ??= []
      this.#pendingMore.push(chunk)
      return
    }
    this.#pending = chunk
    this.lastByteMs = this.#services.clock.monotonic()
    if (this.firstByteMs < 0) this.firstByteMs = this.lastByteMs
    flushSoon(this)
  }

  flush(): void {
    const first = this.#pending
    const more = this.#pendingMore
    this.#pending = this.#pendingMore = null
    if (first === null || this.closed) return
    guard(this.#x, this.#services, () => this.#take(more === null ? first : Buffer.concat([first, ...more])))
  }

  /** False when that was the end of it, or when what came proved to be no answer and another upstream is being asked. */
  #flushLast(): boolean {
    const { attempts } = this.#x
    this.flush()
    return !this.closed && this.#x.attempts === attempts
  }

  #take(chunk: Buffer): void {
    const reading = this.#reading
    if (reading === null) {
      this.#send(chunk)
      return
    }
    const { meter, decoder, growth } = reading
    const boundary = meter.atBoundary
    const held = growth !== null && this.#x.row === null // what comes behind the end is charged nothing
    reading.bytes += chunk.length
    if (decoder === null) meter.feed(chunk, bytesAsText(chunk))
    else if (held) {
      this.#decodeHeld(chunk, decoder, growth, boundary)
      return
    } else if (!decoder.write(chunk, () => guard(this.#x, this.#services, () => this.#resume(DECODING))))
      this.#pause(DECODING)
    if (!this.#judged && !this.#judgeFirst(meter)) return
    if (this.#x.free) {
      this.#count.push(chunk)
      if (!mayBeCount(reading)) this.#noCount()
      return
    }
    if (this.#x.row !== null && (!meter.terminal || meter.counted > this.#charged)) {
      this.#endBehindEnd()
      return
    }
    if (held && (growth.holdsBack || !reading.coveredBy(growth))) {
      growth.keep(chunk, boundary)
      this.#pause(GROWING)
      if (!growth.waiting) this.#goOn()
      return
    }
    this.#relayMetered(chunk, reading, decoder === null ? meter.matters : 0)
  }

  /** What is compressed goes on when the meter has seen what is in it. */
  #decodeHeld(chunk: Buffer, decoder: SideDecoder, growth: Growth, boundary: boolean): void {
    if (!this.#judged) {
      this.#judged = true
      this.attempts.judge('ok')
    }
    growth.keep(chunk, boundary)
    this.#pause(DECODING)
    decoder.read(chunk, () =>
      guard(this.#x, this.#services, () => {
        this.#resume(DECODING)
        if (!this.closed && !growth.waiting) this.#goOn()
      }),
    )
  }

  /** The answer is charged, and the upstream goes on talking: the client gets nothing of that. */
  #endBehindEnd(): void {
    this.attempts.cut()
    this.#upstreamDone = true
    if (!this.client.announced) this.#end()
    else {
      this.client.destroy() // its content-length promised more
      this.#close()
    }
  }

  /** False: the answer began with an error and nothing else, and another candidate is being asked. */
  #judgeFirst(meter: Meter): boolean {
    this.#judged = true
    if (!meter.failed || meter.counted > 0) {
      this.attempts.judge('ok')
      return true
    }
    this.attempts.judge('failed')
    return !this.attempts.tryNext()
  }

  /** `matters`: as the meter said of this very chunk. */
  #relayMetered(chunk: Buffer, reading: Reading, matters: number): void {
    // a client that saw the terminal event may act on it: the charge is in the journal first
    if (this.goneMs === 0 && this.#x.row === null && reading.isWhole) this.#settle('completed')
    if (this.#mayEnd) this.#forward(chunk, reading, matters)
    else this.#whenKept(() => this.#forward(chunk, reading, matters))
  }

  #forward(chunk: Buffer, { withholder }: Reading, matters: number): void {
    const out = withholder === null ? chunk : withholder.push(chunk, matters)
    if (out === null) this.#sendHead()
    else if (Array.isArray(out)) for (const part of out) this.#send(part)
    else this.#send(out)
  }

  onEnd(): void {
    const reading = this.#reading
    this.#upstreamDone = true
    this.client.lastComes = reading === null || (reading.growth ?? reading.decoder) === null
    if (!this.#flushLast()) return
    if (reading === null) this.#completeOther()
    else if (reading.growth?.holdsBack)
      return // comes again when the growth has its answer
    else if (reading.decoder === null) this.#complete(reading)
    else reading.decoder.end(() => guard(this.#x, this.#services, () => this.#complete(reading)))
  }

  /** What is not 2xx has passed as it came. */
  #completeOther(): void {
    this.#settle('nothing')
    this.#end()
  }

  /** What was held back of an event that has no end. */
  #sendRest(): void {
    const rest = this.#reading?.withholder?.flush() ?? null
    if (rest !== null) this.#send(rest)
  }

  #complete(reading: Reading): void {
    const { meter } = reading
    meter.end(true)
    if (this.firstByteMs < 0) {
      this.attempts.judge('failed') // 2xx and then nothing
      if (this.attempts.tryNext()) return
      if (this.#x.free) this.#countInstead()
      else this.#giveUp('upstream')
      return
    }
    if (this.#x.free) {
      this.#completeCount(reading)
      return
    }
    if (!meter.terminal && !meter.failed && !reading.foreign) {
      this.onBroken()
      return
    }
    this.#settle(meter.failed ? 'broken' : 'completed')
    this.#whenKept(() => this.#sendRest())
    this.#end()
  }

  #completeCount(reading: Reading): void {
    if (isAnswer(reading)) this.#noCount()
    else if (!isCount(reading)) this.#countInstead()
    else {
      for (const chunk of this.#count) this.#send(chunk)
      this.#end()
    }
  }

  onNoAnswer(name: ErrorName): void {
    this.#upstreamDone = true
    if (this.#x.free && this.goneMs === 0) this.#countInstead()
    else this.#giveUp(name)
  }

  /** The upstream broke off after its first byte: the stream says so, and does not end cleanly. */
  onBroken(): void {
    const x = this.#x
    this.#upstreamDone = true
    // when a document breaks off in its first chunk, nothing of it need reach the client
    if (x.status === 0 && !this.#reading?.events) this.client.lastComes = true
    if (!this.#flushLast()) return
    this.#whenRead(() => this.#endBroken())
  }

  #endBroken(): void {
    const x = this.#x
    this.#reading?.meter.end(false)
    this.#whenKept(() => {
      // all had been said and charged; only the connection's end was wanting
      if (x.row !== null && !this.client.announced) this.#endNow()
      else {
        this.#sendRest()
        this.#breakOff()
      }
    })
  }

  #breakOff(): void {
    const x = this.#x
    if (this.#judged) this.attempts.broke()
    if (x.free) {
      this.#countInstead()
      return
    }
    const isDocument = !this.#reading?.events
    // an answer that is charged already is not taken back
    if (x.row === null && this.goneMs === 0 && (this.#unseen || (isDocument && this.client.takeBack()))) {
      this.#giveUp('upstream')
      return
    }
    this.#settle('broken')
    if (this.goneMs === 0) {
      if (this.#maySpeak) this.client.breakOff(this.#lastWords('upstream'))
      else this.client.destroy()
    }
    this.#close()
  }

  // --- what the client gets

  #sendHead(): void {
    // with a length the client sees the end in the last byte, which must not come before the charge is safe
    if (this.goneMs === 0)
      this.client.head(
        this.#status,
        this.#headers,
        !this.#reading?.events && !this.#reading?.foreign && !this.#reading?.decoder,
      )
  }

  /** Nothing of the answer reached the client. */
  get #unseen(): boolean {
    return this.#x.status === 0 || (this.client.early && !this.#relayed)
  }

  #send(chunk: Buffer): void {
    dropBody(this.#x, this.#services.buffered) // no other attempt will want it
    if (this.goneMs > 0) return
    if (this.#x.status === 0) this.#sendHead()
    this.#relayed = true
    if (!this.client.write(chunk, this.lastByteMs)) this.#pause(SLOW_CLIENT)
  }

  #end(): void {
    this.#whenKept(() => this.#endNow())
  }

  /** The charge is kept, or there is none yet. */
  get #mayEnd(): boolean {
    return this.#charge?.kept ?? true
  }

  /** In the order of the calls, when the charge is surely kept. */
  #whenKept(act: () => void): void {
    if (this.#charge === null) act()
    else
      this.#charge.whenKept(() =>
        guard(this.#x, this.#services, () => {
          if (!this.closed) act()
        }),
      )
  }

  #endNow(): void {
    if (this.goneMs === 0) {
      this.#sendHead()
      this.client.end()
    }
    this.#close()
  }

  #lastWords(name: ErrorName): string {
    const message = `${errorText(name, [], false)} (request id: ${this.#x.id})`
    return (this.#boundary ? '' : '\n\n') + this.#row.words.error(ERRORS[name].status, message)
  }

  /** No answer of the upstream's can be relayed: one of ours. */
  #giveUp(name: ErrorName): void {
    this.#settle('nothing', name)
    if (this.goneMs === 0) {
      if (this.client.early) this.client.breakOff(this.#lastWords(name))
      else refuse(this.#x, this.#services, name)
    }
    this.#close()
  }

  /** The upstream answers as its model would, to a request that costs nothing. */
  #noCount(): void {
    asksNoMore(this.attempts.candidate.channel, this.#x.protocol as Protocol)
    this.attempts.cut()
    this.#countInstead()
  }

  #countInstead(): void {
    this.attempts.discard()
    if (this.goneMs === 0) answerEstimate(this.#x, this.#services)
    this.#close()
  }

  /** The money ended: the protocol's own length stop, and the upstream is closed. */
  #stopByLength(growth: Growth, meter: Meter): void {
    const x = this.#x
    this.attempts.cut()
    this.#upstreamDone = true
    this.#settle('stopped')
    if (this.goneMs === 0 && !this.#maySpeak)
      this.client.destroy() // a document has no place where it could be told
    else if (this.goneMs === 0) {
      this.#sendHead()
      const createdS = Math.floor(this.#services.clock.now() / 1000)
      const unknown = { model: x.model, answerId: x.id, createdS, input: x.row?.input ?? 0, openBlock: null }
      const state = { ...unknown, ...meter.lengthStopState(), output: growth.delivered }
      this.client.end((this.#boundary ? '' : '\n\n') + this.#row.words.lengthStop(state))
    }
    this.#close()
  }

  keepAlive(nowMs: number): void {
    const x = this.#x
    const everyMs = x.world.config.keepalive[`${x.listener}Ms`]
    if (everyMs === 0 || !this.#reading?.events || !this.#maySpeak || x.status === 0 || this.held) return
    if (!this.#mayEnd) return // what waits may be the end of an event that the client has the beginning of
    if (nowMs - this.client.lastWriteMs >= everyMs && this.#boundary)
      this.client.keepAlive(this.#row.words.keepAlive, nowMs)
  }

  /** Words of ours can stand in what the client gets. */
  get #maySpeak(): boolean {
    const reading = this.#reading
    return (this.client.early || (reading?.events ?? false)) && !(reading?.encoded ?? false)
  }

  get #boundary(): boolean {
    return this.#reading?.boundary ?? true
  }

  // --- books

  #settle(how: How, refusal?: ErrorName): void {
    const x = this.#x
    if (x.row !== null || x.free || x.hold === null) return
    const growth = this.#reading?.growth ?? null
    const kept = growth !== null && (how === 'stopped' || growth.holdsBack)
    this.#charged = this.#reading?.meter.counted ?? 0
    const left = this.goneMs > 0 || (x.left && !x.ended)
    const status =
      x.status !== 0 ? x.status : this.goneMs > 0 ? CLIENT_CLOSED : refusal === undefined ? this.#status : 0
    this.#charge = settle(x, this.#services, {
      how,
      end: left ? 'client_gone' : this.#endOf(how),
      status,
      refusal,
      channel: this.attempts.channel,
      upstreamKey: this.attempts.upstreamKey,
      reading: this.#reading,
      delivered: kept ? growth : null,
      firstByteMs: this.firstByteMs < 0 ? null : this.firstByteMs - x.startedMs,
    })
    if (how !== 'completed') this.#services.ledger.write() // the client is told at once
  }

  #endOf(how: How): End {
    if (how === 'completed' || how === 'stopped') return 'completed'
    return how === 'broken' && !this.#reading?.meter.failed ? 'upstream_cut' : 'upstream_error'
  }

  // --- waiting

  get held(): boolean {
    return this.#paused !== 0
  }

  #pause(reason: number): void {
    if (this.#paused === 0) this.attempts.pause()
    if (reason === SLOW_CLIENT) this.slowSinceMs = this.#services.clock.monotonic()
    this.#paused |= reason
  }

  #resume(reason: number): void {
    this.#paused &= ~reason
    if (reason === SLOW_CLIENT) this.slowSinceMs = 0
    if (this.#paused !== 0) return
    this.lastByteMs = this.#services.clock.monotonic() // the silence was ours
    this.attempts.resume()
  }

  onDrained(): void {
    guard(this.#x, this.#services, () => this.#resume(SLOW_CLIENT))
  }

  /** The hold has grown, or will grow no more. */
  onGrown(): void {
    guard(this.#x, this.#services, () => this.#goOn())
  }

  #goOn(): void {
    const reading = this.#reading as Reading
    const growth = reading.growth as Growth
    if (!reading.coveredBy(growth)) {
      if (!growth.waiting) this.#stopByLength(growth, reading.meter)
      return
    }
    for (const chunk of growth.release()) this.#relayMetered(chunk, reading, 0)
    this.#resume(GROWING)
    if (this.#upstreamDone) this.onEnd()
  }

  check(nowMs: number): void {
    guard(this.#x, this.#services, () => checkDeadlines(this.#x, this, nowMs))
  }

  /** The client's connection closed before its answer was whole. */
  leave(): void {
    const x = this.#x
    if (this.goneMs > 0 || x.finished) return
    const { drainMs, concurrent } = x.world.config.clientGone
    this.goneMs = this.#services.clock.monotonic()
    this.readOnUntilMs = this.goneMs + drainMs
    if (this.closed) return
    this.attempts.keepOne()
    if (this.closed) return
    this.#draining = this.#costs && this.#services.drains.enter((x.entry as KeyEntry).account.id, concurrent)
    if (this.#draining) this.#resume(SLOW_CLIENT)
    else this.stopDraining()
  }

  giveUpOnMain(): void {
    const x = this.#x
    this.goneMs = this.#services.clock.monotonic()
    this.#missed = true
    this.attempts.keepOne()
    this.readOnUntilMs = this.attempts.startedMs + x.world.config.timeouts.firstByteMs
    this.client.cdnTimeout()
    if (!this.closed && !this.#costs) this.stopDraining()
  }

  /** The upstream was asked and may take money for it: whatever it has not refused. */
  get #costs(): boolean {
    return !this.#x.free && (this.#status === 0 ? this.attempts.sent : this.#status < 300)
  }

  stopDraining(): void {
    this.flush()
    if (this.closed) return
    const costs = this.#costs
    if (this.#missed && this.#status === 0) this.attempts.judge('failed') // silent for as long as `first_byte` allows
    this.attempts.cut()
    this.#whenRead(() => {
      this.#reading?.meter.end(false)
      try {
        this.#settle(costs ? 'left' : 'nothing')
      } finally {
        this.#close() // also where the charge cannot be kept
      }
    })
  }

  /** When the meter has seen all that came, which takes a moment where it is compressed. */
  #whenRead(act: () => void): void {
    const decoder = this.#reading?.decoder ?? null
    if (decoder === null) act()
    else
      decoder.catchUp(() =>
        guard(this.#x, this.#services, () => {
          if (!this.closed) act()
        }),
      )
  }

  slowClient(): void {
    if (this.#slow) return
    this.#slow = true
    if (this.closed) this.#services.metrics.clientGone('slow')
    this.client.destroy()
  }

  /** A failure of ours in the middle of it. */
  fail(): void {
    this.#abandon('internal')
  }

  release(): void {
    this.#services.sweeper.remove(this)
  }

  shutDown(): void {
    this.#abandon('unavailable')
  }

  #abandon(name: ErrorName): void {
    const x = this.#x
    if (this.goneMs > 0) this.stopDraining()
    this.flush()
    if (this.closed) return
    this.attempts.cut()
    this.#reading?.meter.end(false)
    try {
      this.#settle(this.firstByteMs < 0 || (this.#unseen && this.goneMs === 0) ? 'nothing' : 'broken')
    } finally {
      if (x.status === 0 && this.goneMs === 0) refuse(x, this.#services, name)
      else this.client.destroy()
      this.#close()
    }
  }

  /** The upstream's part is over; the client's goes on until its connection has taken everything. */
  #close(): void {
    const x = this.#x
    const services = this.#services
    if (this.closed) return
    this.closed = true
    this.#reading?.decoder?.stop()
    this.lastByteMs = services.clock.monotonic() // what is left is the client's time
    x.upstreamMs = this.lastByteMs - x.dispatchedMs
    if (this.#draining) services.drains.leave((x.entry as KeyEntry).account.id)
    if (this.goneMs > 0) services.metrics.clientGone(this.#slow ? 'slow' : this.#upstreamDone ? 'drained' : 'cut')
    if (this.goneMs > 0 || x.closed) finish(x, services)
  }
}
