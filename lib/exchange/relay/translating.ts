/**
 * Reads answers that are translated, where that differs from passing them on. An answer is one when something of it can be told to
 * the client; until then, or until a document is whole, the next candidate may take its place. An error that an upstream answers
 * is read whole, and told in the client's words.
 */
import type { Meter } from '../../protocols/meter.ts'
import { bytesAsText } from '../../protocols/json/patterns.ts'
import { readFailure } from '../../translate/failure.ts'
import type { Failure } from '../../translate/events.ts'
import { type BackPressure, DECODING } from './back-pressure.ts'
import type { Closing } from './closing.ts'
import { judgeFirst } from './judging.ts'
import type { Machine } from './machine.ts'
import type { Reading } from './reading.ts'
import { NO_MEMORY, type Translation } from './translation.ts'

/** As much of an error is read. */
const LONGEST_ERROR = 64 * 1024
const BROKE_OFF: Failure = { kind: 'server', status: 502, message: 'the upstream broke off its answer' }
const NOTHING: Buffer = Buffer.alloc(0)

/** The reader, which goes on with what was judged. */
export interface Onward {
  /** Passes a chunk on when it is paid for. */
  goOn(chunk: Buffer, reading: Reading): void
  send(chunk: Buffer): boolean
  /** The answer has no end. */
  broken(): void
}

export class Translating {
  readonly #m: Machine
  readonly #closing: Closing
  readonly #pressure: BackPressure
  readonly #onward: Onward
  #error: Buffer[] = []
  #errorBytes = 0

  constructor(machine: Machine, closing: Closing, pressure: BackPressure, onward: Onward) {
    this.#m = machine
    this.#closing = closing
    this.#pressure = pressure
    this.#onward = onward
  }

  /** Another upstream is asked. */
  void(): void {
    this.#error = []
    this.#errorBytes = 0
  }

  // --- errors

  #keepError(chunk: Buffer): void {
    this.#errorBytes += chunk.length
    if (this.#errorBytes <= LONGEST_ERROR) this.#error.push(chunk)
  }

  /** All of the error has come, or as much as will. */
  tellError(): void {
    const { answer } = this.#m
    this.#closing.tellFailure(readFailure(answer.status, Buffer.concat(this.#error)))
  }

  /** The answer broke off. True: nothing of it was told yet, so that its error is told, or another upstream is asked. */
  tellBroken(): boolean {
    const { answer, state } = this.#m
    const { reading, lane } = answer
    if (lane === null) return false
    if (reading === null) this.tellError()
    else if (reading.translation !== null && state === 'judging') this.#isNone(reading.translation)
    else return false
    return true
  }

  // --- answers

  /** What is compressed comes on when it is decoded. */
  take(chunk: Buffer): void {
    const { reading } = this.#m.answer
    if (reading === null) {
      this.#keepError(chunk)
      return
    }
    reading.bytes += chunk.length
    const { decoder } = reading
    if (decoder === null) this.takePlain(chunk)
    else if (!decoder.write(chunk, () => this.#m.guard(() => this.#pressure.release(DECODING))))
      this.#pressure.hold(DECODING)
  }

  takePlain(chunk: Buffer): void {
    const { reading } = this.#m.answer
    if (reading === null || this.#m.closed) return
    const { meter, translation } = reading
    meter.feed(chunk, bytesAsText(chunk))
    const isJudged = this.#m.state !== 'judging'
    if (!isJudged && translation !== null) this.#judge(chunk, reading, translation)
    else if (isJudged || judgeFirst(this.#m, this.#closing, reading)) this.#onward.goOn(chunk, reading)
  }

  #judge(chunk: Buffer, reading: Reading, translation: Translation): void {
    translation.wait(chunk)
    if (translation.events && translation.hasContent) this.#accept(reading)
    else if (translation.failure !== null) this.#isNone(translation)
  }

  #accept(reading: Reading): void {
    this.#m.attempts.judge('ok')
    this.#m.go('accept')
    this.#onward.goOn(NOTHING, reading)
  }

  /** It proved to be no answer: another upstream may have one. */
  #isNone({ failure }: Translation): void {
    const { attempts } = this.#m
    if (failure === NO_MEMORY) {
      attempts.cutForMemory()
      this.#closing.giveUp('unavailable')
      return
    }
    attempts.judge('failed')
    if (attempts.tryNext()) return
    if (failure === null) this.#closing.giveUp('upstream')
    else this.#closing.tellFailure(failure)
  }

  /** The answer is none that can be read: its encoding is unknown. */
  refuse(translation: Translation): void {
    this.#isNone(translation)
  }

  /** `act` is called when all of the answer is decoded, and a document that is to be translated is read, if it is still wanted. */
  whenRead(reading: Reading, act: () => void): void {
    if (reading.decoder === null) this.#readWhole(reading, act)
    else reading.decoder.end(() => this.#m.guard(() => this.#readWhole(reading, act)))
  }

  #readWhole(reading: Reading, act: () => void): void {
    const isElsewhere = reading.translation?.readElsewhere(fault =>
      this.#m.guard(() => {
        if (fault !== null) throw fault
        if (!this.#m.closed && this.#m.answer.reading === reading) act()
      }),
    )
    if (!isElsewhere) act()
    else if (this.#m.state === 'judging') this.#judgeBefore(reading.meter)
  }

  /** The attempt is over before its document is read, and its channel has to be judged by what was counted. */
  #judgeBefore(meter: Meter): void {
    meter.end(true)
    this.#m.attempts.judge(meter.terminal && !meter.failed ? 'ok' : 'failed')
  }

  /** The upstream has ended its answer. False: it was none, or the rest waits for money. */
  judgeWhole(reading: Reading, translation: Translation): boolean {
    const { meter } = reading
    if (this.#m.state === 'judging') {
      translation.waitForEnd()
      const isAnswer = translation.failure === null && meter.terminal && !meter.failed && translation.hasContent
      if (!isAnswer) {
        this.#isNone(translation)
        return false
      }
      this.#accept(reading)
      return !this.#m.closed && !(reading.growth?.holdsBack ?? false)
    }
    const told = translation.end()
    if (told !== null) this.#onward.send(told)
    if (translation.failure !== null || meter.failed) this.#closing.endFailed(translation.failure ?? BROKE_OFF)
    else if (meter.terminal) return true
    else this.#onward.broken()
    return false
  }

  /** Tells the client what has come of an answer that is paid for, and its end when that is in sight. */
  pass(chunk: Buffer, reading: Reading, translation: Translation): void {
    const { books, x } = this.#m
    if (this.#m.closed) return
    const told = translation.push(chunk)
    if (told !== null) this.#onward.send(told)
    if (translation.failure !== null) this.#closing.endFailed(translation.failure)
    else if (x.row === null && reading.isWhole) {
      this.#m.go('keep')
      books.settle('completed')
      this.#m.whenKept(() => this.#closing.tellEnd())
    }
  }
}
