/**
 * Virtual time for several processes. Between two timers everything that can happen without time passing happens, so a
 * run is the same each time. A process that is killed has no timers any more.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Clock } from '../../../lib/base/clock.ts'

interface Timer {
  at: number
  fn: () => void
  owner: ProcessClock
}

/** Whose code is running: what it takes of the machine goes when it is killed. */
export const running = new AsyncLocalStorage<ProcessClock>()

/** Until nothing can go on without a timer: everything in a simulation is a microtask. */
export const settled = (): Promise<void> => new Promise(resolve => setImmediate(resolve))

/** The same without a turn of the event loop: ticks come when no microtask is left. */
const quiet = (): Promise<void> => new Promise(resolve => process.nextTick(resolve))

export class Timeline {
  monotonic = 0
  /** What the wall shows more than that; steps when an administrator or a bad time server says so. */
  wallOffset = 1_790_000_000_000
  /** Timers of each process that threw: a real process would have ended. */
  readonly crashes: unknown[] = []
  #timers: Timer[] = []

  get now(): number {
    return this.monotonic + this.wallOffset
  }

  process(): ProcessClock {
    return new ProcessClock(this, 0)
  }

  add(timer: Timer): () => void {
    this.#timers.push(timer)
    return () => {
      const index = this.#timers.indexOf(timer)
      if (index >= 0) this.#timers.splice(index, 1)
    }
  }

  drop(owner: ProcessClock): void {
    this.#timers = this.#timers.filter(timer => timer.owner !== owner)
  }

  async advance(ms: number): Promise<void> {
    const until = this.monotonic + ms
    await settled()
    for (let due = this.#next(until); due !== null; due = this.#next(until)) {
      this.#timers.splice(this.#timers.indexOf(due), 1)
      this.monotonic = Math.max(this.monotonic, due.at)
      try {
        running.run(due.owner, due.fn)
      } catch (error) {
        this.crashes.push(error)
      }
      await quiet()
    }
    this.monotonic = until
  }

  #next(until: number): Timer | null {
    let first: Timer | null = null
    for (const timer of this.#timers) if (timer.at <= until && (first === null || timer.at < first.at)) first = timer
    return first
  }
}

export class ProcessClock implements Clock {
  readonly #timeline: Timeline
  readonly #skewMs: number
  dead = false

  /** `skewMs`: its wall clock shows so much more than the others'. */
  constructor(timeline: Timeline, skewMs: number) {
    this.#timeline = timeline
    this.#skewMs = skewMs
  }

  now = (): number => this.#timeline.now + this.#skewMs
  monotonic = (): number => this.#timeline.monotonic

  after = (ms: number, fn: () => void): (() => void) =>
    this.dead ? () => {} : this.#timeline.add({ at: this.#timeline.monotonic + ms, fn, owner: this })

  /** A process may die before the end of its turn. */
  soon = (fn: () => void): void => void this.after(0, fn)

  kill(): void {
    this.dead = true
    this.#timeline.drop(this)
  }
}
