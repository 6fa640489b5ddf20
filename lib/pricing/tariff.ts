/**
 * The tariff of a model in a group. It computes what an answer costs (`charge`), the most that a request can cost
 * (`estimate`), and the amounts by which a hold grows while an answer is produced (`units`, `ofUnits`, `unitsHeld`).
 *
 * Prices are micro-CNY per million tokens, which is pico-CNY per token, so a sum of tokens × prices is a whole number
 * of pico-CNY. The group's multiplier is kept as a fraction in lowest terms. The charge is sum × numerator /
 * denominator, rounded up once.
 *
 * Plain numbers are exact as long as `pico × numerator` is a safe integer (below 2^53). Every step before it is a sum
 * or a product of whole numbers that are not negative, so none of them can have been rounded when the result is safe.
 * The last step divides N by D: if N / D is no whole number it is at least 1 / D away from one, and that is more than
 * the rounding error of the division, so rounding up is exact too. Larger values are computed with BigInt.
 */
import { invariant } from '../base/assert.ts'
import { type Micro, micro } from '../base/money.ts'
import type { Prompt } from '../protocols/prompt.ts'
import { protocolRow } from '../protocols/table.ts'
import type { Group, Model, Price, Protocol, Usage } from '../terms/records.ts'

const MILLION = 1_000_000
const BYTES_PER_TOKEN = 4
/** Input tokens for a second of sound: the most that any upstream counts. */
const TOKENS_PER_SECOND = 32
/** The fewest output tokens that a picture in an answer takes, so n tokens are at most n / 1000 pictures. */
const PICTURE_TOKENS = 1000
/** The most tokens of one class; the meter has the same bound. */
const MOST_TOKENS = 1_000_000_000
/** The most output tokens of all answers together, so that products of a request's numbers stay whole numbers. */
const MOST_OUTPUT = Number.MAX_SAFE_INTEGER
/** The largest result, 500 million CNY: more than any balance, and the most that the ledger can set aside at once. */
const MOST_MICRO = 500_000_000_000_000

/** What the estimate needs to know about a request. */
export interface Request {
  prompt: Prompt
  /** The maximum of output tokens that the request names; null = it names none. */
  maxOutput: number | null
  /** Output tokens of each answer that the maximum does not bound (some reasoning); null = as `defaultOutput`. */
  besideOutput: number | null
  /** How many answers are wanted. */
  n: number
  /** Number of tools of the upstream that draw pictures. */
  drawingTools: number
  /** How often all tools of the upstream together may be used; null = not limited. */
  maxToolCalls: number | null
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
}

/** Returns null for a model without price, which cannot be used. */
export function compileTariff(model: Model, group: Group): Tariff | null {
  if (model.price === null || Object.values(model.price).every(price => price === undefined)) return null
  return new Tariff(model, model.price, group.multiplier)
}

export class Tariff {
  readonly #model: Model
  readonly #price: Price
  readonly #input: number
  readonly #cacheRead: number
  readonly #cacheWrite5m: number
  readonly #cacheWrite1h: number
  readonly #output: number
  /** micro-CNY per picture, and per request; the prices above are pico-CNY per token. */
  readonly #image: number
  readonly #request: number
  readonly #multiplier: number
  readonly #numerator: number
  /** The multiplier's denominator, times a million, which turns pico-CNY into micro-CNY. */
  readonly #denominator: number

  constructor(model: Model, price: Price, multiplier: number) {
    this.#model = model
    this.#price = price
    this.#input = price.input ?? 0
    this.#cacheRead = price.cache_read ?? this.#input
    this.#cacheWrite5m = price.cache_write_5m ?? this.#input
    this.#cacheWrite1h = price.cache_write_1h ?? this.#cacheWrite5m
    this.#output = price.output ?? 0
    this.#image = dearestPicture(price)
    this.#request = price.request ?? 0
    this.#multiplier = multiplier
    const common = greatestCommonDivisor(multiplier, MILLION)
    this.#numerator = multiplier / common
    this.#denominator = (MILLION / common) * MILLION
  }

  /** Whether the price covers what the protocol returns. Where it does not, the model counts as not priced. */
  covers(protocol: Protocol): boolean {
    return protocolRow(protocol).price.cover.some(set => set.every(line => this.#price[line] !== undefined))
  }

  /** Whether pictures have a price of their own, which may be 0. */
  get pricesPictures(): boolean {
    return this.#price.image !== undefined
  }

  /** The price of an answer's usage. Throws InvariantError when a number of `usage` is negative or not whole. */
  charge(usage: Usage): Micro {
    const { input, cache_read, cache_write_5m, cache_write_1h, output, images } = usage
    // each class is checked, because the sum of all could look right when one is negative
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

  /**
   * The charge for an answer that several models of one group made together: the tokens of each part at the price of
   * its own tariff, the price per request at this tariff's, rounded up once.
   */
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

  /** A tariff whose price of each class is the highest of these tariffs, which must belong to one group. */
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

  /** The most that a request can cost, by what it says. This amount is held before an upstream is asked. */
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
    // where pictures have a price of their own, the answer is taken as all text or all pictures, whichever costs more
    const drawn = pictures * this.#image * MILLION > most * this.#output
    const asked = protocolRow(request.protocol).price.pictures
    const output = asked || !drawn ? most : 0
    return { output, images: (asked || drawn ? pictures : 0) + this.#drawings(request) }
  }

  /** The most output tokens of all `n` answers together, with those of advisors and drawing tools. */
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
    // without a price for pictures, what tools draw is charged as tokens, which the request's maximum does not bound
    const drawn = this.#image === 0 ? this.#drawings(request) * defaultOutput : 0
    return Math.min(MOST_OUTPUT, all + advice + drawn)
  }

  /** `tokens`, but at most what the model can produce. */
  #ceiling(tokens: number): number {
    return this.#model.maxOutput === null ? tokens : Math.min(tokens, this.#model.maxOutput)
  }

  #mostPictures({ protocol, n }: Request, output: number): number {
    if (protocolRow(protocol).price.pictures) return n
    return this.#image === 0 ? 0 : Math.ceil(output / PICTURE_TOKENS)
  }

