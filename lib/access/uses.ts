import { PARTS, type RateWindow } from './window.ts'

/** Requests that used a slot, by the part of the window they fell into, as long as the store does not count them there. */
export class Uses {
  readonly #counts = new Map<number, number>()

  get none(): boolean {
    return this.#counts.size === 0
  }

  note(part: number, count: number): void {
    const sum = (this.#counts.get(part) ?? 0) + count
    if (sum > 0) this.#counts.set(part, sum)
    else this.#counts.delete(part)
  }

  noteAll(others: Uses): void {
    for (const [part, count] of others.#counts) this.note(part, count)
  }

  takeBack(others: Uses): void {
    for (const [part, count] of others.#counts) this.note(part, -count)
  }

  countIn(window: RateWindow): void {
    for (const [part, count] of this.#counts) window.add(part, count)
  }

  /** Those that no window contains any more. */
  forget(nowPart: number): void {
    for (const part of this.#counts.keys()) if (part < nowPart - PARTS) this.#counts.delete(part)
  }
}
