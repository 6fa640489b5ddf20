/** What it costs here and now: the price of the moment of the hold is the price of the charge. */
import type { KeyEntry } from '../../access/keys.ts'
import type { Facts } from '../../protocols/facts.ts'
import type { Protocol } from '../../terms/records.ts'
import { stage } from '../plan.ts'
import { DONE, NEXT } from '../verdict.ts'

export const price = stage<'body' | 'model' | 'route', 'tariff'>(x => {
  const tariff = x.world.tariff((x.entry as KeyEntry).key.group, x.model)
  if (tariff === null || !tariff.covers(x.protocol as Protocol)) {
    x.refuse('unpriced', [x.model])
    return DONE
  }
  const { dearTier } = x.facts as Facts
  if (dearTier !== null) {
    x.refuse('field', [dearTier])
    return DONE
  }
  x.tariff = tariff
  return NEXT
})
