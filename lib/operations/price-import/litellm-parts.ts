/** The fields of LiteLLM's list that hold several prices: searches, factors, and lists by the size of the prompt. */
import { compare, exact, largest, MILLION, roundedUp, times } from './exact.ts'
import type { Entry } from './litellm-entry.ts'
import { MONEY, TOKEN_FIELDS } from './litellm-fields.ts'
import { isMap } from './offer.ts'

/** Searches cost by how much they bring along, which no answer reports: the dearest counts. */
function searches(entry: Entry, field: string, value: unknown): void {
  const sizes = isMap(value) ? Object.entries(value) : []
  const amounts = sizes.flatMap(([size, one]) => entry.amount(`${field}.${size}`, one) ?? [])
  if (amounts.length === 0) {
    entry.note(field, value)
    return
  }
  const most = largest(amounts)
  entry.offer.amounts.set('web_search', most)
  if (amounts.some(one => compare(one, most) < 0)) entry.offer.notes.push(`${field}: the dearest counts for every size`)
}

/** Factors by speed (`fast`) and by country (`us`). */
function factors(entry: Entry, field: string, value: unknown): void {
  if (!isMap(value)) entry.note(field, value)
  for (const [name, factor] of isMap(value) ? Object.entries(value) : []) {
    const amount = exact(factor)
    const tier = name === 'fast' ? name : /^[a-z]{2}$/.test(name) ? `geo:${name}` : null
    const text = amount === null ? null : roundedUp(amount)
    if (tier === null || text === null) entry.note(`${field}.${name}`, factor)
    else entry.offer.plain.set(`tiers.${tier}`, text)
  }
}

/** `range` has the sizes of the prompt between which the prices beside it count. */
function ranges(entry: Entry, field: string, value: unknown): void {
  const lists = Array.isArray(value) ? value.filter(isMap) : []
  const starts = lists.map(({ range }) => (Array.isArray(range) ? exact(range[0]) : null))
  if (starts.length === 0 || starts.some(start => start === null || start.places > 0)) {
    entry.note(field, value)
    return
  }
  for (const [i, list] of lists.entries()) {
    const above = starts[i]!.digits
    for (const [name, one] of Object.entries(list)) {
      if (!MONEY.test(name) || one === null) continue
      const at = `${field}[${i}].${name}`
      const known = TOKEN_FIELDS[name]
      const amount = known === undefined ? null : entry.amount(at, one)
      if (known === undefined) entry.note(at, one)
      else if (amount !== null)
        entry.offer.amounts.set(above === 0n ? known : `over.${above}.${known}`, times(amount, MILLION))
    }
  }
}

/** The price of the smallest container; a 0 says that nobody knows it. The others cost more, and the list does not say what. */
function container(entry: Entry, field: string, value: unknown): void {
  const amount = entry.amount(field, value)
  if (amount === null || amount.digits === 0n) return
  entry.offer.amounts.set('container.1g', amount)
  entry.offer.notes.push(`${field}: taken for a container of 1g; larger ones stay without a price, and are refused`)
}

export const PARTS: Record<string, (entry: Entry, field: string, value: unknown) => void> = {
  search_context_cost_per_query: searches,
  code_interpreter_cost_per_session: container,
  provider_specific_entry: factors,
  tiered_pricing: ranges,
}
