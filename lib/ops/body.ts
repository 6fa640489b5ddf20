/** Reads the body of an admin request: a JSON object of at most 1 MiB. */
import type { IncomingMessage } from 'node:http'
import { Refusal } from './answer.ts'

const MOST_BYTES = 2 ** 20
const MOST_SHOWN = '1MiB'

const utf8 = new TextDecoder('utf-8', { fatal: true })

/**
 * The object that was sent, or undefined for an empty body. Throws Refusal. Bytes above the limit are read and dropped,
 * so that the caller, who is still sending, gets to see the answer.
 */
export async function readObject(req: IncomingMessage): Promise<Record<string, unknown> | undefined> {
  const chunks: Buffer[] = []
  let size = 0
  for await (const chunk of req as AsyncIterable<Buffer>) {
    size += chunk.length
    if (size <= MOST_BYTES) chunks.push(chunk)
  }
  if (size > MOST_BYTES) throw new Refusal('too_large', [MOST_SHOWN])
  return size === 0 ? undefined : parse(Buffer.concat(chunks))
}

/** JSON.parse makes Infinity of 1e999. It becomes an empty object here, which no field accepts. */
const finite = (_: string, value: unknown): unknown =>
  typeof value === 'number' && !Number.isFinite(value) ? {} : value

function parse(bytes: Buffer): Record<string, unknown> {
  let value: unknown
  try {
    value = JSON.parse(utf8.decode(bytes), finite)
  } catch {
    throw new Refusal('not_json')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Refusal('not_json')
  return value as Record<string, unknown>
}
