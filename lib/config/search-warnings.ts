/**
 * Models of which requests lose the search that they offer: a search of the upstream that is only offered, and that has no price, is left
 * out of the request. That may be meant, so it is no mistake; but who runs the gateway should know it.
 */
import { SEARCH_SUFFIX } from '../protocols/words/server-tools.ts'
import type { Channel, Model, Protocol } from '../terms/records.ts'

/** On which the clients of these providers offer the search unasked. */
const OFFERED_ON: readonly Protocol[] = ['messages', 'responses', 'generate']
const MOST_NAMED = 20

interface Rows {
  models: readonly Model[]
  channels: readonly Channel[]
}

export function searchWarnings({ models, channels }: Rows): string[] {
  const unpriced = models
    .filter(({ price }) => price !== null && price.web_search === undefined)
    .map(({ name }) => name)
  const asked = new Set<string>()
  const online = new Set<string>()
  for (const { status, protocols, models: served } of channels) {
    if (status !== 'enabled') continue
    const isOffered = OFFERED_ON.some(protocol => protocols.includes(protocol))
    for (const [name, upstream] of Object.entries(served)) {
      if (upstream.endsWith(SEARCH_SUFFIX)) online.add(name)
      if (isOffered) asked.add(name)
    }
  }
  const refused = unpriced.filter(name => online.has(name))
  const cut = unpriced.filter(name => asked.has(name) && !online.has(name))
  return [
    ...(refused.length === 0
      ? []
      : [
          `${named(refused)}: refused, because the upstream's name ends with ${SEARCH_SUFFIX} and there is no price web_search`,
        ]),
    ...(cut.length === 0
      ? []
      : [
          `${named(cut)}: no price web_search, so a search that a client only offers is left out of its request (0: it is free)`,
        ]),
  ]
}

const named = (names: readonly string[]): string => {
  const more = names.length - MOST_NAMED
  return `${names.length === 1 ? 'model' : 'models'} ${names.slice(0, MOST_NAMED).join(', ')}${more > 0 ? ` and ${more} more` : ''}`
}
