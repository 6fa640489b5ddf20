/** Counted at admission, before the body is read, so that a burst cannot slip past. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Rate } from '../../terms/records.ts'
import type { Exchange } from '../exchange.ts'
import { stage } from '../plan.ts'
import { type Answer, DONE, NEXT, type Verdict } from '../verdict.ts'

/** A place among the open requests is free again when one of them ends: nobody can say when. */
const CONCURRENCY_RETRY_AFTER_S = 1

export const throttle = stage<'admitted', 'throttled'>(x => {
  const { key, account } = x.entry as KeyEntry
  return within(x, account.id, x.world.rateOf(account, key.group))
})

/** The same for what is free. It has a limit of its own, in a window beside the account's, under its negated number. */
export const throttleFree = stage<'admitted', 'throttled'>(x => {
  const { key, account } = x.entry as KeyEntry
  return within(x, -account.id, x.world.countRateOf(account, key.group))
})

function within(x: Exchange, window: number, rate: Rate): Answer {
  if (rate.requests === 0) return enter(x)
  const waitS = x.services.rates.admit(window, rate)
  return typeof waitS === 'number' ? judge(x, rate, waitS) : waitS.then(s => judge(x, rate, s))
}

function judge(x: Exchange, rate: Rate, waitS: number): Verdict {
  if (waitS === 0) return enter(x)
  x.refuse('rate', [String(rate.minutes), String(rate.requests)], waitS)
  return DONE
}

function enter(x: Exchange): Verdict {
  const limit = x.world.config.limits.concurrency
  if (limit === 0) return NEXT
  if (x.left || x.ended) return DONE // nobody would give the place back
  x.entered = x.services.concurrency.enter((x.entry as KeyEntry).account.id, limit)
  if (x.entered) return NEXT
  x.refuse('concurrency', [String(limit)], CONCURRENCY_RETRY_AFTER_S)
  return DONE
}
