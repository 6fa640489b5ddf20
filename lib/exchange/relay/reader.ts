/**
 * Reads the answer of an upstream: what comes is gathered, judged by its first bytes, counted, held back until it is paid for,
 * and passed on. The upstream is held up where the client, the money or the decoder is not ready for more.
 *
 * The way of the bytes: `add` → `flush` → `#take` counts them → `#pass` waits for the charge where that is due → `#tell` asks
 * the reading what the client is told of them → the client.
 */
import type { Protocol } from '../../terms/records.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import type { SideDecoder } from '../../upstream/decode.ts'
import { mayBeCount } from './counting.ts'
import { laneOf } from '../record/translated-request.ts'
import { type BackPressure, DECODING, GROWING, LINKING, SLOW_CLIENT } from './back-pressure.ts'
import type { Closing } from './closing.ts'
import { flushSoon, type Gathered } from './gather.ts'
import type { Growth } from './growth.ts'
import { judgeEmpty, judgeFirst, judgeStatus } from './judging.ts'
import type { Machine } from './machine.ts'
import { Reading, type ReadingEvents } from './reading.ts'
import { type Onward, Translating } from './translating.ts'

export class Reader implements ReadingEvents, Gathered, Onward {
  readonly #m: Machine
  readonly #translating: Translating
  readonly #closing: Closing
  readonly #pressure: BackPressure
  /** The beginning of a first event that is not whole, so that the answer is not judged yet. */
  readonly #begun: Buffer[] = []
  /** Bytes of the tick under way. */
  #first: Buffer | null = null
  #more: Buffer[] | null = null

  constructor(machine: Machine, closing: Closing, pressure: BackPressure) {
    this.#m = machine
    this.#closing = closing
    this.#pressure = pressure
    this.#translating = new Translating(machine, closing, pressure, this)
  }

  /** Another upstream is asked: what an earlier one said is void. */
  void(): void {
    this.#first = this.#more = null
    this.#begun.length = 0
    this.#translating.void()
  }

  head({ status, headers, claim }: Attempt): void {
    const { answer, x, services } = this.#m
    this.#m.go('hear')
    answer.status = status
    answer.headers = headers
    answer.lastByteMs = services.clock.monotonic()
    answer.lane = laneOf(x, services, claim.candidate)
    if (status >= 300) judgeStatus(this.#m, this.#closing, status)
    else {
      const spoken = answer.lane?.via ?? (x.form as Protocol)
      const { channel } = claim.candidate
      const reading = (answer.reading = new Reading(x, services, spoken, answer.lane, channel, headers, this))
      if (reading.unreadable && reading.translation !== null) this.#translating.refuse(reading.translation)
      else if (x.free && !mayBeCount(reading)) this.#closing.noCount()
    }
  }

  // --- relaying

  add(chunk: Buffer): void {
    if (this.#first !== null) {
      this.#more ??= []
      this.#more.push(chunk)
      return
    }
    this.#first = chunk
    const { answer, services } = this.#m
    answer.lastByteMs = services.clock.monotonic()
    if (answer.firstByteMs < 0) answer.firstByteMs = answer.lastByteMs
    flushSoon(this)
  }

  flush(): void {
    const first = this.#first
    const more = this.#more
    this.#first = this.#more = null
    if (first === null || this.#m.closed) return
    this.#m.guard(() => this.#take(more === null ? first : Buffer.concat([first, ...more])))
  }

  /** False when that was the end of it, or when what came proved to be no answer and another upstream is being asked. */
  #flushLast(whole: boolean): boolean {
    const { x } = this.#m
    const { attempts } = x
    this.flush()
    if (whole) this.#takeBegun()
    return !this.#m.closed && x.attempts === attempts
  }

  #take(chunk: Buffer): void {
    const { reading, lane } = this.#m.answer
    if (lane !== null) {
      this.#translating.take(chunk)
      return
    }
    if (reading === null) {
      if (this.#m.state === 'judging') this.#m.go('accept')
      this.send(chunk)
      return
    }
    const growth = this.#growthOf(reading)
    if (growth !== null && reading.decoder !== null) this.#takePacked(chunk, reading, reading.decoder, growth)
    else this.#takePlain(chunk, reading)
  }

  /** What comes behind the end is charged nothing. */
  #growthOf({ growth }: Reading): Growth | null {
    return this.#m.x.row === null ? growth : null
  }

