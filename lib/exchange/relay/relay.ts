/**
 * From the first attempt to the last byte: the state machine that `states.ts` draws. Here arrives what happens: what the upstreams say,
 * what the client does, and the time. `asking.ts` knows who may be asked and what holds an upstream up, `reading.ts` reads one
 * answer, `response.ts` writes what the client is told, and `ways-out.ts` has the ends.
 *
 * The way of the bytes: `#flush` takes what one tick of the event loop has brought, `#take` counts and judges it, `#goOn` holds it back until
 * it is paid for, `#pass` until the charge is kept where the end is among it, and `#tell` asks the reading what the client is told of
 * it. The upstream is held up where client, money, decoder or disk are not ready for more.
 */
import type { ErrorName } from '../../base/errors.ts'
import type { Protocol } from '../../protocols/names.ts'
import { protocolRow } from '../../protocols/table.ts'
import type { Failure } from '../../translate/events.ts'
import type { Attempt, AttemptEvents } from '../../upstream/attempt.ts'
import type { SideDecoder } from '../../upstream/decode.ts'
import { fail, guard } from '../record/ending.ts'
import type { Exchange, OpenRelay, Swept } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'
import { translatedFor } from '../record/translated-request.ts'
import {
  AnswerFlow,
  Asking,
  DECODING,
  GROWING,
  GaveUp,
  LINKING,
  SLOW_CLIENT,
  outcomeOfError,
  retryable,
} from './asking.ts'
import { mayBeCount } from './count-answer.ts'
import type { Growth } from './growth.ts'
import { Judging } from './judging.ts'
import { ReadOn } from './read-on.ts'
import { ErrorBody, Reading, type ReadingEvents } from './reading.ts'
import { ResponseWriter } from './response.ts'
import { RelayState } from './states.ts'
import type { Translation } from './translation.ts'
import { WaysOut } from './ways-out.ts'

const BROKE_OFF: Failure = { kind: 'server', status: 502, message: 'the upstream broke off its answer' }
const NOTHING: Buffer = Buffer.alloc(0)
/** What follows it is called after what is running now, before anything else is read. */
const SOON = Promise.resolve()
/** Reading so much of an answer takes some milliseconds, after which all other exchanges have their turn. */
const MOST_AT_ONCE = 256 * 1024

export class Relay implements AttemptEvents, ReadingEvents, OpenRelay {
  readonly #x: Exchange
  readonly #services: Services
  readonly state = new RelayState()
  readonly asking: Asking
  readonly flow: AnswerFlow
  readonly response: ResponseWriter
  readonly #out: WaysOut
  readonly #judging: Judging
  /** The client has left, and its upstream is read on; null = it is there. */
  #readOn: ReadOn | null = null
  /** Bytes that were read since all others had their turn. */
  #sinceYield = 0
  previous: Swept | null = null
  next: Swept | null = null

  constructor(x: Exchange, services: Services) {
    this.#x = x
    this.#services = services
    this.asking = new Asking(x, services)
    this.flow = new AnswerFlow(x, services, this.state, this.asking)
    this.response = new ResponseWriter(x, services, protocolRow(x.form as Protocol), this.asking)
    this.#out = new WaysOut(x, services, this)
    this.#judging = new Judging(x, services, this, this.#out, this)
    x.relay = this
    x.dispatchedMs = services.clock.monotonic()
  }

  #guard(act: () => void): void {
    guard(this.#x, this.#services, act)
  }

