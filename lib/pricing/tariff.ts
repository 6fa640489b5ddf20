/**
 * What a model costs in a group. Prices are millionths of a CNY per million tokens, which is pico-CNY per token; with the
 * multiplier in millionths a sum is exact in atto-CNY, and is rounded up once to the next micro-CNY.
 */
import { type Micro, micro } from '../base/money.ts'
import type { Group, Model, Price, Protocol, Usage } from '../terms/records.ts'

/** atto-CNY (10^-18) in a micro-CNY. */
const ATTO_PER_MICRO = 1_000_000_000_000n
const MILLION = 1_000_000
const BYTES_PER_TOKEN = 4

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
  readonly #multiplier: number
  readonly #input: number
  readonly #cacheRead: number
  readonly #cacheWrite5m: number
  readonly #cacheWrite1h: number
  readonly #output: number
  /** Whole pieces: millionths of a CNY each. */
  readonly #image: number
  readonly #request: number

  constructor(model: Model, price: Price, multiplier: number) {
    this.#model = model
    this.#multiplier = multiplier
    this.#input = price.input ?? 0
    this.#cacheRead = price.cache_read ?? this.#input
    this.#cacheWrite5m = price.cache_write_5m ?? this.#input
    this.#cacheWrite1h = price.cache_write_1h ?? this.#cacheWrite5m
    this.#output = price.output ?? 0
    this.#image = price.image ?? 0
    this.#request = price.request ?? 0
  }

  charge(usage: Usage): Micro {
    const pico =
      usage.input * this.#input +
      usage.cache_read * this.#cacheRead +
      usage.cache_write_5m * this.#cacheWrite5m +
      usage.cache_write_1h * this.#cacheWrite1h +
      usage.output * this.#output
    const pieces = usage.images * this.#image + this.#request
    // every term is a product of non-negative integers: when the sum is safe, so was each step
    if (Number.isSafeInteger(pico) && Number.isSafeInteger(pieces)) return this.#round(pico, pieces)
    return this.#roundBig(
      BigInt(usage.input) * BigInt(this.#input) +
        BigInt(usage.cache_read) * BigInt(this.#cacheRead) +
        BigInt(usage.cache_write_5m) * BigInt(this.#cacheWrite5m) +
        BigInt(usage.cache_write_1h) * BigInt(this.#cacheWrite1h) +
        BigInt(usage.output) * BigInt(this.#output),
      BigInt(usage.images) * BigInt(this.#image) + BigInt(this.#request),
    )
  }

  /** The worst that a request can cost. */
  estimate(request: Request): Micro {
    const { maxOutput, outputCap } = request
    let output = maxOutput ?? this.#model.defaultOutput
    if (this.#model.maxOutput !== null) output = Math.min(output, this.#model.maxOutput)
    output *= request.n
    if (outputCap !== undefined) output = Math.min(output, outputCap)
    const images = request.protocol === 'images' ? request.n : 0
    return this.#roundBig(
      BigInt(this.estimatedInput(request.bodyBytes)) * BigInt(this.#dearestInput(request)) +
        BigInt(output) * BigInt(this.#output),
      BigInt(images) * BigInt(this.#image) + BigInt(this.#request),
    )
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
    return Math.ceil((bodyBytes * this.#model.inputFactor) / (BYTES_PER_TOKEN * MILLION))
  }

  ofOutput(tokens: number): Micro {
    return this.#roundBig(BigInt(tokens) * BigInt(this.#output), 0n)
  }

  /** `pico` CNY of tokens and `pieces` micro-CNY, both before the multiplier. */
  #round(pico: number, pieces: number): Micro {
    if (this.#multiplier === MILLION) {
      const micros = pieces + Math.ceil(pico / MILLION)
      // a quotient near 2^53 may have been rounded on its way: only smaller ones are surely right
      if (pico < 2 ** 50) return micro(micros)
    }
    return this.#roundBig(BigInt(pico), BigInt(pieces))
  }

  #roundBig(pico: bigint, pieces: bigint): Micro {
    const atto = (pico + pieces * BigInt(MILLION)) * BigInt(this.#multiplier)
    const micros = (atto + ATTO_PER_MICRO - 1n) / ATTO_PER_MICRO
    return micro(micros > MOST ? Number(MOST) : Number(micros))
  }
}

/** More than any balance: an estimate beyond it is refused all the same, a charge beyond it is senseless. */
const MOST = 1_000_000_000_000_000n
