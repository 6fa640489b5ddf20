/**
 * From the first attempt to the last byte: the state machine that `states.ts` draws. Here arrives what happens: what the upstreams say,
 * what the client does, and the time. `asking.ts` knows who may be asked, `reading.ts` reads one answer, `response.ts` writes what the
 * client is told, and `relay-base.ts`, the other half of this object, has whose attempt is next and the ways out.
 *
 * The way of the bytes: `onData` gathers what one tick of the event loop brings, `#take` counts and judges it, `#goOn` holds it back until
 * it is paid for, `#pass` until the charge is kept where the end is among it, and `#tell` asks the reading what the client is told of
 * it. The upstream is held up where client, money, decoder or disk are not ready for more.
 */
import type { ErrorName } from '../../base/errors.ts'
import type { Meter } from '../../protocols/answers/meter.ts'
import { blamesRequest, readFailure, readFirstFailure } from '../../translate/failure.ts'
import type { Failure } from '../../translate/events.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import type { SideDecoder } from '../../upstream/decode.ts'
import { fail } from '../record/ending.ts'
import type { Exchange, OpenRelay, Swept } from '../record/exchange.ts'
import { wantsEvents } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import { translatedFor } from '../record/translated-request.ts'
import { DECODING, GROWING, LINKING, RelayBase, SLOW_CLIENT } from './relay-base.ts'
import { mayBeCount } from './counting.ts'
import { ReadOn } from './read-on.ts'
import type { Growth } from './growth.ts'
import { Reading, type ReadingEvents } from './reading.ts'
import type { Translation } from './translation.ts'
import { GaveUp, outcomeOfError, retryable } from './upstream-status.ts'

/** The bytes that are read of an error that is told in other words. */
const LONGEST_ERROR = 64 * 1024
const BROKE_OFF: Failure = { kind: 'server', status: 502, message: 'the upstream broke off its answer' }
const NOTHING: Buffer = Buffer.alloc(0)
/** What follows it is called after what is running now, before anything else is read. */
const SOON = Promise.resolve()

export class Relay extends RelayBase implements ReadingEvents, OpenRelay {
  previous: Swept | null = null
  next: Swept | null = null
  /** The client was told that the main address timed out, in place of an answer. */
  #missed = false

  constructor(x: Exchange, services: Services) {
    super(x, services)
    x.relay = this
    x.dispatchedMs = services.clock.monotonic()
  }

  start(): void {
    this.services.sweeper.add(this)
    this.askFirst()
  }

  // --- what the upstreams say

  onHead(attempt: Attempt): void {
    const { asking } = this
    const { status } = attempt
    if (status < 300) {
      if (asking.second === null) this.#hear(attempt)
      return
    }
    asking.reportStatus(attempt)
    if (!retryable(status)) this.#choose(attempt)
    else if (asking.second !== null) this.#drop(attempt)
    else if (!this.askNext()) this.#hear(attempt)
  }

  onData(attempt: Attempt, chunk: Buffer): void {
    if (this.asking.second !== null) this.#choose(attempt)
    this.letOthers(chunk.length)
    if (this.pending !== null) {
      this.pendingMore ??= []
      this.pendingMore.push(chunk)
      return
    }
    this.pending = chunk
    this.lastByteMs = this.services.clock.monotonic()
    if (this.firstByteMs < 0) this.firstByteMs = this.lastByteMs
    void SOON.then(this.#flush)
  }

  onEnd(attempt: Attempt): void {
    if (this.asking.second === null) {
      this.#end()
      return
    }
    this.asking.report(attempt, 'failed') // 2xx and then nothing
    this.#drop(attempt)
  }

  onError(attempt: Attempt, error: Error): void {
    const { asking } = this
    if (asking.second === null && this.firstByteMs >= 0) {
      this.#broken()
      return
    }
    if (attempt.status < 300) asking.report(attempt, outcomeOfError(error))
    if (asking.second !== null) this.#drop(attempt)
    else if (!this.askNext()) this.#giveLast(error instanceof GaveUp ? error.row : 'upstream')
  }

  onFault(error: unknown): void {
    fail(this.x, this.services, error)
  }

  onOver(attempt: Attempt): void {
    if (attempt.excerpt !== null && attempt.status >= 300) this.services.upstreamLog.body(this.x.id, attempt)
  }

  /** An attempt has something for the client: the other one, if there is one, is closed. */
  #choose(attempt: Attempt): void {
    this.asking.choose(attempt)
    this.#hear(attempt)
  }

