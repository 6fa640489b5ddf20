/**
 * Reads the body of a call: a JSON object of bounded size. A caller that sends more than that, or too slowly, is told
 * so while its request is still under way.
 */
import type { IncomingMessage } from 'node:http'
import type { Clock } from './clock.ts'

export class BodyFault extends Error {
  override name = 'BodyFault'
  readonly what: 'too_large' | 'too_slow' | 'not_json'

  constructor(what: BodyFault['what']) {
    super(what)
    this.what = what
  }
}

interface BodyBounds {
  clock: Clock
  mostBytes: number
  /** The most time for the whole body. */
  withinMs: number
}

/** A body of up to so many times the bound is still read and dropped, so that a caller that is sending gets to see the answer. */
const DROPPED_SHARE = 16

const utf8 = new TextDecoder('utf-8', { fatal: true })

/** The object that was sent, or undefined for an empty body. Throws BodyFault. */
export async function readObject(
  req: IncomingMessage,
  bounds: BodyBounds,
): Promise<Record<string, unknown> | undefined> {
  const bytes = await readBytes(req, bounds)
  return bytes.length === 0 ? undefined : parse(bytes)
}

/** The bytes that were sent. Throws BodyFault. */
export function readBytes(req: IncomingMessage, { clock, mostBytes, withinMs }: BodyBounds): Promise<Buffer> {
  const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
  const chunks: Buffer[] = []
  let size = 0
  const take = (chunk: Buffer) => {
    size += chunk.length
    if (size <= mostBytes) chunks.push(chunk)
    else if (size > mostBytes * DROPPED_SHARE) reject(new BodyFault('too_large'))
  }
  const end = () => (size > mostBytes ? reject(new BodyFault('too_large')) : resolve(Buffer.concat(chunks)))
  const broken = () => reject(new BodyFault('not_json')) // nobody is left to be told
  const cancel = clock.after(withinMs, () => reject(new BodyFault('too_slow')))
  if (req.destroyed) broken()
  req.on('data', take).on('end', end).on('error', broken).on('close', broken)
  return promise.finally(() => {
    cancel()
    req
      .off('data', take)
      .off('end', end)
      .off('error', broken)
      .off('close', broken)
      .on('error', () => {})
  })
}

/**
 * JSON.parse makes Infinity of 1e999. It becomes an empty object here, which no field accepts. A function given to JSON.parse would do the
 * same in twenty times the time.
 */
function finite(value: unknown): unknown {
  if (typeof value === 'number') return Number.isFinite(value) ? value : {}
  if (typeof value !== 'object' || value === null) return value
  const members = value as Record<string, unknown>
  for (const name of Object.keys(members)) {
    const member = members[name]
    if (typeof member === 'object') finite(member)
    else if (typeof member === 'number' && !Number.isFinite(member)) members[name] = {}
  }
  return value
}

function parse(bytes: Buffer): Record<string, unknown> {
  let value: unknown
  try {
    value = finite(JSON.parse(utf8.decode(bytes)))
  } catch {
    throw new BodyFault('not_json')
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new BodyFault('not_json')
  return value as Record<string, unknown>
}
