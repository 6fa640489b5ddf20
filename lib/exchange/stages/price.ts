/**
 * Finds the price in the exchange's world, which is the newest one at the moment when the body was complete (`confirm.ts`). The
 * exchange is charged at that price, also when the price changes before the answer ends. A request that asks for a tier or a picture without a price is refused.
 */
import type { KeyEntry } from '../../access/keys.ts'
import type { Facts } from '../../protocols/facts.ts'
import type { Protocol } from '../../terms/records.ts'
import { stage } from '../plan.ts'
import { refuse } from '../refuse.ts'
import { NEXT } from '../verdict.ts'

export const price = stage<'body' | 'model' | 'route', 'tariff'>((x, services) => {
  const tariff = x.world.tariff((x.entry as KeyEntry).key.group, x.model)
  if (tariff === null || !tariff.covers(x.protocol as Protocol)) return refuse(x, services, 'unpriced', [x.model])
  const { tiers, picture } = x.facts as Facts
  const field = tariff.refusedTier(tiers) ?? tariff.refusedPicture(picture)
  if (field !== null) return refuse(x, services, 'field', [field])
  x.tariff = tariff
  return NEXT
})
