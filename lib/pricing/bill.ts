/**
 * Makes the lines of a receipt from what an answer used, and sums them. There is one line for each class of tokens of each model that
 * took part, and one for each fee. Each part (a pass by a model) has the list that its own prompt reaches; fees have the
 * list of the model that answers for the whole, at the largest prompt of all parts.
 *
 * Where it is not known which of several models made a part, every line of it takes the dearest of their prices.
 */
import { invariant } from '../base/assert.ts'
import type { AskedTool, UsedTool } from '../protocols/words/server-tools.ts'
import {
  type CountedKind,
  type Fee,
  inputOf,
  isByPiece,
  NO_TIERS,
  type PictureKind,
  type TierNames,
  type TokenClass,
  UNSAID,
  type Usage,
} from '../protocols/words/usage.ts'
import type { Line } from '../terms/usage-row.ts'
import type { Channel } from '../terms/records.ts'
import { type List, ModelPrice, reportedElse, type AppliedTier, piecesOf } from './model-price.ts'
import { type Micro, micro } from '../base/money.ts'

/** The models that something is charged at: one, or all that it could be. */
export interface Priced {
  readonly prices: readonly [ModelPrice, ...ModelPrice[]]
}

/** A part of an answer: what one of several models used. */
export interface BilledPart<T extends Priced = Priced> {
  tariff: T
  usage: Usage
}

interface AnswerTiers {
  asked: TierNames
  reported: TierNames
}

/** An answer as it is billed: what it used and said of itself, beside what its request asked for. */
export interface BilledAnswer<T extends Priced = Priced> {
  usage: Usage
  /** The client left before any answer, so that nothing is charged for the request as such. */
  unanswered?: boolean
  /**
   * What each model used; together they are the tokens of `usage`. Empty: the asked model used all. One: that model
   * answered in place of the asked one, and fees are its own. Several: fees are the asked model's.
   */
  parts?: readonly BilledPart<T>[]
  tiers?: AnswerTiers
  /** Units of search as which the request counts. Absent = 1. */
  units?: number
  /** Tools that cost by the piece: those that the request names, and how often each was used. */
  tools?: { asked: readonly AskedTool[]; used: readonly UsedTool[] }
  /** The pictures among `usage.images` whose kind the answer says. */
  pictures?: { asked: PictureKind; reported: readonly CountedKind[] }
}

export interface Lines {
  lines: Line[]
  /** The answer reported a tier that the price does not list: `gateway_tier_unlisted_total` counts it. */
  unlistedTier: string | null
  /** A picture of the answer matched no listed size and quality, so that it costs the dearest of all. */
  unmatchedPicture: boolean
}

const NO_PARTS: readonly BilledPart[] = []
const NO_PRICES: readonly ModelPrice[] = []
const NO_TIER_NAMES = { asked: NO_TIERS, reported: NO_TIERS }

export function receiptLines(answer: BilledAnswer, asked: Priced): Lines {
  const { usage, parts = NO_PARTS, tiers = NO_TIER_NAMES } = answer
  const whole = parts.length === 1 ? (parts[0] as BilledPart).tariff : asked
  const drawn = usage.images > 0 && drawsPieces(whole)
  const made: Lines = { lines: [], unlistedTier: null, unmatchedPicture: false }
  let prompt = 0
  if (parts.length === 0) {
    prompt = inputOf(usage)
    addTokens(made, usage, whole.prices, prompt, tiers, drawn, false)
  }
  for (const part of parts) {
    const ofPart = inputOf(part.usage)
    prompt = Math.max(prompt, ofPart)
    addTokens(made, part.usage, part.tariff.prices, ofPart, tiers, drawn, true)
  }
  if (parts.length > 0) checkCounts(usage)
  addFees(made, answer, whole.prices, prompt)
  if (answer.tools !== undefined) made.lines.push(...toolLines(answer.tools, whole.prices))
  return made
}

/** Pictures that are charged by the piece are not charged as tokens beside it. */
const drawsPieces = ({ prices }: Priced): boolean => prices.some(price => price.base.pictures !== null)

/** The price of a token of each class, beside the others, where the prompt has so many tokens. */
export function costOfClasses(
  { usage, tiers = NO_TIER_NAMES }: BilledAnswer,
  priced: Priced,
  prompt: number,
): (name: TokenClass) => bigint {
  const drawn = usage.images > 0 && drawsPieces(priced)
  const offers = priced.prices.map(price => offerOf(price, prompt, tiers))
  return name => (drawn && name === 'output_image' ? 0n : costOfOffer(dearestOffer(offers, name), name))
}

