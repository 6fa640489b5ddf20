/**
 * Sets aside what the exchange can cost. From here on it owes the ledger a settle or a void.
 *
 * That is the worst case, where the account, the key's cap and the budget have so much. Without a maximum that the upstream reads,
 * or where a model thinks beside it, the worst case is far above what most answers cost, and an account with little money could
 * ask nothing. So one such request of an account at a time is let through with less held, where a part of the worst case is
 * there: if the answer is long, the account ends below zero by that one answer.
 */
import type { KeyEntry } from '../../access/keys.ts'
import { formatMicro, type Micro, micro } from '../../base/money.ts'
import type { Claim } from '../../channels/claim.ts'
import { Hold, type HoldRefusal } from '../../ledger/ledger.ts'
import type { Facts } from '../../protocols/facts.ts'
import type { Exchange } from '../record/exchange.ts'
import { countMoneyWait, moneyLeftMs, type Case, needOf, canThink } from '../record/need.ts'
import { stage } from '../plan.ts'
import { giveRightBack, refuse, storeFailed, type Answer, DONE, NEXT, type Verdict } from '../record/ending.ts'
import { wantsEvents } from '../record/request.ts'
import type { Services } from '../record/services.ts'

/** The part of the worst case that must be there beside what is held. */
const LEAST_COVER = 5
const RETRY_AFTER_S = 1

export const reserve = stage<'tariff', 'hold'>((x, services) => {
  const { key, account } = x.entry as KeyEntry
  if (!services.ledger.accepting) return refuse(x, services, 'unavailable')
  x.coveredOutput = coveredAtFirst(x, services)
  const held = services.ledger.reserve(account, key, estimate(x, services, 'worst'), moneyLeftMs(x))
  if (!(held instanceof Promise)) return judge(x, services, held)
  return countMoneyWait(x, services, held).then(
    answer => judge(x, services, answer),
    error => storeFailed(x, services, error),
  )
})

/**
 * How much output is held at first, where the hold grows with it. A stream can be stopped when the money ends, a document cannot,
 * and neither can thoughts that nobody sees. 0 = all of it.
 */
function coveredAtFirst(x: Exchange, services: Services): number {
  const { outputTokens } = x.world.config.hold
  return outputTokens > 0 && wantsEvents(x) && !canThink(x, services, x.facts as Facts) ? outputTokens : 0
}

/** A request that costs nothing also needs an account that is not empty. */
const estimate = (x: Exchange, services: Services, of: Case): Micro =>
  micro(Math.max(1, needOf(x, services, (x.claim as Claim).candidate, x.coveredOutput > 0 ? 'named' : of)))

function judge(x: Exchange, services: Services, answer: Hold | HoldRefusal): Answer {
  if (answer instanceof Hold) return begin(x, services, answer)
  if (answer.refused === 'unavailable') return refuse(x, services, 'unavailable')
  const least = estimate(x, services, 'named')
  if (least >= answer.need) return refuseFor(x, services, answer, answer.need)
  const part = micro(Math.ceil(answer.need / LEAST_COVER))
  // the store need not be asked for what is known here
  const hasOne = services.uncovered.has((x.entry as KeyEntry).account.id)
  if (hasOne && answer.unheld >= least + part) return refuseAnother(x, services)
  const uncovered = reserveUncovered(x, services, least, part)
  return countMoneyWait(x, services, uncovered).catch(error => storeFailed(x, services, error))
}

function begin(x: Exchange, services: Services, hold: Hold): Verdict {
  x.hold = hold
  if (!x.left) return NEXT
  services.ledger.void(hold)
  x.hold = null
  return DONE
}

/** `part`: of the worst case, what must be there beside what is held. Throws StoreUnavailable. */
async function reserveUncovered(x: Exchange, services: Services, least: Micro, part: Micro): Promise<Verdict> {
  const { key, account } = x.entry as KeyEntry
  const { ledger, uncovered } = services
  const both = micro(least + part)
  const hold = await ledger.reserve(account, key, both, moneyLeftMs(x))
  if (!(hold instanceof Hold)) {
    if (hold.refused !== 'unavailable' && hold.unheld >= both) return refuseAnother(x, services)
    return refuseFor(x, services, hold, least > hold.available ? least : part)
  }
  ledger.shrink(hold, least)
  let taken = false
  try {
    taken = await uncovered.take(account.id, x.id)
  } finally {
    if (!taken) ledger.void(hold)
  }
  if (!taken) return refuseAnother(x, services)
  x.uncovered = true
  services.metrics.uncovered('admitted')
  const verdict = begin(x, services, hold)
  if (verdict === DONE) giveRightBack(x, services)
  return verdict
}

/** Only requests of the account's own that are open stand in the way. */
function refuseAnother(x: Exchange, services: Services): Verdict {
  services.metrics.uncovered('refused')
  return refuse(x, services, 'concurrency', ['1'], RETRY_AFTER_S)
}

/** `need`: what is told to be missing. */
function refuseFor(x: Exchange, services: Services, { refused, available }: HoldRefusal, need: Micro): Verdict {
  if (refused === 'unavailable') return refuse(x, services, 'unavailable')
  if (refused === 'cap_used') return refuse(x, services, 'key')
  if (refused === 'quota') return refuse(x, services, 'quota', [formatMicro(available)])
  return refuse(x, services, 'estimate', [formatMicro(available), formatMicro(need)])
}
