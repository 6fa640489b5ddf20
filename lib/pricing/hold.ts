/**
 * The worst case of a request, which is set aside before an upstream is asked: the most that it can use, at the dearest
 * rates that it can reach. An answer that comes as a stream may begin with less: `AnswerHold` says how much of the hold
 * is for the answer, and what the answer has cost so far.
 */
import type { Micro } from '../base/money.ts'
import { protocolRow } from '../protocols/table.ts'
import type { Model } from '../terms/records.ts'
import { type Factor, MILLION } from './amount.ts'
import type { Priced } from './bill.ts'
import { largestPrompt, MOST_TOKENS, mostInput } from './estimated-input.ts'
import type { Rates } from './list.ts'
import { amountAt, dearer, inputRateOf, NOTHING_BESIDE, type Produced, partAt, ratesOf } from './rates.ts'
import type { Request } from './request.ts'
import { mostPieces } from './tool-fees.ts'

/** The fewest output tokens that a picture in an answer takes, so n tokens are at most n / 1000 pictures. */
const PICTURE_TOKENS = 1000
/** The most output tokens of all answers together, so that products of a request's numbers stay whole numbers. */
const MOST_OUTPUT = Number.MAX_SAFE_INTEGER

/** In micro-CNY, so that sums stay whole numbers: more than any balance. */
const MOST_FEES = 1e15

type Prices = Priced['prices']

/** A prompt that exceeds no threshold. */
const SMALL: readonly number[] = [0]

export function holdOf(model: Model, prices: Prices, factor: Factor, request: Request): Micro {
  const input = mostInput(model, request.prompt)
  const prompts = promptsOf(model, prices, request)
  let most = costAtPrompts(model, prices, factor, request, prompts, input)
  // its list prices the request only when the prompt is larger than it was estimated
  for (const prompt of prompts)
    if (prompt > input) {
      const amount = costAtPrompts(model, prices, factor, request, [prompt], prompt)
      if (amount > most) most = amount
    }
  return most
}

/** Sizes of prompts, one for each price list that the request can reach: the smallest that reaches it. */
function promptsOf(model: Model, prices: Prices, request: Request): readonly number[] {
  if (prices.length === 1 ? !prices[0].hasOver : !prices.some(price => price.hasOver)) return SMALL
  const largest = largestPrompt(model, request.prompt)
  return [0, ...prices.flatMap(price => price.thresholdsBelow(largest).map(threshold => threshold + 1))]
}

/** `input` tokens at the dearest prices of all lists that these prompts reach. */
function costAtPrompts(
  model: Model,
  prices: Prices,
  factor: Factor,
  request: Request,
  prompts: readonly number[],
  input: number,
): Micro {
  const rates = ratesOver(prices, prompts, request)
  const inputRate = inputRateOver(prices, prompts, request)
  const beside = { input, inputRate, characters: request.characters ?? 0, requests: request.units ?? 1 }
  return amountAt(rates, beside, mostProduced(model, prices, rates, request), factor)
}

/** Passes of one answer may be priced by different lists. */
function ratesOver(prices: Prices, prompts: readonly number[], request: Request): Rates {
  const first = prices[0]
  if (prices.length === 1 && prompts === SMALL) return ratesOf(first, first.base, request)
  return prices
    .flatMap(price => prompts.map(prompt => ratesOf(price, price.listFor(prompt), request)))
    .reduce((a, b) => dearer(a, b))
}

function inputRateOver(prices: Prices, prompts: readonly number[], request: Request): number {
  const first = prices[0]
  if (prices.length === 1 && prompts === SMALL) return inputRateOf(first, first.base, request)
  let most = 0
  for (const price of prices)
    for (const prompt of prompts) most = Math.max(most, inputRateOf(price, price.listFor(prompt), request))
  return most
}

/** The part of a hold that is for the answer, where the hold grows with it. */
export class AnswerHold {
  readonly #rates: Rates
  readonly #factor: Factor
  /** The most that the answer may consist of. */
  readonly most: Produced
  /** What the hold has for it. */
  readonly held: Micro

