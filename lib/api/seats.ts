/**
 * Bounds how many reports and exports run at once in this process, so that they take nothing from the requests that are
 * relayed. A user has one seat of each kind. Who asks for a report when all seats are taken waits a moment, because a
 * page may ask for several; an export is refused at once.
 */
import type { Clock } from '../base/clock.ts'
import { ApiError } from './errors.ts'

interface Waiting {
  who: string
  sit: () => void
}

export interface SeatBounds {
  seats: number
  /** The most callers that wait, of one user and of all. */
  mostOfOne: number
  most: number
  waitMs: number
}

export const REPORTS: SeatBounds = { seats: 2, mostOfOne: 8, most: 64, waitMs: 10_000 }
export const EXPORTS: SeatBounds = { seats: 2, mostOfOne: 0, most: 0, waitMs: 0 }

export class Seats {
  readonly #clock: Clock
  readonly #bounds: SeatBounds
  readonly #seated = new Set<string>()
  readonly #waiting: Waiting[] = []

  constructor(clock: Clock, bounds: SeatBounds) {
    this.#clock = clock
    this.#bounds = bounds
  }

  /** Resolves with the function that gives the seat back. Throws ApiError `busy`. */
  async take(who: string): Promise<() => void> {
    if (this.#isFree(who)) this.#seated.add(who)
    else await this.#wait(who)
    let isBack = false
    return () => {
      if (isBack) return
      isBack = true
      this.#seated.delete(who)
      this.#next()
    }
  }

  #isFree(who: string): boolean {
    return this.#seated.size < this.#bounds.seats && !this.#seated.has(who)
  }

  #wait(who: string): Promise<void> {
    const { mostOfOne, most, waitMs } = this.#bounds
    const own = this.#waiting.filter(one => one.who === who).length
    if (own >= mostOfOne || this.#waiting.length >= most) throw new ApiError('busy')
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const one = { who, sit: resolve }
    this.#waiting.push(one)
    const cancel = this.#clock.after(waitMs, () => {
      const at = this.#waiting.indexOf(one)
      if (at >= 0) this.#waiting.splice(at, 1)
      reject(new ApiError('busy'))
    })
    return promise.finally(cancel)
  }

  #next(): void {
    const at = this.#waiting.findIndex(({ who }) => this.#isFree(who))
    if (at < 0) return
    const [one] = this.#waiting.splice(at, 1) as [Waiting]
    this.#seated.add(one.who)
    one.sit()
  }
}
