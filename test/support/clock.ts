import type { Clock } from '../../lib/base/clock.ts'

/**
 * A clock for tests. Its time stands still until `advance`, which runs the timers that fall due, in order. Wall time
 * and monotonic time can be set apart, as on a machine whose clock is corrected.
 */
export class TestClock implements Clock {
  #monotonic = 0
  #wall: number
  #timers: { at: number; fn: () => void }[] = []

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
    this.#timers.push(timer)
    return () => {
      this.#timers = this.#timers.filter(other => other !== timer)
    }
  }

  /** The number of timers that are set. */
  get timers(): number {
    return this.#timers.length
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
      const due = this.#timers.filter(timer => timer.at <= until).sort((a, b) => a.at - b.at)[0]
      if (due === undefined) break
      this.#timers = this.#timers.filter(timer => timer !== due)
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
