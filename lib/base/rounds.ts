/** Work that is done in rounds, each of which begins a while after the one before it has ended. */
import type { Clock } from './clock.ts'

export class Rounds {
  readonly #clock: Clock
  readonly #everyMs: number
  readonly #round: () => Promise<void>
  #cancel: (() => void) | null = null
  #running: Promise<void> = Promise.resolve()
  /** Long rounds ask it, so that they end soon. */
  stopped = false

  /** `round` never rejects. */
  constructor(clock: Clock, everyMs: number, round: () => Promise<void>) {
    this.#clock = clock
    this.#everyMs = everyMs
    this.#round = round
  }

  /** The first round begins after `everyMs` too. */
  start(): void {
    if (this.stopped) return
    this.#cancel = this.#clock.after(this.#everyMs, () => {
      this.#running = this.#round().then(() => this.start())
    })
  }

  /** Resolves when the round under way has ended. */
  async stop(): Promise<void> {
    this.stopped = true
    this.#cancel?.()
    await this.#running
  }
}
