/** The prices of a model, as they are set and stored. `lib/pricing` makes of them what a request costs. */
import type { ContainerSize } from '../protocols/server-tools.ts'
import type { TokenClass } from '../protocols/usage.ts'

/** Prices of tokens in micro-CNY per million tokens, which is the same number of pico-CNY per token. */
export type TokenPrices = Partial<Record<TokenClass, number>>

/** Prices per picture: `size/quality`, `size` or `default` → micro-CNY. */
export type Sizes = Record<string, number>

/** Prices in micro-CNY: per million for tokens and characters, per piece for all others. */
export interface PriceList extends TokenPrices {
  /** One price for all pictures, or prices by size; the two forms of these mean the same. */
  image?: number | Sizes | { sizes: Sizes }
  web_search?: number
  request?: number
  second?: number
  character?: number
}

/** The prices of requests whose prompt has more tokens than `tokens`. */
export interface OverList extends PriceList {
  tokens: number
}

/** What a model costs, in the form in which it was set. A class of tokens without a price costs as its parent class. */
export interface Price extends PriceList {
  /** Of tools of the upstream, in micro-CNY. A call of maps, or a request that used them, as `search_unit` says. */
  maps?: number
  /** A container, by the memory that it is asked for with. */
  container?: Partial<Record<ContainerSize, number>>
  /** A request that ran code. */
  code_execution?: number
  /** A call of a tool, by its name. */
  tools?: Record<string, number>
  /** `query` (the default): each web search is charged. `prompt`: a request that searched is charged once. */
  search_unit?: 'query' | 'prompt'
  /** Other price lists for large prompts, by rising `tokens`. */
  over?: OverList[]
  /** Factors in millionths: by service tier, by speed (`fast`), and by place (`geo:us`). */
  tiers?: Record<string, number>
  /** Only where the price is written in a format that this program does not know: its number, and nothing beside it. */
  format?: number
}
