/**
 * One timer for the time-outs of all open exchanges. At each tick it asks every exchange whether something is due. An exchange
 * enters a linked list once, leaves it once, and writes down plain times in between; timers of its own, set anew with each
 * event, would cost more than relaying the events. A time-out is late by one tick at most.
 */
import type { Clock } from '../../base/clock.ts'
import type { Swept } from './exchange.ts'

const SLOWEST_TICK_MS = 1000
const FASTEST_TICK_MS = 10

export class Sweeper {
  readonly #clock: Clock
  #tickMs = SLOWEST_TICK_MS
  #first: Swept | null = null
  #cancel: (() => void) | null = null
  size = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Sets the tick by the shortest time-out that is in force, so that none is late by more than about an eighth of itself. */
  setShortest(timeoutsMs: readonly number[]): void {
    const shortest = Math.min(...timeoutsMs.filter(ms => ms > 0), SLOWEST_TICK_MS * 8)
    this.#tickMs = Math.max(FASTEST_TICK_MS, Math.min(SLOWEST_TICK_MS, shortest / 8))
  }

  add(entry: Swept): void {
    entry.previous = null
    entry.next = this.#first
    if (this.#first !== null) this.#first.previous = entry
    this.#first = entry
    this.size++
    if (this.#cancel === null) this.#schedule()
  }

  remove(entry: Swept): void {
    if (entry.previous !== null) entry.previous.next = entry.next
    else if (this.#first === entry) this.#first = entry.next
    else return
    if (entry.next !== null) entry.next.previous = entry.previous
    entry.previous = entry.next = null
    this.size--
  }

  each(visit: (entry: Swept) => void): void {
    for (let entry = this.#first; entry !== null; ) {
      const { next } = entry // the visit may remove the entry
      visit(entry)
      entry = next
    }
  }

  #schedule(): void {
    this.#cancel = this.#clock.after(this.#tickMs, () => {
      this.#cancel = null
      const now = this.#clock.monotonic()
      this.each(entry => entry.check(now))
      if (this.#first !== null) this.#schedule()
    })
  }
}
