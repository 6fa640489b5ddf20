/** Whose key is it? Unknown, disabled, expired and used up read the same to the client. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Exchange } from '../exchange.ts'
import { stage } from '../plan.ts'
import { storeFailed } from '../store-failed.ts'
import { DONE, NEXT, type Verdict } from '../verdict.ts'

export const authenticate = stage<'secret', 'key'>(x => {
  const found = x.secret === null ? null : x.services.keys.find(x.secret)
  x.secret = null // not needed again, so it is not kept
  if (!(found instanceof Promise)) return judgeKey(x, found)
  return found.then(
    entry => judgeKey(x, entry),
    error => storeFailed(x, error),
  )
})

export function judgeKey(x: Exchange, entry: KeyEntry | null): Verdict {
  if (entry === null || !usable(x, entry)) {
    x.refuse('key')
    return DONE
  }
  x.entry = entry
  return NEXT
}

function usable(x: Exchange, { key, keyPurse }: KeyEntry): boolean {
  if (key.status !== 'enabled') return false
  if (key.expiresAtMs !== null && key.expiresAtMs <= x.services.clock.now()) return false
  if (key.cap === null || x.free) return true
  return keyPurse.spent < key.cap && !x.services.ledger.capUsedUp(key.id, key.cap)
}
