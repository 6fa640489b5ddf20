/**
 * The worst case of a request, which is set aside before an upstream is asked: the most that it can use, at the dearest
 * rates that it can reach. An answer that comes as a stream may begin with less: `AnswerHold` says how much of the hold
 * is for the answer, and what the answer has cost so far.
 */
import type { Micro } from '../base/money.ts'
import type { Protocol } from '../protocols/names.ts'
import { protocolRow } from '../protocols/table.ts'
import type { Model } from '../terms/records.ts'
import { type Factor, MILLIONTHS, amountOfBigPico, isExact, roundDown, roundUp, type Priced } from './bill.ts'
import { type Rates, type List, mostPieces, type ModelPrice } from './model-price.ts'
import type { Prompt, ToolUses } from '../protocols/requests/facts.ts'
import { UNSAID, type PictureKind, type TierNames, MOST_TOKENS } from '../protocols/words/usage.ts'
import type { AskedTool } from '../protocols/words/server-tools.ts'

/** The fewest output tokens that a picture in an answer takes, so n tokens are at most n / 1000 pictures. */
const PICTURE_TOKENS = 1000
/** The most output tokens of all answers together, so that products of a request's numbers stay whole numbers. */
const MOST_OUTPUT = Number.MAX_SAFE_INTEGER

/** In micro-CNY, so that sums stay whole numbers: more than any balance. */
const MOST_FEES = 1e15

type Prices = Priced['prices']

/** A prompt that exceeds no threshold. */
const SMALL: readonly number[] = [0]

