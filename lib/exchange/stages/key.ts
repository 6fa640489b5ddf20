/**
 * The stages that find out who asks: where the key stands in the request, whose it is, and whether it may be used now. `confirm` asks the
 * last two questions once more when the body has come.
 */
import type { KeyEntry } from '../../access/keys.ts'
import { HOPS, isLoop } from '../../terms/hops.ts'
import { stage } from '../plan.ts'
import { DONE, NEXT, refuse, type StageResult, storeFailed, type Verdict } from '../record/ending.ts'
import type { Exchange } from '../record/exchange.ts'
import { countMoneyWait, moneyLeftMs } from '../record/need.ts'
import { addressOf, credentialOf } from '../record/request.ts'
import type { Services } from '../record/services.ts'

/** Takes the key from where the protocol has it. A missing or an empty key is an unknown one to the next stage. */
export const credential = stage<'target', 'secret'>(x => {
  x.secret = x.target === null ? null : credentialOf(x, x.target.endpoint.placements)
  return NEXT
})

/** Finds out whose key it is. Keys that are unknown, disabled, expired or used up are refused with the same words. */
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
export function judgeFound(x: Exchange, services: Services, entry: KeyEntry | null): StageResult {
  if (entry === null || x.free || services.ledger.capUsedUp(entry.key) !== null) return judgeKey(x, services, entry)
  const learned = services.ledger.learnCap(entry.key, moneyLeftMs(x))
  return countMoneyWait(x, services, learned).then(() =>
    services.ledger.capUsedUp(entry.key) === null ? refuse(x, services, 'unavailable') : judgeKey(x, services, entry),
  )
}

function judgeKey(x: Exchange, services: Services, entry: KeyEntry | null): Verdict {
  if (entry === null || !isUsable(x, services, entry)) return refuse(x, services, 'key')
  x.entry = entry
  return NEXT
}

function isUsable(x: Exchange, { clock, ledger }: Services, { key, keyPurse }: KeyEntry): boolean {
  if (key.status !== 'enabled') return false
  if (key.expiresAtMs !== null && key.expiresAtMs <= clock.now()) return false
  if (key.cap === null || x.free) return true
  if (key.cap.every === null && keyPurse.spent >= key.cap.amount) return false
  return ledger.capUsedUp(key) !== true
}

/** Refuses a key that may not be used from this address, by this account, or in this group, and requests of our own. */
export const admit = stage<'key', 'admitted'>((x, services) => {
  const { key, account, allow } = x.entry as KeyEntry
  if (allow !== null && !allow.has(addressOf(x))) return refuse(x, services, 'ip')
  if (isLoop(x.req.headers[HOPS], x.world.instance)) return refuse(x, services, 'loop')
  if (account.status === 'banned') return refuse(x, services, 'banned')
  if (!account.groups.includes(key.group)) return refuse(x, services, 'group', [key.group])
  return NEXT
})

/**
 * Asks again what was true when the request's head came, because its body may have taken ten minutes. From here on the exchange
 * lives in the newest world, with its prices and channels, and with the key and the account as they are now in memory.
 */
export const confirm = stage<'key' | 'body', 'confirmed'>((x, services) => {
  x.world = services.world
  const found = services.keys.current(x.entry as KeyEntry)
  if (!(found instanceof Promise)) return judgeAgain(x, services, found)
  return found.then(
    entry => judgeAgain(x, services, entry),
    error => storeFailed(x, services, error),
  )
})

function judgeAgain(x: Exchange, services: Services, entry: KeyEntry | null): Verdict {
  const before = (x.entry as KeyEntry).account.id
  // what the exchange has taken so far is counted for its account, so a key that belongs to another account now is refused
  if (judgeKey(x, services, entry?.account.id === before ? entry : null) === NEXT) return admit(x, services) as Verdict
  return DONE
}