/** One model's price as it applies to a part. */
interface Offer {
  price: ModelPrice
  list: List
  tier: AppliedTier
}

const offerOf = (price: ModelPrice, prompt: number, { asked, reported }: AnswerTiers): Offer => ({
  price,
  list: price.listFor(prompt),
  tier: price.tiers.applied(asked, reported),
})

function addTokens(
  made: Lines,
  usage: Usage,
  prices: Priced['prices'],
  prompt: number,
  tiers: AnswerTiers,
  drawn: boolean,
  isPart: boolean,
): void {
  const first = offerOf(prices[0], prompt, tiers)
  const offers = prices.length === 1 ? null : prices.map(price => offerOf(price, prompt, tiers))
  made.unlistedTier ??= first.tier.unlisted
  // this way of walking over an object is much faster than a list of its names
  for (const name in usage) {
    const count = usage[name as keyof Usage]
    if (!Number.isSafeInteger(count) || count < 0) wrongCount(name)
    if (count === 0 || isPiece(name as keyof Usage)) continue
    const { price, list, tier } = offers === null ? first : dearestOffer(offers, name as TokenClass)
    const line: Line = {
      model: price.model,
      priceVersion: price.version,
      list: list.name,
      tier: tier.factor,
      tierName: tier.name,
      class: name as TokenClass,
      count,
      price: drawn && name === 'output_image' ? 0 : list.tokens[name as TokenClass],
    }
    if (isPart) addLine(made.lines, line)
    else made.lines.push(line)
  }
}

/** An upstream may report thousands of passes, so those of one model and list share their lines: rows stay short. */
function addLine(lines: Line[], line: Line): void {
  const same = lines.find(one => isSame(one, line))
  if (same === undefined) lines.push(line)
  else same.count += line.count
}

/** True when two lines differ in nothing that the charge depends on but their count. */
const isSame = (a: Line, b: Line): boolean =>
  a.class === b.class &&
  a.model === b.model &&
  a.priceVersion === b.priceVersion &&
  a.list === b.list &&
  a.tier === b.tier &&
  a.price === b.price

/** A class that is negative or no whole number would hide behind the others in the sum. */
function checkCounts(usage: Usage): void {
  for (const name in usage) {
    const count = usage[name as keyof Usage]
    if (!Number.isSafeInteger(count) || count < 0) wrongCount(name)
  }
}

const wrongCount = (name: string): void => invariant(false, `usage counts whole things: ${name}`)

const isPiece = (name: keyof Usage): name is Exclude<keyof Usage, TokenClass> =>
  name === 'images' || name === 'searches' || name === 'seconds' || name === 'characters'

const costOfOffer = ({ list, tier }: Offer, name: TokenClass): bigint => BigInt(list.tokens[name]) * BigInt(tier.factor)

const dearestOffer = (offers: readonly Offer[], name: TokenClass): Offer =>
  offers.reduce((most, offer) => (costOfOffer(offer, name) > costOfOffer(most, name) ? offer : most))

/** Something that is charged by the piece, of one model. */
interface Charged {
  count: number
  price: number
  /** Where several prices are listed, the one that applied. */
  priceRow?: string
}

/** Most answers have no fee but that of the request itself. */
function addFees(made: Lines, answer: BilledAnswer, prices: Priced['prices'], prompt: number): void {
  const { images, searches, seconds, characters } = answer.usage
  if (images > 0 || searches > 0) addPicturesAndSearches(made, answer, prices, prompt)
  if (answer.unanswered !== true) addRequest(made, answer.units ?? 1, prices, prompt)
  if (seconds > 0 || characters > 0) addLengths(made, answer, prices, prompt)
}

/** A request that is billed by units of search counts as so many. */
function addRequest(made: Lines, units: number, prices: Priced['prices'], prompt: number): void {
  if (prices.length === 1 && prices[0].listFor(prompt).fees.request === null) return
  addFee(made, 'request', prices, prompt, (_price, { fees }) => chargedAt(fees.request, Math.max(1, units)))
}

function addPicturesAndSearches(made: Lines, answer: BilledAnswer, prices: Priced['prices'], prompt: number): void {
  const { images, searches } = answer.usage
  if (images > 0) addFee(made, 'image', prices, prompt, (_price, list) => picturesOf(answer, list, made))
  if (searches > 0)
    addFee(made, 'web_search', prices, prompt, (price, { fees }) =>
      chargedAt(fees.web_search, price.searchesOnce ? 1 : searches),
    )
}