export function holdOf(model: Model, prices: Prices, factor: Factor, request: HeldRequest): Micro {
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
function promptsOf(model: Model, prices: Prices, request: HeldRequest): readonly number[] {
  if (prices.length === 1 ? !prices[0].hasOver : !prices.some(price => price.hasOver)) return SMALL
  const largest = largestPrompt(model, request.prompt)
  return [0, ...prices.flatMap(price => price.thresholdsBelow(largest).map(threshold => threshold + 1))]
}

/** `input` tokens at the dearest prices of all lists that these prompts reach. */
function costAtPrompts(
  model: Model,
  prices: Prices,
  factor: Factor,
  request: HeldRequest,
  prompts: readonly number[],
  input: number,
): Micro {
  const rates = ratesOver(prices, prompts, request)
  const inputRate = inputRateOver(prices, prompts, request)
  const beside = { input, inputRate, characters: request.characters ?? 0, requests: request.units ?? 1 }
  return amountAt(rates, beside, mostProduced(model, prices, rates, request), factor)
}

/** Passes of one answer may be priced by different lists. */
function ratesOver(prices: Prices, prompts: readonly number[], request: HeldRequest): Rates {
  const first = prices[0]
  if (prices.length === 1 && prompts === SMALL) return ratesOf(first, first.base, request)
  return prices
    .flatMap(price => prompts.map(prompt => ratesOf(price, price.listFor(prompt), request)))
    .reduce((a, b) => dearer(a, b))
}

function inputRateOver(prices: Prices, prompts: readonly number[], request: HeldRequest): number {
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
  /** The money that the hold has for it. */
  readonly held: Micro

  constructor(model: Model, prices: Prices, factor: Factor, request: HeldRequest) {
    this.#rates = ratesOver(prices, promptsOf(model, prices, request), request)
    this.#factor = factor
    this.most = mostProduced(model, prices, this.#rates, request)
    this.held = partAt(this.#rates, NOTHING_BESIDE, this.most, factor)
  }

  /** The cost of an answer that has produced so much. */
  cost(produced: Produced): Micro {
    return amountAt(this.#rates, NOTHING_BESIDE, produced, this.#factor)
  }
}

/** The most that the answer to a request may consist of. */
function mostProduced(model: Model, prices: Prices, rates: Rates, request: HeldRequest): Produced {
  const seconds = request.seconds ?? 0
  const searches = rates.search === 0 ? 0 : mostSearches(model, prices, request)
  const fees = request.tools === undefined ? 0 : mostFees(model, prices, request)
  const tokens = mostOutput(model, prices, request)
  if (rates.image === 0) return { tokens, images: 0, searches, seconds, fees }
  const drawings = request.drawingTools === 0 ? 0 : mostDrawings(model, request)
  if (protocolRow(request.protocol).price.pictures)
    return { tokens, images: request.n + drawings, searches, seconds, fees }
  // where pictures have a price of their own, an answer is text or pictures, whichever costs more
  const pictures = request.answersPictures === false ? 0 : Math.ceil(tokens / PICTURE_TOKENS)
  return pictures * rates.image * MILLIONTHS > tokens * rates.output
    ? { tokens: 0, images: pictures + drawings, searches, seconds, fees }
    : { tokens, images: drawings, searches, seconds, fees }
}

/** The cost of the tools by the piece that the request names, as often as it allows; of settings with one price, once. */
function mostFees(model: Model, prices: Prices, { tools = [], maxToolCalls }: HeldRequest): number {
  let all = 0
  for (const [at, tool] of tools.entries()) {
    if (tool.cost === 'setting' && tools.findIndex(({ stem }) => stem === tool.stem) < at) continue
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
function mostOutput(model: Model, prices: Prices, request: HeldRequest): number {
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

/** Pictures that tools of the upstream may make, of which there are some. */
function mostDrawings({ maxSearches }: Model, { drawingTools, maxToolCalls }: HeldRequest): number {
  return Math.min(MOST_TOKENS, maxToolCalls ?? drawingTools * maxSearches)
}

/** A model that searches by itself makes one search where none is asked for, and at worst as many as for a tool. */
function mostSearches(model: Model, prices: Prices, { searches, searchesMost }: HeldRequest): number {
  const asked = Math.min(MOST_TOKENS, searches.uses + searches.unlimited * model.maxSearches)
  const unasked = searchesMost === true ? Math.max(1, model.maxSearches) : 1
  const all = model.searches === 'always' ? Math.max(unasked, asked) : asked
  return prices.every(price => price.searchesOnce) ? Math.min(1, all) : all
}

// --- the dearest rates that a request can reach

/** The things that an answer has produced so far, or may produce at most. */
interface Produced {
  /** Output tokens; those of pictures that are charged by the piece are not among them. */
  tokens: number
  images: number
  searches: number
  seconds: number
  /** Micro-CNY of tools that cost by the piece. */
  fees: number
}

/** The things that are paid for beside the answer. */
export interface Beside {
  input: number
  inputRate: number
  characters: number
  requests: number
}

const NOTHING_BESIDE: Beside = { input: 0, inputRate: 0, characters: 0, requests: 0 }

/** Rounded up, as a charge is. */
function amountAt(rates: Rates, beside: Beside, produced: Produced, factor: Factor): Micro {
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
  return pico + pieces * MILLIONTHS
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
  return perMillion + pieces * BigInt(MILLIONTHS)
}

const product = (count: number, rate: number): bigint => BigInt(count) * BigInt(rate)

/**
 * The rates of one list of a model, but for the input: over the classes of tokens that the request can cause, and the
 * tier that it asks for. Each rate is a whole number; a fraction that comes of a tier is rounded up.
 */
export function ratesOf({ tiers }: ModelPrice, { rates, tokens, pictures }: List, request: HeldRequest): Rates {
  const { tiers: asked, picture, answersSound, answersPictures } = request
  const sound = answersSound === false ? 0 : tokens.output_audio
  const drawn = answersPictures === false ? 0 : tokens.output_image
  const output = Math.max(tokens.output, sound, drawn)
  if (asked === undefined && picture === undefined && output === rates.output) return rates
  return {
    ...rates,
    output: withTier(output, asked === undefined ? MILLIONTHS : tiers.held(asked)),
    image: pictures === null ? 0 : pictures.most(picture ?? UNSAID),
  }
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
  factor === MILLIONTHS ? price : Number((BigInt(price) * BigInt(factor) + BigInt(MILLIONTHS - 1)) / BigInt(MILLIONTHS))

/** The dearest price that a token of input can have: that of the dearest input-side class that this request can cause. */
function inputRateOf({ tiers }: ModelPrice, { tokens }: List, request: HeldRequest): number {
  const { protocol, prompt, cacheTtl, drawingTools, tiers: asked } = request
  const { pictures, cachesWhenAsked } = protocolRow(protocol).price
  let dearest = Math.max(tokens.input, tokens.cache_read)
  if (!cachesWhenAsked || cacheTtl !== null) dearest = Math.max(dearest, tokens.cache_write_5m)
  if (cacheTtl === '1h') dearest = Math.max(dearest, tokens.cache_write_1h)
  const { pictures: shown, documents, remotePictures, remoteDocuments, toolUses, unlimitedTools } = prompt
  const anything = documents + remoteDocuments // films have sound, and an earlier answer may have anything
  if (prompt.sounds + anything > 0) dearest = Math.max(dearest, tokens.input_audio, tokens.cache_read_audio)
  if (pictures || drawingTools > 0 || shown + remotePictures + anything + toolUses + unlimitedTools > 0)
    dearest = Math.max(dearest, tokens.input_image, tokens.cache_read_image)
  return asked === undefined ? dearest : withTier(dearest, tiers.held(asked))
}

// --- what is known of a request

/** The facts that the hold needs to know of a request. A field that may be absent says then what its comment says. */
export interface HeldRequest {
  prompt: Prompt
  /** The maximum of output tokens that the request names and its upstreams read; null = there is none. */
  maxOutput: number | null
  /** Without such a maximum an answer has the model's `defaultOutput`, and at least this. Absent = 0. */
  leastOutput?: number
  /** Output tokens of each answer that the maximum does not bound (some reasoning). */
  besideOutput: number
  /** The number of answers that are wanted. */
  n: number
  /** Number of tools of the upstream that draw pictures. */
  drawingTools: number
  /** The number of times that all tools of the upstream together may be used; null = not limited. */
  maxToolCalls: number | null
  /** Tools of the upstream that are not free. Absent = none. */
  tools?: readonly AskedTool[]
  /** Searches of the web that the upstream may make. */
  searches: ToolUses
  /** A model that searches without being asked does so as often as it may, and not once. Absent = once. */
  searchesMost?: boolean
  /**
   * Tools by which another model is asked. `uses` null = the model's `maxSearches`; `maximum` (output tokens of each
   * use) null = the model's `maxOutput`.
   */
  advisors: readonly { uses: number | null; maximum: number | null }[]
  /** The longest life of a cache entry that the request asks for; null = it asks for none. */
  cacheTtl: '5m' | '1h' | null
  protocol: Protocol
  /** The most output tokens held at first, where the hold grows with the answer. */
  outputCap?: number
  /** The service tier, speed and place that are asked for. Absent = none. */
  tiers?: TierNames
  /** Size and quality of the pictures that are asked for. Absent = not said. */
  picture?: PictureKind
  /** The most seconds of sound or film that are charged. Absent = 0. */
  seconds?: number
  /** Units of search that the request comes to at most. Absent = 1. */
  units?: number
  /** Code points of text to be spoken. Absent = 0. */
  characters?: number
  /** The answer may hold sound, or pictures beside those of tools. Absent = it may. */
  answersSound?: boolean
  answersPictures?: boolean
}

// --- input, estimated from what the body says

const BYTES_PER_TOKEN = 4
/** No text has more tokens than one for so many bytes, for the choice of a price list. */
const FEWEST_BYTES_PER_TOKEN = 2
/** Input tokens for a second of sound: the most that any upstream counts. */
const TOKENS_PER_SECOND = 32

/** Tokens of what the body carries itself. */
export const estimatedInput = (model: Model, prompt: Prompt): number =>
  Math.min(MOST_TOKENS, textTokens(model, prompt) + otherTokens(model, prompt))

/** Tokens of what the body carries, of what it only names, and of what tools may find. */
export const mostInput = (model: Model, prompt: Prompt): number =>
  Math.min(MOST_TOKENS, estimatedInput(model, prompt) + namedTokens(model, prompt))

/** The largest prompt that the body can turn out to be, which tells the price lists that the request can reach. */
export function largestPrompt(model: Model, prompt: Prompt): number {
  const text = Math.max(textTokens(model, prompt), Math.ceil(prompt.textBytes / FEWEST_BYTES_PER_TOKEN))
  return Math.min(MOST_TOKENS, text + otherTokens(model, prompt) + namedTokens(model, prompt))
}

const textTokens = ({ inputFactor }: Model, { textBytes }: Prompt): number =>
  Math.ceil((textBytes * inputFactor) / (BYTES_PER_TOKEN * MILLIONTHS))

/** Tokens of what the body carries beside text. */
function otherTokens({ mediaInput, maxInput }: Model, prompt: Prompt): number {
  const pages = Math.min(prompt.pages * mediaInput, prompt.documents * maxInput)
  const sound = Math.min(prompt.soundS * TOKENS_PER_SECOND, prompt.sounds * maxInput)
  return prompt.tokens + prompt.pictures * mediaInput + pages + sound
}

function namedTokens({ mediaInput, maxInput, toolInput, maxSearches }: Model, prompt: Prompt): number {
  const uses = prompt.toolUses + prompt.unlimitedTools * maxSearches
  return prompt.remotePictures * mediaInput + prompt.remoteDocuments * maxInput + uses * toolInput
}
