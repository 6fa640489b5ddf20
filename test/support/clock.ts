import type { Clock } from '../../lib/base/clock.ts'

/**
 * A clock for tests. Its time stands still until `advance`, which runs the timers that fall due, in order. Wall time
 * and monotonic time can be set apart, as on a machine whose clock is corrected.
 */
export class TestClock implements Clock {
  #monotonic = 0
  #wall: number
  readonly #timers = new Set<{ at: number; fn: () => void }>()

  constructor(wallMs = 1_790_000_000_000) {
    this.#wall = wallMs
  }

  now(): number {
    return this.#wall
  }

  monotonic(): number {
    return this.#monotonic
  }

  after(ms: number, fn: () => void): () => void {
    const timer = { at: this.#monotonic + ms, fn }
    this.#timers.add(timer)
    return () => void this.#timers.delete(timer)
  }

  /** The number of timers that are set. */
  get timers(): number {
    return this.#timers.size
  }

  soon(fn: () => void): void {
    queueMicrotask(fn)
  }

  /**
   * Changes the wall time only, as an administrator or a bad time server does. Timers and intervals are not affected.
   */
  step(ms: number): void {
    this.#wall += ms
  }

  advance(ms: number): void {
    const until = this.#monotonic + ms
    for (;;) {
      let due: { at: number; fn: () => void } | undefined
      for (const timer of this.#timers) if (timer.at <= until && (due === undefined || timer.at < due.at)) due = timer
      if (due === undefined) break
      this.#timers.delete(due)
      this.#pass(due.at - this.#monotonic)
      due.fn()
    }
    this.#pass(until - this.#monotonic)
  }

  #pass(ms: number): void {
    this.#monotonic += ms
    this.#wall += ms
  }
}
