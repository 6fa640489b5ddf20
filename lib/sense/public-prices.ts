/**
 * What models cost in public, to compare an operator's prices with. Nothing is ever charged by it. The list ships with the
 * program (`public-prices.json`, made by `npm run public-prices`); a model that is not in it is compared with those of its
 * family.
 */
import { readFileSync } from 'node:fs'
import { familiesOf, plainName } from './model-names.ts'

interface PublicList {
  source: string
  date: string
  /** USD per million tokens: input, output, reading from a cache, writing to it; 0 or left out = no price. */
  models: Record<string, number[]>
}

export const COMPARED = ['input', 'output', 'cache_read', 'cache_write_5m'] as const
export type Compared = (typeof COMPARED)[number]

/** The smallest and the largest public price, in CNY per million tokens. */
export interface Range {
  least: number
  most: number
}

interface PublicPrice {
  /** How it is called: the model, or the family that it was taken for. */
  of: string
  date: string
  ranges: Partial<Record<Compared, Range>>
}

/** CNY for 1 USD. It only has to be of the right magnitude. */
const CNY = 7

let list: PublicList | null = null
let families: Map<string, number[][]> | null = null

function read(): PublicList {
  list ??= JSON.parse(readFileSync(new URL('public-prices.json', import.meta.url), 'utf8')) as PublicList
  return list
}

function familyOf(name: string): number[][] | undefined {
  if (families === null) {
    families = new Map()
    for (const [model, prices] of Object.entries(read().models))
      for (const family of familiesOf(model)) {
        const there = families.get(family)
        if (there === undefined) families.set(family, [prices])
        else there.push(prices)
      }
  }
  return families.get(name)
}

/** What was found for names that were asked for, so that a catalogue is not looked up anew for each price and each change. */
const found = new Map<string, PublicPrice | null>()
const MOST_FOUND = 10_000

/** null = neither the model nor its family is in the list. */
export function publicPrice(name: string): PublicPrice | null {
  const before = found.get(name)
  if (before !== undefined) return before
  if (found.size >= MOST_FOUND) found.clear()
  const price = find(name)
  found.set(name, price)
  return price
}

function find(name: string): PublicPrice | null {
  const { models, date } = read()
  const plain = plainName(name)
  if (Object.hasOwn(models, plain)) return { of: plain, date, ranges: rangesOf([models[plain]!]) }
  for (const family of familiesOf(name)) {
    const members = familyOf(family)
    if (members !== undefined) return { of: `the family ${family}`, date, ranges: rangesOf(members) }
  }
  return null
}

function rangesOf(members: readonly number[][]): PublicPrice['ranges'] {
  const ranges: PublicPrice['ranges'] = {}
  for (const [i, name] of COMPARED.entries()) {
    const prices = members.map(prices => (prices[i] ?? 0) * CNY).filter(price => price > 0)
    if (prices.length > 0) ranges[name] = { least: Math.min(...prices), most: Math.max(...prices) }
  }
  return ranges
}
