/**
 * Makes the lines of a receipt from what an answer used. There is one line for each class of tokens of each model that
 * took part, and one for each fee. Each part (a pass by a model) has the list that its own prompt reaches; fees have the
 * list of the model that answers for the whole, at the largest prompt of all parts.
 *
 * Where it is not known which of several models made a part, every line of it takes the dearest of their prices.
 */
import { invariant } from '../base/assert.ts'
import { FEES, type Fee, type Line, noUsage, TOKEN_CLASSES, type TokenClass, type Usage } from '../terms/records.ts'
import { MILLION } from './amount.ts'
import type { List, ModelPrice } from './model-price.ts'
import { type PictureKind, reportedElse, UNSAID } from './pictures.ts'
import { type AppliedTier, NO_TIERS, type TierNames } from './tiers.ts'

/** The models that something is charged at: one, or all that it could be. */
export interface Priced {
  readonly prices: readonly [ModelPrice, ...ModelPrice[]]
}

/** What one model used, of an answer in which several took part. */
export interface Part<T extends Priced = Priced> {
  tariff: T
  usage: Usage
}

/** What an answer used and said of itself, beside what its request asked for. */
export interface Answer<T extends Priced = Priced> {
  usage: Usage
  /**
   * What each model used; together they are the tokens of `usage`. Empty: the asked model used all. One: that model
   * answered in place of the asked one, and fees are its own. Several: fees are the asked model's.
   */
  parts?: readonly Part<T>[]
  tiers?: { asked: TierNames; reported: TierNames }
  /** Of the pictures among `usage.images`, those whose kind the answer says. */
  pictures?: { asked: PictureKind; reported: readonly (PictureKind & { count: number })[] }
}

export interface Lines {
  lines: Line[]
  /** The answer reported a tier that the price does not list: `gateway_tier_unlisted_total` counts it. */
  unlistedTier: string | null
  /** A picture of the answer matched no listed size and quality, so that it costs the dearest of all. */
  unmatchedPicture: boolean
}

const NO_TIER_NAMES = { asked: NO_TIERS, reported: NO_TIERS }

export function linesOf(answer: Answer, asked: Priced): Lines {
  const { usage, parts = [], tiers = NO_TIER_NAMES } = answer
  const whole = parts.length === 1 ? (parts[0] as Part).tariff : asked
  // pictures that are charged by the piece are not charged as tokens beside it
  const drawn = usage.images > 0 && whole.prices.some(price => price.base.pictures !== null)
  const made: Lines = { lines: [], unlistedTier: null, unmatchedPicture: false }
  checkCounts(usage)
  let prompt = 0
  if (parts.length === 0) {
    prompt = promptOf(usage)
    addTokens(made, usage, whole.prices, prompt, tiers, drawn)
  }
  for (const part of parts) {
    checkCounts(part.usage)
    const ofPart = promptOf(part.usage)
    prompt = Math.max(prompt, ofPart)
    addTokens(made, part.usage, part.tariff.prices, ofPart, tiers, drawn)
  }
  addFees(made, answer, whole.prices, prompt)
  return made
}

