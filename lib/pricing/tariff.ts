/**
 * The tariff of a model in a group: what an answer costs (`bill`), the most that a request can cost (`hold`), and which
 * requests may not be admitted because something that they ask for has no price. The work is done by the files around
 * this one: price lists (`model-price.ts`), receipts and sums (`bill.ts`) and holds (`worst-case.ts`).
 *
 * Where it is not known which of several models an upstream uses, `Tariff.dearest` makes one tariff of theirs, which takes
 * the dearest price for each class of tokens and each fee.
 */
import type { Micro } from '../base/money.ts'
import type { Prompt } from '../protocols/requests/facts.ts'
import type { AskedTool, UsedTool } from '../protocols/words/server-tools.ts'
import type { Protocol } from '../protocols/names.ts'
import { protocolRow } from '../protocols/table.ts'
import {
  type Fee,
  FEES,
  type PictureKind,
  type PriceLine,
  type TierNames,
  TOKEN_CLASSES,
  type TokenClass,
  type ToolFee,
} from '../protocols/words/usage.ts'
import type { Group, Model, Price } from '../terms/records.ts'
import {
  amountOf,
  type Factor,
  factorOf,
  type BilledAnswer,
  type Lines,
  receiptLines,
  type Priced,
  toolLines,
} from './bill.ts'
import { type Cause, mostInputCaused, mostOutputCaused } from './bound.ts'
import { estimatedInput, AnswerHold, holdOf, type HeldRequest } from './worst-case.ts'
import { ModelPrice, type TierField, type List } from './model-price.ts'

export type { BilledAnswer, BilledPart } from './bill.ts'
export type { AnswerHold } from './worst-case.ts'
export type { HeldRequest } from './worst-case.ts'

/** The charge of an answer, and the receipt that recomputes it. */
export interface Bill extends Lines {
  charge: Micro
}

const PRICES: readonly string[] = [...TOKEN_CLASSES, ...FEES]
/** Prices of what is known without a report of the upstream. */
const KNOWN_FEES: readonly string[] = ['request', 'character']
const KNOWN: ReadonlySet<string> = new Set([
  ...PRICES,
  'maps',
  'container',
  'code_execution',
  'tools',
  'search_unit',
  'over',
  'tiers',
])

/**
 * Returns null for a model without price, which cannot be used; and for a price with parts that only a later version of
 * this program knows, since the rest of it may be too little. `version`: of the price; null = it has none.
 */
export function compileTariff(model: Model, group: Group, version: number | null = null): Tariff | null {
  const { price } = model
  if (price === null || PRICES.every(name => price[name as keyof Price] === undefined)) return null
  if (Object.keys(price).some(name => !KNOWN.has(name))) return null
  return new Tariff([model], [new ModelPrice(model.name, price, version)], price, group.multiplier)
}

export class Tariff {
  readonly prices: readonly [ModelPrice, ...ModelPrice[]]
  /** The group's multiplier, in millionths. */
  readonly multiplier: number
  /** The models that may answer. */
  readonly models: readonly Model[]
  /** Pictures have a price of their own, which may be 0. */
  readonly pricesPictures: boolean
  /** Searches have a price, which may be 0. */
  readonly pricesSearches: boolean
  /** The version of the asked model's price, for the row. */
  readonly priceVersion: number | null
  readonly #model: Model
  readonly #price: Price
  readonly #factor: Factor

  /** `price`: that of the first model. */
  constructor(models: readonly Model[], prices: Priced['prices'], price: Price, multiplier: number) {
    this.prices = prices
    this.multiplier = multiplier
    this.models = models
    this.pricesPictures = price.image !== undefined
    this.pricesSearches = price.web_search !== undefined
    this.priceVersion = prices[0].version
    this.#model = widest(models)
    this.#price = price
    this.#factor = factorOf(multiplier)
  }

