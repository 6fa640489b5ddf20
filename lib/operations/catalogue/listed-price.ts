/**
 * What a price list says of one model, whatever the form of the list, with exact decimal numbers: prices are converted from
 * another currency, floating-point numbers would be off by a little, and rounding up would make that visible.
 */
import { ConfigError } from '../../config/yaml.ts'

export interface ListedPrice {
  model: string
  /** Where it stands in the list, for people. */
  where: string
  /** Amounts in the list's currency by their paths (see `prices.ts`), in the units of our prices. */
  amounts: Map<string, Exact>
  /** What is no amount of money, by its path: factors of tiers, `search_unit`. */
  plain: Map<string, string>
  /** Limits of the model, which count when it is made; null = the list does not say. */
  maxOutput: number | null
  maxInput: number | null
  /** The model searches the web unasked, as its name says. */
  searches: boolean
  /** What the list says of the price and we have no place for. */
  notes: string[]
}

/** Models that search the web for every request. A list names them behind a provider or not: `perplexity/sonar-pro`. */
const SEARCHING =
  /(?:^|\/)sonar[^/]*$|-search-preview(?:-\d{4}-\d{2}-\d{2})?$|-search-api(?:-\d{4}-\d{2}-\d{2})?$|:online$/
const searchesUnasked = (model: string): boolean => SEARCHING.test(model)

export const newListedPrice = (model: string, where: string): ListedPrice => ({
  model,
  where,
  amounts: new Map(),
  plain: new Map(),
  maxOutput: null,
  maxInput: null,
  searches: searchesUnasked(model),
  notes: [],
})

/** Paths whose values are no amounts of money. */
export const isPlain = (path: string): boolean => path === 'search_unit' || path.startsWith('tiers.')

const MOST_PROBLEMS = 20

/** The problems of a list. When there are some, nothing of the list is imported. */
export class Problems {
  readonly #file: string
  readonly #lines: string[] = []

  constructor(file: string) {
    this.#file = file
  }

  /** `where`: a line, or a space and a path in the file; empty = the file as a whole. */
  add(where: string, text: string): void {
    this.#lines.push(`${this.#file}${where === '' ? '' : ':'}${where}: ${text}`)
  }

  throwIfAny(): void {
    const more = this.#lines.length - MOST_PROBLEMS
    if (this.#lines.length === 0) return
    throw new ConfigError([...this.#lines.slice(0, MOST_PROBLEMS), ...(more > 0 ? [`and ${more} more`] : [])])
  }
}

/** Throws ConfigError. */
export function parseJson(text: string, file: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new ConfigError([`${file}: expected JSON: ${(error as Error).message}`])
  }
}

export type IsWanted = (model: string) => boolean

/** `digits` / 10 ^ `places`. */
export interface Exact {
  digits: bigint
  places: number
}

const NUMBER = /^(\d{1,30})(?:\.(\d{1,60}))?(?:[eE]([+-]?\d{1,2}))?$/
const MILLIONTHS = 6
/** Amounts above it, in millionths, are no prices: the schema of prices has nine digits before the point. */
const MOST = 10n ** 15n

/** Reads a decimal of 0 or more, with or without exponent, from a text or a number; null = it is none. */
export function exact(value: unknown): Exact | null {
  const m = typeof value === 'number' || typeof value === 'string' ? NUMBER.exec(String(value)) : null
  if (m === null) return null
  const digits = BigInt(m[1]! + (m[2] ?? ''))
  const places = (m[2] ?? '').length - Number(m[3] ?? 0)
  return places < 0 ? { digits: digits * 10n ** BigInt(-places), places: 0 } : { digits, places }
}

export const ONE: Exact = { digits: 1n, places: 0 }
export const MILLION: Exact = { digits: 1_000_000n, places: 0 }

export const times = (a: Exact, b: Exact): Exact => ({ digits: a.digits * b.digits, places: a.places + b.places })

const power = (places: number): bigint => 10n ** BigInt(places)

/** Below 0, 0 or above, as `a` is less than, equal to or more than `b`. */
export function compare(a: Exact, b: Exact): number {
  const difference = a.digits * power(b.places) - b.digits * power(a.places)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

export const largest = (list: readonly Exact[]): Exact =>
  list.reduce((most, one) => (compare(one, most) > 0 ? one : most))

/** `dividend` / `divisor` as a decimal of at most six places, rounded up; so nothing above 0 becomes 0. null = too large. */
export function ratio(dividend: Exact, divisor: Exact): string | null {
  const over = dividend.digits * power(divisor.places + MILLIONTHS)
  const under = divisor.digits * power(dividend.places)
  return decimal((over + under - 1n) / under)
}

/** The number as a decimal of at most six places, rounded up in the same way. */
export const roundedUp = (value: Exact): string | null => ratio(value, ONE)

function decimal(millionths: bigint): string | null {
  if (millionths >= MOST) return null
  const text = String(millionths).padStart(MILLIONTHS + 1, '0')
  return `${text.slice(0, -MILLIONTHS)}.${text.slice(-MILLIONTHS)}`.replace(/\.?0+$/, '')
}
