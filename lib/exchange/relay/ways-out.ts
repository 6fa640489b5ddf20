/**
 * The ways out of a relay. Each charges what is owed, tells the client how its answer ends, and closes the upstream's part; they differ in
 * what is charged (`charge.ts`), in what the client is told (`response.ts`), and in the transition (`states.ts`). What the client may see
 * only when the charge is kept waits for that here.
 */
import type { ErrorName } from '../../base/errors.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { Failure } from '../../translate/events.ts'
import { blamesRequest } from '../../translate/failure.ts'
import { translated } from '../../translate/table.ts'
import { finish, guard, refuse } from '../record/ending.ts'
import type { Exchange } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'
import type { AnswerFlow, Asking } from './asking.ts'
import { ExchangeCharge } from './charge.ts'
import { answerEstimate, asksNoMore, isCount, isModelAnswer } from './count-answer.ts'
import type { Reading } from './reading.ts'
import type { ResponseWriter } from './response.ts'
import type { RelayState, Transition } from './states.ts'
import { NO_MEMORY } from './translation.ts'

/** What a relay is made of, beside its ways out. */
export interface RelayParts {
  state: RelayState
  asking: Asking
  flow: AnswerFlow
  response: ResponseWriter
}

export class WaysOut {
  readonly #x: Exchange
  readonly #services: Services
  readonly #parts: RelayParts
  readonly charge: ExchangeCharge
  /** The client took nothing for too long. */
  #isSlow = false

  constructor(x: Exchange, services: Services, parts: RelayParts) {
    this.#x = x
    this.#services = services
    this.#parts = parts
    this.charge = new ExchangeCharge(x, services, parts.asking, parts.response)
  }

  // --- what an end waits for

  /** Acts in the order of the calls, when the charge is surely kept. */
  whenKept(act: () => void): void {
    this.charge.whenKept(act, this)
  }

