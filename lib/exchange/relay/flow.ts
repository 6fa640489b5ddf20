/**
 * The flow of an answer from its upstream: what came in the tick of the event loop that is under way, when something came last, what holds
 * the upstream up, and whether it is done. The attempt that counts is paused as long as there is a reason for it.
 */
import type { Clock } from '../../base/clock.ts'
import { guard } from '../record/ending.ts'
import type { Exchange } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'
import type { Asking } from './asking.ts'
import type { RelayState } from './states.ts'

/** The reasons for which an upstream is held up, as bits. */
export const SLOW_CLIENT = 1
export const GROWING = 2
export const DECODING = 4
export const LINKING = 8
const YIELDING = 16

/** Reading so much of an answer takes some milliseconds, after which all other exchanges have their turn. */
const MOST_AT_ONCE = 256 * 1024

export class AnswerFlow {
  readonly #x: Exchange
  readonly #services: Services
  readonly #clock: Clock
  readonly #state: RelayState
  readonly #asking: Asking
  /** Monotonic ms; -1 = no byte of the answer has come. */
  firstByteMs = -1
  /** Monotonic ms: of the last byte of the answer, or when we last held its upstream up. */
  lastByteMs = 0
  /** Monotonic ms: the client takes nothing, since then; 0 = it does. */
  slowSinceMs = 0
  /** The upstream has said all it says, or was cut. */
  isDone = false
  /** The reasons for which the upstream is held up; 0 = it is not. */
  held = 0
  /** Bytes of the tick under way, which are taken together at its end: what an upstream sent together costs once. */
  #pending: Buffer | null = null
  #pendingMore: Buffer[] | null = null
  /** Bytes that were read since all others had their turn. */
  #sinceYield = 0

  constructor(x: Exchange, services: Services, state: RelayState, asking: Asking) {
    this.#x = x
    this.#services = services
    this.#clock = services.clock
    this.#state = state
    this.#asking = asking
  }

  /** Another upstream is asked. */
  restart(): void {
    this.firstByteMs = -1
    this.isDone = false
    this.held = 0
    this.#pending = this.#pendingMore = null
  }

  /** Gathers bytes that have come. True: they are the first of their tick, at whose end `take` is to be called. */
  gather(chunk: Buffer): boolean {
    this.#sinceYield += chunk.length
    if (this.#sinceYield >= MOST_AT_ONCE) this.#letOthers()
    if (this.#pending !== null) {
      this.#pendingMore ??= []
      this.#pendingMore.push(chunk)
      return false
    }
    this.#pending = chunk
    this.lastByteMs = this.#clock.monotonic()
    if (this.firstByteMs < 0) this.firstByteMs = this.lastByteMs
    return true
  }

  /** What has come since it was called last; null = nothing. */
  take(): Buffer | null {
    const first = this.#pending
    const more = this.#pendingMore
    this.#pending = this.#pendingMore = null
    return first === null || more === null ? first : Buffer.concat([first, ...more])
  }

  /** A socket that is full is read many times in one turn of the loop, in which all other exchanges wait. */
  #letOthers(): void {
    this.#sinceYield = 0
    this.pause(YIELDING)
    this.#clock.soon(() => {
      if (!this.#state.isEnding) guard(this.#x, this.#services, () => this.resume(YIELDING))
    })
  }

  /** The time for which the upstream is silent counts from now. */
  touch(): void {
    this.lastByteMs = this.#clock.monotonic()
  }

  end(): void {
    this.isDone = true
  }

  /** An answer that is not judged, or whose end is known, stays in its state, and its upstream waits all the same. */
  pause(reason: number): void {
    if (this.held === 0) this.#asking.current.pause()
    if (reason === SLOW_CLIENT) this.slowSinceMs = this.#clock.monotonic()
    this.held |= reason
    if (this.#state.now === 'relaying') this.#state.go('wait')
  }

  resume(reason: number): void {
    this.held &= ~reason
    if (reason === SLOW_CLIENT) this.slowSinceMs = 0
    if (this.held !== 0) return
    if (this.#state.now === 'waiting') this.#state.go('resume')
    this.touch() // the silence was ours
    this.#asking.current.resume()
  }
}
