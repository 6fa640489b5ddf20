/**
 * Back-pressure on the upstream whose answer is relayed: it is read no further while the client is slow, while money is fetched,
 * while the decoder is behind, or while pictures are written down. Several reasons may hold at once, and the upstream goes on when none is left.
 */
import type { Machine } from './machine.ts'

/** The reasons, as bits. */
export const SLOW_CLIENT = 1
export const GROWING = 2
export const DECODING = 4
export const LINKING = 8

export class BackPressure {
  readonly #m: Machine
  #reasons = 0
  /** Monotonic ms: the client takes nothing, since then; 0 = it does. */
  slowSinceMs = 0

  constructor(machine: Machine) {
    this.#m = machine
  }

  /** The upstream is held up. */
  get isOn(): boolean {
    return this.#reasons !== 0
  }

  /** An answer that is not judged, or whose end is known, stays in its state, and its upstream waits all the same. */
  hold(reason: number): void {
    if (this.#reasons === 0) this.#m.attempts.pause()
    if (reason === SLOW_CLIENT) this.slowSinceMs = this.#m.services.clock.monotonic()
    this.#reasons |= reason
    const { state } = this.#m
    if (state === 'relaying') this.#m.go('wait')
  }

  release(reason: number): void {
    this.#reasons &= ~reason
    if (reason === SLOW_CLIENT) this.slowSinceMs = 0
    if (this.#reasons !== 0) return
    if (this.#m.state === 'waiting') this.#m.go('resume')
    this.#m.answer.lastByteMs = this.#m.services.clock.monotonic() // the silence was ours
    this.#m.attempts.resume()
  }
}
