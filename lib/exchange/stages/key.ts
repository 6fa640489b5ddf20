/**
 * The stages that find out who asks, and whether he may ask now: where the key stands in the request, whose it is, whether it may be used,
 * and whether its account is within its limits. `confirm` asks once more about the key when the body has come.
 */
import type { KeyEntry } from '../../access/keys.ts'
import { HOPS, isLoop } from '../../terms/hops.ts'
import { stage } from '../plan.ts'
import { DONE, NEXT, refuse, type StageResult, storeFailed, type StageVerdict } from '../record/ending.ts'
import type { Exchange } from '../record/exchange.ts'
import { countMoneyWait, moneyLeftMs } from '../record/need.ts'
import { rateLines } from './rate-headers.ts'
import { addressOf, credentialOf } from '../record/request.ts'
import type { Services } from '../record/services.ts'
import type { Rate } from '../../terms/records.ts'

/** Takes the key from where the protocol has it. A missing or an empty key is an unknown one to the next stage. */
export const credential = stage<'target', 'secret'>(x => {
  x.secret = x.target === null ? null : credentialOf(x, x.target.endpoint.placements)
  return NEXT
})

/** Finds out whose key it is. Keys that are unknown, disabled, expired or used up are refused with the same words. */
export const authenticate = stage<'secret', 'key'>((x, services) => {
  const { secret, keyHash, req } = x
  const { keys } = services
  const found = keyHash !== null ? keys.byDigest(keyHash) : secret === null ? null : keys.find(secret, req.socket)
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

function judgeKey(x: Exchange, services: Services, entry: KeyEntry | null): StageVerdict {
  if (entry !== null) x.entry = entry // so that its account's refusals show the request, even when it is refused here
  return entry !== null && isUsable(x, services, entry) ? NEXT : refuse(x, services, 'key')
}

function isUsable(x: Exchange, { ledger }: Services, { key, keyPurse }: KeyEntry): boolean {
  if (key.status !== 'enabled') return false
  if (key.expiresAtMs !== null && key.expiresAtMs <= ledger.wall.now()) return false
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

function judgeAgain(x: Exchange, services: Services, entry: KeyEntry | null): StageVerdict {
  const before = (x.entry as KeyEntry).account.id
  // what the exchange has taken so far is counted for its account, so a key that belongs to another account now is refused
  if (judgeKey(x, services, entry?.account.id === before ? entry : null) === NEXT)
    return admit(x, services) as StageVerdict
  return DONE
}

// --- limits

/** Nobody can say when one of the open requests ends, so the client is told to try again soon. */
const CONCURRENCY_RETRY_AFTER_S = 1

/** Keeps an account within its rate and its open requests. A request is counted before its body is read, so that a burst is too. */
export const throttle = stage<'admitted', 'throttled'>((x, services) => {
  const { key, account } = x.entry as KeyEntry
  return within(x, services, account.id, x.world.rateOf(account, key.group))
})

/** The same for requests that are free. Their limit is counted beside the account's own, under the account's negated number. */
export const throttleFree = stage<'admitted', 'throttled'>((x, services) => {
  const { key, account } = x.entry as KeyEntry
  return within(x, services, -account.id, x.world.countRateOf(account, key.group))
})

function within(x: Exchange, services: Services, window: number, rate: Rate): StageResult {
  if (rate.requests === 0) return enter(x, services)
  const waitS = services.rates.admit(window, rate)
  return typeof waitS === 'number'
    ? judgeWait(x, services, window, rate, waitS)
    : waitS.then(s => judgeWait(x, services, window, rate, s))
}

function judgeWait(x: Exchange, services: Services, window: number, rate: Rate, waitS: number): StageResult {
  const standing = waitS === 0 ? services.rates.standing(window, rate) : { left: 0, moreInS: waitS }
  x.rateLines = rateLines(x, rate, standing, services.clock)
  if (waitS === 0) return enter(x, services)
  return refuse(x, services, 'rate', [String(rate.minutes), String(rate.requests)], waitS)
}

function enter(x: Exchange, services: Services): StageResult {
  const { readOns } = services
  const { account } = x.entry as KeyEntry
  const { concurrent } = x.world.config.clientGone
  if (readOns.size > 0 && !x.free && readOns.isFull(account.id, x.readOnPlaces, concurrent))
    return refuse(
      x,
      services,
      'concurrency',
      [String(Math.max(1, Math.min(x.readOnPlaces, concurrent)))],
      CONCURRENCY_RETRY_AFTER_S,
    )
  const limit = x.world.config.limits.concurrency
  if (limit === 0) return NEXT
  if (x.left || x.answered) return DONE // its place would never be given back
  const entered = services.places.enter(account.id, limit)
  return typeof entered === 'boolean'
    ? judgePlace(x, services, limit, entered)
    : entered.then(one => judgePlace(x, services, limit, one))
}

function judgePlace(x: Exchange, services: Services, limit: number, entered: boolean): StageVerdict {
  if (x.finished) {
    // its client has left while it waited
    if (entered) services.places.leave((x.entry as KeyEntry).account.id)
    return DONE
  }
  x.entered = entered
  return entered ? NEXT : refuse(x, services, 'concurrency', [String(limit)], CONCURRENCY_RETRY_AFTER_S)
}
