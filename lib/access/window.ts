/**
 * An account's rate windows as text that every gateway reads and writes: how many requests were admitted in which sixtieth
 * ("part") of a window. A request counts until its part has wholly left the window, so never more than the limit fit into
 * ANY window, wherever it begins. Windows of different length are counted apart, each by the requests that it limits.
 *
 * The text also says how late it was for whoever wrote it. Readers whose own clock is behind move on to that moment and
 * go on from there by a clock that does not step: wall clocks may be wrong or be set, the windows only ever move forward.
 */
export const PARTS = 60
/** A part of a window of one minute is a second long. */
export const PART_MS_PER_MINUTE = 1000
const BASE = 36

export class RateWindow {
  readonly #partMs: number
  /** Part, numbered from 1970 → admitted in it. */
  readonly #counts = new Map<number, number>()

  constructor(minutes: number) {
    this.#partMs = minutes * PART_MS_PER_MINUTE
  }

  partAt(ms: number): number {
    return Math.floor(ms / this.#partMs)
  }

  /** Negative takes away, at most what is there. */
  add(part: number, count: number): void {
    const sum = (this.#counts.get(part) ?? 0) + count
    if (sum > 0) this.#counts.set(part, sum)
    else this.#counts.delete(part)
  }

  /** Admitted in the window that ends now, and set aside for soon. Forgets what has left the window. */
  used(nowMs: number): number {
    const first = this.partAt(nowMs) - PARTS
    let sum = 0
    for (const [part, count] of this.#counts) {
      if (part < first) this.#counts.delete(part)
      else sum += count
    }
    return sum
  }

  /** ms until fewer than `limit` are counted. */
  freeInMs(nowMs: number, limit: number): number {
    let tooMany = this.used(nowMs) - limit + 1
    if (tooMany <= 0) return 0
    for (const part of [...this.#counts.keys()].sort((a, b) => a - b)) {
      tooMany -= this.#counts.get(part) as number
      if (tooMany <= 0) return (part + PARTS + 1) * this.#partMs - nowMs
    }
    return PARTS * this.#partMs
  }

  /** `newest part:its count,the one's before,…`; empty when nothing is counted. */
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

  read(newest: string, counts: string): void {
    const last = parseInt(newest, BASE)
    counts.split(',', 2 * PARTS).forEach((text, i) => {
      const count = text === '' ? 0 : parseInt(text, BASE)
      if (Number.isSafeInteger(count) && Number.isSafeInteger(last)) this.add(last - i, count)
    })
  }
}

/** All windows of one account: `ms.mark` of the writer, then one `minutes:newest:counts` each. What is unreadable is empty. */
export class RateState {
  /** How late it was for the writer. */
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

  /** `mark`: nobody else's, so that whoever finds the text again knows whether it is the one it wrote. */
  toText(nowMs: number, mark: string): string {
    const texts = [`${Math.floor(nowMs).toString(BASE)}.${mark}`]
    for (const [minutes, window] of this.#windows) {
      if (window.used(nowMs) > 0) texts.push(`${minutes}:${window.toString()}`)
    }
    return texts.join(' ')
  }
}