  onPlain(chunk: Buffer): void {
    this.#m.guard(() => this.#translating.takePlain(chunk))
  }

  /** Of an answer that was judged, what was counted: it waits for money where it must. */
  goOn(chunk: Buffer, reading: Reading): void {
    if (this.#m.books.isBehindEnd) this.#closing.endBehindEnd()
    else if (!this.#waitsForMoney(chunk, reading, true)) this.#pass(chunk, reading, 0)
  }

  #waitsForMoney(chunk: Buffer, reading: Reading, boundary: boolean): boolean {
    const growth = this.#growthOf(reading)
    if (growth === null || (!growth.holdsBack && reading.coveredBy(growth))) return false
    growth.keep(chunk, boundary)
    this.#pressure.hold(GROWING)
    if (!growth.waiting) this.#passCovered()
    return true
  }

  #takePlain(chunk: Buffer, reading: Reading): void {
    const { meter } = reading
    const boundary = meter.atBoundary
    const keepsUp = reading.feed(chunk)
    const isJudged = this.#m.state !== 'judging'
    if (!isJudged && meter.undecided && !this.#m.x.free) this.#begun.push(chunk)
    else if (!isJudged && !judgeFirst(this.#m, this.#closing, reading)) return
    if (!keepsUp) this.#pressure.hold(DECODING)
    if (this.#m.state === 'judging') return
    if (this.#begun.length === 0) this.#takeOn(chunk, reading, boundary, reading.decoder === null ? meter.matters : 0)
    else this.#takeOn(this.#whole(chunk), reading, true, 0)
  }

  /** A first event that came in pieces, with what came behind it. */
  #whole(...last: Buffer[]): Buffer {
    return Buffer.concat([...this.#begun.splice(0), ...last])
  }

  /** What was counted, of an answer that was judged. `matters`: as the meter said of this very chunk; 0 = not known. */
  #takeOn(chunk: Buffer, reading: Reading, boundary: boolean, matters: number): void {
    if (this.#m.x.free) {
      // all of a count is looked at before any of it goes on
      reading.count.push(chunk)
      if (!mayBeCount(reading)) this.#closing.noCount()
    } else if (this.#m.books.isBehindEnd) this.#closing.endBehindEnd()
    else if (!this.#waitsForMoney(chunk, reading, boundary)) this.#pass(chunk, reading, matters)
  }

  /** The answer has ended, and its first event lacks its end. */
  #takeBegun(): void {
    const { reading } = this.#m.answer
    if (this.#begun.length === 0 || reading === null) return
    reading.meter.end(true)
    this.#m.guard(() => {
      if (judgeFirst(this.#m, this.#closing, reading)) this.#takeOn(this.#whole(), reading, true, 0)
    })
  }

  /** What is compressed goes on when the meter has seen what is in it. */
  #takePacked(chunk: Buffer, reading: Reading, decoder: SideDecoder, growth: Growth): void {
    if (this.#m.state === 'judging') {
      this.#m.attempts.judge('ok')
      this.#m.go('accept')
    }
    growth.keep(chunk, reading.meter.atBoundary)
    this.#pressure.hold(DECODING)
    reading.feedWhole(chunk, decoder, () =>
      this.#m.guard(() => {
        this.#pressure.release(DECODING)
        if (!this.#m.closed && !growth.waiting) this.#passCovered()
      }),
    )
  }

  /** The hold has grown, or will grow no more. */
  onGrown(): void {
    this.#m.guard(() => this.#passCovered())
  }

  /** What was held back goes on when it is paid for; when it cannot be, the answer stops. */
  #passCovered(): void {
    const reading = this.#m.answer.reading as Reading
    const growth = reading.growth as Growth
    if (!reading.coveredBy(growth)) {
      if (!growth.waiting) this.#closing.stopByLength()
      return
    }
    for (const chunk of growth.release()) this.#pass(chunk, reading, 0)
    this.#pressure.release(GROWING)
    if (this.#m.answer.isDone) this.end()
  }

  /** `matters`: as the meter said of this very chunk. */
  #pass(chunk: Buffer, reading: Reading, matters: number): void {
    const { telling, books, x } = this.#m
    if (reading.translation !== null) {
      this.#translating.pass(chunk, reading, reading.translation)
      return
    }
    // a client that saw the terminal event may act on it: the charge is in the journal first
    if (!telling.gone && x.row === null && reading.isWhole) {
      this.#m.go('keep')
      books.settle('completed')
    }
    if (books.mayEnd) this.#tell(chunk, reading, matters)
    else this.#m.whenKept(() => this.#tell(chunk, reading, matters))
  }

  #tell(chunk: Buffer, reading: Reading, matters: number): void {
    if (reading.links !== null) {
      this.#m.telling.head()
      if (!reading.links.push(chunk)) this.#pressure.hold(LINKING)
      return
    }
    if (this.#m.answer.lane !== null) return // nobody is there to be told
    const told = reading.forClient(chunk, matters)
    if (told === null) this.#m.telling.head()
    else if (Array.isArray(told)) for (const part of told) this.send(part)
    else this.send(told)
  }

  /** False: the client is slow. */
  send(chunk: Buffer): boolean {
    if (this.#m.telling.send(chunk)) return true
    this.#pressure.hold(SLOW_CLIENT)
    return false
  }

  onLinked(bytes: Buffer): boolean {
    return this.#m.closed || this.send(bytes)
  }

  onCaughtUp(): void {
    this.#m.guard(() => {
      if (!this.#m.closed) this.#pressure.release(LINKING)
    })
  }

  // --- the end of the answer

  end(): void {
    const { answer, telling } = this.#m
    const { reading, lane } = answer
    answer.isDone = true
    telling.lastComes = reading === null || (reading.growth ?? reading.decoder ?? reading.links) === null
    if (!this.#flushLast(true)) return
    if (reading === null && lane !== null) this.#translating.tellError()
    else if (reading === null) this.#closing.complete('nothing')
    else if (reading.growth?.holdsBack)
      return // comes again when the growth has its answer
    else if (reading.decoder === null && reading.translation === null) this.#judgeWhole(reading)
    else this.#translating.whenRead(reading, () => this.#judgeWhole(reading))
  }

  #judgeWhole(reading: Reading): void {
    const { meter, translation } = reading
    meter.end(true)
    if (this.#m.answer.firstByteMs < 0) judgeEmpty(this.#m, this.#closing)
    else if (translation !== null && !this.#translating.judgeWhole(reading, translation)) return
    else if (this.#m.x.free) this.#closing.judgeCount(reading)
    else if (!meter.terminal && !meter.failed && !reading.foreign) this.broken()
    else this.#closing.complete(meter.failed ? 'broken' : 'completed')
  }

  broken(): void {
    const { answer, telling, x } = this.#m
    answer.isDone = true
    // when a document breaks off in its first chunk, nothing of it need reach the client
    if (x.status === 0 && !answer.reading?.events) telling.lastComes = true
    if (!this.#flushLast(false)) return
    if (!this.#translating.tellBroken()) this.#closing.endBroken()
  }

  onDecoded(): void {
    this.#m.guard(() => this.#pressure.release(DECODING))
  }
}
