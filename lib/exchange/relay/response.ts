/**
 * Writes the client's response: the head, the bytes of the answer, and what the gateway itself says inside a stream. Words of ours stand
 * only between two events and never in a compressed answer, and an answer that broke off never gets a clean end. A client that has
 * left is told nothing: what is written for it here goes nowhere.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { Clock } from '../../base/clock.ts'
import { escaped } from '../../base/html.ts'
import { formatMicro, micro } from '../../base/money.ts'
import { ERRORS, type ErrorName, errorText } from '../../base/errors.ts'
import type { ProtocolRow } from '../../protocols/protocol.ts'
import type { Failure, WrittenError } from '../../translate/events.ts'
import type { TranslatedRequest } from '../../translate/ask.ts'
import { passResponseHeaders, passRetryHeaders } from '../../upstream/headers.ts'
import { answer, beginAnswer, guard, refuse } from '../record/ending.ts'
import type { Exchange } from '../record/exchange.ts'
import { asksCost, wantsEvents } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import { translationHeaders, nameLeftOut, nameLosses } from '../record/translated-request.ts'
import { type Asking, saysBusy } from './asking.ts'
import type { Reading, UpstreamAnswer } from './reading.ts'

const EVENTS_TYPE = 'text/event-stream; charset=utf-8'
const JSON_TYPE = 'application/json; charset=utf-8'
/** Proxies on the way would keep an answer that comes in pieces until its end, or for the next who asks. */
const UNBUFFERED = ['cache-control', 'no-cache', 'x-accel-buffering', 'no']
/** Upstreams that are too busy leave this out, and clients want it. */
const BUSY_RETRY_AFTER_S = '2'
/** A JSON document waits for its end, so that its head can say what it cost: at most so many bytes of it, for so long. */
const MOST_WAITING_BYTES = 256 * 1024
const MOST_WAITING_MS = 50
/** Up to here pieces that wait are written as they are: more of them are cheaper to copy. */
const MOST_PIECES = 8

export class ResponseWriter {
  readonly #x: Exchange
  readonly #services: Services
  readonly #row: ProtocolRow
  /** The attempts, of which one has the answer that is told. */
  readonly #asking: Asking
  /** Nobody is told anything any more: the client has left, or was told that the main address timed out. */
  isMuted = false
  /** The head went out before any upstream answered; what is said from now on is said inside the stream. */
  early = false
  /** The client was told how many bytes come: fewer of them are no answer, however whole they look. */
  announced = false
  /** Monotonic ms. */
  #lastWriteMs = 0
  /** Something of the answer that counts was sent. */
  #told = false
  /** The upstream has said all: what is written now goes out with the end. */
  #lastComes = false
  /** Bytes that go out with the end, or of a document that waits for it. */
  #last: Buffer[] | null = null
  #lastBytes = 0
  /** The bytes of `limits.buffered` that those take. */
  #bufferedBytes = 0
  /** Calls off that a document goes on without its end; null = nothing waits for one that is not there. */
  #stopWaiting: (() => void) | null = null
  /** Bytes of a document that is written as a whole; -1 = it is not. */
  #length = -1
  /** The connection was asked to say when it has taken what is in it. */
  #waits = false

  constructor(x: Exchange, services: Services, row: ProtocolRow, asking: Asking) {
    this.#x = x
    this.#services = services
    this.#row = row
    this.#asking = asking
  }

  /** Another upstream is asked: of the answer before it nothing was told. */
  void(): void {
    this.#lastComes = false
    this.#told = false
  }

  mute(): void {
    this.isMuted = true
    this.close()
  }

  /** Nothing that waits is sent any more. */
  close(): void {
    this.#takeLast()
    this.#stopWaiting?.()
    this.#stopWaiting = null
  }

  /** The client is there, and nothing has been sent that binds us to one upstream's answer. */
  get open(): boolean {
    return !this.isMuted && (this.#x.status === 0 || this.early)
  }

  /** Nothing of the answer reached the client. */
  get unseen(): boolean {
    return this.#x.status === 0 || (this.early && !this.#told)
  }

  /** Words of ours can stand in what the client gets. */
  get #maySpeak(): boolean {
    const { reading } = this.#asking.answer
    return (this.early || (reading?.inPieces ?? false)) && !(reading?.encoded ?? false)
  }

  // --- the answer

