/** What a price list says of one model, whatever the form of the list. */
import { ConfigError } from '../../config/yaml.ts'
import type { Exact } from './exact.ts'

export interface Offer {
  model: string
  /** Where it stands in the list, for people. */
  where: string
  /** Amounts in the list's currency by their paths (see `price-paths.ts`), in the units of our prices. */
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

export const newOffer = (model: string, where: string): Offer => ({
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

export type Wanted = (model: string) => boolean

export const isMap = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
