/** Cuts bytes into pieces like those in which sockets deliver them. */
import type { Random } from '../../../test/support/random.ts'

/** The most that one read of a busy socket brings. */
const READ = 65_536
/** The payload of one packet. */
const PACKET = 1448

/** Cuts `bytes` into pieces that are mostly full reads, and sometimes a few packets. */
export function reads(random: Random, bytes: Buffer, most = READ): Buffer[] {
  const chunks: Buffer[] = []
  for (let at = 0; at < bytes.length; ) {
    const length = random.next() < 0.7 ? most : Math.min(most, PACKET * random.int(1, 10))
    chunks.push(bytes.subarray(at, at + length))
    at += length
  }
  return chunks
}

/** Cuts a stream into its events, as an upstream that flushes after each one sends them. */
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

/** The pieces in the chunked encoding, one chunk for each. */
export const chunked = (pieces: readonly Buffer[]): Buffer =>
  Buffer.concat([
    ...pieces.flatMap(piece => [Buffer.from(`${piece.length.toString(16)}\r\n`), piece, Buffer.from('\r\n')]),
    Buffer.from('0\r\n\r\n'),
  ])
