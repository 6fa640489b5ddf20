/**
 * What the client is told: the head, the bytes of the answer, and what the gateway itself says inside a stream. Words of ours
 * stand only between two events and never in a compressed answer, and an answer that broke off never gets a clean end. A
 * client that has left is told nothing: what is said to it here goes nowhere.
 */
import type { ProtocolRow } from '../../protocols/protocol.ts'
import { ERRORS, type ErrorName, errorText } from '../../base/errors.ts'
import type { Failure, WrittenError } from '../../translate/events.ts'
import { answer, ownHeaders, refuse } from '../record/ending.ts'
import type { Exchange } from '../record/exchange.ts'
import { dropBody } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import { nameLeftOut, nameLosses } from '../record/translated-request.ts'
import { EVENTS_TYPE, UNBUFFERED, errorHead, passedHead, tellsLength, translatedHead } from './answer-head.ts'
import type { Answer } from './answer.ts'
import { errorWords, isBetweenEvents, lengthStopWords } from './own-words.ts'
import { cdnTimeoutPage } from './timeout-page.ts'

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

  // --- the answer

  /** Sends the head of the answer, once. */
  head(): void {
    const x = this.#x
    if (x.status !== 0 || this.goneMs > 0) return
    const { status, lane } = this.#answer
    const headers = ownHeaders(x)
    this.announced = lane === null && tellsLength(this.#answer)
    const now = this.#services.clock.now()
    if (lane === null) {
      passedHead(this.#answer, now, this.announced, headers)
      nameLeftOut(x, headers)
    } else translatedHead(this.#answer, now, lane, this.#length, headers)
    x.status = lane === null ? status : 200
    x.reply.begin(x.status, headers, now)
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
    headers.push('content-type', EVENTS_TYPE, ...UNBUFFERED)
    if (x.lanes !== null) nameLosses(x.lanes, headers)
    else nameLeftOut(x, headers)
    x.reply.begin(200, headers, this.#services.clock.now())
    this.#emptyLine(this.#services.clock.monotonic())
  }

  /** In a stream that has begun early, and of whose answer nothing has come: it may still be silent for minutes. */
  keepEarly(nowMs: number, everyMs: number): void {
    if (this.early && !this.#told && everyMs > 0 && nowMs - this.lastWriteMs >= everyMs) this.#emptyLine(nowMs)
  }

  #emptyLine(nowMs: number): void {
    this.lastWriteMs = nowMs
    this.#x.reply.write(Buffer.from('\n'))
  }

  /** In a stream that was silent for so long. */
  keepAlive(nowMs: number, everyMs: number): void {
    if (everyMs === 0 || !this.#answer.reading?.inPieces || !this.maySpeak || this.#x.status === 0) return
    if (nowMs - this.lastWriteMs < everyMs || !isBetweenEvents(this.#answer)) return
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
    const words = errorWords(this.#x, this.#row, this.#answer, { status, text, failure })
    const { reply } = this.#x
    this.#x.ended = true
    const last = this.#takeLast()
    if (last !== undefined) reply.write(last)
    reply.breakOff(words)
  }

  /** An upstream's error, which the gateway has written in the words of the client's protocol. */
  answerError({ status, body }: WrittenError): void {
    const headers = ownHeaders(this.#x)
    errorHead(this.#answer, this.#services.clock.now(), status, headers)
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
    const words = lengthStopWords(x, this.#services, this.#row, this.#answer)
    const last = this.#takeLast()
    x.ended = true
    if (last !== undefined) x.reply.write(last)
    x.reply.end(words)
  }
}
