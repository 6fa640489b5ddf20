/**
 * The half of the relay that does not touch the bytes of an answer: its parts, the state it is in, whose attempt is next, what holds the
 * upstream up, and the ways out. Each way out charges what is owed, tells the client how its answer ends, and closes the upstream's part;
 * they differ in what is charged (`charge.ts`) and in what the client is told (`response.ts`). What happens arrives in `relay.ts`.
 */
import type { ErrorName } from '../../base/errors.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Failure } from '../../translate/events.ts'
import { blamesRequest } from '../../translate/failure.ts'
import { translated } from '../../translate/table.ts'
import { protocolRow } from '../../protocols/table.ts'
import { fail, finish, refuse } from '../record/ending.ts'
import { dropBody } from '../record/request.ts'
import type { Claim } from '../../channels/health.ts'
import type { Attempt, AttemptEvents } from '../../upstream/attempt.ts'
import type { Exchange } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'
import { Asking } from './asking.ts'
import { answerEstimate, asksNoMore, isModelAnswer, isCount } from './counting.ts'
import type { ReadOn } from './read-on.ts'
import { NO_ANSWER, type Reading, type UpstreamAnswer } from './reading.ts'
import { ResponseWriter } from './response.ts'
import { ExchangeCharge } from './charge.ts'
import { after, type State, type Transition } from './states.ts'
import { send } from './sending.ts'
import { NO_MEMORY, type Translation } from './translation.ts'
import { couldNotCount, refusesKey } from './upstream-status.ts'
import type { How } from './usage.ts'

/** The reasons for which an upstream is held up, as bits. */
export const SLOW_CLIENT = 1
export const GROWING = 2
export const DECODING = 4
export const LINKING = 8
const YIELDING = 16

/** Reading so much of an answer takes some milliseconds, after which all other exchanges have their turn. */
const MOST_AT_ONCE = 256 * 1024

export abstract class RelayBase implements AttemptEvents {
  protected readonly x: Exchange
  protected readonly services: Services
  readonly asking: Asking
  readonly response: ResponseWriter
  protected readonly charge: ExchangeCharge
  /** Only `go` changes it, by a transition of `states.ts`. */
  state: State = 'asking'
  /** The answer that counts, as far as it has come. */
  answer: UpstreamAnswer = NO_ANSWER
  /** The upstream has said all it says, or was cut. */
  isDone = false
  /** Monotonic ms; -1 = no byte of the answer has come. */
  protected firstByteMs = -1
  /** Monotonic ms: of the last byte of the answer, or when we last held its upstream up. */
  protected lastByteMs = 0
  /** The client has left, and its upstream is read on; null = it is there. */
  protected readOn: ReadOn | null = null
  /** The client took nothing for too long. */
  protected isSlow = false
  /** Bytes of the tick under way, which are taken together at its end: what an upstream sent together costs once. */
  protected pending: Buffer | null = null
  protected pendingMore: Buffer[] | null = null
  /** An error that is told in other words, as far as it has come. */
  protected errorParts: Buffer[] | null = null
  protected errorBytes = 0
  /** The reasons for which the upstream is held up. */
  protected held = 0
  /** Bytes that were read since all others had their turn. */
  #sinceYield = 0
  /** Monotonic ms: the client takes nothing, since then; 0 = it does. */
  slowSinceMs = 0
  /** The request costs nothing: it asks for a count. */
  protected readonly isFree: boolean

  constructor(x: Exchange, services: Services) {
    this.x = x
    this.services = services
    this.isFree = x.free
    this.asking = new Asking(x, services)
    this.response = new ResponseWriter(x, services, protocolRow(x.form as Protocol))
    this.charge = new ExchangeCharge(x, services)
  }

  abstract onHead(attempt: Attempt): void
  abstract onData(attempt: Attempt, chunk: Buffer): void
  abstract onEnd(attempt: Attempt): void
  abstract onError(attempt: Attempt, error: Error): void
  abstract onFault(error: unknown): void
  abstract onOver(attempt: Attempt): void

  go(transition: Transition): void {
    this.state = after(this.state, transition)
  }

  /** The upstream is done with, and the books are closed. */
  get closed(): boolean {
    return this.state === 'ending'
  }

