/**
 * Prices of the catalogue in the form that people and programs read, exact decimals in CNY; and what a model has cost in a
 * group: the versions of its price times the versions of the group's multiplier. It tells when prices changed, and never who
 * changed them.
 */
import { iso } from '../../base/clock.ts'
import { decimalText } from '../../base/money.ts'
import type { Store } from '../../store/store.ts'
import type { Version } from '../../store/catalogue/prices.ts'
import type { Group, Model, Price } from '../../terms/records.ts'
import { type OfferedPrice, offeredAt } from '../../world/offers.ts'

/** Places of a decimal in CNY that shows pico-CNY, and of one that shows millionths. */
const PICO_PLACES = 12
const MILLIONTHS_PLACES = 6

export interface ShownPriceList {
  /** The prices of prompts with more tokens than that; null = of all others. */
  over: number | null
  /** CNY per million of tokens and characters, per piece of all others. */
  prices: Record<string, string>
  /** CNY per picture, by `size/quality`, `size` and `default`; empty = pictures have no price of their own. */
  images: Record<string, string>
}

export interface ShownPrice {
  lists: ShownPriceList[]
  /** Factors on prices of tokens, by service tier, speed and place. */
  tiers: Record<string, string>
  /** Whether each search is charged, or a request that searched, once. */
  search_unit: 'query' | 'prompt'
}

const decimals = (prices: readonly (readonly [string, bigint])[]): Record<string, string> =>
  Object.fromEntries(prices.map(([name, pico]) => [name, decimalText(pico, PICO_PLACES)]))

export const shownPrice = ({ lists, tiers, searchesOnce }: OfferedPrice): ShownPrice => ({
  lists: lists.map(({ over, prices, images }) => ({ over, prices: decimals(prices), images: decimals(images) })),
  tiers: Object.fromEntries(tiers.map(([name, factor]) => [name, decimalText(BigInt(factor), MILLIONTHS_PLACES)])),
  search_unit: searchesOnce ? 'prompt' : 'query',
})

/** The most versions of a price, and of a multiplier, that are looked back at. */
const MOST_VERSIONS = 100

export interface PricePeriod {
  from: string
  /** null = it is in force. */
  until: string | null
  price: ShownPrice
}

const EVER = Number.POSITIVE_INFINITY

interface Span<T> {
  fromMs: number
  untilMs: number
  value: T
}

const spanOf = <T>({ atMs, untilMs, value }: Version<T>): Span<T> => ({ fromMs: atMs, untilMs: untilMs ?? EVER, value })

/** Newest first. Prices that only a later version of this program knows are left out. */
export async function priceHistory(store: Store, model: Model, group: Group): Promise<PricePeriod[]> {
  const page = { limit: MOST_VERSIONS }
  const [prices, multipliers] = await Promise.all([
    store.catalogue.priceVersions(model.name, page),
    store.catalogue.multiplierVersions(group.name, page),
  ])
  // the default group exists also without a row
  const always = [{ fromMs: 0, untilMs: EVER, value: group.multiplier }]
  const factors = multipliers.length === 0 ? always : multipliers.map(spanOf)
  const periods = prices.map(spanOf).flatMap(price => factors.flatMap(factor => period(model, group, price, factor)))
  return periods.sort((a, b) => (a.from < b.from ? 1 : -1))
}

function period(model: Model, group: Group, price: Span<Price>, factor: Span<number>): PricePeriod[] {
  const fromMs = Math.max(price.fromMs, factor.fromMs)
  const untilMs = Math.min(price.untilMs, factor.untilMs)
  const offered = fromMs < untilMs ? offeredAt(model, group, price.value, factor.value) : null
  if (offered === null) return []
  return [{ from: iso(fromMs), until: untilMs === EVER ? null : iso(untilMs), price: shownPrice(offered) }]
}