  /** Sends the head of the answer, once; not yet where the answer waits for its end. */
  head(): void {
    if (!this.#mayWait) this.#begin(false)
  }

  /** `isWhole`: all that waits is the whole answer, whose charge is kept. */
  #begin(isWhole: boolean): void {
    const x = this.#x
    if (x.status !== 0 || this.isMuted) return
    const { status, translated } = this.#asking.answer
    const headers: string[] = []
    nameMoney(x, headers, isWhole && this.#mayWait)
    this.announced = translated === null && tellsLength(this.#asking.answer, isWhole ? this.#lastBytes : null)
    const now = this.#services.clock.now()
    if (translated === null) this.#passedHead(now, headers)
    else this.#translatedHead(now, translated, headers)
    beginAnswer(x, translated === null ? status : 200, headers, now)
  }

  /** Adds the headers of an answer that passes as it comes. `nowMs`: since 1970. */
  #passedHead(nowMs: number, headers: string[]): void {
    const { status, headers: upstream, reading } = this.#asking.answer
    passResponseHeaders(upstream, nowMs, headers)
    if (this.announced) headers.push('content-length', upstream['content-length'] as string)
    if (reading?.comesInPieces) headers.push(...UNBUFFERED)
    if (status === 429 && upstream['retry-after'] === undefined) headers.push('retry-after', BUSY_RETRY_AFTER_S)
    nameLeftOut(this.#x, headers)
  }

  /** Adds those of a translated answer. */
  #translatedHead(nowMs: number, translated: TranslatedRequest, headers: string[]): void {
    const { headers: upstream, reading } = this.#asking.answer
    passRetryHeaders(upstream, nowMs, headers)
    headers.push('content-type', reading?.events ? EVENTS_TYPE : JSON_TYPE)
    if (this.#length >= 0) headers.push('content-length', String(this.#length))
    if (reading?.comesInPieces) headers.push(...UNBUFFERED)
    translationHeaders(translated, headers, reading?.translation?.losses)
  }

  /** The upstream has said all that it says: what is sent from now on goes out with the end. */
  holdLast(): void {
    this.#lastComes = true
    this.#stopWaiting?.() // the end is there
    this.#stopWaiting = null
  }

  /** Sends bytes that came at `nowMs` (monotonic). False: the client is slower than the upstream; see `whenDrained`. */
  send(chunk: Buffer, nowMs: number): boolean {
    if (this.isMuted) return true
    this.#told = true
    this.#lastWriteMs = nowMs
    if (this.#x.status === 0 && !this.#waitsWith(chunk)) this.#goOn()
    if (this.#x.status !== 0 && !this.#lastComes) return this.#x.reply.write(chunk)
    // a list that grows has room for seventeen
    if (this.#last === null) this.#last = [chunk]
    else this.#last.push(chunk)
    this.#lastBytes += chunk.length
    return true
  }

  // --- a document that waits for its end

  /** The answer is one whose head can wait for its end: a document of JSON that costs something. */
  get #mayWait(): boolean {
    const { headers, translated, reading } = this.#asking.answer
    if (this.#x.hold === null || this.#x.status !== 0 || reading?.comesInPieces) return false
    return translated !== null || /json/i.test(headers['content-type'] ?? '')
  }

  /** True: this piece waits with what came before it. */
  #waitsWith({ length }: Buffer): boolean {
    if (!this.#mayWait || this.#lastBytes + length > MOST_WAITING_BYTES) return false
    if (this.#lastComes) return true
    const { buffered, clock } = this.#services
    const { id } = (this.#x.entry as KeyEntry).account
    if (!buffered.take(id, this.#bufferedBytes, length, this.#x.world.config.limits.bufferedBytes)) return false
    this.#bufferedBytes += length
    this.#stopWaiting ??= this.#wait(clock)
    return true
  }

  #wait(clock: Clock): () => void {
    return clock.after(MOST_WAITING_MS, () => guard(this.#x, this.#services, () => this.#goOn()))
  }

  /** What waits goes on without its end. */
  #goOn(): void {
    this.#stopWaiting?.()
    this.#stopWaiting = null
    this.#begin(false)
    const waiting = this.#takeLast()
    if (waiting.length > 0) this.#x.reply.write(...waiting)
  }

  /** Sends what is written of an answer at its end; of a document this is all. */
  sendEnd(bytes: Buffer, nowMs: number): void {
    if (!this.#asking.answer.reading?.events) this.#length = bytes.length
    this.send(bytes, nowMs)
  }

  /** Calls `act` once, when a client that was too slow has taken what waited for it. */
  whenDrained(act: () => void): void {
    if (this.#waits) return
    this.#waits = true
    this.#x.reply.whenDrained(() => {
      this.#waits = false
      act()
    })
  }

  #takeLast(): Buffer[] {
    const last = this.#last ?? []
    this.#last = null
    this.#lastBytes = 0
    if (this.#bufferedBytes > 0)
      this.#services.buffered.give((this.#x.entry as KeyEntry).account.id, this.#bufferedBytes)
    this.#bufferedBytes = 0
    return last.length > MOST_PIECES ? [Buffer.concat(last)] : last
  }

  end(): void {
    if (this.isMuted) return
    this.#begin(true)
    const last = this.#takeLast()
    this.#x.answered = true
    this.#x.reply.end(...last)
  }

  /** True: nothing of the answer has reached the connection, and it is as if none had begun. */
  takeBack(): boolean {
    const x = this.#x
    if (this.early || !x.reply.unseen) return false
    this.close()
    this.announced = false
    x.status = 0
    return true
  }

  /** Cuts the connection. */
  destroy(): void {
    this.#x.reply.destroy()
  }

  // --- words of ours

  /** A stream on the main address begins before its answer, when that takes long, and shows life until that comes. */
  showLife(nowMs: number): void {
    const x = this.#x
    const { earlyMs, mainMs } = x.world.config.keepalive
    const isDue = earlyMs > 0 && x.listener === 'main' && nowMs - x.startedMs >= earlyMs
    if (isDue && !this.early && wantsEvents(x)) this.#startEarly()
    else if (this.early && !this.#told && mainMs > 0 && nowMs - this.#lastWriteMs >= mainMs) this.#emptyLine(nowMs)
  }

  /** Says something before a CDN would give up on the stream, whatever its upstream does. */
  #startEarly(): void {
    const x = this.#x
    this.early = true
    const headers: string[] = []
    nameMoney(x, headers, false)
    headers.push('content-type', EVENTS_TYPE, ...UNBUFFERED)
    if (x.translations !== null) nameLosses(x.translations, headers)
    else nameLeftOut(x, headers)
    beginAnswer(x, 200, headers, this.#services.clock.now())
    this.#emptyLine(this.#services.clock.monotonic())
  }

  #emptyLine(nowMs: number): void {
    this.#lastWriteMs = nowMs
    this.#x.reply.write(Buffer.from('\n'))
  }

  /** Shows life in a stream that was silent for long. */
  keepAlive(nowMs: number): void {
    const everyMs = this.#x.world.config.keepalive[`${this.#x.listener}Ms`]
    const { reading } = this.#asking.answer
    if (everyMs === 0 || !reading?.inPieces || !this.#maySpeak || this.#x.status === 0) return
    if (nowMs - this.#lastWriteMs < everyMs || !reading.boundary) return
    this.#lastWriteMs = nowMs
    const { keepAlive } = reading.translation ?? this.#row.words
    this.#x.reply.write(Buffer.from(keepAlive))
  }

  /** Says what a CDN would say when nothing came for so long. */
  cdnTimeout(): void {
    const x = this.#x
    const headers = ['content-type', 'text/html; charset=utf-8']
    answer(x, this.#services, 524, headers, Buffer.from(cdnTimeoutPage(x.id, x.world.config.public.direct)))
  }

  /** No answer can be passed on: a refusal, inside the stream where that has begun. */
  refuse(name: ErrorName): void {
    if (this.isMuted) return
    if (this.early) this.#sayLast(name)
    else refuse(this.#x, this.#services, name)
  }

  /** Never a clean end, which clients take for a whole answer. */
  breakOff(name: ErrorName): void {
    if (this.isMuted) return
    if (this.#maySpeak) this.#sayLast(name)
    else this.destroy()
  }

  /** The same, in the words of an upstream that speaks another protocol. */
  breakOffBy(failure: Failure): void {
    if (this.isMuted) return
    if (this.#maySpeak) this.#sayAtLast(failure.status, failure.message, failure)
    else this.destroy()
  }

  #sayLast(name: ErrorName): void {
    this.#sayAtLast(ERRORS[name].status, errorText(name, [], false), null)
  }

  /** `failure`: as an upstream of another protocol reported it, null = it did not. */
  #sayAtLast(status: number, text: string, failure: Failure | null): void {
    const { reply, id } = this.#x
    const message = `${text} (request id: ${id})`
    const translation = this.#asking.answer.reading?.translation ?? null
    const words =
      translation === null
        ? this.#behindLastEvent(this.#row.words.error(status, message))
        : Buffer.from(translation.breakOff({ kind: failure?.kind ?? 'server', status, message }), 'latin1')
    this.#x.answered = true
    const last = this.#takeLast()
    if (last.length > 0) reply.write(...last)
    reply.breakOff(words)
  }

  /** Words of ours, behind the blank line that ends an event which is not whole. */
  #behindLastEvent(words: string): Buffer {
    return Buffer.from(((this.#asking.answer.reading?.boundary ?? true) ? '' : '\n\n') + words)
  }

  /** An upstream's error, which the gateway has written in the words of the client's protocol. */
  answerError({ status, body }: WrittenError): void {
    const { headers: upstream, translated } = this.#asking.answer
    const headers: string[] = []
    nameMoney(this.#x, headers, true)
    headers.push('content-type', JSON_TYPE)
    passRetryHeaders(upstream, this.#services.clock.now(), headers)
    if (saysBusy(status) && !headers.includes('retry-after')) headers.push('retry-after', BUSY_RETRY_AFTER_S)
    if (translated !== null) translationHeaders(translated, headers)
    answer(this.#x, this.#services, status, headers, Buffer.from(body, 'latin1'))
  }

  /** The protocol's own way to say that an answer is as long as it may be. A document has no place where it could be told. */
  stopByLength(): void {
    if (this.isMuted) return
    if (!this.#maySpeak) {
      this.destroy()
      return
    }
    this.head()
    const { reading } = this.#asking.answer
    const waiting = reading?.endHere() ?? null
    const words = this.#lengthStop(reading)
    const { reply } = this.#x
    const last = this.#takeLast()
    this.#x.answered = true
    if (waiting !== null) last.push(waiting)
    if (last.length > 0) reply.write(...last)
    reply.end(reading?.withCost(words) ?? words)
  }

  #lengthStop(reading: Reading | null): Buffer {
    const x = this.#x
    if (reading?.translation && x.usage !== null) return reading.translation.stopByLength(x.usage)
    const createdS = Math.floor(this.#services.clock.now() / 1000)
    const tellsUsage = x.facts?.includeUsage === true || asksCost(x)
    const unknown = { model: x.model, answerId: x.id, createdS, ...promptOf(x), openBlock: null, tellsUsage }
    const state = { ...unknown, ...reading?.meter.lengthStopState(), output: reading?.growth?.delivered ?? 0 }
    return this.#behindLastEvent(this.#row.words.lengthStop(state))
  }
}

/** What the answer cost, where that is known and kept; else what is held for it. */
function nameMoney({ row, hold }: Exchange, into: string[], isWhole: boolean): void {
  if (isWhole && row !== null) into.push('x-gateway-charge', formatMicro(row.charge))
  else if (hold !== null) into.push('x-gateway-held', formatMicro(micro(hold.amount)))
}

/**
 * The client is told how many bytes come: those of the upstream, which reach it unchanged. `came`: all that came; null = more may
 * come.
 */
function tellsLength({ headers, reading }: UpstreamAnswer, came: number | null): boolean {
  const length = headers['content-length']
  if (came !== null && came !== Number(length)) return false
  // with a length the client sees the end in the last byte, which must not come before the charge is safe
  return (
    length !== undefined &&
    !reading?.events &&
    !reading?.foreign &&
    !(reading?.decoder ?? reading?.links) &&
    !reading?.isRewritten
  )
}

/** The prompt as it was charged. */
function promptOf({ row }: Exchange): { input: number; cached: number } {
  if (row === null) return { input: 0, cached: 0 }
  const { input, cache_read: cached, cache_write_5m, cache_write_1h } = row
  return { input: input + cached + cache_write_5m + cache_write_1h, cached }
}

/** The page of a time-out, as a content delivery network shows it, with the direct address as a way out. */
function cdnTimeoutPage(requestId: string, directUrl: string): string {
  const safe = escaped(directUrl)
  return `<!DOCTYPE html>
<html lang="zh"><head><meta charset="utf-8"><title>524: A timeout occurred</title></head>
<body><h1>524: A timeout occurred</h1>
<p>上游在规定时间内没有返回任何数据。请使用流式输出,或改用直连地址 <code>${safe}</code>。</p>
<p>No response data arrived in time. Use streaming, or the direct address <code>${safe}</code>.</p>
<p>request id: ${requestId}</p></body></html>
`
}
