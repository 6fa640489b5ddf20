/**
 * Reads `application/vnd.amazon.eventstream`, the binary framing of AWS, from chunks that are cut anywhere. A frame is
 *
 *     length of the frame (4 bytes) · length of its headers (4) · checksum of these eight bytes (4)
 *     headers · payload · checksum of all before it (4)
 *
 * with numbers in network order and checksums as in gzip (CRC-32). Both checksums are compared, and both lengths bounded: what is
 * not such a frame is an error, because no reader can find the beginning of the next one behind it.
 */
import { crc32 } from 'node:zlib'

/** The bytes that have come are no frame. */
export class BadFrame extends Error {
  override name = 'BadFrame'
  readonly code = 'BAD_FRAME'
}

export interface EventFrame {
  /** The headers whose values are texts; the others are passed over. */
  headers: ReadonlyMap<string, string>
  /** A part of the bytes that the reader was given, where that is possible. */
  payload: Buffer
}

/** The largest that the format allows, headers and all. */
export const MOST_FRAME_BYTES = 16 * 1024 * 1024
export const MOST_HEADER_BYTES = 128 * 1024

const PRELUDE_BYTES = 12
const CHECKSUM_BYTES = 4
const TEXT = 7
/** The lengths of values by their type; a negative one is that of the length which stands before the value. */
const VALUE_BYTES = [0, 0, 1, 2, 4, 8, -2, -2, 8, 16]
const SMALLEST_ROOM = 1024
const NOTHING: Buffer = Buffer.alloc(0)

export class FrameReader {
  /** A frame that has begun, in front; behind it there may be room. */
  #begun: Buffer = NOTHING
  #bytes = 0

  /** A frame has begun and not ended. */
  get isInside(): boolean {
    return this.#bytes > 0
  }

  /** The frames that are whole now, in turn. Throws BadFrame behind those that are well; nothing may be pushed after that. */
  *push(chunk: Buffer): Iterable<EventFrame> {
    let rest = this.#fill(chunk)
    if (this.#bytes > 0) {
      if (this.#bytes < this.#wanted) return
      yield frameOf(this.#begun.subarray(0, this.#bytes))
      this.#begun = NOTHING
      this.#bytes = 0
    }
    while (rest.length >= PRELUDE_BYTES) {
      const length = lengthOf(rest)
      if (rest.length < length) break
      yield frameOf(rest.subarray(0, length))
      rest = rest.subarray(length)
    }
    this.#keep(rest)
  }

  /** The bytes of the frame that has begun that are wanted: those that say how long it is, then all. */
  get #wanted(): number {
    return this.#bytes < PRELUDE_BYTES ? PRELUDE_BYTES : lengthOf(this.#begun)
  }

  /** Takes from a chunk what belongs to the frame that has begun. Returns the rest. */
  #fill(chunk: Buffer): Buffer {
    let rest = chunk
    while (this.#bytes > 0 && rest.length > 0) {
      const missing = this.#wanted - this.#bytes
      if (missing === 0) break
      this.#keep(rest.subarray(0, missing))
      rest = rest.subarray(missing)
    }
    return rest
  }

  /** Copies, so that a frame in a thousand pieces takes no more memory than its bytes, and that only when they come. */
  #keep(piece: Buffer): void {
    if (piece.length === 0) return
    const needed = this.#bytes + piece.length
    if (needed > this.#begun.length) {
      const larger = Buffer.allocUnsafe(Math.max(needed, 2 * this.#begun.length, SMALLEST_ROOM))
      this.#begun.copy(larger, 0, 0, this.#bytes)
      this.#begun = larger
    }
    piece.copy(this.#begun, this.#bytes)
    this.#bytes = needed
  }
}

function lengthOf(bytes: Buffer): number {
  const length = bytes.readUInt32BE(0)
  const headerBytes = bytes.readUInt32BE(4)
  if (crc32(bytes.subarray(0, 8)) !== bytes.readUInt32BE(8)) throw new BadFrame('the checksum of a length is wrong')
  if (headerBytes > MOST_HEADER_BYTES) throw new BadFrame(`${headerBytes} bytes of headers`)
  if (length > MOST_FRAME_BYTES) throw new BadFrame(`a frame of ${length} bytes`)
  if (length < PRELUDE_BYTES + headerBytes + CHECKSUM_BYTES)
    throw new BadFrame('a frame that is shorter than its parts')
  return length
}

function frameOf(bytes: Buffer): EventFrame {
  const end = bytes.length - CHECKSUM_BYTES
  if (crc32(bytes.subarray(0, end)) !== bytes.readUInt32BE(end)) throw new BadFrame('the checksum of a frame is wrong')
  const payloadAt = PRELUDE_BYTES + bytes.readUInt32BE(4)
  return { headers: headersOf(bytes.subarray(PRELUDE_BYTES, payloadAt)), payload: bytes.subarray(payloadAt, end) }
}

/** A header is the length of its name (1 byte), the name, the type of its value (1), and the value. */
function headersOf(bytes: Buffer): ReadonlyMap<string, string> {
  const headers = new Map<string, string>()
  try {
    for (let at = 0; at < bytes.length; ) {
      const typeAt = at + 1 + bytes.readUInt8(at)
      const type = bytes.readUInt8(typeAt)
      const fixed = VALUE_BYTES[type]
      if (fixed === undefined) throw new BadFrame(`a header of the type ${type}`)
      const valueAt = typeAt + 1 + (fixed < 0 ? -fixed : 0)
      const end = valueAt + (fixed < 0 ? bytes.readUInt16BE(typeAt + 1) : fixed)
      if (end > bytes.length) throw new BadFrame('a header that is cut off')
      if (type === TEXT) headers.set(bytes.toString('utf8', at + 1, typeAt), bytes.toString('utf8', valueAt, end))
      at = end
    }
  } catch (error) {
    if (error instanceof RangeError) throw new BadFrame('a header that is cut off')
    throw error
  }
  return headers
}
