/** How much callers may ask for: calls in a minute, and reports and exports at once. */
import { type Clock, DAY_MS, MINUTE_MS } from '../base/clock.ts'
import { latest } from '../base/lru.ts'
import { ApiError } from './errors.ts'
import type { AnswerPieces, CallLimit } from './operation.ts'

interface WaitingCaller {
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
/** Changes of a user are made one after another: those of a minute, all at once, would stand in the queue of the store, where money waits, too. */
export const CHANGES_OF_ONE: SeatBounds = { seats: 1_000, mostOfOne: 240, most: 10_000, waitMs: 60_000 }
/** Exports that are open, most of which wait for their readers. */
export const EXPORTS: SeatBounds = { seats: 32, mostOfOne: 0, most: 0, waitMs: 0 }
/** Exports that make a piece at this moment. */
export const TURNS: SeatBounds = { seats: 2, mostOfOne: 1, most: EXPORTS.seats, waitMs: 60_000 }

/**
 * Bounds how many reports, exports and changes run at once in this process, so that they take nothing from the requests that are
 * relayed. A user has one seat of each kind, and an account one for exports. Who asks for a report when all seats are
 * taken waits a moment, because a page may ask for several; an export is refused at once. An export that is open works
 * only while it makes its next piece, for which it waits in turn: so readers that are slow keep nobody else from working.
 */
export class Seats {
  readonly #clock: Clock
  readonly #bounds: SeatBounds
  readonly #seated = new Set<string>()
  readonly #waiting: WaitingCaller[] = []
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
    const [one] = this.#waiting.splice(at, 1) as [WaitingCaller]
    this.#sit(one.who)
    one.sit()
  }
}

/**
 * The pieces of an export, made in turn with those of other exports. `name`: one export has one. `return` goes through at once, also while
 * a piece is being made.
 */
export function inTurn(pieces: AnswerPieces, seats: Seats, name: string): AnswerPieces {
  const end = async () => (await pieces.return?.()) ?? { value: undefined, done: true as const }
  let isOver = false
  const made: AnswerPieces = {
    async next() {
      const leave = await seats.take(name)
      try {
        return isOver ? await end() : await pieces.next()
      } finally {
        leave()
      }
    },
    return() {
      isOver = true
      return end()
    },
    [Symbol.asyncIterator]: () => made,
  }
  return made
}

/**
 * Calls in a minute, and `changes` in a day. All of them may come at once. `changes`: each leaves a line in the log of actions for good. `page`: pages and their files, of which a browser keeps most. `written`: pieces of 32 KiB
 * of those pages that were not there as they were asked for, which is 30 MB and takes a second of the main thread.
 */
const MOST: Record<CallLimit | 'changes' | 'page' | 'written', { ip: number; user: number; withinMs?: number }> = {
  light: { ip: 6_000, user: 1_200 },
  write: { ip: 1_200, user: 240 },
  heavy: { ip: 600, user: 120 },
  'sign-in': { ip: 300, user: 30 },
  changes: { ip: 10_000, user: 10_000, withinMs: DAY_MS },
  page: { ip: 12_000, user: 12_000 },
  written: { ip: 960, user: 960 },
}
/** Callers that are remembered; whoever is forgotten begins with a full allowance. */
const MOST_CALLERS = 10_000

interface Allowance {
  left: number
  atMs: number
}

/**
 * Bounds how many calls an address and a user make in a minute. The bounds of an address are wide, because a whole
 * company, or thousands of people behind a carrier's address translation, may share one; those of a user are close.
 * They keep the process from being worn out by one cheap caller; tries of passwords have bounds of their own elsewhere.
 */
export class CallRates {
  readonly #clock: Clock
  readonly #allowances = latest<string, Allowance>(MOST_CALLERS)
  /** Apart, or whoever has thousands of addresses could have the allowances of the day forgotten by calls that change nothing. */
  readonly #changes = latest<string, Allowance>(MOST_CALLERS)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Throws ApiError when an address or a user has made too many calls of this kind. */
  take(limit: keyof typeof MOST, kind: 'ip' | 'user', who: string, calls = 1): void {
    const waitS = this.waitS(limit, kind, who, calls)
    if (waitS !== null) throw new ApiError('too_many_calls', [], waitS)
  }

  /** Counts so many calls, or says after how many seconds they may come again. */
  waitS(limit: keyof typeof MOST, kind: 'ip' | 'user', who: string, calls = 1): number | null {
    const { [kind]: most, withinMs = MINUTE_MS } = MOST[limit]
    const allowance = this.#allowance(limit, kind, who)
    const missing = calls - allowance.left
    if (missing <= 0) allowance.left -= calls
    return missing <= 0 ? null : Math.ceil((missing / most) * (withinMs / 1000))
  }

  /** Counts what was done, be it more than there was left: the next call waits for that, too. */
  spend(limit: keyof typeof MOST, kind: 'ip' | 'user', who: string, calls: number): void {
    this.#allowance(limit, kind, who).left -= calls
  }

  /** What is left now. */
  #allowance(limit: keyof typeof MOST, kind: 'ip' | 'user', who: string): Allowance {
    const { [kind]: most, withinMs = MINUTE_MS } = MOST[limit]
    const nowMs = this.#clock.monotonic()
    const key = `${limit} ${kind} ${who}`
    const allowances = limit === 'changes' ? this.#changes : this.#allowances
    const before = allowances.get(key) ?? { left: most, atMs: nowMs }
    const now = { left: Math.min(most, before.left + ((nowMs - before.atMs) / withinMs) * most), atMs: nowMs }
    allowances.set(key, now)
    return now
  }
}

/** What one caller, and all in this process, may have at once. */
interface ShareBounds {
  ofOne: number
  ofAll: number
  /** Which part of what others leave one may have; of less than all of it, something is always left for who has nothing. */
  ofLeft: number
}

/** Event streams, which stay open as long as somebody looks at a page. */
export const STREAMS: ShareBounds = { ofOne: 4, ofAll: 200, ofLeft: 1 }
/** Bytes of answers that their callers have not read yet. */
export const UNREAD_BYTES: ShareBounds = { ofOne: 8 * 1024 * 1024, ofAll: 128 * 1024 * 1024, ofLeft: 1 / 2 }

/** Bounds what callers have at once of something that each of them could take without end. */
export class Shares {
  readonly #bounds: ShareBounds
  readonly #of = new Map<string, number>()
  #taken = 0

  constructor(bounds: ShareBounds) {
    this.#bounds = bounds
  }

  /** Returns the function that gives it back. Throws ApiError `busy`. Who has nothing may have one thing that is larger than the bound of one. */
  take(who: string, amount = 1): () => void {
    if (amount === 0) return () => {}
    const { ofOne, ofAll, ofLeft } = this.#bounds
    const own = this.#of.get(who) ?? 0
    const left = ofAll - (this.#taken - own)
    const isMuch = own > 0 && own + amount > ofOne
    if (isMuch || own + amount > (left === ofAll ? left : left * ofLeft)) throw new ApiError('busy')
    this.#of.set(who, own + amount)
    this.#taken += amount
    let isBack = false
    return () => {
      if (isBack) return
      isBack = true
      this.#taken -= amount
      const left = (this.#of.get(who) as number) - amount
      if (left === 0) this.#of.delete(who)
      else this.#of.set(who, left)
    }
  }
}
