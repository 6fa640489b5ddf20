/**
 * The dearest prices that a request can reach: over the models that may answer it, the price lists that its prompt may
 * reach, the classes of tokens that it can cause, and the tier that it asks for. Each rate is a whole number; a fraction
 * that comes of a tier is rounded up.
 */
import type { Micro } from '../base/money.ts'
import type { Prompt } from '../protocols/prompt.ts'
import { protocolRow } from '../protocols/table.ts'
import { UNSAID } from '../protocols/words/usage.ts'
import { amountOfBigPico, type Factor, isExact, MILLION, roundDown, roundUp } from './amount.ts'
import type { Classes, List, Rates } from './list.ts'
import type { ModelPrice } from './model-price.ts'
import type { Request } from './request.ts'

/** What an answer has produced so far, or may produce at most. */
export interface Produced {
  /** Output tokens; those of pictures that are charged by the piece are not among them. */
  tokens: number
  images: number
  searches: number
  seconds: number
  /** Micro-CNY of tools that cost by the piece. */
  fees: number
}

/** What stands beside the answer. */
export interface Beside {
  input: number
  inputRate: number
  characters: number
  requests: number
}

export const NOTHING_BESIDE: Beside = { input: 0, inputRate: 0, characters: 0, requests: 0 }

/** Rounded up, as a charge is. */
export function amountAt(rates: Rates, beside: Beside, produced: Produced, factor: Factor): Micro {
  const pico = picoAt(rates, beside, produced)
  return isExact(pico, factor)
    ? roundUp(pico, factor)
    : amountOfBigPico(exactPico(rates, beside, produced), factor, 'up')
}

/** Rounded down, as a part of what is held. */
export function partAt(rates: Rates, beside: Beside, produced: Produced, factor: Factor): Micro {
  const pico = picoAt(rates, beside, produced)
  return isExact(pico, factor)
    ? roundDown(pico, factor)
    : amountOfBigPico(exactPico(rates, beside, produced), factor, 'down')
}

function picoAt(rates: Rates, beside: Beside, { tokens, images, searches, seconds, fees }: Produced): number {
  const { input, inputRate, characters, requests } = beside
  let pico = input * inputRate + tokens * rates.output
  if (characters > 0) pico += characters * rates.character
  let pieces = requests * rates.request + fees
  if (images > 0) pieces += images * rates.image
  if (searches > 0) pieces += searches * rates.search
  if (seconds > 0) pieces += seconds * rates.second
  return pico + pieces * MILLION
}

function exactPico(rates: Rates, { input, inputRate, characters, requests }: Beside, produced: Produced): bigint {
  const { tokens, images, searches, seconds, fees } = produced
  const perMillion = product(input, inputRate) + product(tokens, rates.output) + product(characters, rates.character)
  const pieces =
    BigInt(fees) +
    product(images, rates.image) +
    product(searches, rates.search) +
    product(requests, rates.request) +
    product(seconds, rates.second)
  return perMillion + pieces * BigInt(MILLION)
}

const product = (count: number, rate: number): bigint => BigInt(count) * BigInt(rate)

/** The rates of one list of a model, but for the input. */
export function ratesOf({ tiers }: ModelPrice, { rates, tokens, pictures }: List, request: Request): Rates {
  const { tiers: asked, picture, answersSound, answersPictures } = request
  const sound = answersSound === false ? 0 : tokens.output_audio
  const drawn = answersPictures === false ? 0 : tokens.output_image
  const output = Math.max(tokens.output, sound, drawn)
  if (asked === undefined && picture === undefined && output === rates.output) return rates
  return {
    ...rates,
    output: withTier(output, asked === undefined ? MILLION : tiers.held(asked)),
    image: pictures === null ? 0 : pictures.most(picture ?? UNSAID),
  }
}

/** The dearest price that a token of input can have. */
export function inputRateOf({ tiers }: ModelPrice, { tokens }: List, request: Request): number {
  const dearest = dearestInput(tokens, request)
  return request.tiers === undefined ? dearest : withTier(dearest, tiers.held(request.tiers))
}

/** The dearer of both, rate by rate. */
export const dearer = (a: Rates, b: Rates): Rates => ({
  output: Math.max(a.output, b.output),
  character: Math.max(a.character, b.character),
  image: Math.max(a.image, b.image),
  search: Math.max(a.search, b.search),
  request: Math.max(a.request, b.request),
  second: Math.max(a.second, b.second),
})

const withTier = (price: number, factor: number): number =>
  factor === MILLION ? price : Number((BigInt(price) * BigInt(factor) + BigInt(MILLION - 1)) / BigInt(MILLION))

/** Of the input-side classes, the dearest that this request can cause. */
function dearestInput(tokens: Classes, { protocol, prompt, cacheTtl, drawingTools }: Request): number {
  const { pictures, cachesWhenAsked } = protocolRow(protocol).price
  let dearest = Math.max(tokens.input, tokens.cache_read)
  if (!cachesWhenAsked || cacheTtl !== null) dearest = Math.max(dearest, tokens.cache_write_5m)
  if (cacheTtl === '1h') dearest = Math.max(dearest, tokens.cache_write_1h)
  if (mayHoldSound(prompt)) dearest = Math.max(dearest, tokens.input_audio, tokens.cache_read_audio)
  if (pictures || drawingTools > 0 || mayHoldPictures(prompt))
    dearest = Math.max(dearest, tokens.input_image, tokens.cache_read_image)
  return dearest
}

/** Films have sound, and an earlier answer may have anything. */
const mayHoldSound = (prompt: Prompt): boolean => prompt.sounds + prompt.documents + prompt.remoteDocuments > 0

const mayHoldPictures = (prompt: Prompt): boolean =>
  prompt.pictures + prompt.documents + prompt.remotePictures + prompt.remoteDocuments > 0 ||
  prompt.toolUses + prompt.unlimitedTools > 0
