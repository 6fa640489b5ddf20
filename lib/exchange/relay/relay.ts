/**
 * From the first attempt to the last byte: the machine that `states.ts` draws. Four parts do the work: asking (`attempts.ts`),
 * reading (`reader.ts`), telling (`telling.ts`) and closing (`closing.ts`). Here they are put together, and here arrives what
 * happens: what the upstreams say, what the client does, and the time.
 */
import type { Claim } from '../../channels/claim.ts'
import { protocolRow } from '../../protocols/table.ts'
import type { ErrorName } from '../../base/errors.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import type { Dispatched, Exchange } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'
import type { Swept } from '../record/sweeper.ts'
import { Answer } from './answer.ts'
import type { AnswerEvents } from './answer-events.ts'
import type { GivenUp } from './attempt-row.ts'
import { Attempts } from './attempts.ts'
import { BackPressure, SLOW_CLIENT } from './back-pressure.ts'
import { Books } from './books.ts'
import { Closing } from './closing.ts'
import { checkDeadlines, type Waiting } from './deadlines.ts'
import { Machine } from './machine.ts'
import { Reader } from './reader.ts'
import { Telling, type TellingEvents } from './telling.ts'

export class Relay implements AnswerEvents, TellingEvents, Waiting, Swept, Dispatched {
  previous: Swept | null = null
  next: Swept | null = null

  readonly attempts: Attempts
  readonly machine: Machine
  readonly #x: Exchange
  readonly #services: Services
  readonly #closing: Closing
  readonly #pressure: BackPressure
  readonly #reader: Reader
  /** The client was told that the main address timed out, in place of an answer. */
  #missed = false

  constructor(x: Exchange, services: Services) {
    const row = protocolRow(x.form as Protocol)
    const answer = new Answer()
    const attempts = new Attempts(x, services, this)
    const telling = new Telling(x, services, row, answer, this)
    const books = new Books(x, services, answer, attempts, telling)
    this.attempts = attempts
    this.machine = new Machine({ x, services, answer, attempts, telling, books })
    this.#x = x
    this.#services = services
    this.#closing = new Closing(this.machine)
    this.#pressure = new BackPressure(this.machine)
    this.#reader = new Reader(this.machine, this.#closing, this.#pressure)
    x.relay = this
    x.dispatchedMs = services.clock.monotonic()
  }

  start(): void {
    this.#services.sweeper.add(this)
    this.attempts.start(this.#x.claim as Claim)
  }

  get closed(): boolean {
    return this.machine.closed
  }

  // --- what the upstreams say

  get began(): boolean {
    return this.machine.answer.firstByteMs >= 0
  }

  get open(): boolean {
    return this.machine.telling.open
  }

  onAsked(): void {
    this.machine.go('ask')
    this.machine.answer.void()
    this.machine.telling.void()
    this.#reader.void()
  }

  onGivenUp(givenUp: GivenUp): void {
    this.machine.books.note(givenUp)
  }

  onHead(attempt: Attempt): void {
    this.#reader.head(attempt)
  }

  onData(chunk: Buffer): void {
    this.#reader.add(chunk)
  }

  onEnd(): void {
    this.#reader.end()
  }

  onBroken(): void {
    this.#reader.broken()
  }

  onNoAnswer(name: ErrorName): void {
    this.machine.answer.isDone = true
    if (this.#x.free && !this.machine.telling.gone) this.#closing.countInstead()
    else this.#closing.giveUp(name)
  }

  // --- what the client does

  onDrained(): void {
    this.machine.guard(() => {
      this.#pressure.release(SLOW_CLIENT)
      this.machine.answer.reading?.links?.onDrained()
    })
  }

  /** The client's connection closed before its answer was whole: its upstream is read on for its usage, where that may be. */
  leave(): void {
    if (this.machine.telling.gone || this.#x.finished) return
    this.#goOnAlone()
    if (this.closed) return
    if (this.machine.books.readOn()) this.#pressure.release(SLOW_CLIENT)
    else this.stopReadingOn()
  }

  /** The client is told what a CDN would tell it, and its upstream is read on as after a client that left. */
  giveUpOnMain(): void {
    this.#missed = true
    this.#goOnAlone()
    this.machine.books.readOnUntilMs = this.attempts.startedMs + this.#x.world.config.timeouts.firstByteMs
    this.machine.telling.cdnTimeout()
    if (!this.closed && !this.machine.books.costs) this.stopReadingOn()
  }

  /** Nobody is told anything any more, and nobody waits for the faster of two. */
  #goOnAlone(): void {
    this.machine.go('leave')
    this.machine.telling.goneMs = this.#services.clock.monotonic()
    this.attempts.keepOne()
    this.machine.answer.reading?.links?.stop()
    this.machine.answer.reading?.dropTranslation()
  }

  /** The client was away for as long as its upstream may be read on. */
  readOnIsOver(): void {
    this.#services.metrics.readOnClosed(this.machine.books.readOnEnd)
    this.stopReadingOn()
  }

  stopReadingOn(): void {
    this.#reader.flush()
    if (!this.closed) this.#closing.cut(this.#missed)
  }

  // --- the time

  get slowSinceMs(): number {
    return this.#pressure.slowSinceMs
  }

  get held(): boolean {
    return this.#pressure.isOn
  }

  check(nowMs: number): void {
    this.machine.guard(() => checkDeadlines(this, nowMs))
  }

  keepAlive(nowMs: number): void {
    // what waits for its charge may be the end of an event that the client has the beginning of
    if (this.held || !this.machine.books.mayEnd) return
    this.machine.telling.keepAlive(nowMs, this.#x.world.config.keepalive[`${this.#x.listener}Ms`])
  }

  slowClient(): void {
    if (this.machine.books.slow) return
    this.machine.books.slow = true
    if (this.closed) this.#services.metrics.clientGone('slow')
    this.machine.telling.destroy()
  }

  // --- what ends it from outside

  fail(): void {
    this.#abandon('internal')
  }

  shutDown(): void {
    this.#abandon('unavailable')
  }

  #abandon(name: ErrorName): void {
    if (this.machine.telling.gone) this.stopReadingOn()
    this.#reader.flush()
    if (!this.closed) this.#closing.abandon(name)
  }

  release(): void {
    this.#services.sweeper.remove(this)
  }
}
