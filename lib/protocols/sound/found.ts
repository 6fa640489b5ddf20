/** What the reader of a container has found out so far about the length of its sound. */
export interface Found {
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
