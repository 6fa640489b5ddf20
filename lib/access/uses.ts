/**
 * The requests that this process has admitted and that the shared rate window in the store does not count yet, by the
 * part of the window in which they were admitted. `slots.ts` adds them to the window with its next write.
 */
import { PARTS, type RateWindow } from './window.ts'

export class Uses {
  readonly #counts = new Map<number, number>()

  get none(): boolean {
    return this.#counts.size === 0
  }

  /** `part` is the number of a part since 1970; a negative `count` takes uses back. */
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

  /** Drops the uses that have left every window. */
  forget(nowPart: number): void {
    for (const part of this.#counts.keys()) if (part < nowPart - PARTS) this.#counts.delete(part)
  }
}
