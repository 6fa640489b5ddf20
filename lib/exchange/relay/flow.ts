/**
 * The flow of an answer from its upstream: what holds the upstream up, and whether it is done. The attempt that counts is paused as long
 * as there is a reason for it.
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

export class AnswerFlow {
  readonly #x: Exchange
  readonly #services: Services
  readonly #clock: Clock
  readonly #state: RelayState
  readonly #asking: Asking
  /** Monotonic ms: the client takes nothing, since then; 0 = it does. */
  slowSinceMs = 0
  /** The upstream has said all it says, or was cut. */
  isDone = false
  /** The reasons for which the upstream is held up; 0 = it is not. */
  held = 0

  constructor(x: Exchange, services: Services, state: RelayState, asking: Asking) {
    this.#x = x
    this.#services = services
    this.#clock = services.clock
    this.#state = state
    this.#asking = asking
  }

  /** Another upstream is asked. */
  restart(): void {
    this.isDone = false
    this.held = 0
  }

  /** A socket that is full is read many times in one turn of the loop, in which all other exchanges wait: now they have their turn. */
  letOthers(): void {
    if (this.isDone) return
    this.pause(YIELDING)
    this.#clock.soon(() => {
      if (!this.#state.isEnding) guard(this.#x, this.#services, () => this.resume(YIELDING))
    })
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
    this.#asking.current.touch() // the silence was ours
    this.#asking.current.resume()
  }
}