function addLengths(
  made: Lines,
  { usage: { seconds, characters } }: BilledAnswer,
  prices: Priced['prices'],
  prompt: number,
) {
  if (seconds > 0) addFee(made, 'second', prices, prompt, (_price, { fees }) => chargedAt(fees.second, seconds))
  if (characters > 0)
    addFee(made, 'character', prices, prompt, (_price, { fees }) => chargedAt(fees.character, characters))
}

const NOTHING: readonly Charged[] = []
const chargedAt = (price: number | null, count: number): readonly Charged[] =>
  price === null ? NOTHING : [{ count, price }]

type ChargedOf = (price: ModelPrice, list: List) => readonly Charged[]

/** The lines of a fee: of several models, the one of which it costs most. */
function addFee(made: Lines, name: Fee, prices: Priced['prices'], prompt: number, chargedOf: ChargedOf): void {
  let most = prices[0]
  let charged = chargedOf(most, most.listFor(prompt))
  if (prices.length > 1)
    for (const price of prices) {
      const other = chargedOf(price, price.listFor(prompt))
      if (costOf(other) > costOf(charged) || charged.length === 0) [most, charged] = [price, other]
    }
  for (const one of charged)
    made.lines.push({
      model: most.model,
      priceVersion: most.version,
      list: most.listFor(prompt).name,
      tier: MILLIONTHS,
      tierName: null,
      class: name,
      ...one,
    })
}

/** A tool that the request names several times, with containers of several sizes, costs as the dearest of them. */
export function toolLines({ asked, used }: NonNullable<BilledAnswer['tools']>, prices: Priced['prices']): Line[] {
  const lines: Line[] = []
  for (const one of used) {
    let most: Line | null = null
    for (const tool of asked)
      for (const price of tool.stem === one.stem ? prices : NO_PRICES) {
        const line = toolLine(price, tool, one)
        if (line !== null && (most === null || costOf([line]) > costOf([most]))) most = line
      }
    if (most !== null) lines.push(most)
  }
  return lines
}

function toolLine({ model, version, toolFees }: ModelPrice, tool: AskedTool, used: UsedTool): Line | null {
  const fee = toolFees.of(tool)
  const count = fee === null ? 0 : piecesOf(fee, used)
  if (fee === null || count === 0) return null
  const { name, price } = fee
  return { model, priceVersion: version, list: 'base', tier: MILLIONTHS, tierName: null, class: name, count, price }
}

const costOf = (charged: readonly Charged[]): bigint =>
  charged.reduce((sum, { count, price }) => sum + BigInt(count) * BigInt(price), 0n)

function picturesOf({ usage, pictures }: BilledAnswer, list: List, made: Lines): readonly Charged[] {
  if (list.pictures === null) return NOTHING
  const asked = pictures?.asked ?? UNSAID
  const charged: Charged[] = []
  const add = (count: number, kind: PictureKind) => {
    if (count === 0) return
    const { pictures } = list as { pictures: NonNullable<List['pictures']> }
    const found = pictures.nameOf(kind)
    made.unmatchedPicture ||= found === null
    const name = found ?? (pictures.nameOf(UNSAID) as string)
    const same = charged.find(line => (line.priceRow ?? name) === name)
    if (same !== undefined) same.count += count
    else
      charged.push({
        count,
        price: pictures.listed.get(name) as number,
        ...(pictures.listed.size > 1 && { priceRow: name }),
      })
  }
  let left = usage.images
  for (const one of pictures?.reported ?? []) {
    const count = Math.min(left, one.count)
    left -= count
    add(count, reportedElse(one, asked))
  }
  add(left, asked)
  return charged
}

// --- sums

export const MILLIONTHS = 1_000_000
/** The largest result, 500 million CNY: more than any balance, and the most that the ledger can set aside at once. */
const MOST_MICRO = 500_000_000_000_000

export interface Factor {
  readonly numerator: number
  /** Times the pico-CNY in a micro-CNY. */
  readonly denominator: number
}

export function factorOf(millionths: number): Factor {
  const common = greatestCommonDivisor(millionths, MILLIONTHS)
  return { numerator: millionths / common, denominator: (MILLIONTHS / common) * MILLIONTHS }
}

