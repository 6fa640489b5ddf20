/**
 * How long a piece of sound is, found out while its bytes pass. The container is told by its first bytes, never by a name or a
 * media type, and a reader of that container finds the length. No single number of a container is believed that would make
 * the sound shorter than its bytes can be, and bytes that are no sound for this reader could be sound for another, so they have
 * the highest plausible rate. What is not understood counts as a second for so few bytes that no sound has fewer.
 */
import { ByteCursor, PACKED_BYTES_PER_S, type SoundFound, type Steps } from './cursor.ts'
import { flac } from './flac.ts'
import { adts, amr, isAdts, isAmr, isMp3, mp3 } from './frames.ts'
import { mp4 } from './mp4.ts'
import { ogg } from './ogg.ts'
import { wav } from './wav.ts'
import { webm } from './webm.ts'

/** The fewest bytes that a second of sound has, in any form that people use. */
export const FEWEST_BYTES_PER_S = 750
/** Whatever a container says, a second of its sound has at least so many bytes. */
export const DENSEST_BYTES_PER_S = 60
const MOST_SECONDS = 1e9
const HEAD_BYTES = 12
/** Zero bytes before the first frame that are passed over. */
const MOST_PADDING = 4096

/** Sums of fractions come out a little above a whole number. */
const ROUNDING_S = 1e-6

/** Rounded up to whole seconds, as they are charged. */
export const wholeSeconds = (seconds: number): number => Math.ceil(Math.max(0, seconds - ROUNDING_S))

type Reader = (cursor: ByteCursor, found: SoundFound) => Steps

export class SoundMeter {
  readonly #cursor = new ByteCursor()
  readonly #found: SoundFound = { seconds: 0, bytes: 0, known: false }
  readonly #reader: Steps
  readonly #bytesPerS: number
  #isDone = false
  bytes = 0

  /** `bytesPerS`: of sound that is in no container. */
  constructor(bytesPerS = FEWEST_BYTES_PER_S) {
    this.#bytesPerS = bytesPerS
    this.#reader = read(this.#cursor, this.#found)
  }

  feed(chunk: Buffer): void {
    this.bytes += chunk.length
    if (!this.#isDone) this.#isDone = this.#cursor.run(this.#reader, chunk)
  }

  /** The seconds of all that has come so far. Never more than 10^9. */
  get seconds(): number {
    const { known, seconds, bytes } = this.#found
    if (!known || !(seconds >= 0)) return Math.min(MOST_SECONDS, this.bytes / this.#bytesPerS)
    const most = Math.min(MOST_SECONDS, this.bytes / DENSEST_BYTES_PER_S)
    return Math.min(most, Math.max(seconds, (this.bytes - bytes) / PACKED_BYTES_PER_S))
  }
}

function* read(cursor: ByteCursor, found: SoundFound): Steps {
  for (let padding = 0; padding < MOST_PADDING; ) {
    const head = yield* cursor.peek(HEAD_BYTES)
    const reader = readerOf(head)
    if (reader !== null) {
      found.known = true
      yield* reader(cursor, found)
      return
    }
    if (head.toString('latin1', 0, 3) === 'ID3') {
      padding++
      cursor.skip(tagBytes(head))
    } else if (head[0] === 0) {
      padding++
      cursor.skip(1)
    } else return
  }
}

function readerOf(head: Buffer): Reader | null {
  const text = head.toString('latin1', 0, 12)
  if (/^(?:RIFF|RF64|BW64).{4}WAVE/s.test(text)) return wav
  if (text.startsWith('fLaC')) return flac
  if (text.startsWith('OggS')) return ogg
  if (text.slice(4, 8) === 'ftyp') return mp4
  if (text.startsWith('\x1a\x45\xdf\xa3')) return webm
  if (isAmr(head)) return amr
  if (isAdts(head)) return adts
  return isMp3(head, 0) ? mp3 : null
}

/** The length of an ID3 tag: seven bits of each byte count. */
function tagBytes(head: Buffer): number {
  const size = head.subarray(6, 10).reduce((sum, byte) => sum * 128 + (byte & 127), 0)
  return 10 + size + ((head[5] as number) & 0x10 ? 10 : 0)
}
