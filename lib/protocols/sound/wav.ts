/**
 * WAV (RIFF): the length is that of the samples that are really there, whatever the header says of their number. The header
 * tells how many bytes a second has; what it says of that is believed only up to a plausible rate.
 */
import { type ByteCursor, PACKED_BYTES_PER_S, PLAIN_BYTES_PER_S, type SoundFound, type Steps } from './cursor.ts'

const MOST_CHUNKS = 10_000
/** Writers who do not know the length put 0 or a number near the largest. */
const OPEN_SIZE = 0x7fff0000
/** Samples as they are: PCM, floating point, A-law and mu-law. */
const PLAIN = [1, 3, 6, 7]
/** Blocks of compressed samples have heads, so that they take so much more than the samples. */
const MOST_BLOCK_HEADS = 1.25
/** The real format stands further behind. */
const EXTENSIBLE = 0xfffe
const FORMAT_BYTES = 16
const BLOCKS_BYTES = 20
const EXTENSIBLE_BYTES = 26
const CHUNK_NAME = /^[ -~]{4}$/

export function* wav(cursor: ByteCursor, found: SoundFound): Steps {
  cursor.skip(12)
  let bytesPerS = 0
  let bytes = 0
  const count = (more: number) => {
    found.bytes = bytes += more
    found.seconds = bytes / bytesPerS
  }
  for (let chunks = 0; chunks < MOST_CHUNKS; chunks++) {
    const head = yield* cursor.take(8)
    const name = head.toString('latin1', 0, 4)
    const size = head.readUInt32LE(4)
    if (name === 'fmt ' && bytesPerS === 0 && size >= FORMAT_BYTES) {
      const format = yield* cursor.take(Math.min(size, EXTENSIBLE_BYTES))
      bytesPerS = rateOf(format)
      cursor.skip(size - format.length + (size & 1))
    } else if (bytesPerS === 0 && (name === 'data' || !CHUNK_NAME.test(name))) break
    else if (name === 'data') {
      yield* cursor.pass(size === 0 || size >= OPEN_SIZE ? Number.POSITIVE_INFINITY : size, count)
      cursor.skip(size & 1)
    } else if (CHUNK_NAME.test(name)) cursor.skip(size + (size & 1))
    else {
      count(head.length)
      yield* cursor.pass(Number.POSITIVE_INFINITY, count)
    }
  }
  found.known = false
}

/** Returns the bytes of a second. */
function rateOf(format: Buffer): number {
  const named = format.readUInt16LE(0)
  const tag = named === EXTENSIBLE && format.length >= EXTENSIBLE_BYTES ? format.readUInt16LE(24) : named
  const samples = format.readUInt16LE(2) * format.readUInt32LE(4)
  const bits = format.readUInt16LE(14)
  const claimed = format.readUInt32LE(8)
  if (PLAIN.includes(tag)) return least(claimed, samples * Math.ceil(bits / 8), PLAIN_BYTES_PER_S)
  const inBlock = format.length >= BLOCKS_BYTES ? format.readUInt16LE(18) : 0
  const ofBlocks = inBlock === 0 ? 0 : (format.readUInt32LE(4) * format.readUInt16LE(12)) / inBlock
  return least(claimed, ofBlocks, ((samples * bits) / 8) * MOST_BLOCK_HEADS, PACKED_BYTES_PER_S)
}

/** Returns the least of these rates, of which 0 says nothing. */
const least = (...rates: number[]): number => Math.min(...rates.filter(rate => rate > 0))
