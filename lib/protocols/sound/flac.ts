/**
 * FLAC: the header may tell how many samples there are, or not; the frames are counted beside, each with the rate that its own
 * header names. A frame is one whose header has the right check sum.
 */
import { type ByteCursor, PLAIN_BYTES_PER_S, type SoundFound, type Steps } from './cursor.ts'

const SYNC = 0xff
const STREAM_INFO_BYTES = 34
const LONGEST_HEAD = 16
/** A frame is shorter: 65,535 samples of 8 channels with 32 bits. */
const LONGEST_FRAME = 2_200_000
const HERTZ = [0, 88_200, 176_400, 192_000, 8000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000]
const MOST_BLOCKS = 1000

/** CRC-8 with the polynomial x^8 + x^2 + x + 1. */
const CRC = Uint8Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x80 ? (crc << 1) ^ 0x07 : crc << 1
  return crc
})

export function* flac(cursor: ByteCursor, found: SoundFound): Steps {
  cursor.skip(4)
  let hertz = 0
  let claimed = 0
  for (let last = false, blocks = 0; !last && blocks < MOST_BLOCKS; blocks++) {
    const head = yield* cursor.take(4)
    last = (head[0] as number) >> 7 === 1
    const type = (head[0] as number) & 0x7f
    let bytes = head.readUIntBE(1, 3)
    if (type === 0 && bytes >= STREAM_INFO_BYTES) {
      const info = yield* cursor.take(STREAM_INFO_BYTES)
      bytes -= STREAM_INFO_BYTES
      hertz = info.readUIntBE(10, 3) >> 4
      const samples = ((info[13] as number) & 15) * 2 ** 32 + info.readUInt32BE(14)
      claimed = found.seconds = hertz === 0 ? 0 : samples / hertz
    }
    cursor.skip(bytes)
  }
  let counted = 0
  let seen = 0
  const add = (bytes: number, seconds: number) => {
    found.bytes = seen += bytes
    counted += seconds
    found.known = counted > 0 || seen < LONGEST_FRAME
    found.seconds = Math.max(claimed, counted, seen / PLAIN_BYTES_PER_S)
    return found.known
  }
  const frame = (data: Buffer, at: number) => {
    const bytes = headBytes(data, at)
    if (bytes > 0) add(bytes, samplesOf(data, at, bytes) / (hertzOf(data, at, bytes) || hertz || 192_000))
    return bytes
  }
  yield* cursor.walk(LONGEST_HEAD, SYNC, frame, bytes => add(bytes, 0))
}

const blockCode = (data: Buffer, at: number): number => (data[at + 2] as number) >> 4
const hertzCode = (data: Buffer, at: number): number => (data[at + 2] as number) & 15
/** The bytes of its own that the size of the block has, and the rate. */
const blockBytes = (code: number): number => (code === 6 ? 1 : code === 7 ? 2 : 0)
const hertzBytes = (code: number): number => (code === 12 ? 1 : code === 13 || code === 14 ? 2 : 0)

/** Returns the length of the header of the frame that begins there; 0 = none does. */
function headBytes(data: Buffer, at: number): number {
  const b3 = data[at + 3] as number
  if (data[at] !== SYNC || ((data[at + 1] as number) & 0xfe) !== 0xf8) return 0
  const block = blockCode(data, at)
  const hertz = hertzCode(data, at)
  if (block === 0 || hertz === 15 || b3 >> 4 > 10 || (b3 & 1) !== 0 || ((b3 >> 1) & 7) === 3) return 0
  const numberBytes = codedBytes(data, at + 4)
  if (numberBytes === 0) return 0
  const end = at + 4 + numberBytes + blockBytes(block) + hertzBytes(hertz)
  let crc = 0
  for (let i = at; i < end; i++) crc = CRC[crc ^ (data[i] as number)] as number
  return crc === data[end] ? end + 1 - at : 0
}

/** Bytes of a number that is written as UTF-8 writes characters; 0 = it is not. */
function codedBytes(data: Buffer, at: number): number {
  const lead = data[at] as number
  if (lead < 0x80) return 1
  const bytes = Math.clz32(~(lead << 24))
  if (bytes === 1 || bytes > 7) return 0
  for (let i = 1; i < bytes; i++) if (((data[at + i] as number) & 0xc0) !== 0x80) return 0
  return bytes
}

function samplesOf(data: Buffer, at: number, bytes: number): number {
  const code = blockCode(data, at)
  const end = at + bytes - 1 - hertzBytes(hertzCode(data, at))
  if (code === 6) return (data[end - 1] as number) + 1
  if (code === 7) return data.readUInt16BE(end - 2) + 1
  return code === 1 ? 192 : code < 6 ? 576 << (code - 2) : 256 << (code - 8)
}

/** 0 = the frame does not name its rate. */
function hertzOf(data: Buffer, at: number, bytes: number): number {
  const code = hertzCode(data, at)
  const end = at + bytes - 1
  if (code === 12) return (data[end - 1] as number) * 1000
  if (code === 13) return data.readUInt16BE(end - 2)
  if (code === 14) return data.readUInt16BE(end - 2) * 10
  return HERTZ[code] ?? 0
}
