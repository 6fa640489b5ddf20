/**
 * What a model costs in a group. Prices are millionths of a CNY per million tokens, which is pico-CNY per token, so a sum
 * of tokens × prices is a whole number of pico-CNY. The multiplier is kept as a fraction in lowest terms; sum × numerator
 * over denominator, rounded up once, is the charge.
 *
 * Where all of it stays below 2^53 plain numbers do, exactly: every step is a sum of products of whole numbers, none of
 * which can have been rounded when the result is safe; and the last quotient N / D of such numbers differs from a whole
 * number it is not by at least 1 / D, which is more than the rounding of N / D. Beyond that BigInt does the same.
 */
import { invariant } from '../base/assert.ts'
import { type Micro, micro } from '../base/money.ts'
import type { Prompt } from '../terms/prompt.ts'
import type { Group, Model, Price, Protocol, Usage } from '../terms/records.ts'

const MILLION = 1_000_000
const BYTES_PER_TOKEN = 4
/** No upstream counts more for a second of sound. */
const TOKENS_PER_SECOND = 32
/** A picture in an answer is at least so many tokens of it. */
const PICTURE_TOKENS = 1000
/** Tokens of one class, as the meter bounds them. */
const MOST_TOKENS = 1_000_000_000
/** Of all answers together, so that no product of what a request says leaves the whole numbers. */
const MOST_OUTPUT = Number.MAX_SAFE_INTEGER
/** More than any balance, and what the ledger can set aside at once: 500 million CNY. */
const MOST_MICRO = 500_000_000_000_000

export interface Request {
  prompt: Prompt
  /** null = the request names none. */
  maxOutput: number | null
  /** Output tokens that the maximum does not bound, of each answer; null = as many as where no maximum is named. */
  besideOutput: number | null
  n: number
  /** Tools that make pictures, and how often all tools together may be used; null = not said. */
  drawingTools: number
  maxToolCalls: number | null
  /** Passes by other models; null = as often, or as long, as the model allows. */
  advisors: readonly { uses: number | null; maximum: number | null }[]
  cacheTtl: '5m' | '1h' | null
  protocol: Protocol
  /** At most this many output tokens are held at first. */
  outputCap?: number
}

/** null = no price: the model cannot be used. */
export function compileTariff(model: Model, group: Group): Tariff | null {
  if (model.price === null || Object.values(model.price).every(price => price === undefined)) return null
  return new Tariff(model, model.price, group.multiplier)
}

/** What each protocol's answers consist of; a price covers them when it has one of these sets. */
const TEXT_COVER: readonly (readonly (keyof Price)[])[] = [['request'], ['input', 'output']]
const COVER: Record<Protocol, readonly (readonly (keyof Price)[])[]> = {
  messages: TEXT_COVER,
  chat: TEXT_COVER,
  responses: TEXT_COVER,
  generate: TEXT_COVER,
  images: [['image'], ['input', 'output'], ['request']],
}

export class Tariff {
  readonly #model: Model
  readonly #price: Price
  readonly #input: number
  readonly #cacheRead: number
  readonly #cacheWrite5m: number
  readonly #cacheWrite1h: number
  readonly #output: number
  /** pico-CNY a piece, like the tokens'. */
  readonly #image: number
  readonly #request: number
  readonly #multiplier: number
  readonly #numerator: number
  /** Of the multiplier, times the pico-CNY in a micro-CNY. */
  readonly #denominator: number

  constructor(model: Model, price: Price, multiplier: number) {
    this.#model = model
    this.#price = price
    this.#input = price.input ?? 0
    this.#cacheRead = price.cache_read ?? this.#input
    this.#cacheWrite5m = price.cache_write_5m ?? this.#input
    this.#cacheWrite1h = price.cache_write_1h ?? this.#cacheWrite5m
    this.#output = price.output ?? 0
    this.#image = price.image ?? 0
    this.#request = price.request ?? 0
    this.#multiplier = multiplier
    const common = greatestCommonDivisor(multiplier, MILLION)
    this.#numerator = multiplier / common
    this.#denominator = (MILLION / common) * MILLION
  }

