/**
 * The worst case of a request, which is set aside before an upstream is asked: the most that it can use, at the dearest
 * rates that it can reach. An answer that comes as a stream may begin with less: `AnswerHold` says how much of the hold
 * is for the answer, and what the answer has cost so far.
 */
import type { Micro } from '../base/money.ts'
import type { Model } from '../terms/records.ts'
import type { Factor } from './amount.ts'
import type { Priced } from './bill.ts'
import { largestPrompt, MOST_TOKENS, mostInput } from './estimated-input.ts'
import { PRICED_BY } from './priced-by.ts'
import { amountAt, noRates, type Rates, raise, type Used } from './rates.ts'
import type { Request } from './request.ts'

/** The fewest output tokens that a picture in an answer takes, so n tokens are at most n / 1000 pictures. */
export const PICTURE_TOKENS = 1000
/** The most output tokens of all answers together, so that products of a request's numbers stay whole numbers. */
export const MOST_OUTPUT = Number.MAX_SAFE_INTEGER

type Prices = Priced['prices']

/** What an answer has produced so far, or may produce at most. */
export interface Produced {
  /** Output tokens; those of pictures that are charged by the piece are not among them. */
  tokens: number
  images: number
  searches: number
  seconds: number
}

const NONE: readonly number[] = []

/** One request, and the models that may answer it. */
export class Hold {
  readonly #model: Model
  readonly #prices: Prices
  readonly #factor: Factor
  readonly #request: Request
  /** Thresholds of `over` that the prompt may exceed. */
  readonly #thresholds: readonly number[]
  /** Over all lists that can be reached: passes of one answer may be priced by different ones. */
  readonly rates: Rates
  /** The most that the answer may produce. */
  readonly most: Produced

  constructor(model: Model, prices: Prices, factor: Factor, request: Request) {
    this.#model = model
    this.#prices = prices
    this.#factor = factor
    this.#request = request
    this.#thresholds = this.#reached()
    this.rates = noRates()
    for (const price of prices) {
      raise(this.rates, price, price.base, request)
      for (const threshold of this.#thresholds) raise(this.rates, price, price.listFor(threshold + 1), request)
    }
    this.most = mostProduced(model, prices, this.rates, request)
  }

  #reached(): readonly number[] {
    if (!this.#prices.some(price => price.hasOver)) return NONE
    const largest = largestPrompt(this.#model, this.#request.prompt)
    return this.#prices.flatMap(price => price.thresholdsBelow(largest))
  }

  /** All that the request can cost. */
  get amount(): Micro {
    const input = mostInput(this.#model, this.#request.prompt)
    let amount = this.#amountOf(this.rates, input, this.most)
    for (const threshold of this.#thresholds)
      if (threshold >= input) amount = Math.max(amount, this.#above(threshold)) as Micro
    return amount
  }

  /** A request is priced by this list only when its prompt is larger than it was estimated. */
  #above(threshold: number): Micro {
    const rates = noRates()
    for (const price of this.#prices) raise(rates, price, price.listFor(threshold + 1), this.#request)
    return this.#amountOf(rates, threshold + 1, mostProduced(this.#model, this.#prices, rates, this.#request))
  }

  #amountOf(rates: Rates, input: number, most: Produced): Micro {
    return amountAt(
      rates,
      { ...usedBy(most), input, characters: this.#request.characters ?? 0, requests: 1 },
      this.#factor,
    )
  }

  /** The part of the amount that is for the answer. */
  get forAnswer(): Micro {
    return amountAt(this.rates, usedBy(this.most), this.#factor, 'down')
  }

  /** What an answer costs that has produced so much. */
  answerCost(produced: Produced): Micro {
    return amountAt(this.rates, usedBy(produced), this.#factor)
  }
}

const usedBy = ({ tokens, images, searches, seconds }: Produced): Used => ({
  input: 0,
  output: tokens,
  characters: 0,
  images,
  searches,
  requests: 0,
  seconds,
})

/** The most that the answer to a request may consist of. */
function mostProduced(model: Model, prices: Prices, rates: Rates, request: Request): Produced {
  const tokens = mostOutput(model, rates, request)
  const asked = PRICED_BY[request.protocol].pictures === true
  const pictures = asked ? request.n : rates.image === 0 ? 0 : Math.ceil(tokens / PICTURE_TOKENS)
  // where pictures have a price of their own, an answer is text or pictures, whichever costs more
  const drawn = pictures * rates.image * 1_000_000 > tokens * rates.output
  return {
    tokens: asked || !drawn ? tokens : 0,
    images: (asked || drawn ? pictures : 0) + drawings(model, request),
    searches: rates.search === 0 ? 0 : mostSearches(model, prices, request),
    seconds: request.seconds ?? 0,
  }
}

/** Tokens of all `n` answers together. */
function mostOutput(model: Model, rates: Rates, request: Request): number {
  const { maxOutput, besideOutput, n, outputCap, advisors } = request
  const { defaultOutput, maxSearches } = model
  const ceiling = (tokens: number) => (model.maxOutput === null ? tokens : Math.min(tokens, model.maxOutput))
  const each = ceiling(maxOutput ?? defaultOutput) + ceiling(besideOutput ?? defaultOutput)
  let all = outputCap === undefined ? each * n : Math.min(each * n, outputCap)
  for (const { uses, maximum } of advisors)
    all += (uses ?? maxSearches) * ceiling(maximum ?? model.maxOutput ?? maxOutput ?? defaultOutput)
  // what tools draw are tokens where pictures have no price, and the maximum does not bound them
  if (rates.image === 0) all += drawings(model, request) * defaultOutput
  return Math.min(MOST_OUTPUT, all)
}

/** Pictures that tools of the upstream may make. */
function drawings({ maxSearches }: Model, { drawingTools, maxToolCalls }: Request): number {
  return drawingTools === 0 ? 0 : Math.min(MOST_TOKENS, maxToolCalls ?? drawingTools * maxSearches)
}

function mostSearches({ maxSearches }: Model, prices: Prices, { searches, prompt }: Request): number {
  const { uses, unlimited } = searches ?? { uses: prompt.toolUses, unlimited: prompt.unlimitedTools }
  const all = Math.min(MOST_TOKENS, uses + unlimited * maxSearches)
  return prices.every(price => price.searchesOnce) ? Math.min(1, all) : all
}
