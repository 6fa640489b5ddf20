/**
 * Finds the price in the exchange's world, which is the newest one at the moment when the body was complete (`confirm.ts`). The
 * exchange is charged at that price, also when the price changes before the answer ends. A request that asks for a tier, a picture
 * or a tool without a price is refused; a search that is only offered is left out of it.
 */
import type { KeyEntry } from '../../access/keys.ts'
import { type Facts, withoutSearches } from '../../protocols/facts.ts'
import { SEARCH_SUFFIX, withFreeCode } from '../../protocols/words/server-tools.ts'
import type { Protocol } from '../../terms/records.ts'
import type { Exchange } from '../record/exchange.ts'
import { isOnline } from '../record/need.ts'
import { stage } from '../plan.ts'
import { refuse, NEXT } from '../record/ending.ts'

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

/** Where all channels translate, what runs at the upstream is not asked of them, and the answer names it as dropped. */
function isAskedNatively(x: Exchange): boolean {
  const route = x.world.routes.find((x.entry as KeyEntry).key.group, x.model, x.protocol as Protocol)
  return route?.tiers[0]?.[0]?.lane === null
}