/**
 * Sums lines of a receipt: `count × price × tier` over all lines, times a factor (the group's multiplier), rounded up once. A charge is
 * made by this function, so that its receipt recomputes it.
 *
 * Prices are micro-CNY per million tokens, which is pico-CNY per token, so a sum of tokens × prices is a whole number of pico-CNY. The
 * factor is kept as a fraction in lowest terms.
 *
 * Plain numbers are exact as long as `pico × numerator` is a safe integer (below 2^53). Every step before it is a sum or a product of whole
 * numbers that are not negative, so none of them can have been rounded when the result is safe. The last step divides N by D: if N / D is
 * no whole number it is at least 1 / D away from one, and that is more than the rounding error of the division, so rounding up, or down,
 * is exact too. Larger values are computed with BigInt, and so are lines with a tier.
 */
export function amountOf(lines: readonly Line[], factor: Factor): Micro {
  let pico = 0
  for (const line of lines) {
    if (line.tier !== MILLIONTHS) return bigAmountOf(lines, factor)
    pico += line.count * line.price * (isByPiece(line.class) ? MILLIONTHS : 1)
  }
  return isExact(pico, factor) ? roundUp(pico, factor) : bigAmountOf(lines, factor)
}

function bigAmountOf(lines: readonly Line[], { numerator, denominator }: Factor): Micro {
  let sum = 0n
  for (const { class: name, count, price, tier } of lines)
    sum += BigInt(count) * BigInt(price) * BigInt(tier) * (isByPiece(name) ? BigInt(MILLIONTHS) : 1n)
  return bigQuotient(sum * BigInt(numerator), BigInt(denominator) * BigInt(MILLIONTHS), 'up')
}

/** The amount of a sum in pico-CNY that is too large for `isExact`, times a factor, rounded to micro-CNY. */
export const amountOfBigPico = (pico: bigint, { numerator, denominator }: Factor, round: 'up' | 'down'): Micro =>
  bigQuotient(pico * BigInt(numerator), BigInt(denominator), round)

export const isExact = (pico: number, { numerator }: Factor): boolean =>
  Number.isSafeInteger(pico) && Number.isSafeInteger(pico * numerator)

export const roundUp = (pico: number, { numerator, denominator }: Factor): Micro =>
  micro(Math.min(MOST_MICRO, Math.ceil((pico * numerator) / denominator)))

export const roundDown = (pico: number, { numerator, denominator }: Factor): Micro =>
  micro(Math.min(MOST_MICRO, Math.floor((pico * numerator) / denominator)))

function bigQuotient(dividend: bigint, divisor: bigint, round: 'up' | 'down'): Micro {
  const micros = (dividend + (round === 'up' ? divisor - 1n : 0n)) / divisor
  return micro(micros > MOST_MICRO ? MOST_MICRO : Number(micros))
}

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}

// --- what the upstream takes

const WITHOUT_MULTIPLIER = factorOf(MILLIONTHS)

/**
 * The cost of an answer: what the upstream of a channel takes for it, for margins only. It is a factor of the model's
 * own price, or prices of its own by model. Price lists and tiers act as they do on the charge; the group's
 * multiplier does not.
 */
export class Cost {
  readonly #factor: Factor | null
  readonly #prices: ReadonlyMap<string, ModelPrice>

  constructor(cost: NonNullable<Channel['cost']>) {
    this.#factor = typeof cost === 'number' ? factorOf(cost) : null
    const prices = typeof cost === 'number' ? [] : Object.entries(cost)
    this.#prices = new Map(prices.map(([model, price]) => [model, new ModelPrice(model, price, null)]))
  }

  /** `lines`: those of the charge. `asked`: the tariff of the asked model. null = not known for one of the models. */
  of(lines: readonly Line[], answer: BilledAnswer, asked: Priced): Micro | null {
    if (this.#factor !== null) return amountOf(lines, this.#factor)
    const whole = this.#priced(asked)
    const parts = (answer.parts ?? []).map(({ tariff, usage }) => ({ tariff: this.#priced(tariff), usage }))
    const known = parts.filter((part): part is { tariff: Priced } & typeof part => part.tariff !== null)
    if (known.length < parts.length || (whole === null && parts.length !== 1)) return null
    const taken = receiptLines({ ...answer, parts: known }, whole ?? (known[0] as (typeof known)[0]).tariff)
    return amountOf(taken.lines, WITHOUT_MULTIPLIER)
  }

  /** null = one of the models has no price here. */
  #priced({ prices }: Priced): Priced | null {
    const own = prices.flatMap(({ model }) => this.#prices.get(model) ?? [])
    return own.length === prices.length ? { prices: own as [ModelPrice, ...ModelPrice[]] } : null
  }
}
