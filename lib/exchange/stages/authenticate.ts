/** Finds out whose key it is. Keys that are unknown, disabled, expired or used up are refused with the same words. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Exchange } from '../record/exchange.ts'
import { countMoneyWait, moneyLeftMs } from '../record/need.ts'
import { stage } from '../plan.ts'
import { refuse, storeFailed, NEXT, type Verdict } from '../record/ending.ts'
import type { Services } from '../record/services.ts'

export const authenticate = stage<'secret', 'key'>((x, services) => {
  const found = x.secret === null ? null : services.keys.find(x.secret)
  x.secret = null // it is not needed again, so it is not kept
  if (!(found instanceof Promise)) return judgeFound(x, services, found)
  return found.then(
    entry => judgeFound(x, services, entry),
    error => storeFailed(x, services, error),
  )
})

/**
 * A cap that renews begins each period anew, so the store may have to be asked whether it is used up. When the store does
 * not answer, nobody knows, so the request is refused for that reason and not for its key.
 */
export function judgeFound(x: Exchange, services: Services, entry: KeyEntry | null): Verdict | Promise<Verdict> {
  if (entry === null || x.free || services.ledger.capUsedUp(entry.key) !== null) return judgeKey(x, services, entry)
  const learned = services.ledger.learnCap(entry.key, moneyLeftMs(x))
  return countMoneyWait(x, services, learned).then(() =>
    services.ledger.capUsedUp(entry.key) === null ? refuse(x, services, 'unavailable') : judgeKey(x, services, entry),
  )
}

export function judgeKey(x: Exchange, services: Services, entry: KeyEntry | null): Verdict {
  if (entry === null || !usable(x, services, entry)) return refuse(x, services, 'key')
  x.entry = entry
  return NEXT
}

function usable(x: Exchange, { clock, ledger }: Services, { key, keyPurse }: KeyEntry): boolean {
  if (key.status !== 'enabled') return false
  if (key.expiresAtMs !== null && key.expiresAtMs <= clock.now()) return false
  if (key.cap === null || x.free) return true
  if (key.cap.every === null && keyPurse.spent >= key.cap.amount) return false
  return ledger.capUsedUp(key) !== true
}
