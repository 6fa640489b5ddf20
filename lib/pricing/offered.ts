/**
 * The price of a model in a group, as it is offered to people: what a million tokens of each class and each piece cost,
 * the group's multiplier included. The numbers are those by which answers are charged, so they are exact: a charge is the
 * sum of counts times these prices, rounded up once.
 */
import { FEES, type Fee, type Price, TOKEN_CLASSES, type TokenClass, type ToolFee } from '../terms/records.ts'
import type { List } from './list.ts'
import type { ModelPrice } from './model-price.ts'

/** In pico-CNY: per million of tokens and characters, per piece of all others. */
export type Pico = bigint

export interface OfferedList {
  /** The prices of prompts with more tokens than that; null = of all others. */
  over: number | null
  prices: [name: TokenClass | Fee | ToolFee, price: Pico][]
  /** Pictures by `size/quality`, `size` and `default`, where they have prices of their own. */
  images: [name: string, price: Pico][]
}

export interface OfferedPrice {
  /** The base list first, then by rising threshold. */
  lists: OfferedList[]
  /** Factors on prices of tokens, in millionths, by the name of the tier. */
  tiers: readonly (readonly [name: string, factor: number])[]
  /** A request that searched is charged for one search, however many it made. */
  searchesOnce: boolean
}

/** Classes that every model with output may charge, also where they cost as their parents do. */
const USUAL: readonly TokenClass[] = ['cache_read', 'cache_write_5m', 'cache_write_1h']

/**
 * The classes of tokens that people are told of: those with prices of their own, and the usual ones. Tokens of pictures
 * that are charged by the piece cost nothing beside it.
 */
function classesOf(price: Price): TokenClass[] {
  const named = (name: TokenClass) =>
    price[name] !== undefined || (price.over ?? []).some(entry => entry[name] !== undefined)
  const usual = price.input !== undefined && price.output !== undefined
  const charged = (name: TokenClass) => name !== 'output_image' || price.image === undefined
  return TOKEN_CLASSES.filter(name => charged(name) && (named(name) || (usual && USUAL.includes(name))))
}

function listOf(
  { name, tokens, fees, pictures }: List,
  classes: readonly TokenClass[],
  multiplier: bigint,
): OfferedList {
  const times = (price: number): Pico => BigInt(price) * multiplier
  const priced = FEES.flatMap(fee => {
    const price = fee === 'image' ? null : fees[fee]
    return price === null ? [] : [[fee, times(price)] as [Fee, Pico]]
  })
  return {
    over: name === 'base' ? null : name,
    prices: [...classes.map(one => [one, times(tokens[one])] as [TokenClass, Pico]), ...priced],
    images: [...(pictures?.listed ?? [])].map(([kind, price]) => [kind, times(price)]),
  }
}

/** `price` is what `compiled` was made of; `multiplier` is the group's, in millionths. */
export function offeredPrice(price: Price, compiled: ModelPrice, multiplier: number): OfferedPrice {
  const classes = classesOf(price)
  const [base, ...over] = compiled.lists
  const rising = [base, ...over.toReversed()] as List[]
  const lists = rising.map(list => listOf(list, classes, BigInt(multiplier)))
  // large prompts change nothing of what tools cost
  for (const [name, amount] of compiled.toolFees.listed)
    lists[0]?.prices.push([name, BigInt(amount) * BigInt(multiplier)])
  return {
    lists,
    tiers: compiled.tiers.listed,
    searchesOnce: compiled.searchesOnce,
  }
}
