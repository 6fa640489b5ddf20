/**
 * The price of one model, compiled: for each of its lists (the base list, and one for each entry of `over`) the price of
 * every class of tokens and of every fee, so that nothing has to be looked up in parents when an answer is charged.
 */
import { type OverList, type Price, TOKEN_CLASSES, type TokenClass, type TokenPrices } from '../terms/records.ts'
import { type Classes, type List, plainRates } from './list.ts'
import { compilePictures } from './pictures.ts'
import { Tiers } from './tiers.ts'
import { ToolFees } from './tool-fees.ts'

/** The class whose price a class without its own takes; null = it is free then. */
function parentOf(name: TokenClass, hasCacheRead: boolean): TokenClass | null {
  if (name === 'input' || name === 'output') return null
  if (name === 'cache_write_1h') return 'cache_write_5m'
  if (name === 'cache_read_audio') return hasCacheRead ? 'cache_read' : 'input_audio'
  if (name === 'cache_read_image') return hasCacheRead ? 'cache_read' : 'input_image'
  return name.startsWith('output') ? 'output' : 'input'
}

function baseOf(name: TokenClass, price: TokenPrices): number {
  const parent = parentOf(name, price.cache_read !== undefined)
  return price[name] ?? (parent === null ? 0 : baseOf(parent, price))
}

/** A class that the entry does not name costs the larger of its own base price and its parent's in the entry. */
function overOf(name: TokenClass, price: TokenPrices, entry: TokenPrices): number {
  const own = entry[name]
  if (own !== undefined) return own
  const parent = parentOf(name, (price.cache_read ?? entry.cache_read) !== undefined)
  const base = baseOf(name, price)
  return parent === null ? base : Math.max(base, overOf(parent, price, entry))
}

function compileList(price: Price, entry: OverList | null): List {
  const classPrice = (name: TokenClass) => (entry === null ? baseOf(name, price) : overOf(name, price, entry))
  const fee = (name: keyof List['fees']) => entry?.[name] ?? price[name] ?? null
  const tokens = Object.fromEntries(TOKEN_CLASSES.map(name => [name, classPrice(name)])) as Classes
  const fees = {
    web_search: fee('web_search'),
    request: fee('request'),
    second: fee('second'),
    character: fee('character'),
  }
  const pictures = compilePictures(price, entry)
  return { name: entry?.tokens ?? 'base', tokens, fees, pictures, rates: plainRates(tokens, fees, pictures) }
}

export class ModelPrice {
  readonly model: string
  /** null = the price has none. */
  readonly version: number | null
  readonly base: List
  /** By falling threshold. */
  readonly #over: readonly (List & { name: number })[]
  readonly hasOver: boolean
  readonly tiers: Tiers
  readonly toolFees: ToolFees
  /** Searches are charged once for a request that searched. */
  readonly searchesOnce: boolean

  constructor(model: string, price: Price, version: number | null) {
    this.model = model
    this.version = version
    this.base = compileList(price, null)
    this.#over = (price.over ?? [])
      .map(entry => compileList(price, entry) as List & { name: number })
      .sort((a, b) => b.name - a.name)
    this.hasOver = this.#over.length > 0
    this.tiers = new Tiers(price.tiers ?? {})
    this.toolFees = new ToolFees(price)
    this.searchesOnce = price.search_unit === 'prompt'
  }

  /** The list that prices a request with such a prompt: the entry with the largest threshold that it exceeds. */
  listFor(prompt: number): List {
    for (const list of this.#over) if (prompt > list.name) return list
    return this.base
  }

  get lists(): readonly List[] {
    return [this.base, ...this.#over]
  }

  /** Thresholds that a prompt of so many tokens exceeds. */
  thresholdsBelow(prompt: number): readonly number[] {
    return this.#over.flatMap(list => (prompt > list.name ? [list.name] : []))
  }
}
