/** What it costs here and now: the price of the moment of the hold is the price of the charge. */
import type { KeyEntry } from '../../access/keys.ts'
import { stage } from '../plan.ts'
import { DONE, NEXT } from '../verdict.ts'

export const price = stage<'model' | 'route', 'tariff'>(x => {
  x.tariff = x.world.tariff((x.entry as KeyEntry).key.group, x.model)
  if (x.tariff !== null) return NEXT
  x.refuse('unpriced', [x.model])
  return DONE
})
