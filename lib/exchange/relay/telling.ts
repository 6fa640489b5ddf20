/**
 * What the client is told: the head, the bytes of the answer, and what the gateway itself says inside a stream. Words of ours
 * stand only between two events and never in a compressed answer, and an answer that broke off never gets a clean end. A
 * client that has left is told nothing: what is said to it here goes nowhere.
 */
import type { ProtocolRow } from '../../protocols/protocol.ts'
import { ERRORS, type ErrorName, errorText } from '../../terms/errors.ts'
import type { Failure } from '../../translate/failure.ts'
import type { Lane } from '../../translate/lane.ts'
import type { WrittenError } from '../../translate/protocol.ts'
import { passResponseHeaders, passRetryHeaders } from '../../upstream/headers.ts'
import { dropBody } from '../body-memory.ts'
import type { Exchange } from '../exchange.ts'
import { laneHeaders, nameLosses } from '../lane-headers.ts'
import { answer, ownHeaders, refuse } from '../refuse.ts'
import type { Services } from '../services.ts'
import type { Answer } from './answer.ts'
import { cdnTimeoutPage } from './timeout-page.ts'
import { saysBusy } from './upstream-status.ts'
import { promptOf } from './used.ts'

const EVENTS_TYPE = 'text/event-stream; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'
/** What upstreams that are too busy leave out, and clients want. */
const BUSY_RETRY_AFTER_S = '2'

export interface TellingEvents {
  /** A client that was too slow has taken what waited for it (Node's event `drain`). */
  onDrained(): void
}

export class Telling {
  readonly #x: Exchange
  readonly #services: Services
  readonly #row: ProtocolRow
  readonly #answer: Answer
  readonly #events: TellingEvents
  /** Monotonic ms: since when nobody is told anything; 0 = the client is there. */
  goneMs = 0
  /** Monotonic ms. */
  lastWriteMs = 0
  /** The head went out before any upstream answered; what is said from now on is said inside the stream. */
  early = false
  /** The client was told how many bytes come: fewer of them are no answer, however whole they look. */
  announced = false
  /** The upstream has said all: what is written now goes out with the end. */
  lastComes = false
  /** Something of the answer that counts was sent. */
  #told = false
  #last: Buffer[] = []
  /** Bytes of a document that is written as a whole; -1 = it is not. */
  #length = -1
  /** The connection was asked to say when it has taken what is in it. */
  #waits = false

  constructor(x: Exchange, services: Services, row: ProtocolRow, answer: Answer, events: TellingEvents) {
    this.#x = x
    this.#services = services
    this.#row = row
    this.#answer = answer
    this.#events = events
  }

  /** Another upstream is asked: of the answer before it nothing was told. */
  void(): void {
    this.lastComes = false
    this.#told = false
  }

  get gone(): boolean {
    return this.goneMs > 0
  }

  /** The client is there, and nothing has been sent that binds us to one upstream's answer. */
  get open(): boolean {
    return this.goneMs === 0 && (this.#x.status === 0 || this.early)
  }

  /** Nothing of the answer reached the client. */
  get unseen(): boolean {
    return this.#x.status === 0 || (this.early && !this.#told)
  }

  /** Words of ours can stand in what the client gets. */
  get maySpeak(): boolean {
    const { reading } = this.#answer
    return (this.early || (reading?.inPieces ?? false)) && !(reading?.encoded ?? false)
  }

  get #betweenEvents(): boolean {
    return this.#answer.reading?.boundary ?? true
  }

  // --- the answer

