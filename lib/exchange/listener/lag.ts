/**
 * Measures how late the event loop runs its timers. A loop that stays late means that this process has more work than
 * it can do. Above `shed.lag` new requests are refused with 503 and `retry-after`, before all requests become slow.
 */
import type { Clock } from '../../base/clock.ts'

const SAMPLE_MS = 50
/** A single stall fades within some samples; lasting load is measured anew in each. */
const DECAY = 0.8

export class LoopLag {
  readonly #clock: Clock
  #cancel: (() => void) | null = null
  #ms = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  start(): void {
    const due = this.#clock.monotonic() + SAMPLE_MS
    this.#cancel = this.#clock.after(SAMPLE_MS, () => {
      const late = Math.max(0, this.#clock.monotonic() - due)
      this.#ms = Math.max(late, this.#ms * DECAY)
      this.start()
    })
  }

  stop(): void {
    this.#cancel?.()
  }

  get ms(): number {
    return this.#ms
  }
}
