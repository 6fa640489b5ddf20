/**
 * Bounds how many reports and exports run at once in this process, so that they take nothing from the requests that are
 * relayed. A user has one seat of each kind, and an account one for exports. Who asks for a report when all seats are
 * taken waits a moment, because a page may ask for several; an export is refused at once. An export that is open works
 * only while it makes its next piece, for which it waits in turn: so readers that are slow keep nobody else from working.
 */
import type { Clock } from '../base/clock.ts'
import { ApiError } from './errors.ts'

interface Waiting {
  who: readonly string[]
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
/** Exports that are open, most of which wait for their readers. */
export const EXPORTS: SeatBounds = { seats: 32, mostOfOne: 0, most: 0, waitMs: 0 }
/** Exports that make a piece at this moment. */
export const TURNS: SeatBounds = { seats: 2, mostOfOne: 1, most: EXPORTS.seats, waitMs: 60_000 }

export class Seats {
  readonly #clock: Clock
  readonly #bounds: SeatBounds
  readonly #seated = new Set<string>()
  readonly #waiting: Waiting[] = []
  #taken = 0

  constructor(clock: Clock, bounds: SeatBounds) {
    this.#clock = clock
    this.#bounds = bounds
  }

  /**
   * `who`: the names of whom the seat is taken for, none of whom may have another one. Resolves with the function that
   * gives the seat back. Throws ApiError `busy`.
   */
  async take(...who: readonly string[]): Promise<() => void> {
    if (this.#isFree(who)) this.#sit(who)
    else await this.#wait(who)
    let isBack = false
    return () => {
      if (isBack) return
      isBack = true
      this.#taken--
      for (const name of who) this.#seated.delete(name)
      this.#next()
    }
  }

  #isFree(who: readonly string[]): boolean {
    return this.#taken < this.#bounds.seats && !who.some(name => this.#seated.has(name))
  }

  #sit(who: readonly string[]): void {
    this.#taken++
    for (const name of who) this.#seated.add(name)
  }

  #wait(who: readonly string[]): Promise<void> {
    const { mostOfOne, most, waitMs } = this.#bounds
    const own = this.#waiting.filter(one => one.who[0] === who[0]).length
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
    this.#sit(one.who)
    one.sit()
  }
}
