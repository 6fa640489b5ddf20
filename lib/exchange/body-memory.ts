/** The memory that a request's body takes of what all bodies together may take, and of its account's share of that. */
import type { Buffered } from '../access/buffered.ts'
import type { KeyEntry } from '../access/keys.ts'
import type { Exchange } from './exchange.ts'

/** Before `bytes` of the body are kept. False: there is no room. */
export function takeMemory(x: Exchange, buffered: Buffered, bytes: number, limit: number): boolean {
  const { id } = (x.entry as KeyEntry).account
  if (!buffered.take(id, x.bufferedBytes, bytes, limit)) return false
  x.bufferedBytes += bytes
  return true
}

/** Gives the body and its memory back: no attempt needs it any more. */
export function dropBody(x: Exchange, buffered: Buffered): void {
  if (x.bufferedBytes === 0) return
  buffered.give((x.entry as KeyEntry).account.id, x.bufferedBytes)
  x.bufferedBytes = 0
  x.body = []
}
