/** Shows prices in the form in which they were set, with decimals in the place of millionths. */
import type { Channel } from './channel.ts'
import { decimal } from './decimal.ts'
import type { Price, PriceList } from './records.ts'

/** A map of prices, in which the prices of pictures may be a map themselves. */
const decimals = (map: object): object =>
  Object.fromEntries(
    Object.entries(map).map(([name, value]) => [name, typeof value === 'number' ? decimal(value) : decimals(value)]),
  )

export const showPrice = (price: Price): object => (price.format === undefined ? showKnown(price) : price)

const showKnown = ({ search_unit, over, tiers, ...list }: Price): object => ({
  ...decimals(list satisfies PriceList),
  ...(search_unit === undefined ? {} : { search_unit }),
  ...(over === undefined ? {} : { over: over.map(({ tokens, ...entry }) => ({ tokens, ...decimals(entry) })) }),
  ...(tiers === undefined ? {} : { tiers: decimals(tiers) }),
})

export const showCost = (cost: Channel['cost']): object | number | null =>
  typeof cost === 'object' && cost !== null
    ? Object.fromEntries(Object.entries(cost).map(([model, price]) => [model, showPrice(price)]))
    : cost === null
      ? null
      : decimal(cost)
