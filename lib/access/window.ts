/**
 * One account's rate window as text that every gateway can read: how many requests were admitted in which sixtieth of the
 * window. A slot counts until its sixtieth has wholly left the window, so that never more than the limit fit into ANY
 * window, wherever it begins.
 */
const PARTS = 60
const MS_PER_MINUTE = 60_000

export class RateWindow {
  /** Part of time → admitted in it. A part is numbered from 1970. */
  readonly #counts = new Map<number, number>()
  readonly #partMs: number

  constructor(minutes: number, text: string) {
    this.#partMs = (minutes * MS_PER_MINUTE) / PARTS
    const [partMs, ...entries] = text.split(' ')
    const scale = Number(partMs) / this.#partMs // another length, since the limit was changed
    for (const entry of entries) {
      const [part, count] = entry.split(':')
      this.add(Math.floor(Number(part) * scale), Number(count))
    }
  }

  partAt(nowMs: number): number {
    return Math.floor(nowMs / this.#partMs)
  }

  add(part: number, count: number): void {
    if (Number.isFinite(part) && Number.isFinite(count)) this.#counts.set(part, (this.#counts.get(part) ?? 0) + count)
  }

  /** Admitted in the window that ends now, and promised for soon. Forgets what is out of sight on either side. */
  used(nowMs: number): number {
    const now = this.partAt(nowMs)
    let sum = 0
    for (const [part, count] of this.#counts) {
      // further ahead than anybody promises: a clock was wrong and has been set right
      if (part < now - PARTS || part > now + PARTS || count <= 0) this.#counts.delete(part)
      else sum += count
    }
    return sum
  }

  /** Whole seconds, at least 1, until the oldest slot is free again. */
  retryAfterS(nowMs: number): number {
    const oldest = Math.min(...this.#counts.keys())
    const freeMs = Number.isFinite(oldest) ? (oldest + PARTS + 1) * this.#partMs - nowMs : 0
    return Math.max(1, Math.ceil(freeMs / 1000))
  }

  toString(): string {
    return [this.#partMs, ...[...this.#counts].map(([part, count]) => `${part}:${count}`)].join(' ')
  }
}
