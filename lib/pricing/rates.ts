/**
 * The dearest prices that a request can reach: over the models that may answer it, the price lists that its prompt may
 * reach, the classes of tokens that it can cause, and the tier that it asks for. Each rate is a whole number; a fraction
 * that comes of a tier is rounded up.
 */
import type { Micro } from '../base/money.ts'
import type { Prompt } from '../terms/prompt.ts'
import { amountOfPico, type Factor, MILLION } from './amount.ts'
import type { Classes, List, ModelPrice } from './model-price.ts'
import { UNSAID } from './pictures.ts'
import { PRICED_BY } from './priced-by.ts'
import type { Request } from './request.ts'
import { NO_TIERS } from './tiers.ts'

/** Pico-CNY per token and character, micro-CNY per piece. */
export interface Rates {
  input: number
  output: number
  character: number
  image: number
  search: number
  request: number
  second: number
}

export const noRates = (): Rates => ({ input: 0, output: 0, character: 0, image: 0, search: 0, request: 0, second: 0 })

/** What is charged at these rates. */
export interface Used {
  input: number
  output: number
  characters: number
  images: number
  searches: number
  requests: number
  seconds: number
}

export function amountAt(rates: Rates, used: Used, factor: Factor, round?: 'down'): Micro {
  const perMillion = used.input * rates.input + used.output * rates.output + used.characters * rates.character
  const pieces =
    used.images * rates.image +
    used.searches * rates.search +
    used.requests * rates.request +
    used.seconds * rates.second
  return amountOfPico(perMillion + pieces * MILLION, factor, () => exactPico(rates, used), round)
}

export const noUse = (): Used => ({
  input: 0,
  output: 0,
  characters: 0,
  images: 0,
  searches: 0,
  requests: 0,
  seconds: 0,
})

const product = (count: number, rate: number): bigint => BigInt(count) * BigInt(rate)

const exactPico = (rates: Rates, used: Used): bigint =>
  product(used.input, rates.input) +
  product(used.output, rates.output) +
  product(used.characters, rates.character) +
  (product(used.images, rates.image) +
    product(used.searches, rates.search) +
    product(used.requests, rates.request) +
    product(used.seconds, rates.second)) *
    BigInt(MILLION)

/** The dearest output and the dearest picture of these models, whatever is asked of them, without a tier. */
export function dearestAnswer(prices: readonly ModelPrice[]): Rates {
  const rates = noRates()
  for (const { tokens, pictures } of prices.flatMap(price => price.lists)) {
    rates.output = Math.max(rates.output, tokens.output, tokens.output_audio, tokens.output_image)
    rates.image = Math.max(rates.image, pictures?.dearest ?? 0)
  }
  return rates
}

/** Raises the rates to those of one list of a model. */
export function raise(rates: Rates, { tiers }: ModelPrice, list: List, request: Request): void {
  const factor = tiers.held(request.tiers ?? NO_TIERS)
  const { fees, tokens, pictures } = list
  rates.input = Math.max(rates.input, withTier(dearestInput(tokens, request), factor))
  rates.output = Math.max(rates.output, withTier(dearestOutput(tokens, request), factor))
  rates.character = Math.max(rates.character, fees.character ?? 0)
  rates.image = Math.max(rates.image, pictures === null ? 0 : pictures.most(request.picture ?? UNSAID))
  rates.search = Math.max(rates.search, fees.web_search ?? 0)
  rates.request = Math.max(rates.request, fees.request ?? 0)
  rates.second = Math.max(rates.second, fees.second ?? 0)
}

const withTier = (price: number, factor: number): number =>
  factor === MILLION ? price : Number((BigInt(price) * BigInt(factor) + BigInt(MILLION - 1)) / BigInt(MILLION))

/** Of the input-side classes, the dearest that this request can cause. */
function dearestInput(tokens: Classes, { protocol, prompt, cacheTtl, drawingTools }: Request): number {
  const { pictures, cachesWhenAsked } = PRICED_BY[protocol]
  let dearest = Math.max(tokens.input, tokens.cache_read)
  if (cachesWhenAsked !== true || cacheTtl !== null) dearest = Math.max(dearest, tokens.cache_write_5m)
  if (cacheTtl === '1h') dearest = Math.max(dearest, tokens.cache_write_1h)
  if (mayHoldSound(prompt)) dearest = Math.max(dearest, tokens.input_audio, tokens.cache_read_audio)
  if (pictures === true || drawingTools > 0 || mayHoldPictures(prompt))
    dearest = Math.max(dearest, tokens.input_image, tokens.cache_read_image)
  return dearest
}

/** Films have sound, and an earlier answer may have anything. */
const mayHoldSound = (prompt: Prompt): boolean => prompt.sounds + prompt.documents + prompt.remoteDocuments > 0

const mayHoldPictures = (prompt: Prompt): boolean =>
  prompt.pictures + prompt.documents + prompt.remotePictures + prompt.remoteDocuments > 0 ||
  prompt.toolUses + prompt.unlimitedTools > 0

function dearestOutput(tokens: Classes, { answersSound, answersPictures }: Request): number {
  const sound = answersSound === false ? 0 : tokens.output_audio
  const pictures = answersPictures === false ? 0 : tokens.output_image
  return Math.max(tokens.output, sound, pictures)
}