  start(): void {
    this.#services.sweeper.add(this)
    this.#judging.askFirst()
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
    else if (!this.#judging.askNext()) this.#hear(attempt)
  }

  onData(attempt: Attempt): void {
    if (this.asking.second !== null) this.#choose(attempt)
    if (!attempt.ends) void SOON.then(this.#flush)
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
    if (asking.second === null && attempt.firstByteMs >= 0) {
      this.#broken()
      return
    }
    if (attempt.status < 300) asking.report(attempt, outcomeOfError(error))
    if (asking.second !== null) this.#drop(attempt)
    else if (!this.#judging.askNext()) this.#giveLast(error instanceof GaveUp ? error.row : 'upstream')
  }

  onFault(error: unknown): void {
    fail(this.#x, this.#services, error)
  }

  onOver(attempt: Attempt): void {
    if (attempt.excerpt !== null && attempt.status >= 300) this.#services.upstreamLog.body(this.#x.id, attempt)
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
    if (!this.asking.takeBackAnswered()) {
      this.flow.end()
      if (this.#x.free && !this.response.isMuted) this.#out.countInstead()
      else this.#out.giveUp(name)
      return
    }
    this.#judging.forget()
    this.#hear(this.asking.current)
    this.#end()
  }

  // --- whether it is an answer

  /** The head of the answer that counts. */
  #hear({ status, headers, claim }: Attempt): void {
    const x = this.#x
    const services = this.#services
    const { candidate } = claim
    this.state.go('hear')
    this.asking.current.touch()
    const translated = translatedFor(x, services, candidate)
    const reading = status >= 300 ? null : new Reading(x, services, translated, candidate.channel, headers, this)
    const error = reading === null && translated !== null ? new ErrorBody() : null
    this.asking.hear({ status, headers, translated, reading, error })
    if (reading === null) this.#judging.byStatus(status)
    else if (reading.unreadable && reading.translation !== null) this.#judging.isNone(reading.translation)
    else if (x.free && !mayBeCount(reading)) this.#out.noCount()
  }

  /** A translated answer is one when something of it can be told; until then the next candidate may take its place. */
  #judgeTranslated(chunk: Buffer, reading: Reading, translation: Translation): void {
    translation.wait(chunk)
    if (translation.events && translation.hasContent) this.#acceptTranslated(reading)
    else if (translation.failure !== null) this.#judging.isNone(translation)
  }

  #acceptTranslated(reading: Reading): void {
    this.asking.report(this.asking.current, 'ok')
    this.#judging.accept()
    this.#goOn(NOTHING, reading, true)
  }

  // --- the way of the bytes

  readonly #flush = (): void => {
    const chunk = this.asking.current.take()
    if (chunk === null || this.state.now === 'ending') return
    this.#sinceYield += chunk.length
    try {
      if (this.#sinceYield >= MOST_AT_ONCE) {
        this.#sinceYield = 0
        this.flow.letOthers()
      }
      this.#take(chunk)
    } catch (error) {
      fail(this.#x, this.#services, error)
    }
  }

  #take(chunk: Buffer): void {
    const { reading, translated } = this.asking.answer
    if (reading === null) {
      this.#takeError(chunk)
      return
    }
    const { meter, growth, decoder } = reading
    if (translated === null && decoder !== null && growth !== null && this.#x.row === null) {
      this.#takePacked(chunk, reading, decoder, growth)
      return
    }
    const boundary = translated !== null || (growth !== null && meter.atBoundary)
    const keepsUp = reading.feed(chunk)
    if (translated !== null) {
      if (!keepsUp) this.flow.pause(DECODING)
      if (decoder === null) this.#takeTranslated(chunk, reading)
      return
    }
    const isJudged = this.state.now !== 'judging'
    if (!isJudged && meter.undecided && !this.#x.free) reading.keepBegun(chunk)
    else if (!isJudged && !this.#judging.byFirst(chunk, reading)) return
    if (!keepsUp) this.flow.pause(DECODING)
    if (this.state.now === 'judging') return
    const whole = isJudged ? null : reading.takeBegun(chunk)
    this.#goOn(whole ?? chunk, reading, boundary || whole !== null)
  }

  /** Takes what comes of an answer that is not 2xx. */
  #takeError(chunk: Buffer): void {
    const { error } = this.asking.answer
    if (error !== null) {
      error.add(chunk)
      return
    }
    if (this.state.now === 'judging') this.#judging.accept()
    this.#send(chunk)
  }

  /** What is compressed goes on when the meter has seen what is in it. */
  #takePacked(chunk: Buffer, reading: Reading, decoder: SideDecoder, growth: Growth): void {
    if (this.state.now === 'judging') {
      this.asking.report(this.asking.current, 'ok')
      this.#judging.accept()
    }
    growth.keep(chunk, reading.meter.atBoundary)
    this.flow.pause(DECODING)
    reading.feedWhole(chunk, decoder, () =>
      this.#guard(() => {
        this.flow.resume(DECODING)
        if (!this.state.isEnding && !growth.waiting) this.#passCovered()
      }),
    )
  }

  /** What was decoded and counted of a compressed answer that is translated. */
  onPlain(chunk: Buffer, reading: Reading): void {
    this.#guard(() => {
      if (!this.state.isEnding && this.asking.answer.reading === reading) this.#takeTranslated(chunk, reading)
    })
  }

  #takeTranslated(chunk: Buffer, reading: Reading): void {
    const { translation } = reading
    const isJudged = this.state.now !== 'judging'
    if (!isJudged && translation !== null) this.#judgeTranslated(chunk, reading, translation)
    else if (isJudged || this.#judging.byFirst(chunk, reading)) this.#goOn(chunk, reading, true)
  }

  /** What was counted, of an answer that was judged: it waits for money where it must. */
  #goOn(chunk: Buffer, reading: Reading, boundary: boolean): void {
    const { growth } = reading
    if (this.#x.free && this.asking.answer.translated === null) {
      // all of a count is looked at before any of it goes on
      reading.keepCount(chunk)
      if (!mayBeCount(reading)) this.#out.noCount()
    } else if (this.#x.row !== null) {
      if (this.#out.charge.isBehindEnd(reading)) this.#out.endBehindEnd()
      else this.#pass(chunk, reading)
    } else if (growth !== null && (growth.holdsBack || !reading.coveredBy(growth))) {
      growth.keep(chunk, boundary)
      this.flow.pause(GROWING)
      if (!growth.waiting) this.#passCovered()
    } else this.#pass(chunk, reading)
  }

  onGrown(): void {
    this.#guard(() => this.#passCovered())
  }

  /** What was held back goes on when it is paid for; when it cannot be, the answer stops. */
  #passCovered(): void {
    const reading = this.asking.answer.reading as Reading
    const growth = reading.growth as Growth
    if (!reading.coveredBy(growth)) {
      if (!growth.waiting) this.#out.stopByLength()
      return
    }
    for (const chunk of growth.release()) this.#pass(chunk, reading)
    this.flow.resume(GROWING)
    if (this.flow.isDone) this.#end()
  }

  /** A client that saw the terminal event may act on it: the charge is in the journal first. */
  #pass(chunk: Buffer, reading: Reading): void {
    const { translation } = reading
    if (translation !== null) this.#passTranslated(chunk, reading, translation)
    else if (this.#x.row !== null || (reading.meter.terminal && reading.isWhole && !this.response.isMuted)) {
      if (this.#x.row === null) {
        this.state.go('keep')
        this.#out.charge.settle('completed')
      }
      if (this.#out.charge.mayEnd) this.#tell(chunk, reading)
      else this.#tellKept(chunk, reading)
    } else this.#tell(chunk, reading)
  }

  /** A method of its own, because V8 takes memory for what a closure captures as soon as the function is entered that makes it. */
  #tellKept(chunk: Buffer, reading: Reading): void {
    this.#out.whenKept(() => this.#tell(chunk, reading))
  }

  /** Tells the client what has come of a translated answer, and its end when that is in sight. */
  #passTranslated(chunk: Buffer, reading: Reading, translation: Translation): void {
    if (this.state.now === 'ending') return
    const told = translation.push(chunk)
    if (told !== null) this.#send(told)
    if (translation.failure !== null) this.#out.endFailed(translation.failure)
    else if (this.#x.row === null && reading.meter.terminal && reading.isWhole) {
      this.state.go('keep')
      this.#out.charge.settle('completed')
      this.#out.whenKept(() => this.#out.tellEnd())
    }
  }

  #tell(chunk: Buffer, reading: Reading): void {
    if (reading.links !== null) {
      this.response.head()
      if (!reading.links.push(chunk)) this.flow.pause(LINKING)
      return
    }
    if (this.asking.answer.translated !== null) return // nobody is there to be told
    const told = reading.forClient(chunk)
    if (told === null) this.response.head()
    else if (Array.isArray(told)) for (const part of told) this.#send(part)
    else this.#send(told)
  }

  /** False: the client is slow. */
  #send(chunk: Buffer): boolean {
    if (this.response.send(chunk, this.asking.current.lastByteMs)) return true
    this.#waitForClient()
    return false
  }

  #waitForClient(): void {
    this.flow.pause(SLOW_CLIENT)
    this.response.whenDrained(() =>
      this.#guard(() => {
        this.flow.resume(SLOW_CLIENT)
        this.asking.answer.reading?.links?.onDrained()
      }),
    )
  }

  onLinked(bytes: Buffer): boolean {
    return this.state.isEnding || this.#send(bytes)
  }

  onCaughtUp(): void {
    this.#out.ifOpen(() => this.flow.resume(LINKING))
  }

  onDecoded(): void {
    this.#guard(() => this.flow.resume(DECODING))
  }

  // --- the end of the answer

  #end(): void {
    const { status, reading, error } = this.asking.answer
    this.flow.end()
    if (reading === null || (reading.growth ?? reading.decoder ?? reading.links) === null) this.response.holdLast()
    if (!this.#flushLast(true)) return
    if (error !== null) this.#out.tellFailure(error.failure(status))
    else if (reading === null) this.#out.complete('nothing')
    else if (reading.growth?.holdsBack)
      return // comes again when the growth has its answer
    else if (reading.decoder === null) this.#readWhole(reading)
    else this.#decodeWhole(reading, reading.decoder)
  }

  #decodeWhole(reading: Reading, decoder: SideDecoder): void {
    decoder.end(() =>
      this.#guard(() => {
        // what was decoded last may wait for money, too
        if (!reading.growth?.holdsBack) this.#readWhole(reading)
      }),
    )
  }

  #broken(): void {
    const { status, reading, error } = this.asking.answer
    this.flow.end()
    // when a document breaks off in its first chunk, nothing of it need reach the client
    if (this.#x.status === 0 && !reading?.events) this.response.holdLast()
    if (!this.#flushLast(false)) return
    if (error !== null) this.#out.tellFailure(error.failure(status))
    else if (reading?.translation && this.state.now === 'judging') this.#judging.isNone(reading.translation)
    else this.#out.endBroken()
  }

  /** False when that was the end of it, or when what came proved to be no answer and another upstream is being asked. */
  #flushLast(whole: boolean): boolean {
    const { attempts } = this.#x
    this.#flush()
    if (whole) this.#takeBegun()
    return !this.state.isEnding && this.#x.attempts === attempts
  }

  /** The answer has ended, and its first event lacks its end. */
  #takeBegun(): void {
    const { reading } = this.asking.answer
    const begun = reading?.takeBegun() ?? null
    if (begun !== null && reading !== null) this.#judgeBegun(begun, reading)
  }

  #judgeBegun(begun: Buffer, reading: Reading): void {
    reading.meter.end(true)
    this.#guard(() => {
      if (this.#judging.byFirst(begun, reading)) this.#goOn(begun, reading, true)
    })
  }

  /** A document that is to be translated and is long is read and written elsewhere first. */
  #readWhole(reading: Reading): void {
    if (reading.translation === null || !this.#writeElsewhere(reading, reading.translation)) this.#judgeWhole(reading)
  }

  #writeElsewhere(reading: Reading, translation: Translation): boolean {
    return translation.writeElsewhere(fault =>
      this.#guard(() => {
        if (fault !== null) throw fault
        if (!this.state.isEnding && this.asking.answer.reading === reading) this.#judgeWhole(reading)
      }),
    )
  }

  #judgeWhole(reading: Reading): void {
    const { meter, translation } = reading
    meter.end(true)
    if (this.asking.current.firstByteMs < 0) this.#judging.isEmpty()
    else if (translation !== null && !this.#endTranslated(reading, translation)) return
    else if (this.#x.free) this.#out.judgeCount(reading)
    else if (!meter.terminal && !meter.failed && !reading.foreign) this.#broken()
    else {
      if (this.state.now === 'judging') this.#judging.byMeter(reading)
      this.#out.complete(meter.failed ? 'broken' : 'completed')
    }
  }

  /** The upstream has ended an answer that is translated. False: it was none, or the rest waits for money. */
  #endTranslated(reading: Reading, translation: Translation): boolean {
    const { meter } = reading
    if (this.state.now === 'judging') {
      translation.waitForEnd()
      const isModelAnswer = translation.failure === null && meter.terminal && !meter.failed && translation.hasContent
      if (!isModelAnswer) {
        this.#judging.isNone(translation)
        return false
      }
      this.#acceptTranslated(reading)
      return !this.state.isEnding && !(reading.growth?.holdsBack ?? false)
    }
    const told = translation.end()
    if (told !== null) this.#send(told)
    if (translation.failure !== null || meter.failed) this.#out.endFailed(translation.failure ?? BROKE_OFF)
    else if (meter.terminal) return true
    else this.#broken()
    return false
  }

  // --- what the client does

  /** The client's connection closed before its answer was whole: its upstream is read on for its usage, where that may be. */
  leave(): void {
    if (this.response.isMuted || this.#x.finished) return
    const readOn = this.#goOnAlone()
    if (this.state.isEnding) return
    if (this.asking.costs) {
      readOn.begin(this.asking.answer.reading)
      this.flow.resume(SLOW_CLIENT)
    } else this.#stopReadingOn()
  }

  /** The client is told what a CDN would tell it, and its upstream is read on as after a client that left. */
  #giveUpOnMain(): void {
    this.#goOnAlone().waitForFirstByte()
    this.response.cdnTimeout()
    if (!this.state.isEnding && !this.asking.costs) this.#stopReadingOn()
  }

  /** Nobody is told anything any more, and nobody waits for the faster of two. */
  #goOnAlone(): ReadOn {
    this.state.go('leave')
    const readOn = (this.#readOn = new ReadOn(this.#x, this.#services, this.asking))
    this.response.mute()
    if (this.asking.second !== null) {
      this.asking.dropSecond()
      this.#hearAgain()
    }
    this.asking.answer.reading?.mute()
    return readOn
  }

  #stopReadingOn(): void {
    this.#flush()
    if (!this.state.isEnding) this.#out.cut()
  }

  // --- the time: all in monotonic ms

  check(nowMs: number): void {
    this.#guard(() => this.#checkDeadlines(nowMs))
  }

  #checkDeadlines(nowMs: number): void {
    const { state, asking, flow } = this
    const x = this.#x
    const readOn = this.#readOn
    const { timeouts } = x.world.config
    const { firstByteMs, lastByteMs } = asking.current
    const silentMs = nowMs - lastByteMs
    if (readOn !== null) {
      // what an upstream that is done has said is still decoded, or waits for money
      if (!asking.current.over && readOn.isOver(nowMs, asking.answer.reading)) this.#stopReadingOn()
    } else if (x.answered) {
      // it takes no more of what is left for it
      if (silentMs > timeouts.slowClientMs) this.#out.dropSlow()
    } else if (state.isEnding) {
      return // its connection was cut, and says so in a moment
    } else if (
      x.status === 0 &&
      x.listener === 'main' &&
      timeouts.mainMs > 0 &&
      nowMs - x.startedMs >= timeouts.mainMs
    ) {
      this.#giveUpOnMain()
    } else if (state.now === 'asking' || state.now === 'judging') {
      this.response.showLife(nowMs)
      // an answer that has ended is no silence: what came of it is decoded or translated
      if (flow.isDone) return
      if (firstByteMs < 0) this.#judging.checkSilence(nowMs)
      else if (flow.held === 0 && silentMs > timeouts.idleMs) asking.timeOut() // a document that is to be translated
    } else if (flow.slowSinceMs > 0) {
      if (nowMs - flow.slowSinceMs > timeouts.slowClientMs) this.#out.dropSlow()
    } else if (flow.held !== 0) return
    else if (silentMs > timeouts.idleMs) asking.timeOut()
    // what waits for its charge may be the end of an event that the client has the beginning of
    else if (this.#out.charge.mayEnd) this.response.keepAlive(nowMs)
  }

  // --- what ends it from outside

  stop(name: ErrorName): void {
    if (this.response.isMuted) this.#stopReadingOn()
    this.#flush()
    if (!this.state.isEnding) this.#out.abandon(name)
  }

  release(): void {
    this.#services.sweeper.remove(this)
    this.#readOn?.close()
  }
}
