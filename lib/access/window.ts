/**
 * Sliding windows of one account, and the text in which the store keeps them for all gateways.
 *
 * A window is divided into 60 parts, and the text has the number of requests admitted in each. A request counts until
 * its part has left the window completely. So never more requests than the limit are in ANY window, wherever it begins.
 * Windows of different length are counted apart, each with the requests that it limits.
 *
 * The text also has the time of the gateway that wrote it. A reader whose own time is earlier moves its time forward to
 * that, and counts on from there with a clock that never jumps. So windows only ever move forward, even when the wall
 * clocks of gateways differ or are set.
 */
export const WINDOW_PARTS = 60
/** The length of a part, in ms, for each minute of its window. */
export const PART_MS_PER_MINUTE = 1000
const BASE = 36

export class RateWindow {
  readonly #partMs: number
  /** Number of a part, counted from 1970 → requests admitted in it. */
  readonly #counts = new Map<number, number>()

  constructor(minutes: number) {
    this.#partMs = minutes * PART_MS_PER_MINUTE
  }

  partAt(ms: number): number {
    return Math.floor(ms / this.#partMs)
  }

  /** A negative `count` takes away, at most what the part has. */
  add(part: number, count: number): void {
    const sum = (this.#counts.get(part) ?? 0) + count
    if (sum > 0) this.#counts.set(part, sum)
    else this.#counts.delete(part)
  }

  /**
   * Requests in the window that ends now, and slots booked for the next seconds. Drops parts that have left the window.
   */
  used(nowMs: number): number {
    const first = this.partAt(nowMs) - WINDOW_PARTS
    let sum = 0
    for (const [part, count] of this.#counts) {
      if (part < first) this.#counts.delete(part)
      else sum += count
    }
    return sum
  }

  /** The time in ms at which the oldest request leaves the window; 0 = it is empty. */
  nextFreeMs(): number {
    let oldest = Number.POSITIVE_INFINITY
    for (const part of this.#counts.keys()) oldest = Math.min(oldest, part)
    return oldest === Number.POSITIVE_INFINITY ? 0 : (oldest + WINDOW_PARTS + 1) * this.#partMs
  }

  /** ms until fewer than `limit` requests are in the window. */
  freeInMs(nowMs: number, limit: number): number {
    let tooMany = this.used(nowMs) - limit + 1
    if (tooMany <= 0) return 0
    for (const part of [...this.#counts.keys()].sort((a, b) => a - b)) {
      tooMany -= this.#counts.get(part) as number
      if (tooMany <= 0) return (part + WINDOW_PARTS + 1) * this.#partMs - nowMs
    }
    return WINDOW_PARTS * this.#partMs
  }

  /**
   * Text form in base 36: `number of the newest part:its count,the count of the part before,…`; empty for no requests.
   */
  toString(): string {
    if (this.#counts.size === 0) return ''
    const parts = [...this.#counts.keys()]
    const newest = Math.max(...parts)
    const counts: string[] = []
    for (let part = newest; part >= Math.min(...parts); part--) {
      counts.push(this.#counts.has(part) ? (this.#counts.get(part) as number).toString(BASE) : '')
    }
    return `${newest.toString(BASE)}:${counts.join(',')}`
  }

  /** Adds the counts of a text form; what cannot be read is skipped. */
  read(newest: string, counts: string): void {
    const last = parseInt(newest, BASE)
    counts.split(',', 2 * WINDOW_PARTS).forEach((text, i) => {
      const count = text === '' ? 0 : parseInt(text, BASE)
      if (Number.isSafeInteger(count) && Number.isSafeInteger(last)) this.add(last - i, count)
    })
  }
}

/**
 * All windows of one account, as the store has them: `ms.writer`, then `minutes:newest:counts` for each window, separated
 * by spaces. `ms` is the writer's time. What cannot be read counts as empty.
 */
export class RateState {
  /** The time of the writer, in ms since 1970; 0 = unknown. */
  readonly writtenMs: number
  readonly #windows = new Map<number, RateWindow>()

  constructor(text: string) {
    const [ms = '', ...windows] = text.split(' ')
    const written = parseInt(ms, BASE)
    this.writtenMs = Number.isSafeInteger(written) && written > 0 ? written : 0
    for (const window of windows) {
      const [minutes, newest = '', counts = ''] = window.split(':')
      if (Number(minutes) > 0) this.of(Number(minutes)).read(newest, counts)
    }
  }

  of(minutes: number): RateWindow {
    let window = this.#windows.get(minutes)
    if (window === undefined) this.#windows.set(minutes, (window = new RateWindow(minutes)))
    return window
  }

  /** `writer`: its name, so that a writer that reads the text again knows whether it is the one it wrote. */
  toText(nowMs: number, writer: string): string {
    const texts = [`${Math.floor(nowMs).toString(BASE)}.${writer}`]
    for (const [minutes, window] of this.#windows) {
      if (window.used(nowMs) > 0) texts.push(`${minutes}:${window.toString()}`)
    }
    return texts.join(' ')
  }
}