  /** A price counts only where it covers what the protocol returns; elsewhere the model is not priced. */
  covers(protocol: Protocol): boolean {
    return COVER[protocol].some(set => set.every(line => this.#price[line] !== undefined))
  }

  /** Pictures have a price of their own, which may be 0. */
  get pricesPictures(): boolean {
    return this.#price.image !== undefined
  }

  charge(usage: Usage): Micro {
    const { input, cache_read, cache_write_5m, cache_write_1h, output, images } = usage
    // a negative or broken class would hide behind the others in the sum
    for (const name in usage) invariant(isCount(usage[name as keyof Usage]), `usage counts whole things: ${name}`)
    const pico =
      input * this.#input +
      cache_read * this.#cacheRead +
      cache_write_5m * this.#cacheWrite5m +
      cache_write_1h * this.#cacheWrite1h +
      output * this.#output +
      (images * this.#image + this.#request) * MILLION
    return this.#isExact(pico) ? this.#round(pico) : this.#roundBig(this.#tokensBig(usage) + this.#piecesBig(images))
  }

  /** What several models of one group had a part in: tokens at each one's own price, fees at this one's, rounded up once. */
  chargeParts(parts: readonly { tariff: Tariff; usage: Usage }[]): Micro {
    return this.#roundBig(parts.reduce((sum, { tariff, usage }) => sum + tariff.#tokensBig(usage), this.#piecesBig(0)))
  }

  #tokensBig({ input, cache_read, cache_write_5m, cache_write_1h, output }: Usage): bigint {
    return (
      BigInt(input) * BigInt(this.#input) +
      BigInt(cache_read) * BigInt(this.#cacheRead) +
      BigInt(cache_write_5m) * BigInt(this.#cacheWrite5m) +
      BigInt(cache_write_1h) * BigInt(this.#cacheWrite1h) +
      BigInt(output) * BigInt(this.#output)
    )
  }

  /** Class by class the dearest of these tariffs of one group. */
  static dearest(of: readonly [Tariff, ...Tariff[]]): Tariff {
    const [first] = of
    if (of.length === 1) return first
    const most = (price: (tariff: Tariff) => number) => Math.max(...of.map(price))
    const price = {
      input: most(t => t.#input),
      output: most(t => t.#output),
      cache_read: most(t => t.#cacheRead),
      cache_write_5m: most(t => t.#cacheWrite5m),
      cache_write_1h: most(t => t.#cacheWrite1h),
      image: most(t => t.#image),
      request: most(t => t.#request),
    }
    return new Tariff(first.#model, price, first.#multiplier)
  }

  /** The worst that a request can cost, for all that it says itself. */
  estimate(request: Request): Micro {
    const input = this.#mostInput(request.prompt)
    const dearest = this.#dearestInput(request)
    const { output, images } = this.#mostAnswer(request)
    const pico = input * dearest + output * this.#output + (images * this.#image + this.#request) * MILLION
    if (this.#isExact(pico)) return this.#round(pico)
    return this.#roundBig(
      BigInt(input) * BigInt(dearest) + BigInt(output) * BigInt(this.#output) + this.#piecesBig(images),
    )
  }

  #mostAnswer(request: Request): { output: number; images: number } {
    const most = this.#mostOutput(request)
    const pictures = this.#mostPictures(request, most)
    // where pictures have a price of their own, an answer is text or pictures, whichever costs more
    const drawn = pictures * this.#image * MILLION > most * this.#output
    const output = request.protocol === 'images' || !drawn ? most : 0
    return { output, images: (request.protocol === 'images' || drawn ? pictures : 0) + this.#drawings(request) }
  }

  /** Tokens of all `n` answers together. */
  #mostOutput(request: Request): number {
    const { maxOutput, besideOutput, n, outputCap, advisors } = request
    const { defaultOutput } = this.#model
    const each = this.#ceiling(maxOutput ?? defaultOutput) + this.#ceiling(besideOutput ?? defaultOutput)
    const all = outputCap === undefined ? each * n : Math.min(each * n, outputCap)
    const advice = advisors.reduce(
      (sum, { uses, maximum }) =>
        sum +
        (uses ?? this.#model.maxSearches) *
          this.#ceiling(maximum ?? this.#model.maxOutput ?? maxOutput ?? this.#model.defaultOutput),
      0,
    )
    // what tools draw are tokens where pictures have no price, and the maximum does not bound them
    const drawn = this.#image === 0 ? this.#drawings(request) * defaultOutput : 0
    return Math.min(MOST_OUTPUT, all + advice + drawn)
  }

  #ceiling(tokens: number): number {
    return this.#model.maxOutput === null ? tokens : Math.min(tokens, this.#model.maxOutput)
  }

  #mostPictures({ protocol, n }: Request, output: number): number {
    if (protocol === 'images') return n
    return this.#image === 0 ? 0 : Math.ceil(output / PICTURE_TOKENS)
  }

  /** Pictures that tools of the upstream may make. */
  #drawings({ drawingTools, maxToolCalls }: Request): number {
    return drawingTools === 0 ? 0 : Math.min(MOST_TOKENS, maxToolCalls ?? drawingTools * this.#model.maxSearches)
  }

  /** Of the input-side prices, the highest that this request can cause. */
  #dearestInput({ protocol, cacheTtl }: Request): number {
    let dearest = Math.max(this.#input, this.#cacheRead)
    // the messages protocol writes to a cache when it is asked to, the others when they like
    if (protocol !== 'messages' || cacheTtl !== null) dearest = Math.max(dearest, this.#cacheWrite5m)
    if (cacheTtl === '1h') dearest = Math.max(dearest, this.#cacheWrite1h)
    return dearest
  }

  /** Tokens of what stands in the body itself. */
  estimatedInput(prompt: Prompt): number {
    const { inputFactor, mediaInput, maxInput } = this.#model
    const text = Math.ceil((prompt.textBytes * inputFactor) / (BYTES_PER_TOKEN * MILLION))
    const pages = Math.min(prompt.pages * mediaInput, prompt.documents * maxInput)
    const sound = Math.min(prompt.soundS * TOKENS_PER_SECOND, prompt.sounds * maxInput)
    return Math.min(MOST_TOKENS, text + prompt.pictures * mediaInput + pages + sound)
  }

  /** The same, and what the request only names or lets the upstream's tools find. */
  #mostInput(prompt: Prompt): number {
    const { mediaInput, maxInput, toolInput, maxSearches } = this.#model
    const uses = prompt.toolUses + prompt.unlimitedTools * maxSearches
    const named = prompt.remotePictures * mediaInput + prompt.remoteDocuments * maxInput + uses * toolInput
    return Math.min(MOST_TOKENS, this.estimatedInput(prompt) + named)
  }

  // --- a hold that grows is measured in units: tokens, and pictures as so many tokens as they cost

  /** Where tokens of output are free, a unit is a part of a picture. */
  get #unit(): number {
    return this.#output > 0 ? this.#output : this.#image * (MILLION / PICTURE_TOKENS)
  }

  ofUnits(units: number): Micro {
    const pico = units * this.#unit
    return this.#isExact(pico) ? this.#round(pico) : this.#roundBig(BigInt(units) * BigInt(this.#unit))
  }

  units(tokens: number, images: number): number {
    const text = this.#output > 0 || this.#image === 0 ? tokens : 0
    return images === 0 || this.#image === 0 ? text : text + Math.ceil((images * this.#image * MILLION) / this.#unit)
  }

  /** What the estimate of a request holds for its answer. */
  unitsHeld(request: Request): number {
    const { output, images } = this.#mostAnswer(request)
    if (images === 0 || this.#image === 0) return output
    return Math.min(MOST_OUTPUT, output + Math.floor((images * this.#image * MILLION) / this.#unit))
  }

  #isExact(pico: number): boolean {
    return Number.isSafeInteger(pico) && Number.isSafeInteger(pico * this.#numerator)
  }

  #round(pico: number): Micro {
    return micro(Math.min(MOST_MICRO, Math.ceil((pico * this.#numerator) / this.#denominator)))
  }

  #piecesBig(images: number): bigint {
    return (BigInt(images) * BigInt(this.#image) + BigInt(this.#request)) * BigInt(MILLION)
  }

  #roundBig(pico: bigint): Micro {
    const denominator = BigInt(this.#denominator)
    const micros = (pico * BigInt(this.#numerator) + denominator - 1n) / denominator
    return micro(micros > MOST_MICRO ? MOST_MICRO : Number(micros))
  }
}

const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