  /** Acts when the client was told all that came, which takes a moment where pictures become links. */
  #whenTold(act: () => void): void {
    const links = this.#parts.asking.answer.reading?.links ?? null
    if (links === null) act()
    else links.end(() => this.ifOpen(act))
  }

  /** Acts when the meter has seen all that came, which takes a moment where it is compressed. */
  #whenMetered(act: () => void): void {
    const decoder = this.#parts.asking.answer.reading?.decoder ?? null
    if (decoder === null) act()
    else decoder.catchUp(() => this.ifOpen(act))
  }

  /** Acts unless the relay is closed; a fault on the way ends this exchange and reaches nobody else. */
  ifOpen(act: () => void): void {
    if (!this.#parts.state.isEnding) guard(this.#x, this.#services, act)
  }

  // --- the answer is whole

  /** The upstream has said all it had to. `nothing`: its answer is not charged. */
  complete(how: 'completed' | 'broken' | 'nothing'): void {
    this.#parts.state.go('keep')
    this.charge.settle(how)
    this.whenKept(() => this.#tellWhole())
  }

  #tellWhole(): void {
    if (this.#parts.asking.answer.reading?.links) this.#whenTold(() => this.#tellRest())
    else this.#tellRest()
  }

  #tellRest(): void {
    this.#sendRest()
    this.tellEnd()
    this.#endNow()
  }

  /** Sends what was held back of an event that has no end. */
  #sendRest(): void {
    const { asking, response } = this.#parts
    const rest = asking.answer.reading?.rest() ?? null
    if (rest !== null) response.send(rest, asking.current.lastByteMs)
  }

  /** Sends the end of a translated answer, which has the usage that was charged. */
  tellEnd(): void {
    const { asking, response } = this.#parts
    const { usage } = this.#x
    const { reading } = asking.answer
    const last = usage === null ? null : (reading?.translation?.finish(usage) ?? null)
    if (last !== null && reading !== null) response.sendEnd(reading.withCost(last), asking.current.lastByteMs)
  }

  #endNow(): void {
    this.#parts.response.end()
    this.#close('end')
  }

  /**
   * The answer is charged, and the upstream sends more behind its end. The client gets nothing of that. When it was promised a
   * length, its connection is cut, as after an upstream that broke off.
   */
  endBehindEnd(): void {
    const { asking, flow, response } = this.#parts
    asking.cut()
    flow.end()
    if (!response.announced) this.whenKept(() => this.#whenTold(() => this.#endNow()))
    else {
      response.destroy() // the content-length that the client has seen promised more bytes
      this.#close('breakOff')
    }
  }

  // --- the answer is not whole

  /** The upstream broke off after its first byte: the client's stream says so, and does not end cleanly. */
  endBroken(): void {
    const { state, asking, response } = this.#parts
    state.go('keep')
    this.#whenMetered(() => {
      asking.answer.reading?.meter.end(false)
      this.whenKept(() => {
        // all had been said and charged; only the connection's end was wanting
        if (this.#x.row !== null && !response.announced) this.#whenTold(() => this.#endNow())
        else {
          this.#sendRest()
          this.#breakOff()
        }
      })
    })
  }

  #breakOff(): void {
    const { asking, response } = this.#parts
    const x = this.#x
    const { reading } = asking.answer
    if (reading !== null) asking.broke()
    if (x.free) {
      this.countInstead()
      return
    }
    const isDocument = !reading?.events
    // an answer that is charged already is not taken back
    if (x.row === null && !response.isMuted && (response.unseen || (isDocument && response.takeBack()))) {
      this.#refuse('takeBack', 'upstream')
      return
    }
    this.charge.settle('broken')
    response.breakOff('upstream')
    this.#close('breakOff')
  }

  /**
   * An answer cannot be told to its end: the upstream reports an error, or says what the client's protocol cannot, or there is no
   * memory for it. What was told is charged. A client that has seen nothing of it gets the error, and nothing is charged.
   */
  endFailed(failure: Failure): void {
    const { state, asking, flow, response } = this.#parts
    const isOurs = failure === NO_MEMORY
    if (isOurs) asking.cutForMemory()
    else {
      if (!blamesRequest(failure)) asking.broke()
      asking.cut()
    }
    flow.end()
    asking.answer.reading?.meter.end(false)
    state.go('keep')
    if (this.#x.row === null && response.unseen) {
      if (isOurs) this.#refuse('takeBack', 'unavailable')
      else this.#answerFailure('takeBack', failure)
      return
    }
    this.charge.settle('broken')
    if (isOurs) response.breakOff('unavailable')
    else response.breakOffBy(failure)
    this.#close('breakOff')
  }

  /** The money ended: the upstream is closed, and a client that is still there gets the protocol's own length stop. */
  stopByLength(): void {
    const { asking, flow, response } = this.#parts
    asking.cut()
    flow.end()
    this.charge.settle('stopped')
    response.stopByLength()
    this.#close('stop')
  }

  // --- there is no answer

  /** No answer of an upstream can be passed on: the client gets a refusal of ours. */
  giveUp(name: ErrorName): void {
    this.#refuse('giveUp', name)
  }

  /** The same, where the upstream's error is told in the words of the client's protocol. */
  tellFailure(failure: Failure): void {
    this.#answerFailure('giveUp', failure)
  }

  #answerFailure(by: Transition, failure: Failure): void {
    const { response } = this.#parts
    const x = this.#x
    if (response.early || response.isMuted) {
      this.charge.settle('nothing', 'upstream')
      if (response.early) response.refuse('upstream')
    } else {
      const error = translated(x.protocol as Protocol).writeError(failure)
      x.status = error.status // the row has what the client is told
      this.charge.settle('nothing')
      response.answerError(error)
    }
    this.#close(by)
  }

  #refuse(by: Transition, name: ErrorName): void {
    this.charge.settle('nothing', name)
    this.#parts.response.refuse(name)
    this.#close(by)
  }

  /** All of the answer to a request that counts tokens has come. */
  judgeCount(reading: Reading): void {
    const { asking, response } = this.#parts
    if (isModelAnswer(reading)) this.noCount()
    else if (!isCount(reading)) this.countInstead()
    else {
      for (const chunk of reading.count) response.send(chunk, asking.current.lastByteMs)
      this.complete('nothing')
    }
  }

  /** The upstream answers as its model would, to a request that costs nothing. */
  noCount(): void {
    const { asking } = this.#parts
    asksNoMore(asking.candidate.channel, this.#x.protocol as Protocol)
    asking.cut()
    this.countInstead()
  }

  /** No upstream counts: the client is given an estimate. */
  countInstead(): void {
    if (!this.#parts.response.isMuted) answerEstimate(this.#x, this.#services)
    this.#close('estimate')
  }

  // --- nobody waits for it

  /** Nobody is told anything any more, and the upstream that was read on is closed. */
  cut(): void {
    const { asking } = this.#parts
    const how = asking.costs ? 'left' : 'nothing'
    // when the main address gave up on it, it was silent for as long as `first_byte` allows
    if (!this.#x.left && asking.answer.status === 0) asking.report(asking.current, 'failed')
    asking.cut()
    this.#whenMetered(() => {
      asking.answer.reading?.meter.end(false)
      try {
        this.charge.settle(how)
      } finally {
        this.#close('cut') // also where the charge cannot be kept
      }
    })
  }

  abandon(name: ErrorName): void {
    const { asking, response } = this.#parts
    const x = this.#x
    asking.cut()
    asking.answer.reading?.meter.end(false)
    try {
      const isEmpty = asking.current.firstByteMs < 0 || (response.unseen && !response.isMuted)
      this.charge.settle(isEmpty ? 'nothing' : 'broken')
    } finally {
      if (x.status === 0 && !response.isMuted) refuse(x, this.#services, name)
      else response.destroy()
      this.#close('abandon')
    }
  }

  /** The client took nothing for too long: its connection is closed. */
  dropSlow(): void {
    const { state, response } = this.#parts
    if (this.#isSlow) return
    this.#isSlow = true
    if (state.isEnding) this.#services.metrics.clientGone('slow')
    response.destroy()
  }

  /** The upstream's part is over; the client's goes on until its connection has taken everything. */
  #close(by: Transition): void {
    const { state, asking, flow, response } = this.#parts
    if (state.isEnding) return
    state.go(by)
    const x = this.#x
    asking.close()
    asking.answer.reading?.close()
    response.close()
    asking.current.touch() // what is left is the client's time
    x.upstreamMs = asking.current.lastByteMs - x.dispatchedMs
    if (response.isMuted) this.#services.metrics.clientGone(this.#isSlow ? 'slow' : flow.isDone ? 'drained' : 'cut')
    if (response.isMuted || x.closed) finish(x, this.#services)
  }
}
