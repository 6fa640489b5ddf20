/**
 * Repeats a piece of asynchronous work. Each round begins a fixed time after the one before has ended, so that slow
 * rounds never overlap.
 */
import type { Clock } from './clock.ts'

export class Rounds {
  readonly #clock: Clock
  readonly #everyMs: () => number
  readonly #round: () => Promise<void>
  #cancel: (() => void) | null = null
  #running: Promise<void> = Promise.resolve()
  /** True when `stop` was called. A long round looks at this, so that it can end early. */
  stopped = false

  /** `everyMs`: the pause before each round; a function where it changes. `round` must never reject. */
  constructor(clock: Clock, everyMs: number | (() => number), round: () => Promise<void>) {
    this.#clock = clock
    this.#everyMs = typeof everyMs === 'number' ? () => everyMs : everyMs
    this.#round = round
  }

  /** Begins the rounds, the first after `everyMs`. */
  start(): void {
    if (this.stopped) return
    this.#cancel = this.#clock.after(this.#everyMs(), () => {
      this.#running = this.#round().then(() => this.start())
    })
  }

  /** Begins no more rounds, and resolves when the one under way has ended. */
  async stop(): Promise<void> {
    this.stopped = true
    this.#cancel?.()
    await this.#running
  }
}
