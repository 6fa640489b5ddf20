/**
 * Sound as a row of frames, each with a header that tells its length: MP3, AAC (ADTS) and AMR. The frames are counted, so that
 * no number in front of them has to be believed.
 */
import { AAC_HERTZ } from './codecs.ts'
import type { ByteCursor, SoundFound, Steps } from './cursor.ts'

const SYNC = 0xff
/** The search is given up when so many bytes more belong to no frame than to one. */
const MOST_LOST_BYTES = 256 * 1024
const BEHIND_FIRST_HEAD = 44

/** kbit/s by the index in the header: of MPEG 1 layers 1, 2 and 3, and of MPEG 2 layer 1, and layers 2 and 3. */
const RATES_1_1 = [0, 32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448]
const RATES_1_2 = [0, 32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384]
const RATES_1_3 = [0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320]
const RATES_2_1 = [0, 32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256]
const RATES_2_2 = [0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160]
const SAMPLES_PER_S = [44_100, 48_000, 32_000]

/** Counts frames. Bytes between them are few in an honest file: where they are most of it, the file is not understood. */
class Frames {
  readonly #found: SoundFound
  #seconds = 0
  #lost = 0
  #bytes = 0

  constructor(found: SoundFound) {
    this.#found = found
  }

  add(bytes: number, seconds: number): number {
    this.#bytes += bytes
    this.#seconds += seconds
    this.#tell()
    return bytes
  }

  /** Returns whether it is still worth looking for frames. */
  lose(bytes: number): boolean {
    this.#lost += bytes
    this.#tell()
    return this.#lost <= this.#bytes + MOST_LOST_BYTES
  }

  #tell(): void {
    this.#found.bytes = this.#bytes
    this.#found.known = this.#lost <= this.#bytes
    this.#found.seconds = this.#seconds
  }
}

export const isMp3 = (data: Buffer, at: number): boolean => mp3Bytes(data, at) > 0

function mp3Rates(version: number, layer: number): readonly number[] {
  if (version === 3) return layer === 3 ? RATES_1_1 : layer === 2 ? RATES_1_2 : RATES_1_3
  return layer === 3 ? RATES_2_1 : RATES_2_2
}

const mp3Hertz = (data: Buffer, at: number): number => {
  const version = ((data[at + 1] as number) >> 3) & 3
  const rate = SAMPLES_PER_S[((data[at + 2] as number) >> 2) & 3] ?? 0
  return version === 3 ? rate : version === 2 ? rate / 2 : rate / 4
}

const mp3Samples = (data: Buffer, at: number): number => {
  const layer = ((data[at + 1] as number) >> 1) & 3
  if (layer === 3) return 384
  return layer === 1 && (((data[at + 1] as number) >> 3) & 3) !== 3 ? 576 : 1152
}

/** Returns the length of the frame whose header stands there; 0 = there is none. */
function mp3Bytes(data: Buffer, at: number): number {
  const b1 = data[at + 1] as number
  const b2 = data[at + 2] as number
  if (data[at] !== SYNC || (b1 & 0xe0) !== 0xe0) return 0
  const version = (b1 >> 3) & 3
  const layer = (b1 >> 1) & 3
  const kbits = mp3Rates(version, layer)[b2 >> 4] ?? 0
  const hertz = mp3Hertz(data, at)
  if (version === 1 || layer === 0 || kbits === 0 || hertz === 0) return 0
  const padding = (b2 >> 1) & 1
  if (layer === 3) return (Math.floor((12_000 * kbits) / hertz) + padding) * 4
  return Math.floor((mp3Samples(data, at) * 125 * kbits) / hertz) + padding
}

export function* mp3(cursor: ByteCursor, found: SoundFound): Steps {
  const first = yield* cursor.peek(BEHIND_FIRST_HEAD)
  if (isTable(first)) cursor.skip(mp3Bytes(first, 0))
  const frames = new Frames(found)
  const frame = (data: Buffer, at: number) => {
    const bytes = mp3Bytes(data, at)
    return bytes === 0 ? 0 : frames.add(bytes, mp3Samples(data, at) / mp3Hertz(data, at))
  }
  yield* cursor.walk(4, SYNC, frame, bytes => frames.lose(bytes))
}

/** The first frame may hold a table for players (Xing, Info, VBRI) in the place of sound. */
function isTable(frame: Buffer): boolean {
  const isMono = (frame[3] as number) >> 6 === 3
  const isFirst = (((frame[1] as number) >> 3) & 3) === 3
  const at = 4 + (isFirst ? (isMono ? 17 : 32) : isMono ? 9 : 17)
  return ['Xing', 'Info'].includes(frame.toString('latin1', at, at + 4)) || frame.toString('latin1', 36, 40) === 'VBRI'
}

const ADTS_HEAD_BYTES = 7
const AAC_SAMPLES = 1024

function adtsBytes(data: Buffer, at: number): number {
  if (data[at] !== SYNC || ((data[at + 1] as number) & 0xf6) !== 0xf0) return 0
  if (((data[at + 2] as number) >> 2) % 16 >= AAC_HERTZ.length) return 0
  const bytes =
    (((data[at + 3] as number) & 3) << 11) | ((data[at + 4] as number) << 3) | ((data[at + 5] as number) >> 5)
  return bytes < ADTS_HEAD_BYTES ? 0 : bytes
}

export const isAdts = (data: Buffer): boolean => adtsBytes(data, 0) > 0

export function* adts(cursor: ByteCursor, found: SoundFound): Steps {
  const frames = new Frames(found)
  const frame = (data: Buffer, at: number) => {
    const bytes = adtsBytes(data, at)
    if (bytes === 0) return 0
    const hertz = AAC_HERTZ[((data[at + 2] as number) >> 2) % 16] as number
    return frames.add(bytes, (AAC_SAMPLES * (((data[at + 6] as number) & 3) + 1)) / hertz)
  }
  yield* cursor.walk(ADTS_HEAD_BYTES, SYNC, frame, bytes => frames.lose(bytes))
}

const AMR = '#!AMR\n'
const AMR_WIDE = '#!AMR-WB\n'
/** Bytes of a frame by its type. */
const AMR_BYTES = [13, 14, 16, 18, 20, 21, 27, 32, 6]
const AMR_WIDE_BYTES = [18, 24, 33, 37, 41, 47, 51, 59, 61, 6]
const AMR_FRAME_S = 0.02

export const isAmr = (head: Buffer): boolean =>
  [AMR, AMR_WIDE].some(magic => head.toString('latin1', 0, magic.length) === magic)

export function* amr(cursor: ByteCursor, found: SoundFound): Steps {
  const head = yield* cursor.peek(AMR_WIDE.length)
  const isWide = head.toString('latin1') === AMR_WIDE
  cursor.skip(isWide ? AMR_WIDE.length : AMR.length)
  const sizes = isWide ? AMR_WIDE_BYTES : AMR_BYTES
  const frames = new Frames(found)
  const frame = (data: Buffer, at: number) => frames.add(sizes[((data[at] as number) >> 3) & 15] ?? 1, AMR_FRAME_S)
  yield* cursor.walk(1, 0, frame, () => true)
}
