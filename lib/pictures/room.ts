/**
 * Whether there is room for more bytes in the folder of kept pictures. Several processes write there, and none keeps a list:
 * each looks at the folder, now and then, and adds what it has written itself since. What other processes have written
 * since then is not in its sum, so together they may go above the size by what they write within that time.
 */
import type { Clock } from '../base/clock.ts'
import { contentsOf } from './contents.ts'

/** How long a look at the folder holds. */
const FRESH_MS = 1000
/** A large folder takes longer to look at: at most this share of the time. */
const LOOK_SHARE = 0.02

export class Room {
  readonly #clock: Clock
  #folder = ''
  /** What the latest look has found, and what was written since it began. */
  #found = 0
  #added = 0
  /** Monotonic ms: until when the latest look holds. */
  #freshUntilMs = Number.NEGATIVE_INFINITY
  #look: Promise<void> | null = null

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Takes room for so many bytes; false = there is none. Throws when the folder cannot be read. */
  async take(bytes: number, folder: string, sizeBytes: number): Promise<boolean> {
    if (folder !== this.#folder || this.#clock.monotonic() >= this.#freshUntilMs) await this.#lookAt(folder)
    if (this.#found + this.#added + bytes > sizeBytes) return false
    this.#added += bytes
    return true
  }

  /** Bytes that were taken and are not there any more. */
  giveBack(bytes: number): void {
    this.#added -= bytes
  }

  #lookAt(folder: string): Promise<void> {
    this.#look ??= this.#find(folder).finally(() => {
      this.#look = null
    })
    return this.#look
  }

  async #find(folder: string): Promise<void> {
    const beganMs = this.#clock.monotonic()
    const addedBefore = this.#added
    const { bytes } = await contentsOf(folder)
    const endedMs = this.#clock.monotonic()
    this.#folder = folder
    this.#found = bytes
    this.#added -= addedBefore
    this.#freshUntilMs = endedMs + Math.max(FRESH_MS, (endedMs - beganMs) / LOOK_SHARE)
  }
}