  /** Runs what an event asks for; a fault on the way ends this exchange and reaches nobody else. */
  protected guard(act: () => void): void {
    try {
      act()
    } catch (error) {
      fail(this.x, this.services, error)
    }
  }

  /** The same, when the relay is not closed by then. */
  protected unlessClosed(act: () => void): void {
    if (!this.closed) this.guard(act)
  }

  /** Acts in the order of the calls, when the charge is surely kept. */
  protected whenKept(act: () => void): void {
    this.charge.whenKept(() => this.unlessClosed(act))
  }

  /** Acts when the client was told all that came, which takes a moment where pictures become links. */
  #whenTold(act: () => void): void {
    const links = this.answer.reading?.links ?? null
    if (links === null) act()
    else links.end(() => this.unlessClosed(act))
  }

  /** Acts when the meter has seen all that came, which takes a moment where it is compressed. */
  #whenMetered(act: () => void): void {
    const decoder = this.answer.reading?.decoder ?? null
    if (decoder === null) act()
    else decoder.catchUp(() => this.unlessClosed(act))
  }

  /** Charges the exchange, unless it is charged already or free. */
  protected settle(how: How, refusal?: ErrorName): void {
    const { asking, answer, firstByteMs, response } = this
    this.charge.settle({ how, refusal, isGone: response.gone, asking, answer, firstByteMs })
  }

  // --- who is asked

  /** Asks the first upstream. */
  protected askFirst(): void {
    this.forget()
    send(this.x, this.services, this.asking.begin(this.x.claim as Claim, this))
  }

  /** Another upstream is asked: what an earlier one said is void. */
  protected forget(): void {
    this.go('ask')
    this.answer.reading?.close()
    this.answer = NO_ANSWER
    this.firstByteMs = -1
    this.isDone = false
    this.response.void()
    this.pending = this.pendingMore = this.errorParts = null
    this.errorBytes = this.held = 0
  }

  /** Goes on with the next candidate if there is one and it is allowed. */
  protected askNext(): boolean {
    const { asking } = this
    const claim = asking.nextClaim(this.response.open)
    if (claim === null) return false
    asking.giveUp(this.answer.reading)
    this.forget()
    send(this.x, this.services, asking.begin(claim, this))
    return true
  }

  /** While no byte has come: makes a hedged attempt where that is due, and gives up on who is silent for too long. */
  protected checkSilence(nowMs: number): void {
    const { asking } = this
    const claim = asking.hedgeClaim(nowMs, this.response.open)
    if (claim !== null) {
      this.forget()
      send(this.x, this.services, asking.beginSecond(claim, this))
    }
    asking.abortSilent(nowMs - this.x.world.config.timeouts.firstByteMs)
  }

  /** An answer that is not 2xx passes as it comes, unless the client is better told something else. */
  protected judgeStatus(status: number): void {
    const { asking, response, x, isFree } = this
    const own = asking.candidate.channel.special[x.form as Protocol]?.count
    if (!response.early && isFree && couldNotCount(status, own)) this.countInstead()
    else if (response.early || refusesKey(status)) {
      asking.discard()
      this.giveUp('upstream')
    }
  }

  /** The upstream sent 2xx and then nothing. */
  protected judgeEmpty(): void {
    this.asking.report(this.asking.current, 'failed')
    if (this.askNext()) return
    if (this.isFree) this.countInstead()
    else this.giveUp('upstream')
  }

  protected accept(): void {
    this.go('accept')
    dropBody(this.x, this.services.buffered) // no other attempt will want it
  }

  /** The answer proved to be none: another upstream may have one. */
  protected isNone({ failure }: Translation): void {
    const { asking } = this
    if (failure === NO_MEMORY) {
      asking.cutForMemory()
      this.giveUp('unavailable')
      return
    }
    asking.report(asking.current, failure !== null && blamesRequest(failure) ? 'ok' : 'failed')
    if (this.askNext()) return
    if (failure === null) this.giveUp('upstream')
    else this.tellFailure(failure)
  }

  // --- back-pressure

  /** An answer that is not judged, or whose end is known, stays in its state, and its upstream waits all the same. */
  protected pause(reason: number): void {
    if (this.held === 0) this.asking.current.pause()
    if (reason === SLOW_CLIENT) this.slowSinceMs = this.services.clock.monotonic()
    this.held |= reason
    if (this.state === 'relaying') this.go('wait')
  }

  protected resume(reason: number): void {
    this.held &= ~reason
    if (reason === SLOW_CLIENT) this.slowSinceMs = 0
    if (this.held !== 0) return
    if (this.state === 'waiting') this.go('resume')
    this.lastByteMs = this.services.clock.monotonic() // the silence was ours
    this.asking.current.resume()
  }

  /** A socket that is full is read many times in one turn of the loop, in which all other exchanges wait. */
  protected letOthers(bytes: number): void {
    this.#sinceYield += bytes
    if (this.#sinceYield < MOST_AT_ONCE) return
    this.#sinceYield = 0
    this.pause(YIELDING)
    this.services.clock.soon(() => this.unlessClosed(() => this.resume(YIELDING)))
  }

  // --- the answer is whole

  /** The upstream has said all it had to. `nothing`: its answer is not charged. */
  protected complete(how: 'completed' | 'broken' | 'nothing'): void {
    this.go('keep')
    this.settle(how)
    this.whenKept(() =>
      this.#whenTold(() => {
        this.#sendRest()
        this.tellEnd()
        this.#endNow()
      }),
    )
  }

  /** Sends what was held back of an event that has no end. */
  #sendRest(): void {
    const rest = this.answer.reading?.rest() ?? null
    if (rest !== null) this.response.send(rest, this.lastByteMs)
  }

  /** Sends the end of a translated answer, which has the usage that was charged. */
  protected tellEnd(): void {
    const { usage } = this.x
    const { reading } = this.answer
    const last = usage === null ? null : (reading?.translation?.finish(usage) ?? null)
    if (last !== null && reading !== null) this.response.sendEnd(reading.withCost(last), this.lastByteMs)
  }

  #endNow(): void {
    this.response.end()
    this.#close('end')
  }

  /**
   * The answer is charged, and the upstream sends more behind its end. The client gets nothing of that. When it was promised a
   * length, its connection is cut, as after an upstream that broke off.
   */
  protected endBehindEnd(): void {
    this.asking.cut()
    this.isDone = true
    if (!this.response.announced) this.whenKept(() => this.#whenTold(() => this.#endNow()))
    else {
      this.response.destroy() // the content-length that the client has seen promised more bytes
      this.#close('breakOff')
    }
  }

  // --- the answer is not whole

  /** The upstream broke off after its first byte: the client's stream says so, and does not end cleanly. */
  protected endBroken(): void {
    this.go('keep')
    this.#whenMetered(() => {
      this.answer.reading?.meter.end(false)
      this.whenKept(() => {
        // all had been said and charged; only the connection's end was wanting
        if (this.x.row !== null && !this.response.announced) this.#whenTold(() => this.#endNow())
        else {
          this.#sendRest()
          this.#breakOff()
        }
      })
    })
  }

  #breakOff(): void {
    const { answer, response, x } = this
    if (answer.reading !== null) this.asking.broke()
    if (this.isFree) {
      this.countInstead()
      return
    }
    const isDocument = !answer.reading?.events
    // an answer that is charged already is not taken back
    if (x.row === null && !response.gone && (response.unseen || (isDocument && response.takeBack()))) {
      this.#refuse('takeBack', 'upstream')
      return
    }
    this.settle('broken')
    response.breakOff('upstream')
    this.#close('breakOff')
  }

  /**
   * An answer cannot be told to its end: the upstream reports an error, or says what the client's protocol cannot, or there is no
   * memory for it. What was told is charged. A client that has seen nothing of it gets the error, and nothing is charged.
   */
  protected endFailed(failure: Failure): void {
    const { answer, asking, response } = this
    const isOurs = failure === NO_MEMORY
    if (isOurs) asking.cutForMemory()
    else {
      if (!blamesRequest(failure)) asking.broke()
      asking.cut()
    }
    this.isDone = true
    answer.reading?.meter.end(false)
    this.go('keep')
    if (this.x.row === null && response.unseen) {
      if (isOurs) this.#refuse('takeBack', 'unavailable')
      else this.#answerFailure('takeBack', failure)
      return
    }
    this.settle('broken')
    if (isOurs) response.breakOff('unavailable')
    else response.breakOffBy(failure)
    this.#close('breakOff')
  }

  /** The money ended: the upstream is closed, and a client that is still there gets the protocol's own length stop. */
  protected stopByLength(): void {
    this.asking.cut()
    this.isDone = true
    this.settle('stopped')
    this.response.stopByLength()
    this.#close('stop')
  }

  // --- there is no answer

  /** No answer of an upstream can be passed on: the client gets a refusal of ours. */
  protected giveUp(name: ErrorName): void {
    this.#refuse('giveUp', name)
  }

  /** The same, where the upstream's error is told in the words of the client's protocol. */
  protected tellFailure(failure: Failure): void {
    this.asking.discard()
    this.#answerFailure('giveUp', failure)
  }

  #answerFailure(by: Transition, failure: Failure): void {
    const { response, x } = this
    if (response.early || response.gone) {
      this.settle('nothing', 'upstream')
      if (response.early) response.refuse('upstream')
    } else {
      const error = translated(x.protocol as Protocol).writeError(failure)
      x.status = error.status // the row has what the client is told
      this.settle('nothing')
      response.answerError(error)
    }
    this.#close(by)
  }

  #refuse(by: Transition, name: ErrorName): void {
    this.settle('nothing', name)
    this.response.refuse(name)
    this.#close(by)
  }

  /** All of the answer to a request that counts tokens has come. */
  protected judgeCount(reading: Reading): void {
    if (isModelAnswer(reading)) this.noCount()
    else if (!isCount(reading)) this.countInstead()
    else {
      for (const chunk of reading.count) this.response.send(chunk, this.lastByteMs)
      this.complete('nothing')
    }
  }

  /** The upstream answers as its model would, to a request that costs nothing. */
  protected noCount(): void {
    asksNoMore(this.asking.candidate.channel, this.x.protocol as Protocol)
    this.asking.cut()
    this.countInstead()
  }

  /** No upstream counts: the client is given an estimate. */
  protected countInstead(): void {
    this.asking.discard()
    if (!this.response.gone) answerEstimate(this.x, this.services)
    this.#close('estimate')
  }

  // --- nobody waits for it

  /** The upstream was asked and may take money for it: whatever it has not refused. */
  protected get costs(): boolean {
    const { status } = this.answer
    return !this.isFree && (status === 0 ? this.asking.current.sent : status < 300)
  }

  /** The client has left, and its upstream is closed. `missed`: it was silent for as long as `first_byte` allows. */
  protected cut(missed: boolean): void {
    const { answer, asking, costs } = this
    if (missed && answer.status === 0) asking.report(asking.current, 'failed')
    asking.cut()
    this.#whenMetered(() => {
      this.answer.reading?.meter.end(false)
      try {
        this.settle(costs ? 'left' : 'nothing')
      } finally {
        this.#close('cut') // also where the charge cannot be kept
      }
    })
  }

  protected abandon(name: ErrorName): void {
    const { answer, response, x } = this
    this.asking.cut()
    answer.reading?.meter.end(false)
    try {
      this.settle(this.firstByteMs < 0 || (response.unseen && !response.gone) ? 'nothing' : 'broken')
    } finally {
      if (x.status === 0 && !response.gone) refuse(x, this.services, name)
      else response.destroy()
      this.#close('abandon')
    }
  }

  /** The upstream's part is over; the client's goes on until its connection has taken everything. */
  #close(by: Transition): void {
    if (this.closed) return
    this.go(by)
    const { x, services, response } = this
    this.answer.reading?.close()
    this.readOn?.close()
    response.close()
    this.lastByteMs = services.clock.monotonic() // what is left is the client's time
    x.upstreamMs = this.lastByteMs - x.dispatchedMs
    if (response.gone) services.metrics.clientGone(this.isSlow ? 'slow' : this.isDone ? 'drained' : 'cut')
    if (response.gone || x.closed) finish(x, services)
  }
}
