/**
 * Counts the memory of request bodies. All bodies of a process together may take a limited number of bytes, and the bodies of one
 * account a share of that. A request takes memory before it keeps bytes of its body, and gives it back with the body.
 */
import type { Buffered } from '../access/buffered.ts'
import type { KeyEntry } from '../access/keys.ts'
import type { Exchange } from './exchange.ts'

/** Takes memory for `bytes` more of the body. It is called before they are kept. False = there is no room for them. */
export function takeMemory(x: Exchange, buffered: Buffered, bytes: number, limit: number): boolean {
  const { id } = (x.entry as KeyEntry).account
  if (!buffered.take(id, x.bufferedBytes, bytes, limit)) return false
  x.bufferedBytes += bytes
  return true
}

/** Drops the body and gives its memory back. It is called when no attempt needs the body any more. */
export function dropBody(x: Exchange, buffered: Buffered): void {
  if (x.bufferedBytes === 0) return
  buffered.give((x.entry as KeyEntry).account.id, x.bufferedBytes)
  x.bufferedBytes = 0
  x.body = []
  x.lanes?.drop()
}
