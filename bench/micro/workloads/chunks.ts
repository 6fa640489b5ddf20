/** Bytes in the pieces in which sockets hand them over. */
import type { Random } from '../../../test/support/random.ts'

/** What a read of a busy socket brings at most. */
const READ = 65_536
/** Payload of one packet. */
const PACKET = 1448

/** Mostly full reads, now and then a few packets. Together they are `bytes`. */
export function reads(random: Random, bytes: Buffer, most = READ): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = random.next() < 0.7 ? most : Math.min(most, PACKET * random.int(1, 10))
    chunks.push(bytes.subarray(at, at + length))
    at += length
  }
  return chunks
}

/** Each event by itself, as an upstream that flushes writes them. */
export function events(bytes: Buffer): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const end = bytes.indexOf('\n\n', at)
    const next = end < 0 ? bytes.length : end + 2
    chunks.push(bytes.subarray(at, next))
    at = next
  }
  return chunks
}

/** As the body of an answer of which each piece was written by itself. */
export const chunked = (pieces: readonly Buffer[]): Buffer =>
  Buffer.concat([
    ...pieces.flatMap(piece => [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
    Buffer.from('0\r\n\r\n'),
  ])
