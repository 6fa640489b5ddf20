/**
 * A price list: the price of every class of tokens and of every fee, and what of it a request can reach that says nothing
 * of tiers, of kinds of pictures, or of what its answer consists of. Most requests are such, and share these rates.
 */
import type { Fee, TokenClass } from '../terms/records.ts'
import type { Pictures } from './pictures.ts'

export type Classes = Readonly<Record<TokenClass, number>>
type Fees = Readonly<Record<Exclude<Fee, 'image'>, number | null>>

/** A price list. null = there is no such price. */
export interface List {
  /** `base`, or the `tokens` that a prompt has to exceed. */
  readonly name: 'base' | number
  readonly tokens: Classes
  readonly fees: Fees
  readonly pictures: Pictures | null
  readonly rates: Rates
}

/** Pico-CNY per token and character, micro-CNY per piece. */
export interface Rates {
  output: number
  character: number
  image: number
  search: number
  request: number
  second: number
}

/** The rates of a list where a request says nothing of tiers, of kinds of pictures, or of what its answer consists of. */
export const plainRates = (tokens: Classes, fees: List['fees'], pictures: List['pictures']): Rates => ({
  output: Math.max(tokens.output, tokens.output_audio, tokens.output_image),
  character: fees.character ?? 0,
  image: pictures?.dearest ?? 0,
  search: fees.web_search ?? 0,
  request: fees.request ?? 0,
  second: fees.second ?? 0,
})