  /** One of two failed, and the other one is all there is. */
  #drop(attempt: Attempt): void {
    this.asking.drop(attempt)
    this.#hearAgain()
  }

  /** The head of the one that is left, if it has come: it is void since the other one was asked. */
  #hearAgain(): void {
    const { current } = this.asking
    if (current.status !== 0) this.#hear(current)
  }

  /** None is left to ask, and the last one gave no answer: an earlier one may have said something for the client. */
  #giveLast(name: ErrorName): void {
    const body = this.asking.takeAnswered()
    if (body === null) {
      this.isDone = true
      if (this.x.free && !this.response.gone) this.countInstead()
      else this.giveUp(name)
      return
    }
    this.forget()
    this.#hear(this.asking.current)
    this.onData(this.asking.current, body)
    this.#end()
  }

  // --- whether it is an answer

  /** The head of the answer that counts. */
  #hear({ status, headers, claim }: Attempt): void {
    const { x, services } = this
    const { candidate } = claim
    this.go('hear')
    this.lastByteMs = services.clock.monotonic()
    const translated = translatedFor(x, services, candidate)
    const reading = status >= 300 ? null : new Reading(x, services, translated, candidate.channel, headers, this)
    this.answer = { status, headers, translated, reading }
    this.response.follow(this.answer)
    if (reading === null) this.judgeStatus(status)
    else if (reading.unreadable && reading.translation !== null) this.isNone(reading.translation)
    else if (x.free && !mayBeCount(reading)) this.noCount()
  }

  /**
   * By what the meter says of the first bytes. False: the answer began with an error and nothing else. Another candidate is being
   * asked; or there is none, and the client of a stream is told an error of ours. A document with an error passes, and is free.
   */
  #judgeFirst(chunk: Buffer, { meter, events }: Reading): boolean {
    const { asking } = this
    const isModelAnswer = !meter.failed || meter.counted > 0
    asking.report(asking.current, isModelAnswer || blamesRequest(readFirstFailure(chunk)) ? 'ok' : 'failed')
    if (!isModelAnswer && this.askNext()) return false
    if (events && meter.failedAlone && !this.x.free) {
      asking.discard()
      this.giveUp('upstream')
      return false
    }
    this.accept()
    return true
  }

  /** A translated answer is one when something of it can be told; until then the next candidate may take its place. */
  #judgeTranslated(chunk: Buffer, reading: Reading, translation: Translation): void {
    translation.wait(chunk)
    if (translation.events && translation.hasContent) this.#acceptTranslated(reading)
    else if (translation.failure !== null) this.isNone(translation)
  }

  #acceptTranslated(reading: Reading): void {
    this.asking.report(this.asking.current, 'ok')
    this.accept()
    this.#goOn(NOTHING, reading, true)
  }

  // --- the way of the bytes

  readonly #flush = (): void => {
    const first = this.pending
    const more = this.pendingMore
    this.pending = this.pendingMore = null
    if (first === null || this.state === 'ending') return
    try {
      this.#take(more === null ? first : Buffer.concat([first, ...more]))
    } catch (error) {
      fail(this.x, this.services, error)
    }
  }

  #take(chunk: Buffer): void {
    const { reading, translated } = this.answer
    if (reading === null) {
      this.#takeError(chunk)
      return
    }
    const { meter, growth, decoder } = reading
    if (translated === null && decoder !== null && growth !== null && this.x.row === null) {
      this.#takePacked(chunk, reading, decoder, growth)
      return
    }
    const boundary = translated !== null || (growth !== null && meter.atBoundary)
    const keepsUp = reading.feed(chunk)
    if (translated !== null) {
      if (!keepsUp) this.pause(DECODING)
      if (decoder === null) this.#takeTranslated(chunk, reading)
      return
    }
    const isJudged = this.state !== 'judging'
    if (!isJudged && meter.undecided && !this.isFree) reading.keepBegun(chunk)
    else if (!isJudged && !this.#judgeFirst(chunk, reading)) return
    if (!keepsUp) this.pause(DECODING)
    if (this.state === 'judging') return
    const whole = isJudged ? null : reading.takeBegun(chunk)
    this.#goOn(whole ?? chunk, reading, boundary || whole !== null)
  }

  /** Takes what comes of an answer that is not 2xx. */
  #takeError(chunk: Buffer): void {
    if (this.answer.translated === null) {
      if (this.state === 'judging') this.accept()
      this.#send(chunk)
      return
    }
    this.errorBytes += chunk.length
    if (this.errorBytes > LONGEST_ERROR) return
    this.errorParts ??= []
    this.errorParts.push(chunk)
  }

  /** What is compressed goes on when the meter has seen what is in it. */
  #takePacked(chunk: Buffer, reading: Reading, decoder: SideDecoder, growth: Growth): void {
    if (this.state === 'judging') {
      this.asking.report(this.asking.current, 'ok')
      this.accept()
    }
    growth.keep(chunk, reading.meter.atBoundary)
    this.pause(DECODING)
    reading.feedWhole(chunk, decoder, () =>
      this.guard(() => {
        this.resume(DECODING)
        if (!this.closed && !growth.waiting) this.#passCovered()
      }),
    )
  }

  /** What was decoded and counted of a compressed answer that is translated. */
  onPlain(chunk: Buffer, reading: Reading): void {
    this.guard(() => {
      if (!this.closed && this.answer.reading === reading) this.#takeTranslated(chunk, reading)
    })
  }

  #takeTranslated(chunk: Buffer, reading: Reading): void {
    const { translation } = reading
    const isJudged = this.state !== 'judging'
    if (!isJudged && translation !== null) this.#judgeTranslated(chunk, reading, translation)
    else if (isJudged || this.#judgeFirst(chunk, reading)) this.#goOn(chunk, reading, true)
  }

  /** What was counted, of an answer that was judged: it waits for money where it must. */
  #goOn(chunk: Buffer, reading: Reading, boundary: boolean): void {
    const { growth } = reading
    if (this.isFree && this.answer.translated === null) {
      // all of a count is looked at before any of it goes on
      reading.keepCount(chunk)
      if (!mayBeCount(reading)) this.noCount()
    } else if (this.x.row !== null) {
      if (this.charge.isBehindEnd(reading)) this.endBehindEnd()
      else this.#pass(chunk, reading)
    } else if (growth !== null && (growth.holdsBack || !reading.coveredBy(growth))) {
      growth.keep(chunk, boundary)
      this.pause(GROWING)
      if (!growth.waiting) this.#passCovered()
    } else this.#pass(chunk, reading)
  }

  onGrown(): void {
    this.guard(() => this.#passCovered())
  }

  /** What was held back goes on when it is paid for; when it cannot be, the answer stops. */
  #passCovered(): void {
    const reading = this.answer.reading as Reading
    const growth = reading.growth as Growth
    if (!reading.coveredBy(growth)) {
      if (!growth.waiting) this.stopByLength()
      return
    }
    for (const chunk of growth.release()) this.#pass(chunk, reading)
    this.resume(GROWING)
    if (this.isDone) this.#end()
  }

  /** A client that saw the terminal event may act on it: the charge is in the journal first. */
  #pass(chunk: Buffer, reading: Reading): void {
    const { translation } = reading
    if (translation !== null) this.#passTranslated(chunk, reading, translation)
    else if (this.x.row !== null || (reading.isWhole && !this.response.gone)) {
      if (this.x.row === null) {
        this.go('keep')
        this.settle('completed')
      }
      if (this.charge.mayEnd) this.#tell(chunk, reading)
      else this.whenKept(() => this.#tell(chunk, reading))
    } else this.#tell(chunk, reading)
  }

  /** Tells the client what has come of a translated answer, and its end when that is in sight. */
  #passTranslated(chunk: Buffer, reading: Reading, translation: Translation): void {
    if (this.state === 'ending') return
    const told = translation.push(chunk)
    if (told !== null) this.#send(told)
    if (translation.failure !== null) this.endFailed(translation.failure)
    else if (this.x.row === null && reading.isWhole) {
      this.go('keep')
      this.settle('completed')
      this.whenKept(() => this.tellEnd())
    }
  }

  #tell(chunk: Buffer, reading: Reading): void {
    if (reading.links !== null) {
      this.response.head()
      if (!reading.links.push(chunk)) this.pause(LINKING)
      return
    }
    if (this.answer.translated !== null) return // nobody is there to be told
    const told = reading.forClient(chunk)
    if (told === null) this.response.head()
    else if (Array.isArray(told)) for (const part of told) this.#send(part)
    else this.#send(told)
  }

  /** False: the client is slow. */
  #send(chunk: Buffer): boolean {
    if (this.response.send(chunk, this.lastByteMs)) return true
    this.pause(SLOW_CLIENT)
    this.response.whenDrained(() => this.#onDrained())
    return false
  }

  onLinked(bytes: Buffer): boolean {
    return this.closed || this.#send(bytes)
  }

  onCaughtUp(): void {
    this.unlessClosed(() => this.resume(LINKING))
  }

  onDecoded(): void {
    this.guard(() => this.resume(DECODING))
  }

  #onDrained(): void {
    this.guard(() => {
      this.resume(SLOW_CLIENT)
      this.answer.reading?.links?.onDrained()
    })
  }

  // --- the end of the answer

  #end(): void {
    const { reading, translated } = this.answer
    this.isDone = true
    if (reading === null || (reading.growth ?? reading.decoder ?? reading.links) === null) this.response.holdLast()
    if (!this.#flushLast(true)) return
    if (reading === null && translated !== null) this.#tellError()
    else if (reading === null) this.complete('nothing')
    else if (reading.growth?.holdsBack)
      return // comes again when the growth has its answer
    else if (reading.decoder === null) this.#readWhole(reading)
    else reading.decoder.end(() => this.guard(() => this.#readWhole(reading)))
  }

  #broken(): void {
    const { answer, x } = this
    const { reading, translated } = answer
    this.isDone = true
    // when a document breaks off in its first chunk, nothing of it need reach the client
    if (x.status === 0 && !reading?.events) this.response.holdLast()
    if (!this.#flushLast(false)) return
    if (translated !== null && reading === null) this.#tellError()
    else if (translated !== null && reading?.translation && this.state === 'judging') this.isNone(reading.translation)
    else this.endBroken()
  }

  /** False when that was the end of it, or when what came proved to be no answer and another upstream is being asked. */
  #flushLast(whole: boolean): boolean {
    const { attempts } = this.x
    this.#flush()
    if (whole) this.#takeBegun()
    return !this.closed && this.x.attempts === attempts
  }

  /** The answer has ended, and its first event lacks its end. */
  #takeBegun(): void {
    const { reading } = this.answer
    const begun = reading?.takeBegun() ?? null
    if (begun === null || reading === null) return
    reading.meter.end(true)
    this.guard(() => {
      if (this.#judgeFirst(begun, reading)) this.#goOn(begun, reading, true)
    })
  }

  /** All of an error has come that is told in other words, or as much as will. */
  #tellError(): void {
    this.tellFailure(readFailure(this.answer.status, Buffer.concat(this.errorParts ?? [])))
  }

  /** A document that is to be translated and is long is read and written elsewhere first. */
  #readWhole(reading: Reading): void {
    const isElsewhere = reading.translation?.writeElsewhere(fault =>
      this.guard(() => {
        if (fault !== null) throw fault
        if (!this.closed && this.answer.reading === reading) this.#judgeWhole(reading)
      }),
    )
    if (!isElsewhere) this.#judgeWhole(reading)
    else if (this.state === 'judging') this.#judgeBefore(reading.meter)
  }

  /** The attempt is over before its document is read, and its channel has to be judged by what was counted. */
  #judgeBefore(meter: Meter): void {
    meter.end(true)
    this.asking.report(this.asking.current, meter.terminal && !meter.failed ? 'ok' : 'failed')
  }

  #judgeWhole(reading: Reading): void {
    const { meter, translation } = reading
    meter.end(true)
    if (this.firstByteMs < 0) this.judgeEmpty()
    else if (translation !== null && !this.#endTranslated(reading, translation)) return
    else if (this.isFree) this.judgeCount(reading)
    else if (!meter.terminal && !meter.failed && !reading.foreign) this.#broken()
    else this.complete(meter.failed ? 'broken' : 'completed')
  }

  /** The upstream has ended an answer that is translated. False: it was none, or the rest waits for money. */
  #endTranslated(reading: Reading, translation: Translation): boolean {
    const { meter } = reading
    if (this.state === 'judging') {
      translation.waitForEnd()
      const isModelAnswer = translation.failure === null && meter.terminal && !meter.failed && translation.hasContent
      if (!isModelAnswer) {
        this.isNone(translation)
        return false
      }
      this.#acceptTranslated(reading)
      return !this.closed && !(reading.growth?.holdsBack ?? false)
    }
    const told = translation.end()
    if (told !== null) this.#send(told)
    if (translation.failure !== null || meter.failed) this.endFailed(translation.failure ?? BROKE_OFF)
    else if (meter.terminal) return true
    else this.#broken()
    return false
  }

  // --- what the client does

  /** The client's connection closed before its answer was whole: its upstream is read on for its usage, where that may be. */
  leave(): void {
    if (this.response.gone || this.x.finished) return
    const readOn = this.#goOnAlone()
    if (this.closed) return
    if (this.costs) {
      readOn.begin(this.answer.reading)
      this.resume(SLOW_CLIENT)
    } else this.#stopReadingOn()
  }

  /** The client is told what a CDN would tell it, and its upstream is read on as after a client that left. */
  #giveUpOnMain(): void {
    this.#missed = true
    this.#goOnAlone().waitForFirstByte()
    this.response.cdnTimeout()
    if (!this.closed && !this.costs) this.#stopReadingOn()
  }

  /** Nobody is told anything any more, and nobody waits for the faster of two. */
  #goOnAlone(): ReadOn {
    this.go('leave')
    const readOn = (this.readOn = new ReadOn(this.x, this.services, this.asking))
    this.response.leave()
    if (this.asking.second !== null) {
      this.asking.dropSecond()
      this.#hearAgain()
    }
    this.answer.reading?.leave()
    return readOn
  }

  #stopReadingOn(): void {
    this.#flush()
    if (!this.closed) this.cut(this.#missed)
  }

  #slowClient(): void {
    if (this.isSlow) return
    this.isSlow = true
    if (this.closed) this.services.metrics.clientGone('slow')
    this.response.destroy()
  }

  // --- the time: all in monotonic ms

  check(nowMs: number): void {
    this.guard(() => this.#checkDeadlines(nowMs))
  }

  #checkDeadlines(nowMs: number): void {
    const { x, state, asking, readOn } = this
    const { timeouts } = x.world.config
    const silentMs = nowMs - this.lastByteMs
    if (readOn !== null) this.#checkReadOn(readOn, nowMs)
    else if (x.ended) {
      // it takes no more of what is left for it
      if (silentMs > timeouts.slowClientMs) this.#slowClient()
    } else if (state === 'ending') {
      return // its connection was cut, and says so in a moment
    } else if (
      x.status === 0 &&
      x.listener === 'main' &&
      timeouts.mainMs > 0 &&
      nowMs - x.startedMs >= timeouts.mainMs
    ) {
      this.#giveUpOnMain()
    } else if (state === 'asking' || state === 'judging') {
      this.#showLife(nowMs)
      if (this.firstByteMs < 0) this.checkSilence(nowMs)
      else if (!this.isDone && silentMs > timeouts.idleMs) asking.timeOut() // a document that is to be translated
    } else if (this.slowSinceMs > 0) {
      if (nowMs - this.slowSinceMs > timeouts.slowClientMs) this.#slowClient()
    } else if (this.held !== 0) return
    else if (silentMs > timeouts.idleMs) asking.timeOut()
    // what waits for its charge may be the end of an event that the client has the beginning of
    else if (this.charge.mayEnd) this.response.keepAlive(nowMs, x.world.config.keepalive[`${x.listener}Ms`])
  }

  /** The client has left: its upstream is closed when it was read on for long enough. */
  #checkReadOn(readOn: ReadOn, nowMs: number): void {
    if (nowMs <= readOn.untilMs) {
      readOn.freePlaceEarly(this.answer.reading)
      return
    }
    this.services.metrics.readOnClosed(readOn.end)
    this.#stopReadingOn()
  }

  /** A stream on the main address begins before its answer, when that takes long. */
  #showLife(nowMs: number): void {
    const { x, response } = this
    const { earlyMs, mainMs } = x.world.config.keepalive
    const isDue = earlyMs > 0 && x.listener === 'main' && nowMs - x.startedMs >= earlyMs
    if (isDue && !response.early && wantsEvents(x)) response.startEarly()
    else response.keepEarly(nowMs, mainMs)
  }

  // --- what ends it from outside

  fail(): void {
    this.#stop('internal')
  }

  shutDown(): void {
    this.#stop('unavailable')
  }

  #stop(name: ErrorName): void {
    if (this.response.gone) this.#stopReadingOn()
    this.#flush()
    if (!this.closed) this.abandon(name)
  }

  release(): void {
    this.services.sweeper.remove(this)
  }
}
