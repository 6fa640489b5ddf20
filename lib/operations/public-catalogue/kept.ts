/**
 * A value that is made when somebody asks for it, and kept for a while, so that however many people ask, it is made once in
 * that time. When it cannot be made, the last one serves on.
 */
import type { Clock } from '../../base/clock.ts'

export class Kept<T> {
  readonly #clock: Clock
  readonly #keepMs: number
  readonly #make: () => Promise<T>
  #value: { made: T } | null = null
  #under: Promise<T> | null = null
  #untilMs = Number.NEGATIVE_INFINITY

  constructor(clock: Clock, keepMs: number, make: () => Promise<T>) {
    this.#clock = clock
    this.#keepMs = keepMs
    this.#make = make
  }

  /** Rejects when the value cannot be made and there is none from before. */
  get(): Promise<T> {
    if (this.#under !== null) return this.#under
    if (this.#value !== null && this.#clock.monotonic() < this.#untilMs) return Promise.resolve(this.#value.made)
    this.#under = this.#renew().finally(() => {
      this.#under = null
    })
    return this.#under
  }

  async #renew(): Promise<T> {
    try {
      this.#value = { made: await this.#make() }
    } catch (error) {
      if (this.#value === null) throw error
    }
    this.#untilMs = this.#clock.monotonic() + this.#keepMs
    return this.#value.made
  }
}
