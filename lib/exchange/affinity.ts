/**
 * Finds out which conversation a request belongs to. Requests of the same conversation prefer the same channel, because that
 * channel's upstream holds the conversation's prompt cache. The conversation is a number, made of what clients send to name it;
 * null = nothing names it, and any channel will do.
 */
import type { Exchange } from './record/exchange.ts'

const SESSION_HEADERS = ['x-claude-code-session-id', 'session-id', 'x-session-affinity', 'x-session-id'] as const

export function affinityOf(x: Exchange): number | null {
  for (const name of SESSION_HEADERS) {
    const value = x.req.headers[name]
    if (typeof value === 'string' && value !== '') return hash(value)
  }
  const { facts } = x
  if (facts === null) return null
  const named = facts.promptCacheKey ?? facts.userId
  return named === null ? leadingHash(x) : hash(named)
}

/** The beginning of a long body stays the same from turn to turn, so it names the conversation. A short body is not worth it. */
const LEADING_BYTES = 2048
const LONG_BYTES = 16 * 1024

function leadingHash(x: Exchange): number | null {
  const first = x.body[0]
  if (x.bodyBytes < LONG_BYTES || first === undefined) return null
  return hashBytes(first, Math.min(first.length, LEADING_BYTES))
}

/** The hash FNV-1a, of 32 bits. */
function hash(text: string): number {
  let h = 0x811c9dc5
  for (let i = 0; i < text.length; i++) h = Math.imul(h ^ text.charCodeAt(i), 0x01000193)
  return h >>> 0
}

function hashBytes(bytes: Uint8Array, length: number): number {
  let h = 0x811c9dc5
  for (let i = 0; i < length; i++) h = Math.imul(h ^ (bytes[i] as number), 0x01000193)
  return h >>> 0
}
