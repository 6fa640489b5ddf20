/** The stages of money: what the request costs here and now, and what is set aside for it. */
import type { KeyEntry } from '../../access/keys.ts'
import { type Facts, withoutSearches } from '../../protocols/requests/facts.ts'
import { SEARCH_SUFFIX, withFreeCode } from '../../protocols/words/server-tools.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { Exchange } from '../record/exchange.ts'
import { isOnline, countMoneyWait, moneyLeftMs, type Case, needOf, canThink } from '../record/need.ts'
import { stage } from '../plan.ts'
import {
  refuse,
  NEXT,
  giveRightBack,
  storeFailed,
  type StageResult,
  DONE,
  type StageVerdict,
} from '../record/ending.ts'
import { formatMicro, type Micro, micro } from '../../base/money.ts'
import type { Claim } from '../../channels/health.ts'
import { Hold, type HoldRefusal } from '../../ledger/ledger.ts'
import { wantsEvents } from '../record/request.ts'
import type { Services } from '../record/services.ts'

/**
 * Finds the price in the exchange's world, which is the newest one at the moment when the body was complete
 * (`confirm`). The exchange is charged at that price, also when the price changes before the answer ends. A request
 * that asks for a tier, a picture or a tool without a price is refused; a search that is only offered is left out of
 * it.
 */
export const price = stage<'body' | 'model' | 'route', 'tariff'>((x, services) => {
  const tariff = x.world.tariff((x.entry as KeyEntry).key.group, x.model)
  if (tariff === null || !tariff.covers(x.protocol as Protocol)) return refuse(x, services, 'unpriced', [x.model])
  const { tiers, picture } = x.facts as Facts
  const field = tariff.refusedTier(tiers) ?? tariff.refusedPicture(picture)
  if (field !== null) return refuse(x, services, 'field', [field])
  if ((x.facts as Facts).tools.length > 0 && isAskedNatively(x)) {
    const facts = x.facts as Facts
    const tools = withFreeCode(facts.tools, tariff.pricesSearches)
    if (tools !== facts.tools) x.facts = { ...facts, tools }
    const judged = tariff.judgeTools(tools)
    if (judged === 'leave out') x.facts = withoutSearches(x.facts as Facts)
    else if (judged !== null) return refuse(x, services, 'tool', [judged.name])
  }
  if (isOnline(x) && !tariff.pricesSearches) return refuse(x, services, 'tool', [SEARCH_SUFFIX])
  x.tariff = tariff
  return NEXT
})

/** False where all channels translate: what runs at the upstream is not asked of them then, and the answer names it as dropped. */
function isAskedNatively(x: Exchange): boolean {
  const route = x.world.routes.find((x.entry as KeyEntry).key.group, x.model, x.protocol as Protocol)
  return route?.tiers[0]?.[0]?.translation === null
}

// --- the hold

/** The part of the worst case that must be there beside what is held. */
const LEAST_COVER = 5
const RETRY_AFTER_S = 1

/**
 * Sets aside what the exchange can cost. From here on it owes the ledger a settle or a void.
 *
 * That is the worst case, where the account, the key's cap and the budget have so much. Without a maximum that the upstream reads,
 * or where a model thinks beside it, the worst case is far above what most answers cost, and an account with little money could
 * ask nothing. So one such request of an account at a time is let through with less held, where a part of the worst case is
 * there: if the answer is long, the account ends below zero by that one answer.
 */
export const reserve = stage<'tariff', 'hold'>((x, services) => {
  const { key, account } = x.entry as KeyEntry
  if (!services.ledger.accepting) return refuse(x, services, 'unavailable')
  x.coveredOutput = coveredAtFirst(x, services)
  const held = services.ledger.reserve(account, key, estimate(x, services, 'worst'), moneyLeftMs(x))
  return held instanceof Promise ? whenHeld(x, services, held) : judge(x, services, held)
})

const whenHeld = (x: Exchange, services: Services, held: Promise<Hold | HoldRefusal>): Promise<StageVerdict> =>
  countMoneyWait(x, services, held).then(
    answer => judge(x, services, answer),
    error => storeFailed(x, services, error),
  )

/**
 * The output tokens that are held at first, where the hold grows with it. A stream can be stopped when the money ends, a document cannot,
 * and neither can thoughts that nobody sees. 0 = all of it.
 */
function coveredAtFirst(x: Exchange, services: Services): number {
  const { outputTokens } = x.world.config.hold
  return outputTokens > 0 && wantsEvents(x) && !canThink(x, services, x.facts as Facts) ? outputTokens : 0
}

/** A request that costs nothing also needs an account that is not empty. */
const estimate = (x: Exchange, services: Services, of: Case): Micro =>
  micro(Math.max(1, needOf(x, services, (x.claim as Claim).candidate, x.coveredOutput > 0 ? 'named' : of)))

function judge(x: Exchange, services: Services, answer: Hold | HoldRefusal): StageResult {
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

function begin(x: Exchange, services: Services, hold: Hold): StageVerdict {
  x.hold = hold
  if (!x.left) return NEXT
  services.ledger.void(hold)
  x.hold = null
  return DONE
}

/** `part`: of the worst case, what must be there beside what is held. Throws StoreUnavailable. */
async function reserveUncovered(x: Exchange, services: Services, least: Micro, part: Micro): Promise<StageVerdict> {
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
function refuseAnother(x: Exchange, services: Services): StageVerdict {
  services.metrics.uncovered('refused')
  return refuse(x, services, 'concurrency', ['1'], RETRY_AFTER_S)
}

/** `need`: what is told to be missing. */
function refuseFor(x: Exchange, services: Services, { refused, available }: HoldRefusal, need: Micro): StageVerdict {
  if (refused === 'unavailable') return refuse(x, services, 'unavailable')
  if (refused === 'cap_used') return refuse(x, services, 'key')
  if (refused === 'quota') return refuse(x, services, 'quota', [formatMicro(available)])
  return refuse(x, services, 'estimate', [formatMicro(available), formatMicro(need)])
}
