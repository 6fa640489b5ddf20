/**
 * Prices as flat lists of paths and amounts, in which the command line, CSV files and comparisons write them: `input`,
 * `image.1024x1536/high`, `tiers.priority`, `over.200000.output`. Nested prices are made of them and become them.
 */
import { toPrice } from '../config/catalog-rows.ts'
import { price as schema } from '../config/price-schema.ts'
import { showPrice } from '../terms/price-shown.ts'
import type { Price } from '../terms/records.ts'
import { OperationError } from './error.ts'
import { read } from './read.ts'

type Written = Record<string, unknown>

/** Checks a price as people write it. Throws OperationError `invalid`. */
export const readPrice = (written: object): Price => toPrice(read(schema, written))

const isMap = (value: unknown): value is Written => typeof value === 'object' && value !== null && !Array.isArray(value)

/** The amounts of a price by their paths, in the order in which the price is shown. */
export const flatPrice = (price: Price): Map<string, string> => flatShown(showPrice(price))

/** The same of a price as `showPrice` makes it. */
export function flatShown(price: object): Map<string, string> {
  const flat = new Map<string, string>()
  const add = (at: string, value: unknown): void => {
    if (!isMap(value)) flat.set(at, String(value))
    else for (const [name, one] of Object.entries(value)) add(name === 'sizes' ? at : `${at}.${name}`, one)
  }
  const { over = [], ...rest } = price as Written & { over?: (Written & { tokens: number })[] }
  for (const [name, value] of Object.entries(rest)) add(name, value)
  for (const { tokens, ...entry } of over) add(`over.${tokens}`, entry)
  return flat
}

/** The written price with the amounts of `paths` in it; null takes away what stands at the path and below. */
export function setPaths(written: object, paths: Iterable<readonly [path: string, amount: string | null]>): object {
  const { over = [], ...all } = structuredClone(written) as Written & { over?: (Written & { tokens: number })[] }
  const lists = new Map(over.map(entry => [String(entry.tokens), entry]))
  for (const [path, amount] of paths) {
    const [first, rest] = split(path)
    if (first !== 'over') setIn(all, path, amount, path)
    else if (rest === '') {
      if (amount !== null) throw invalid(path)
      lists.clear()
    } else setOver(lists, rest, path, amount)
  }
  const entries = [...lists.values()].sort((a, b) => a.tokens - b.tokens)
  return entries.length === 0 ? all : { ...all, over: entries }
}

function setOver(lists: Map<string, Written & { tokens: number }>, rest: string, path: string, amount: string | null) {
  const [tokens, below] = split(rest)
  if (!/^[1-9]\d{0,9}$/.test(tokens) || (below === '' && amount !== null)) throw invalid(path)
  if (below === '') lists.delete(tokens)
  else {
    const entry = lists.get(tokens) ?? { tokens: Number(tokens) }
    lists.set(tokens, entry)
    setIn(entry, below, amount, path)
    if (Object.keys(entry).length === 1) lists.delete(tokens)
  }
}

/** Maps within a price whose names people choose. */
const MAPS = ['image', 'tiers', 'container', 'tools']

/** `whole`: the path from the price on, for problems. */
function setIn(list: Written, path: string, amount: string | null, whole: string): void {
  const [first, name] = split(path)
  if (name === '') {
    if (amount === null) delete list[first]
    else list[first] = amount
    return
  }
  if (!MAPS.includes(first)) throw invalid(whole)
  const there = list[first]
  const map: Written = isMap(there) ? ((there['sizes'] as Written | undefined) ?? there) : {}
  // One price for all pictures is the price of the sizes that are not named.
  if (!isMap(there) && there !== undefined) map['default'] = there
  if (amount === null) delete map[name]
  else map[name] = amount
  if (Object.keys(map).length === 0) delete list[first]
  else list[first] = map
}

function split(path: string): [first: string, rest: string] {
  const at = path.indexOf('.')
  return at < 0 ? [path, ''] : [path.slice(0, at), path.slice(at + 1)]
}

const invalid = (path: string): OperationError =>
  new OperationError(
    'invalid',
    `${path}: expected a price like "input", "image.1024x1536", "container.4g", "tiers.priority" or "over.200000.input"`,
  )