  /** Sends the head of the answer, once. */
  head(): void {
    const x = this.#x
    if (x.status !== 0 || this.goneMs > 0) return
    const { status, headers: upstream, reading } = this.#answer
    const headers = ownHeaders(x)
    if (this.#answer.lane !== null) {
      this.#headTranslated(this.#answer.lane, headers)
      return
    }
    passResponseHeaders(upstream, headers)
    const length = upstream['content-length']
    // with a length the client sees the end in the last byte, which must not come before the charge is safe
    this.announced =
      length !== undefined && !reading?.events && !reading?.foreign && !(reading?.decoder ?? reading?.links)
    if (this.announced) headers.push('content-length', length as string)
    if (status === 429 && upstream['retry-after'] === undefined) headers.push('retry-after', BUSY_RETRY_AFTER_S)
    x.status = status
    x.reply.begin(status, headers, this.#services.clock.now())
  }

  #headTranslated(lane: Lane, headers: string[]): void {
    const x = this.#x
    passRetryHeaders(this.#answer.headers, headers)
    headers.push('content-type', this.#answer.reading?.events ? EVENTS_TYPE : JSON_TYPE)
    if (this.#length >= 0) headers.push('content-length', String(this.#length))
    laneHeaders(lane, headers, this.#answer.reading?.translation?.losses)
    x.status = 200
    x.reply.begin(200, headers, this.#services.clock.now())
  }

  /** What is written of an answer at its end; of a document this is all. */
  sendEnd(bytes: Buffer): void {
    if (!this.#answer.reading?.events) this.#length = bytes.length
    this.send(bytes)
  }

  /** False: the client is slower than the upstream; `onDrained` will be called. */
  send(chunk: Buffer): boolean {
    dropBody(this.#x, this.#services.buffered) // no other attempt will want it
    if (this.goneMs > 0) return true
    if (this.#x.status === 0) this.head()
    this.#told = true
    this.lastWriteMs = this.#answer.lastByteMs
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

  end(): void {
    if (this.goneMs > 0) return
    this.head()
    const last = this.#takeLast()
    this.#x.ended = true
    this.#x.reply.end(last)
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

  /** Cuts the connection. */
  destroy(): void {
    this.#x.reply.destroy()
  }

  // --- words of ours

  /** A stream on the main address shows life before a CDN would give up on it, whatever its upstream does. */
  startEarly(): void {
    const x = this.#x
    this.early = true
    x.status = 200
    const headers = ownHeaders(x)
    headers.push('content-type', EVENTS_TYPE)
    if (x.lanes !== null) nameLosses(x.lanes, headers)
    x.reply.begin(200, headers, this.#services.clock.now())
    x.reply.write(Buffer.from('\n'))
  }

  /** In a stream that was silent for so long. */
  keepAlive(nowMs: number, everyMs: number): void {
    if (everyMs === 0 || !this.#answer.reading?.inPieces || !this.maySpeak || this.#x.status === 0) return
    if (nowMs - this.lastWriteMs < everyMs || !this.#betweenEvents) return
    this.lastWriteMs = nowMs
    const { keepAlive } = this.#answer.reading.translation ?? this.#row.words
    this.#x.reply.write(Buffer.from(keepAlive))
  }

  /** What a CDN would say when nothing came for so long. */
  cdnTimeout(): void {
    const x = this.#x
    const headers = ownHeaders(x)
    headers.push('content-type', 'text/html; charset=utf-8')
    answer(x, this.#services, 524, headers, Buffer.from(cdnTimeoutPage(x.id, x.world.config.public.direct)))
  }

  /** No answer can be passed on: a refusal, inside the stream where that has begun. */
  refuse(name: ErrorName): void {
    if (this.goneMs > 0) return
    if (this.early) this.#sayLast(name)
    else refuse(this.#x, this.#services, name)
  }

  /** Never a clean end, which clients take for a whole answer. */
  breakOff(name: ErrorName): void {
    if (this.goneMs > 0) return
    if (this.maySpeak) this.#sayLast(name)
    else this.destroy()
  }

  /** The same, in the words of an upstream that speaks another protocol. */
  breakOffBy(failure: Failure): void {
    if (this.goneMs > 0) return
    if (this.maySpeak) this.#sayAtLast(failure.status, failure.message, failure)
    else this.destroy()
  }

  #sayLast(name: ErrorName): void {
    this.#sayAtLast(ERRORS[name].status, errorText(name, [], false), null)
  }

  #sayAtLast(status: number, text: string, failure: Failure | null): void {
    const message = `${text} (request id: ${this.#x.id})`
    const { translation = null } = this.#answer.reading ?? {}
    const words =
      translation === null
        ? this.#between(this.#row.words.error(status, message))
        : Buffer.from(translation.breakOff({ kind: failure?.kind ?? 'server', status, message }), 'latin1')
    const { reply } = this.#x
    this.#x.ended = true
    const last = this.#takeLast()
    if (last !== undefined) reply.write(last)
    reply.breakOff(words)
  }

  /** An upstream's error, which the gateway has written in the words of the client's protocol. */
  answerError({ status, body }: WrittenError): void {
    const headers = ownHeaders(this.#x)
    headers.push('content-type', JSON_TYPE)
    passRetryHeaders(this.#answer.headers, headers)
    if (saysBusy(status) && !headers.includes('retry-after')) headers.push('retry-after', BUSY_RETRY_AFTER_S)
    if (this.#answer.lane !== null) laneHeaders(this.#answer.lane, headers)
    answer(this.#x, this.#services, status, headers, Buffer.from(body, 'latin1'))
  }

  /** The protocol's own way to say that an answer is as long as it may be. A document has no place where it could be told. */
  stopByLength(): void {
    if (this.goneMs > 0) return
    if (!this.maySpeak) {
      this.destroy()
      return
    }
    this.head()
    const x = this.#x
    const { reading } = this.#answer
    if (reading?.translation && x.usage !== null) {
      x.ended = true
      const end = Buffer.from(reading.translation.stopByLength(x.usage), 'latin1')
      const before = this.#takeLast()
      if (before !== undefined) x.reply.write(before)
      x.reply.end(end)
      return
    }
    const createdS = Math.floor(this.#services.clock.now() / 1000)
    const unknown = { model: x.model, answerId: x.id, createdS, ...promptOf(x), openBlock: null }
    const state = { ...unknown, ...reading?.meter.lengthStopState(), output: reading?.growth?.delivered ?? 0 }
    const words = this.#between(this.#row.words.lengthStop(state))
    const last = this.#takeLast()
    x.ended = true
    if (last !== undefined) x.reply.write(last)
    x.reply.end(words)
  }

  /** Behind the blank line that ends an event which is not whole. */
  #between(words: string): Buffer {
    return Buffer.from((this.#betweenEvents ? '' : '\n\n') + words)
  }
}
