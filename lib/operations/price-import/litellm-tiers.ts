/**
 * Prices of service tiers in LiteLLM's list. It names a price for each class of tokens; ours are one factor for all. So a
 * tier is taken only where its prices are the same multiple of the others, exactly.
 */
import { compare, type Exact, ratio, times } from './exact.ts'
import type { Offer } from './offer.ts'

export interface TierPrice {
  /** The end of the field's name. */
  tier: string
  /** Of the price that the tier changes. */
  path: string
  field: string
  amount: Exact
}

/** How upstreams name the tier. */
const NAMES: Record<string, string> = { batches: 'batch', batch_requests: 'batch' }

export function addTiers(offer: Offer, prices: readonly TierPrice[]): void {
  const names = new Set(prices.map(({ tier }) => NAMES[tier] ?? tier))
  for (const name of names) {
    const own = prices.filter(({ tier }) => (NAMES[tier] ?? tier) === name)
    const factor = factorOf(offer, own)
    if (factor !== null) offer.plain.set(`tiers.${name}`, factor)
    else offer.notes.push(`${own.map(({ field }) => field).join(', ')}: not one factor of the other prices`)
  }
}

/** null = there is none. */
function factorOf({ amounts }: Offer, prices: readonly TierPrice[]): string | null {
  const pairs = prices.map(({ path, amount }) => [amount, amounts.get(path)] as const)
  const known = pairs.filter((pair): pair is [Exact, Exact] => pair[1] !== undefined)
  if (known.length < pairs.length) return null
  // What is free is free in every tier.
  const counting = known.filter(([amount, base]) => amount.digits !== 0n || base.digits !== 0n)
  const [first] = counting
  if (first === undefined || counting.some(([, base]) => base.digits === 0n)) return null
  const same = counting.every(([amount, base]) => compare(times(amount, first[1]), times(first[0], base)) === 0)
  return same ? ratio(first[0], first[1]) : null
}
