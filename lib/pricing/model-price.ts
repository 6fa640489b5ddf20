/**
 * The price of one model, compiled: for each of its lists (the base list, and one for each entry of `over`) the price of
 * every class of tokens and of every fee, so that nothing has to be looked up in parents when an answer is charged.
 */
import type { OverList, Price, TokenPrices, PriceList, Sizes, Model } from '../terms/records.ts'
import {
  type Fee,
  type PictureKind,
  type TierNames,
  TOKEN_CLASSES,
  type TokenClass,
  type ToolFee,
} from '../protocols/words/usage.ts'
import type { AskedTool, UsedTool } from '../protocols/words/server-tools.ts'

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

  /** The list that prices a request whose prompt has so many tokens: the entry with the largest threshold that it exceeds. */
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

// --- price lists

export type Classes = Readonly<Record<TokenClass, number>>
type Fees = Readonly<Record<Exclude<Fee, 'image'>, number | null>>

/**
 * A price list: the price of every class of tokens and of every fee, and what of it a request can reach that says
 * nothing of tiers, of kinds of pictures, or of what its answer consists of. Most requests are such, and share these
 * rates. A fee or a table of pictures that is null has no price.
 */
export interface List {
  /** `base`, or the `tokens` that a prompt has to exceed. */
  readonly name: 'base' | number
  readonly tokens: Classes
  readonly fees: Fees
  readonly pictures: PicturePrices | null
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
const plainRates = (tokens: Classes, fees: List['fees'], pictures: List['pictures']): Rates => ({
  output: Math.max(tokens.output, tokens.output_audio, tokens.output_image),
  character: fees.character ?? 0,
  image: pictures?.dearest ?? 0,
  search: fees.web_search ?? 0,
  request: fees.request ?? 0,
  second: fees.second ?? 0,
})

// --- pictures

const DEFAULT = 'default'

const said = (name: string | null): string | null => {
  const lower = name?.toLowerCase()
  return lower === undefined || lower === '' || lower === 'auto' ? null : lower
}

/** The kind of a picture: what the answer says counts; what it does not say is as it was asked for. */
export const reportedElse = (reported: PictureKind, asked: PictureKind): PictureKind => ({
  size: said(reported.size) ?? asked.size,
  quality: said(reported.quality) ?? asked.quality,
})

/**
 * Prices of pictures by size and quality. A picture is looked up as `size/quality`, then as `size`, then as
 * `default`. A size or quality that nobody says, or that is `auto`, is one that the upstream chooses: such a picture
 * costs the dearest that it can be. Sizes and qualities are compared without regard to capitals.
 */
class PicturePrices {
  readonly #prices: ReadonlyMap<string, number>
  /** The largest of all prices that are listed. */
  readonly dearest: number

