/**
 * What the readers of containers of sound share: a cursor over bytes that arrive in chunks. A reader of a container is a generator, which asks the cursor for the bytes that
 * it needs and is paused (`yield`) until they are there. What is skipped is never kept, so that a reader takes no more memory
 * than the longest piece that it looks at.
 */

/** A reader, or a part of one. */
export type Steps<T = void> = Generator<void, T, void>

const NOTHING = Buffer.alloc(0)

export class ByteCursor {
  #data: Buffer = NOTHING
  /** May lie behind the end of the data, where bytes are skipped that have not come yet. */
  #at = 0

  /** Runs the reader with the next chunk. Returns whether it has come to its end. */
  run(reader: Steps, chunk: Buffer): boolean {
    this.#data = this.#data.length === 0 ? chunk : Buffer.concat([this.#data, chunk])
    const { done } = reader.next()
    const { length } = this.#data
    this.#data = this.#at < length ? Buffer.from(this.#data.subarray(this.#at)) : NOTHING
    this.#at = Math.max(0, this.#at - length)
    return done === true
  }

  /** The next bytes, which stay where they are. They are valid until the reader is paused. */
  *peek(bytes: number): Steps<Buffer> {
    while (this.#data.length - this.#at < bytes) yield
    return this.#data.subarray(this.#at, this.#at + bytes)
  }

  /** The next bytes. They are valid until the reader is paused. */
  *take(bytes: number): Steps<Buffer> {
    const taken = yield* this.peek(bytes)
    this.#at += bytes
    return taken
  }

  skip(bytes: number): void {
    this.#at += bytes
  }

  /** Passes over so many bytes, or all that still come, and tells how many have come each time. */
  *pass(bytes: number, seen: (bytes: number) => void): Steps {
    for (let left = bytes; left > 0; ) {
      const here = Math.min(left, Math.max(0, this.#data.length - this.#at))
      this.#at += here
      left -= here
      seen(here)
      if (left > 0) yield
    }
  }

  /**
   * Walks over frames until the end. `frame` is asked at each place with at least `headBytes` behind it, and returns how long
   * the frame is that begins there; 0 = none does. Then the next place with the byte `sync` is tried, and `lost` is told how
   * many bytes belong to no frame. It returns whether the walk goes on.
   */
  *walk(
    headBytes: number,
    sync: number,
    frame: (data: Buffer, at: number) => number,
    lost: (bytes: number) => boolean,
  ): Steps {
    for (;;) {
      const data = this.#data
      while (this.#at + headBytes <= data.length) {
        const length = frame(data, this.#at)
        if (length > 0) this.#at += length
        else {
          const next = data.indexOf(sync, this.#at + 1)
          const to = next < 0 ? data.length : next
          const goesOn = lost(to - this.#at)
          this.#at = to
          if (!goesOn) return
        }
      }
      yield
    }
  }
}

/** The length of the sound, as far as the reader of its container has found it out. */
export interface SoundFound {
  seconds: number
  /** Bytes that are known to be the sound of these seconds. */
  bytes: number
  /** The container is understood. Otherwise the number of bytes has to tell the length. */
  known: boolean
}

/** A container may consist of so many parts that are looked at; one with more is not understood. */
export const MOST_PARTS = 1_000_000

/** The highest plausible rates: of samples as they are (192 kHz, 8 channels, 32 bits), of compressed sound, and of film. */
export const PLAIN_BYTES_PER_S = 6_144_000
export const PACKED_BYTES_PER_S = 72_000
export const FILM_BYTES_PER_S = 12_500_000