/** A class that is negative or no whole number would hide behind the others in the sum. */
function checkCounts(usage: Usage): void {
  for (const name of TOKEN_CLASSES) if (!isCount(usage[name])) broken(name)
  if (!isCount(usage.images)) broken('images')
  if (!isCount(usage.searches)) broken('searches')
  if (!isCount(usage.seconds)) broken('seconds')
  if (!isCount(usage.characters)) broken('characters')
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0
const broken = (name: string): void => invariant(false, `usage counts whole things: ${name}`)

/** What all parts used together. */
export function addUsage(parts: readonly Part[]): Usage {
  const sum = noUsage()
  for (const { usage } of parts) for (const name in sum) sum[name as keyof Usage] += usage[name as keyof Usage]
  return sum
}

/** All tokens on the input side. */
const promptOf = (usage: Usage): number =>
  usage.input +
  usage.input_audio +
  usage.input_image +
  usage.cache_read +
  usage.cache_read_audio +
  usage.cache_read_image +
  usage.cache_write_5m +
  usage.cache_write_1h

/** One model's price as it applies to a part. */
interface Offer {
  price: ModelPrice
  list: List
  tier: AppliedTier
}

function addTokens(
  made: Lines,
  usage: Usage,
  prices: readonly ModelPrice[],
  prompt: number,
  { asked, reported }: { asked: TierNames; reported: TierNames },
  drawn: boolean,
): void {
  const offers = prices.map(price => ({
    price,
    list: price.listFor(prompt),
    tier: price.tiers.applied(asked, reported),
  }))
  const first = offers[0] as Offer
  made.unlistedTier ??= first.tier.unlisted
  for (const name of TOKEN_CLASSES) {
    const count = usage[name]
    if (count === 0) continue
    const free = drawn && name === 'output_image'
    const { price, list, tier } = offers.length === 1 ? first : dearestOffer(offers, name)
    made.lines.push({
      model: price.model,
      priceVersion: price.version,
      list: list.name,
      tier: tier.factor,
      tierName: tier.name,
      class: name,
      count,
      price: free ? 0 : list.tokens[name],
    })
  }
}

function dearestOffer(offers: readonly Offer[], name: TokenClass): Offer {
  const cost = ({ list, tier }: Offer) => BigInt(list.tokens[name]) * BigInt(tier.factor)
  return offers.reduce((most, offer) => (cost(offer) > cost(most) ? offer : most))
}

/** What is charged by the piece, of one model. */
interface Charged {
  count: number
  price: number
}

function addFees(made: Lines, answer: Answer, prices: readonly ModelPrice[], prompt: number): void {
  for (const name of FEES) {
    let most: { price: ModelPrice; list: List; charged: readonly Charged[]; cost: bigint } | null = null
    for (const price of prices) {
      const list = price.listFor(prompt)
      const charged = chargedOf(name, answer, price, list, made)
      if (charged.length === 0) continue
      const cost = prices.length === 1 ? 0n : costOf(charged)
      if (most === null || cost > most.cost) most = { price, list, charged, cost }
    }
    if (most === null) continue
    for (const { count, price } of most.charged) made.lines.push(feeLine(name, most.price, most.list, count, price))
  }
}

const costOf = (charged: readonly Charged[]): bigint =>
  charged.reduce((sum, { count, price }) => sum + BigInt(count) * BigInt(price), 0n)

const feeLine = (name: Fee, { model, version }: ModelPrice, list: List, count: number, price: number): Line => ({
  model,
  priceVersion: version,
  list: list.name,
  tier: MILLION,
  tierName: null,
  class: name,
  count,
  price,
})

const NOTHING: readonly Charged[] = []

function chargedOf(
  name: Fee,
  answer: Answer,
  { searchesOnce }: ModelPrice,
  list: List,
  made: Lines,
): readonly Charged[] {
  if (name === 'image') return picturesOf(answer, list, made)
  const price = list.fees[name]
  if (price === null) return NOTHING
  const { searches, seconds, characters } = answer.usage
  const count = {
    request: 1,
    web_search: searchesOnce ? Math.min(1, searches) : searches,
    second: seconds,
    character: characters,
  }[name]
  return count === 0 ? NOTHING : [{ count, price }]
}

function picturesOf({ usage, pictures }: Answer, list: List, made: Lines): readonly Charged[] {
  if (usage.images === 0 || list.pictures === null) return NOTHING
  const asked = pictures?.asked ?? UNSAID
  const charged: Charged[] = []
  const add = (count: number, kind: PictureKind) => {
    if (count === 0) return
    const found = list.pictures?.find(kind) ?? null
    made.unmatchedPicture ||= found === null
    const price = found ?? (list.pictures?.dearest as number)
    const same = charged.find(line => line.price === price)
    if (same === undefined) charged.push({ count, price })
    else same.count += count
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