  /** True when the price covers what answers of this protocol consist of. Elsewhere the model is not priced. */
  covers(protocol: Protocol): boolean {
    return protocolRow(protocol).price.cover.some(set => set.every(name => this.#price[name] !== undefined))
  }

  /** True when the price has this line, which may be 0. */
  has(name: PriceLine): boolean {
    return this.#price[name] !== undefined
  }

  /** Tokens have a price, which may be 0. Otherwise an answer costs the same however long it is. */
  get pricesTokens(): boolean {
    return TOKEN_CLASSES.some(name => this.has(name))
  }

  /** True when all that is charged is known without a report, so that nothing has to be counted in the answer. */
  get countsNothing(): boolean {
    return PRICES.every(name => KNOWN_FEES.includes(name) || !this.has(name as PriceLine))
  }

  /** The price of the asked model, as people are told. */
  offered(): OfferedPrice {
    return offeredPrice(this.#price, this.prices[0], this.multiplier)
  }

  /** One tariff for several of one group, which takes the dearest of them for each class and each fee. */
  static dearest(of: readonly [Tariff, ...Tariff[]]): Tariff {
    const [first] = of
    if (of.length === 1) return first
    const prices = [...new Set(of.flatMap(tariff => tariff.prices))] as [ModelPrice, ...ModelPrice[]]
    const models = [...new Set(of.flatMap(tariff => tariff.models))]
    return new Tariff(models, prices, first.#price, first.multiplier)
  }

  /** The field by which a request asks for a tier that may cost more and is not listed: it is refused with 400. */
  refusedTier(asked: TierNames): TierField | null {
    return this.prices[0].tiers.refused(asked)
  }

  /** The field by which a request asks for a picture that has no price: it is refused with 400. */
  refusedPicture(asked: PictureKind): 'size' | 'quality' | null {
    const pictures = this.prices[0].base.pictures
    if (pictures === null || pictures.find(asked) !== null) return null
    return pictures.hasSize(asked) ? 'quality' : 'size'
  }

  /**
   * Tells whether every tool that a request names has a price. A tool: it has none, and the request is refused with 400. `leave out`:
   * all have one but searches that are only offered, without which the request may be answered.
   */
  judgeTools(asked: readonly AskedTool[]): AskedTool | 'leave out' | null {
    const [{ toolFees }] = this.prices
    const judged = this.#judgeTools(asked.filter(({ cost }) => cost !== 'setting'))
    if (judged !== null && judged !== 'leave out') return judged
    // a search that is left out takes its settings with it
    const counts = ({ cost, place }: AskedTool) => cost === 'setting' && (place === null || judged === null)
    return asked.find(tool => counts(tool) && toolFees.of(tool) === null) ?? judged
  }

  #judgeTools(tools: readonly AskedTool[]): AskedTool | 'leave out' | null {
    const [{ toolFees }] = this.prices
    const isPriced = (tool: AskedTool): boolean =>
      tool.cost === 'tokens' || toolFees.of(tool) !== null || (tool.cost === 'web_search' && this.pricesSearches)
    const unpriced = tools.filter(tool => !isPriced(tool))
    const [first] = unpriced
    if (first === undefined) return null
    // of searches all are left out, or none
    const all = tools.filter(({ cost }) => cost === 'web_search')
    const kept = unpriced.find(({ cost, forced, place }) => cost !== 'web_search' || forced || place === null)
    return kept ?? (all.length > unpriced.length ? first : 'leave out')
  }

  /** The cost of tools that were used so often, without the group's multiplier: micro-CNY. */
  toolsCost(asked: readonly AskedTool[], used: readonly UsedTool[]): number {
    let sum = 0
    for (const { price, count } of toolLines({ asked, used }, this.prices)) sum += price * count
    return sum
  }

  /** The most that the request can cost. */
  estimate(request: HeldRequest): Micro {
    return holdOf(this.#model, this.prices, this.#factor, request)
  }

  /** The part of the estimate that is for the answer, and what the answer costs as it grows. */
  answerHold(request: HeldRequest): AnswerHold {
    return new AnswerHold(this.#model, this.prices, this.#factor, request)
  }

  /** Input tokens of what stands in the body itself. */
  estimatedInput(prompt: Prompt): number {
    return estimatedInput(this.#model, prompt)
  }

  /** The most tokens of input that a request can have caused at any of the models; see `bound.ts`. */
  mostInput(prompt: Prompt, calls: number, written = 0): number {
    let most = 0
    for (const model of this.models) most = Math.max(most, mostInputCaused(model, prompt, calls, written))
    return most
  }

  /** The most tokens of output that a request can have caused at any of the models; the arguments are those of `mostOutputCaused`. */
  mostOutput(cause: Cause, maximum: number | null, isRead: boolean, thinksBeside: boolean): number {
    let most = 0
    for (const model of this.models)
      most = Math.max(most, mostOutputCaused(model, cause, maximum, isRead, thinksBeside))
    return most
  }

  /** The lines and the charge of an answer. */
  bill(answer: BilledAnswer): Bill {
    const { lines, unlistedTier, unmatchedPicture } = receiptLines(answer, this)
    return { lines, unlistedTier, unmatchedPicture, charge: amountOf(lines, this.#factor) }
  }
}

/** A model of which no request has less: of several, the largest of each limit. */
function widest(models: readonly Model[]): Model {
  const [first] = models as [Model]
  if (models.length === 1) return first
  const most = (limit: (model: Model) => number) => Math.max(...models.map(limit))
  return {
    ...first,
    maxOutput: models.some(model => model.maxOutput === null) ? null : most(model => model.maxOutput as number),
    defaultOutput: most(model => model.defaultOutput),
    inputFactor: most(model => model.inputFactor),
    maxInput: most(model => model.maxInput),
    mediaInput: most(model => model.mediaInput),
    toolInput: most(model => model.toolInput),
    maxSearches: most(model => model.maxSearches),
    searches: models.some(model => model.searches === 'always') ? 'always' : null,
  }
}

// --- what people are told

/** In pico-CNY: per million of tokens and characters, per piece of all others. */
export type Pico = bigint

export interface OfferedList {
  /** The prices of prompts with more tokens than that; null = of all others. */
  over: number | null
  prices: [name: TokenClass | Fee | ToolFee, price: Pico][]
  /** Pictures by `size/quality`, `size` and `default`, where they have prices of their own. */
  images: [name: string, price: Pico][]
}

/**
 * The price of a model in a group, as it is offered to people: what a million tokens of each class and each piece
 * cost, the group's multiplier included. The numbers are those by which answers are charged, so they are exact: a
 * charge is the sum of counts times these prices, rounded up once.
 */
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
function offeredPrice(price: Price, compiled: ModelPrice, multiplier: number): OfferedPrice {
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
