/** Writes the binary frames of AWS, by code of its own: no table and no library has a part in its checksums. */

type Header = readonly [name: string, value: string]

export function frameBytes(headers: readonly Header[], payload: Buffer | string): Buffer {
  const written = Buffer.concat(headers.map(headerBytes))
  const body = Buffer.from(payload)
  const prelude = Buffer.concat([number(16 + written.length + body.length), number(written.length)])
  const begun = Buffer.concat([prelude, number(checksum(prelude)), written, body])
  return Buffer.concat([begun, number(checksum(begun))])
}

/** A frame in which Bedrock sends one event of a model, with the padding that it adds. */
export const chunkFrame = (event: string, padding = 'abcdefghijkl'): Buffer =>
  frameBytes(
    [
      [':event-type', 'chunk'],
      [':content-type', 'application/json'],
      [':message-type', 'event'],
    ],
    JSON.stringify({ bytes: Buffer.from(event).toString('base64'), p: padding }),
  )

export const exceptionFrame = (type: string, message: string): Buffer =>
  frameBytes(
    [
      [':exception-type', type],
      [':content-type', 'application/json'],
      [':message-type', 'exception'],
    ],
    JSON.stringify({ message }),
  )

function headerBytes([name, value]: Header): Buffer {
  const text = Buffer.from(value)
  return Buffer.concat([
    Buffer.of(name.length),
    Buffer.from(name),
    Buffer.of(7, text.length >> 8, text.length & 255),
    text,
  ])
}

export function number(value: number): Buffer {
  const bytes = Buffer.alloc(4)
  bytes.writeUInt32BE(value)
  return bytes
}

/** CRC-32, bit by bit. */
export function checksum(bytes: Buffer): number {
  let rest = 0xffffffff
  for (const byte of bytes) {
    rest ^= byte
    for (let bit = 0; bit < 8; bit++) rest = rest & 1 ? (rest >>> 1) ^ 0xedb88320 : rest >>> 1
  }
  return (rest ^ 0xffffffff) >>> 0
}