  constructor(model: Model, prices: Prices, factor: Factor, request: Request) {
    this.#rates = ratesOver(prices, promptsOf(model, prices, request), request)
    this.#factor = factor
    this.most = mostProduced(model, prices, this.#rates, request)
    this.held = partAt(this.#rates, NOTHING_BESIDE, this.most, factor)
  }

  /** What an answer costs that has produced so much. */
  cost(produced: Produced): Micro {
    return amountAt(this.#rates, NOTHING_BESIDE, produced, this.#factor)
  }
}

/** The most that the answer to a request may consist of. */
function mostProduced(model: Model, prices: Prices, rates: Rates, request: Request): Produced {
  const seconds = request.seconds ?? 0
  const searches = rates.search === 0 ? 0 : mostSearches(model, prices, request)
  const fees = mostFees(model, prices, request)
  const tokens = mostOutput(model, prices, request)
  if (rates.image === 0) return { tokens, images: 0, searches, seconds, fees }
  const drawings = mostDrawings(model, request)
  if (protocolRow(request.protocol).price.pictures)
    return { tokens, images: request.n + drawings, searches, seconds, fees }
  // where pictures have a price of their own, an answer is text or pictures, whichever costs more
  const pictures = request.answersPictures === false ? 0 : Math.ceil(tokens / PICTURE_TOKENS)
  return pictures * rates.image * MILLION > tokens * rates.output
    ? { tokens: 0, images: pictures + drawings, searches, seconds, fees }
    : { tokens, images: drawings, searches, seconds, fees }
}

/** What the tools cost by the piece that the request names, as often as it allows. */
function mostFees(model: Model, prices: Prices, { tools, maxToolCalls }: Request): number {
  let all = 0
  for (const tool of tools ?? []) {
    let most = 0
    for (const { toolFees } of prices) {
      const fee = toolFees.of(tool)
      if (fee !== null) most = Math.max(most, fee.price * mostPieces(fee, tool, model, maxToolCalls))
    }
    all += most
  }
  return Math.min(MOST_FEES, all)
}

/** Tokens of all `n` answers together. */
function mostOutput(model: Model, prices: Prices, request: Request): number {
  const { besideOutput, n, outputCap, advisors, drawingTools } = request
  const { defaultOutput, maxSearches } = model
  const maxOutput = request.maxOutput ?? Math.max(defaultOutput, request.leastOutput ?? 0)
  const each = ceiling(model, maxOutput) + ceiling(model, besideOutput)
  let all = outputCap === undefined ? each * n : Math.min(each * n, outputCap)
  for (const { uses, maximum } of advisors)
    all += (uses ?? maxSearches) * ceiling(model, maximum ?? model.maxOutput ?? maxOutput)
  // what tools draw are tokens where pictures have no price, and the maximum does not bound them
  if (drawingTools > 0 && prices.some(price => price.base.pictures === null))
    all += mostDrawings(model, request) * defaultOutput
  return Math.min(MOST_OUTPUT, all)
}

const ceiling = ({ maxOutput }: Model, tokens: number): number =>
  maxOutput === null ? tokens : Math.min(tokens, maxOutput)

/** Pictures that tools of the upstream may make. */
function mostDrawings({ maxSearches }: Model, { drawingTools, maxToolCalls }: Request): number {
  return drawingTools === 0 ? 0 : Math.min(MOST_TOKENS, maxToolCalls ?? drawingTools * maxSearches)
}

/** A model that searches by itself makes one search where none is asked for, and at worst as many as for a tool. */
function mostSearches(model: Model, prices: Prices, { searches, searchesMost }: Request): number {
  const asked = Math.min(MOST_TOKENS, searches.uses + searches.unlimited * model.maxSearches)
  const unasked = searchesMost === true ? Math.max(1, model.maxSearches) : 1
  const all = model.searches === 'always' ? Math.max(unasked, asked) : asked
  return prices.every(price => price.searchesOnce) ? Math.min(1, all) : all
}