  constructor(sizes: Sizes) {
    this.#prices = new Map(Object.entries(sizes).map(([name, price]) => [name.toLowerCase(), price]))
    this.dearest = Math.max(...this.#prices.values())
  }

  /** By their names, in lower case. */
  get listed(): ReadonlyMap<string, number> {
    return this.#prices
  }

  /** The price of such a picture; null = none is listed. */
  find(kind: PictureKind): number | null {
    const name = this.nameOf(kind)
    return name === null ? null : (this.#prices.get(name) as number)
  }

  /** The name under which the price of such a picture is listed; null = none is. */
  nameOf(kind: PictureKind): string | null {
    const [size, quality] = [said(kind.size), said(kind.quality)]
    if (size === null) return this.#dearestOf(() => true)
    const found =
      quality === null
        ? this.#dearestOf(isOfSize(size))
        : [`${size}/${quality}`, size].find(name => this.#prices.has(name))
    return found ?? (this.#prices.has(DEFAULT) ? DEFAULT : null)
  }

  /** The most that a picture can cost that is asked for in this way. */
  most(kind: PictureKind): number {
    const size = said(kind.size)
    const found = this.find(kind) ?? this.dearest
    if (size === null || said(kind.quality) !== null || this.#prices.has(size)) return found
    // the upstream may choose a quality that is not listed for the size, which costs as `default`
    return Math.max(found, this.#prices.get(DEFAULT) ?? 0)
  }

  /** A quality was asked for that is not listed, at a size that is. */
  hasSize(kind: PictureKind): boolean {
    const size = said(kind.size)
    return size !== null && this.#dearestOf(isOfSize(size)) !== null
  }

  #dearestOf(fits: (name: string) => boolean): string | null {
    let dearest: [name: string, price: number] | null = null
    for (const one of this.#prices) if (fits(one[0]) && (dearest === null || one[1] > dearest[1])) dearest = one
    return dearest?.[0] ?? null
  }
}

const isOfSize = (size: string) => (name: string) => name === size || name.startsWith(`${size}/`)

/** The prices of pictures in a list. Where an entry of `over` has one price for all pictures it replaces all; a map replaces the sizes that it names. */
function compilePictures(base: PriceList, entry: PriceList | null): PicturePrices | null {
  if (base.image === undefined) return null
  const own = entry?.image
  if (typeof own === 'number') return new PicturePrices({ [DEFAULT]: own })
  return new PicturePrices(own === undefined ? sizesOf(base.image) : { ...sizesOf(base.image), ...sizesOf(own) })
}

function sizesOf(image: NonNullable<PriceList['image']>): Sizes {
  if (typeof image === 'number') return { [DEFAULT]: image }
  return typeof image.sizes === 'object' ? image.sizes : (image as Sizes)
}

// --- tiers

export interface AppliedTier {
  /** Millionths. */
  factor: number
  /** For the receipt; null = nothing was said. */
  name: string | null
  /** The tier that was reported and is not listed, though it may cost more; null = all is known. */
  unlisted: string | null
}

const ONE = 1_000_000
const PLAIN_TIER: AppliedTier = { factor: ONE, name: null, unlisted: null }

const KINDS = ['service', 'speed', 'geo'] as const
/** Names that cost as the list says without being listed. */
const PLAIN: Record<(typeof KINDS)[number], readonly string[]> = {
  service: ['default', 'standard', 'standard_only', 'flex'],
  speed: ['standard'],
  geo: ['global', 'not_available'],
}
/** The field of a request that asks for it. */
const FIELDS = { service: 'service_tier', speed: 'speed', geo: 'inference_geo' } as const
export type TierField = (typeof FIELDS)[(typeof KINDS)[number]]

const namedTier = (name: string | null): string | null =>
  name === null || /^(auto)?$/i.test(name) ? null : name.toLowerCase()
const saysNothing = ({ service, speed, geo }: TierNames): boolean => service === null && speed === null && geo === null

/**
 * Factors on the prices of tokens by service tier, by speed and by place. What the answer reports counts. Where it
 * reports nothing, what was asked for counts, and then at least 1: a discount needs a report. `auto` says nothing. A
 * tier that is reported and not listed has the factor 1. Where several factors apply they are multiplied, and the
 * product is rounded up at the sixth place.
 */
export class Tiers {
  readonly #factors: ReadonlyMap<string, number>

  constructor(factors: Readonly<Record<string, number>>) {
    this.#factors = new Map(Object.entries(factors).map(([name, factor]) => [name.toLowerCase(), factor]))
  }

  #listed(kind: (typeof KINDS)[number], name: string): number | undefined {
    return this.#factors.get(kind === 'geo' ? `geo:${name}` : name)
  }

  /** Names and factors in millionths. */
  get listed(): [name: string, factor: number][] {
    return [...this.#factors]
  }

  /** The factor by which an answer is charged. */
  applied(asked: TierNames, reported: TierNames): AppliedTier {
    if (saysNothing(asked) && saysNothing(reported)) return PLAIN_TIER
    const names: string[] = []
    let factor = ONE
    let unlisted: string | null = null
    for (const kind of KINDS) {
      const report = namedTier(reported[kind])
      const name = report ?? namedTier(asked[kind])
      if (name === null) continue
      const listed = this.#listed(kind, name)
      if (kind === 'service' || listed !== undefined) names.push(kind === 'geo' ? `geo:${name}` : name)
      if (report !== null && listed === undefined && (name === 'flex' || !PLAIN[kind].includes(name))) unlisted ??= name
      factor = times(factor, report === null ? Math.max(ONE, listed ?? ONE) : (listed ?? ONE))
    }
    return { factor, name: names.length === 0 ? null : names.join('+'), unlisted }
  }

  /** The factor by which a request is held: of what it asks for, and at least 1. */
  held(asked: TierNames): number {
    if (saysNothing(asked)) return ONE
    return KINDS.reduce((factor, kind) => {
      const name = namedTier(asked[kind])
      const isDefault = name === null || (kind === 'service' && name === 'default')
      return times(factor, Math.max(ONE, isDefault ? ONE : (this.#listed(kind, name) ?? ONE)))
    }, ONE)
  }

  /** The field by which a request asks for what could cost more and is not listed; null = it may be admitted. */
  refused(asked: TierNames): TierField | null {
    for (const kind of KINDS) {
      const name = namedTier(asked[kind])
      if (name !== null && !PLAIN[kind].includes(name) && this.#listed(kind, name) === undefined) return FIELDS[kind]
    }
    return null
  }
}

function times(a: number, b: number): number {
  if (a === ONE) return b
  if (b === ONE) return a
  return Number((BigInt(a) * BigInt(b) + BigInt(ONE - 1)) / BigInt(ONE))
}

// --- tools of the upstream

/** `call`: each use. `container`: each container in which the tool ran. `request`: a request that used it. */
type Unit = 'call' | 'container' | 'request'

interface PricedTool {
  name: ToolFee
  /** In micro-CNY. */
  price: number
  unit: Unit
}

/**
 * What tools of the upstream cost by the piece. Each tool that a request names, and that is neither free nor paid in
 * tokens, has a fee in the model's price, or the request is not admitted.
 */
class ToolFees {
  readonly #price: Price
  readonly #tools: ReadonlyMap<string, number>

  constructor(price: Price) {
    this.#price = price
    this.#tools = new Map(Object.entries(price.tools ?? {}).map(([name, amount]) => [name.toLowerCase(), amount]))
  }

  get listed(): readonly (readonly [name: ToolFee, price: number])[] {
    const { maps, container, code_execution, tools } = this.#price
    return [
      ...(maps === undefined ? [] : [['maps', maps] as const]),
      ...Object.entries(container ?? {}).map(([size, price]) => [`container.${size}`, price] as const),
      ...(code_execution === undefined ? [] : [['code_execution', code_execution] as const]),
      ...Object.entries(tools ?? {}).map(([name, price]) => [`tools.${name}`, price] as const),
    ] as const
  }

  /** The fee of a tool; null = it has none. Of searches of the web only those that the price names among other tools. */
  of({ stem, cost, size }: AskedTool): PricedTool | null {
    const own = this.#tools.get(stem.toLowerCase())
    if (own !== undefined) return { name: `tools.${stem.toLowerCase()}`, price: own, unit: 'call' }
    const { maps, container, code_execution, search_unit } = this.#price
    if (cost === 'maps') return feeOf('maps', maps, search_unit === 'prompt' ? 'request' : 'call')
    if (cost === 'container')
      return feeOf(
        `container.${size}`,
        Object.hasOwn(container ?? {}, size) ? container?.[size] : undefined,
        'container',
      )
    return cost === 'code_execution' ? feeOf('code_execution', code_execution, 'request') : null
  }
}

const feeOf = (name: ToolFee, price: number | undefined, unit: Unit): PricedTool | null =>
  price === undefined ? null : { name, price, unit }

/** For how many pieces a request is held that names a tool. */
export const mostPieces = (
  { unit }: PricedTool,
  { uses }: AskedTool,
  { maxSearches }: Model,
  maxToolCalls: number | null,
): number => (unit === 'call' ? Math.min(uses ?? maxToolCalls ?? maxSearches, maxToolCalls ?? Infinity) : 1)

/** The number of pieces that an answer is charged for. */
export const piecesOf = ({ unit }: PricedTool, { calls, containers }: UsedTool): number =>
  unit === 'call' ? calls : unit === 'container' ? containers : Math.min(1, calls)