  /** The most pictures that tools of the upstream may draw. */
  #drawings({ drawingTools, maxToolCalls }: Request): number {
    return drawingTools === 0 ? 0 : Math.min(MOST_TOKENS, maxToolCalls ?? drawingTools * this.#model.maxSearches)
  }

  /** The highest price of input that this request can cause. */
  #dearestInput({ protocol, cacheTtl }: Request): number {
    let dearest = Math.max(this.#input, this.#cacheRead)
    if (!protocolRow(protocol).price.cachesWhenAsked || cacheTtl !== null)
      dearest = Math.max(dearest, this.#cacheWrite5m)
    if (cacheTtl === '1h') dearest = Math.max(dearest, this.#cacheWrite1h)
    return dearest
  }

  /** Estimated input tokens of what is inside the body. */
  estimatedInput(prompt: Prompt): number {
    const { inputFactor, mediaInput, maxInput } = this.#model
    const text = Math.ceil((prompt.textBytes * inputFactor) / (BYTES_PER_TOKEN * MILLION))
    const pages = Math.min(prompt.pages * mediaInput, prompt.documents * maxInput)
    const sound = Math.min(prompt.soundS * TOKENS_PER_SECOND, prompt.sounds * maxInput)
    return Math.min(MOST_TOKENS, text + prompt.pictures * mediaInput + pages + sound)
  }

  /** The most input tokens: the body, what it refers to by URL or id, and what tools of the upstream may find. */
  #mostInput(prompt: Prompt): number {
    const { mediaInput, maxInput, toolInput, maxSearches } = this.#model
    const uses = prompt.toolUses + prompt.unlimitedTools * maxSearches
    const named = prompt.remotePictures * mediaInput + prompt.remoteDocuments * maxInput + uses * toolInput
    return Math.min(MOST_TOKENS, this.estimatedInput(prompt) + named)
  }

  // --- growing holds are measured in units: a unit is an output token, and a picture counts as many units as it costs

  /** Price of a unit in pico-CNY. Where output tokens are free, a unit is a thousandth of a picture. */
  get #unit(): number {
    return this.#output > 0 ? this.#output : this.#image * (MILLION / PICTURE_TOKENS)
  }

  /** The price of so many units. */
  ofUnits(units: number): Micro {
    const pico = units * this.#unit
    return this.#isExact(pico) ? this.#round(pico) : this.#roundBig(BigInt(units) * BigInt(this.#unit))
  }

  /** The units of an answer with so many output tokens and pictures. */
  units(tokens: number, images: number): number {
    const text = this.#output > 0 || this.#image === 0 ? tokens : 0
    return images === 0 || this.#image === 0 ? text : text + Math.ceil((images * this.#image * MILLION) / this.#unit)
  }

  /** The units that the estimate of a request covers: what its hold has for the answer. */
  unitsHeld(request: Request): number {
    const { output, images } = this.#mostAnswer(request)
    if (images === 0 || this.#image === 0) return output
    return Math.min(MOST_OUTPUT, output + Math.floor((images * this.#image * MILLION) / this.#unit))
  }

  /** Whether plain numbers are exact for this sum; the head of this file says why. */
  #isExact(pico: number): boolean {
    return Number.isSafeInteger(pico) && Number.isSafeInteger(pico * this.#numerator)
  }

  #round(pico: number): Micro {
    return micro(Math.min(MOST_MICRO, Math.ceil((pico * this.#numerator) / this.#denominator)))
  }

  /** Pictures and the request itself, in pico-CNY. */
  #piecesBig(images: number): bigint {
    return (BigInt(images) * BigInt(this.#image) + BigInt(this.#request)) * BigInt(MILLION)
  }

  #roundBig(pico: bigint): Micro {
    const denominator = BigInt(this.#denominator)
    const micros = (pico * BigInt(this.#numerator) + denominator - 1n) / denominator
    return micro(micros > MOST_MICRO ? MOST_MICRO : Number(micros))
  }
}

const dearestPicture = ({ image = 0 }: Price): number =>
  typeof image === 'number' ? image : Math.max(...Object.values(image.sizes ?? image).map(Number))
const isCount = (value: number): boolean => Number.isSafeInteger(value) && value >= 0

function greatestCommonDivisor(a: number, b: number): number {
  return b === 0 ? a : greatestCommonDivisor(b, a % b)
}
