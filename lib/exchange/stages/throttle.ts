/** Keeps an account within its rate and its open requests. A request is counted before its body is read, so that a burst is too. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Rate } from '../../terms/records.ts'
import type { Exchange } from '../record/exchange.ts'
import { stage } from '../plan.ts'
import { placesOf } from '../record/read-ons.ts'
import { refuse, type StageResult, DONE, NEXT, type Verdict } from '../record/ending.ts'
import type { Services } from '../record/services.ts'

/** Nobody can say when one of the open requests ends, so the client is told to try again soon. */
const CONCURRENCY_RETRY_AFTER_S = 1

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
  return typeof waitS === 'number' ? judge(x, services, rate, waitS) : waitS.then(s => judge(x, services, rate, s))
}

function judge(x: Exchange, services: Services, rate: Rate, waitS: number): Verdict {
  if (waitS === 0) return enter(x, services)
  return refuse(x, services, 'rate', [String(rate.minutes), String(rate.requests)], waitS)
}

function enter(x: Exchange, services: Services): Verdict {
  const { readOns } = services
  const { account } = x.entry as KeyEntry
  const { concurrent } = x.world.config.clientGone
  if (readOns.size > 0 && !x.free && readOns.isFull(account.id, placesOf(x), concurrent))
    return refuse(
      x,
      services,
      'concurrency',
      [String(Math.max(1, Math.min(placesOf(x), concurrent)))],
      CONCURRENCY_RETRY_AFTER_S,
    )
  const limit = x.world.config.limits.concurrency
  if (limit === 0) return NEXT
  if (x.left || x.ended) return DONE // its place would never be given back
  x.entered = services.concurrency.enter(account.id, limit)
  if (x.entered) return NEXT
  return refuse(x, services, 'concurrency', [String(limit)], CONCURRENCY_RETRY_AFTER_S)
}
