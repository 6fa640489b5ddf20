/**
 * Ogg: several streams may stand beside or behind each other, each a row of pages. The packets of Opus are counted. Of other
 * codecs the position at the end of the last page tells the length, and the number of bytes the least that it can be.
 */

import { opusSeconds } from './codecs.ts'
import {
  type ByteCursor,
  MOST_PARTS,
  PACKED_BYTES_PER_S,
  PLAIN_BYTES_PER_S,
  type SoundFound,
  type Steps,
} from './cursor.ts'

const PAGE = 'OggS'
const PAGE_HEAD_BYTES = 27
const CONTINUES = 1
const LETTER_O = 0x4f
const MOST_STREAMS = 32
const OPUS_HERTZ = 48_000
/** An encoder pads the last packet: the position of the last page leaves the padding out. */
const MOST_PADDING_S = 0.12

interface Stream {
  isOpus: boolean
  hertz: number
  /** Samples at the beginning that are not played. */
  skipped: number
  /** Samples up to the end of the last page. */
  position: number
  /** Counted from the packets. */
  packetS: number
  /** The least that the bytes can be. */
  leastS: number
  bytesPerS: number
}

export function* ogg(cursor: ByteCursor, found: SoundFound): Steps {
  const streams = new Map<number, Stream | null>()
  for (let pages = 0; pages < MOST_PARTS; pages++) {
    const start = yield* cursor.peek(PAGE_HEAD_BYTES)
    if (start.toString('latin1', 0, 4) !== PAGE) {
      cursor.skip(Math.max(1, start.indexOf(PAGE)))
      continue
    }
    const flags = start[5] as number
    const position = Number(start.readBigInt64LE(6))
    const serial = start.readUInt32LE(14)
    const count = start[26] as number
    const head = yield* cursor.take(PAGE_HEAD_BYTES + count)
    const sizes = Uint8Array.from(head.subarray(PAGE_HEAD_BYTES))
    const body = yield* cursor.take(sizes.reduce((a, b) => a + b, 0))
    const stream = streams.get(serial)
    if (stream === undefined) {
      if (streams.size === MOST_STREAMS) break
      streams.set(serial, streamOf(body))
    } else if (stream !== null) {
      found.bytes += head.length + body.length
      addPage(stream, { position, sizes, body, continues: (flags & CONTINUES) !== 0 })
    }
    const sounds = [...streams.values()].filter(one => one !== null)
    found.known = sounds.length > 0
    found.seconds = sounds.reduce((sum, one) => sum + secondsOf(one), 0)
  }
  found.known = false
}

/** The stream that begins with this page; null = it is no sound. */
function streamOf(body: Buffer): Stream | null {
  const text = body.toString('latin1', 0, 8)
  const stream = {
    isOpus: false,
    hertz: 0,
    skipped: 0,
    position: 0,
    packetS: 0,
    leastS: 0,
    bytesPerS: PACKED_BYTES_PER_S,
  }
  if (text === 'OpusHead' && body.length >= 12)
    return { ...stream, isOpus: true, hertz: OPUS_HERTZ, skipped: body.readUInt16LE(10) }
  if (text.slice(1, 7) === 'vorbis' && body.length >= 16) return { ...stream, hertz: body.readUInt32LE(12) }
  if (text === 'Speex   ' && body.length >= 40) return { ...stream, hertz: body.readUInt32LE(36) }
  if (text.slice(1, 5) === 'FLAC' && body.length >= 30)
    return { ...stream, hertz: body.readUIntBE(27, 3) >> 4, bytesPerS: PLAIN_BYTES_PER_S }
  return null
}

function addPage(
  stream: Stream,
  { position, sizes, body, continues }: { position: number; sizes: Uint8Array; body: Buffer; continues: boolean },
): void {
  if (position > 0) stream.position = Math.max(stream.position, position)
  if (stream.isOpus) stream.packetS += packetsOf(sizes, body, continues)
  else if (position > 0) stream.leastS += body.length / stream.bytesPerS // pages without a position have no sound
}

/** Seconds of the packets that begin in the page. */
function packetsOf(sizes: Uint8Array, body: Buffer, continues: boolean): number {
  let seconds = 0
  let at = 0
  let begins = !continues
  for (const size of sizes) {
    const isHead = body[at] === LETTER_O && body.toString('latin1', at, at + 4) === 'Opus'
    if (begins && size > 0 && !isHead) seconds += opusSeconds(body[at] as number, body[at + 1] ?? 0)
    at += size
    begins = size < 255
  }
  return seconds
}

function secondsOf({ isOpus, hertz, skipped, position, packetS, leastS }: Stream): number {
  const told = hertz === 0 ? 0 : position / hertz
  if (!isOpus) return Math.max(told, leastS)
  const isPadded = told <= packetS && packetS - told < MOST_PADDING_S
  return Math.max(0, (isPadded ? told : packetS) - skipped / hertz)
}
