/** Prices of the catalogue in the form that people and programs read: exact decimals in CNY. */
import { decimalText } from '../../base/money.ts'
import type { OfferedPrice } from '../../world/offers.ts'

/** Places of a decimal in CNY that shows pico-CNY, and of one that shows millionths. */
const PICO_PLACES = 12
const MILLIONTHS_PLACES = 6

export interface PriceList {
  /** The prices of prompts with more tokens than that; null = of all others. */
  over: number | null
  /** CNY per million of tokens and characters, per piece of all others. */
  prices: Record<string, string>
  /** CNY per picture, by `size/quality`, `size` and `default`; empty = pictures have no price of their own. */
  images: Record<string, string>
}

export interface ShownPrice {
  lists: PriceList[]
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
