/** Prices, usages and words of requests and answers by chance, as the schema admits them. */
import { FEES, noUsage, TOKEN_CLASSES, type Usage } from '../../lib/protocols/words/usage.ts'
import type { OverList, Price } from '../../lib/terms/records.ts'
import type { Random } from '../support/random.ts'

const SIZES = ['default', '1024x1024', '1024x1024/high', '1024x1024/low', '1024x1536', '1024x1536/high', '2k/low']
const TIERS = ['priority', 'flex', 'batch', 'default', 'fast', 'slow', 'geo:us', 'geo:eu']

/** Small as often as large: numbers of every length, and the edges of rounding. */
export const upTo = ({ next }: Random, most: number): number =>
  Math.min(most, Math.floor(2 ** (next() * Math.log2(most + 1))) - 1)

const some = <T>(random: Random, list: readonly T[], chance: number): T[] => list.filter(() => random.next() < chance)

function imagePrice(random: Random): NonNullable<Price['image']> {
  if (random.next() < 0.3) return upTo(random, 1e8)
  const names = some(random, SIZES, 0.4)
  const sizes = Object.fromEntries((names.length > 0 ? names : ['default']).map(name => [name, upTo(random, 1e8)]))
  return random.next() < 0.5 ? sizes : { sizes }
}

export function randomPrice(random: Random, most = 1e11): Price {
  const price: Price = {}
  if (random.next() < 0.9) {
    price.input = upTo(random, most)
    for (const name of TOKEN_CLASSES) if (random.next() < 0.4) price[name] = upTo(random, most)
  }
  for (const name of FEES) if (name !== 'image' && random.next() < 0.4) price[name] = upTo(random, 1e8)
  if (random.next() < 0.4) price.image = imagePrice(random)
  if (Object.keys(price).length === 0) price.request = 1
  if (random.next() < 0.5) price.search_unit = random.pick(['query', 'prompt'])
  if (random.next() < 0.6)
    price.tiers = Object.fromEntries(
      some(random, TIERS, 0.5).map(name => [name, upTo(random, name === 'default' ? 1e6 : 1e7)]),
    )
  if (random.next() < 0.5) price.over = randomEntries(random, price, most)
  return price
}

function randomEntries(random: Random, price: Price, most: number): OverList[] {
  const thresholds = new Set(Array.from({ length: random.int(1, 3) }, () => 1 + upTo(random, 1e6)))
  return [...thresholds]
    .sort((a, b) => a - b)
    .map(tokens => {
      const entry: OverList = { tokens }
      for (const name of TOKEN_CLASSES) {
        const must = name === 'input' || name === 'output'
        const may = must ? price[name] !== undefined : price.input !== undefined && random.next() < 0.2
        if (may) entry[name] = upTo(random, most)
      }
      for (const name of FEES)
        if (name !== 'image' && price[name] !== undefined && random.next() < 0.3) entry[name] = upTo(random, 1e8)
      if (price.image !== undefined && random.next() < 0.3) entry.image = imagePrice(random)
      return entry
    })
}

export function randomUsage(random: Random): Usage {
  const usage = noUsage()
  for (const name of TOKEN_CLASSES) if (random.next() < 0.6) usage[name] = upTo(random, random.next() < 0.8 ? 1e5 : 1e9)
  for (const name of ['images', 'searches', 'seconds', 'characters'] as const)
    if (random.next() < 0.4) usage[name] = upTo(random, name === 'characters' ? 1e9 : 1000)
  return usage
}

export const randomTiers = (random: Random) => ({
  service: random.pick([null, null, 'auto', 'default', 'priority', 'flex', 'batch', 'unheard']),
  speed: random.pick([null, null, null, 'standard', 'fast', 'slow']),
  geo: random.pick([null, null, null, 'global', 'us', 'eu']),
})

export const randomPicture = (random: Random) => ({
  size: random.pick([null, 'auto', '1024x1024', '1024x1536', '2k', '9x9']),
  quality: random.pick([null, 'auto', 'high', 'low', 'medium']),
})
