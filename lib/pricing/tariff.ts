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
import type { Group, Model, Price, Protocol, Usage } from '../terms/records.ts'

const MILLION = 1_000_000
const BYTES_PER_TOKEN = 4
/** Tokens of one class, as the meter bounds them. */
const MOST_TOKENS = 1_000_000_000
/** More than any balance, and what the ledger can set aside at once: 500 million CNY. */
const MOST_MICRO = 500_000_000_000_000

export interface Request {
  bodyBytes: number
  /** null = the request names none. */
  maxOutput: number | null
  n: number
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

export class Tariff {
  readonly #model: Model
  readonly #input: number
  readonly #cacheRead: number
  readonly #cacheWrite5m: number
  readonly #cacheWrite1h: number
  readonly #output: number
  /** pico-CNY a piece, like the tokens'. */
  readonly #image: number
  readonly #request: number
  readonly #numerator: number
  /** Of the multiplier, times the pico-CNY in a micro-CNY. */
  readonly #denominator: number

  constructor(model: Model, price: Price, multiplier: number) {
    this.#model = model
    this.#input = price.input ?? 0
    this.#cacheRead = price.cache_read ?? this.#input
    this.#cacheWrite5m = price.cache_write_5m ?? this.#input
    this.#cacheWrite1h = price.cache_write_1h ?? this.#cacheWrite5m
    this.#output = price.output ?? 0
    this.#image = price.image ?? 0
    this.#request = price.request ?? 0
    const common = greatestCommonDivisor(multiplier, MILLION)
    this.#numerator = multiplier / common
    this.#denominator = (MILLION / common) * MILLION
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
    if (this.#isExact(pico)) return this.#round(pico)
    return this.#roundBig(
      BigInt(input) * BigInt(this.#input) +
        BigInt(cache_read) * BigInt(this.#cacheRead) +
        BigInt(cache_write_5m) * BigInt(this.#cacheWrite5m) +
        BigInt(cache_write_1h) * BigInt(this.#cacheWrite1h) +
        BigInt(output) * BigInt(this.#output) +
        this.#piecesBig(images),
    )
  }

  /** The worst that a request can cost, for all that it says itself. */
  estimate(request: Request): Micro {
    const input = this.estimatedInput(request.bodyBytes)
    const dearest = this.#dearestInput(request)
    const output = this.#mostOutput(request)
    const images = request.protocol === 'images' ? request.n : 0
    const pico = input * dearest + output * this.#output + (images * this.#image + this.#request) * MILLION
    if (this.#isExact(pico)) return this.#round(pico)
    return this.#roundBig(
      BigInt(input) * BigInt(dearest) + BigInt(output) * BigInt(this.#output) + this.#piecesBig(images),
    )
  }

  /** Tokens of all `n` answers together. */
  #mostOutput({ maxOutput, n, outputCap }: Request): number {
    const named = maxOutput ?? this.#model.defaultOutput
    const each = this.#model.maxOutput === null ? named : Math.min(named, this.#model.maxOutput)
    return outputCap === undefined ? each * n : Math.min(each * n, outputCap)
  }

  /** Of the input-side prices, the highest that this request can cause. */
  #dearestInput({ protocol, cacheTtl }: Request): number {
    let dearest = Math.max(this.#input, this.#cacheRead)
    // the messages protocol writes to a cache when it is asked to, the others when they like
    if (protocol !== 'messages' || cacheTtl !== null) dearest = Math.max(dearest, this.#cacheWrite5m)
    if (cacheTtl === '1h') dearest = Math.max(dearest, this.#cacheWrite1h)
    return dearest
  }

  /** Tokens. */
  estimatedInput(bodyBytes: number): number {
    return Math.min(MOST_TOKENS, Math.ceil((bodyBytes * this.#model.inputFactor) / (BYTES_PER_TOKEN * MILLION)))
  }

  ofOutput(tokens: number): Micro {
    const pico = tokens * this.#output
    return this.#isExact(pico) ? this.#round(pico) : this.#roundBig(BigInt(tokens) * BigInt(this.#output))
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
