/**
 * Whether what an upstream says is an answer: by its status, by the first bytes that are counted, or at its end. While it is none, the
 * next upstream is asked, in the order of `asking.ts`; when none is left, the client is told so (`ways-out.ts`).
 */
import type { Claim } from '../../channels/health.ts'
import type { Protocol } from '../../protocols/names.ts'
import { blamesRequest, readFirstFailure } from '../../translate/failure.ts'
import type { AttemptEvents } from '../../upstream/attempt.ts'
import type { Exchange } from '../record/exchange.ts'
import { dropBody } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import type { Reading } from './reading.ts'
import { send } from './sending.ts'
import { NO_MEMORY, type Translation } from './translation.ts'
import { couldNotCount, refusesKey } from './asking.ts'
import type { RelayParts, WaysOut } from './ways-out.ts'

export class Judging {
  readonly #x: Exchange
  readonly #services: Services
  readonly #parts: RelayParts
  readonly #out: WaysOut
  /** Hears of all attempts. */
  readonly #events: AttemptEvents

  constructor(x: Exchange, services: Services, parts: RelayParts, out: WaysOut, events: AttemptEvents) {
    this.#x = x
    this.#services = services
    this.#parts = parts
    this.#out = out
    this.#events = events
  }

  // --- who is asked

  askFirst(): void {
    this.forget()
    send(this.#x, this.#services, this.#parts.asking.begin(this.#x.claim as Claim, this.#events))
  }

  /** Another upstream is asked, or an earlier one counts again: what was said by the last one is void. */
  forget(): void {
    const { state, asking, flow, response } = this.#parts
    state.go('ask')
    asking.forget()
    flow.restart()
    response.void()
  }

  /** Goes on with the next candidate if there is one and it is allowed. */
  askNext(): boolean {
    const { asking, response } = this.#parts
    const claim = asking.nextClaim(response.open)
    if (claim === null) return false
    asking.giveUp()
    this.forget()
    send(this.#x, this.#services, asking.begin(claim, this.#events))
    return true
  }

  /** While no byte has come: makes a hedged attempt where that is due, and gives up on who is silent for too long. */
  checkSilence(nowMs: number): void {
    const { asking, response } = this.#parts
    const claim = asking.hedgeClaim(nowMs, response.open)
    if (claim !== null) {
      this.forget()
      send(this.#x, this.#services, asking.beginSecond(claim, this.#events))
    }
    asking.abortSilent(nowMs - this.#x.world.config.timeouts.firstByteMs)
  }

  // --- whether it is an answer

  accept(): void {
    const { state, asking, flow } = this.#parts
    state.go('accept')
    if (flow.held !== 0) state.go('wait')
    // no other attempt will want it
    dropBody(this.#x, this.#services.buffered, this.#x.attempts === 1 && asking.current.isTaken)
  }

  /** An answer that is not 2xx passes as it comes, unless the client is better told something else. */
  byStatus(status: number): void {
    const { asking, response } = this.#parts
    const { form, free } = this.#x
    const own = asking.candidate.channel.special[form as Protocol]?.count
    if (!response.early && free && couldNotCount(status, own)) this.#out.countInstead()
    else if (response.early || refusesKey(status)) this.#out.giveUp('upstream')
  }

  /**
   * By what the meter says of the first bytes. False: the answer began with an error and nothing else. Another candidate is being
   * asked; or there is none, and the client of a stream is told an error of ours. A document with an error passes, and is free.
   */
  byFirst(chunk: Buffer, { meter, events }: Reading): boolean {
    const { asking } = this.#parts
    const isModelAnswer = !meter.failed || meter.counted > 0
    asking.report(asking.current, isModelAnswer || blamesRequest(readFirstFailure(chunk)) ? 'ok' : 'failed')
    if (!isModelAnswer && this.askNext()) return false
    if (events && meter.failedAlone && !this.#x.free) {
      this.#out.giveUp('upstream')
      return false
    }
    this.accept()
    return true
  }

  /** Nobody is told of the document, which would be judged when it is translated: its channel is judged by what was counted. */
  byMeter({ meter }: Reading): void {
    const { asking } = this.#parts
    asking.report(asking.current, meter.terminal && !meter.failed ? 'ok' : 'failed')
  }

  /** The upstream sent 2xx and then nothing. */
  isEmpty(): void {
    const { asking } = this.#parts
    asking.report(asking.current, 'failed')
    if (this.askNext()) return
    if (this.#x.free) this.#out.countInstead()
    else this.#out.giveUp('upstream')
  }

  /** The answer that is translated proved to be none: another upstream may have one. */
  isNone({ failure }: Translation): void {
    const { asking } = this.#parts
    if (failure === NO_MEMORY) {
      asking.cutForMemory()
      this.#out.giveUp('unavailable')
      return
    }
    asking.report(asking.current, failure !== null && blamesRequest(failure) ? 'ok' : 'failed')
    if (this.askNext()) return
    if (failure === null) this.#out.giveUp('upstream')
    else this.#out.tellFailure(failure)
  }
}
