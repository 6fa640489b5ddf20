/**
 * The rules of charging, written down a second time, slowly and in whole numbers of any size, from their text alone. It
 * knows nothing of lists that are compiled, of lines, or of plain numbers.
 */
import { TOKEN_CLASSES, type TokenClass, type Usage } from '../../lib/protocols/words/usage.ts'
import type { Price, PriceList } from '../../lib/terms/records.ts'

export interface Asked {
  tiers: { service: string | null; speed: string | null; geo: string | null }
  picture: { size: string | null; quality: string | null }
}
export interface Told {
  tiers: Asked['tiers']
  pictures: { count: number; size: string | null; quality: string | null }[]
}

const PARENTS: Partial<Record<TokenClass, TokenClass[]>> = {
  input_audio: ['input'],
  input_image: ['input'],
  cache_read: ['input'],
  cache_write_5m: ['input'],
  cache_write_1h: ['cache_write_5m'],
  output_audio: ['output'],
  output_image: ['output'],
}

const INPUT_SIDE = TOKEN_CLASSES.filter(name => !name.startsWith('output'))

function parent(name: TokenClass, ...lists: PriceList[]): TokenClass | undefined {
  if (name === 'cache_read_audio' || name === 'cache_read_image')
    return lists.some(list => list.cache_read !== undefined)
      ? 'cache_read'
      : (name.replace('cache_read', 'input') as TokenClass)
  return PARENTS[name]?.[0]
}

function plainPrice(name: TokenClass, price: Price): number {
  for (let at: TokenClass | undefined = name; at !== undefined; at = parent(at, price))
    if (price[at] !== undefined) return price[at] as number
  return 0
}

function overPrice(name: TokenClass, price: Price, entry: PriceList): number {
  if (entry[name] !== undefined) return entry[name] as number
  const above = parent(name, price, entry)
  const own = plainPrice(name, price)
  if (above === undefined) return own
  const inherited = overPrice(above, price, entry)
  return own > inherited ? own : inherited
}

export const promptOf = (usage: Usage): number => INPUT_SIDE.reduce((sum, name) => sum + usage[name], 0)

export function entryFor(price: Price, prompt: number) {
  return (price.over ?? []).filter(entry => entry.tokens < prompt).sort((a, b) => b.tokens - a.tokens)[0]
}

export const priceOfClass = (name: TokenClass, price: Price, prompt: number): bigint => {
  const entry = entryFor(price, prompt)
  return BigInt(entry === undefined ? plainPrice(name, price) : overPrice(name, price, entry))
}

/** Millionths. */
export function factor(price: Price, asked: Asked['tiers'], told: Asked['tiers']): bigint {
  let product = 1_000_000n
  for (const kind of ['service', 'speed', 'geo'] as const) {
    const listed = (name: string) => price.tiers?.[kind === 'geo' ? `geo:${name}` : name]
    const report = told[kind] === 'auto' ? null : told[kind]
    const ask = asked[kind] === 'auto' ? null : asked[kind]
    let one = 1_000_000
    if (report !== null) one = listed(report) ?? one
    else if (ask !== null) one = Math.max(one, listed(ask) ?? one)
    const exact = product * BigInt(one)
    product = exact / 1_000_000n + (exact % 1_000_000n > 0n ? 1n : 0n)
  }
  return product
}

export const sizesOf = (image: NonNullable<PriceList['image']>): Record<string, number> =>
  typeof image === 'number'
    ? { default: image }
    : (((image.sizes as Record<string, number> | undefined) ?? image) as never)

export function picturePrices(price: Price, prompt: number): Record<string, number> | null {
  if (price.image === undefined) return null
  const image = entryFor(price, prompt)?.image
  if (typeof image === 'number') return { default: image }
  return { ...sizesOf(price.image), ...(image === undefined ? {} : sizesOf(image)) }
}

/** What one picture costs; `unmatched` is called when no entry is for it. */
export function picturePrice(
  prices: Record<string, number>,
  size: string | null,
  quality: string | null,
): number | null {
  const all = Object.values(prices)
  if (size === null) return Math.max(...all)
  const own = Object.keys(prices).filter(name => name === size || name.startsWith(`${size}/`))
  if (quality === null)
    return own.length > 0 ? Math.max(...own.map(name => prices[name] as number)) : (prices['default'] ?? null)
  return prices[`${size}/${quality}`] ?? prices[size] ?? prices['default'] ?? null
}

const PIECES = { web_search: 'searches', second: 'seconds' } as const
const not = (word: string | null) => (word === 'auto' ? null : word)

/** Millionths of a pico-CNY, without the multiplier. */
export function slowCost(price: Price, usage: Usage, asked: Asked, told: Told, request = true): bigint {
  const prompt = promptOf(usage)
  const tier = factor(price, asked.tiers, told.tiers)
  let sum = 0n
  const pictures = picturePrices(price, prompt)
  for (const name of TOKEN_CLASSES) {
    if (name === 'output_image' && pictures !== null && usage.images > 0) continue
    sum += BigInt(usage[name]) * priceOfClass(name, price, prompt) * tier
  }
  const fee = (name: 'web_search' | 'second' | 'request' | 'character') =>
    BigInt(entryFor(price, prompt)?.[name] ?? price[name] ?? 0) * 1_000_000n
  sum += BigInt(usage.characters) * fee('character')
  for (const [name, of] of Object.entries(PIECES) as [keyof typeof PIECES, 'searches' | 'seconds'][]) {
    const count = of === 'searches' && price.search_unit === 'prompt' && usage.searches > 0 ? 1 : usage[of]
    sum += BigInt(count) * fee(name) * 1_000_000n
  }
  if (request) sum += fee('request') * 1_000_000n
  if (pictures !== null) {
    let left = usage.images
    const dearest = Math.max(...Object.values(pictures))
    const each = (count: number, size: string | null, quality: string | null) => {
      const price = picturePrice(pictures, not(size), not(quality)) ?? dearest
      sum += BigInt(count) * BigInt(price) * 1_000_000_000_000n
    }
    for (const { count, size, quality } of told.pictures) {
      const taken = Math.min(left, count)
      left -= taken
      each(taken, not(size) ?? asked.picture.size, not(quality) ?? asked.picture.quality)
    }
    each(left, asked.picture.size, asked.picture.quality)
  }
  return sum
}

/** Micro-CNY, rounded up once and bounded as the ledger is. */
export function slowCharge(millionthsOfPico: bigint, multiplier: number): bigint {
  const dividend = millionthsOfPico * BigInt(multiplier)
  const divisor = 10n ** 18n
  const micros = dividend / divisor + (dividend % divisor === 0n ? 0n : 1n)
  return micros > 500_000_000_000_000n ? 500_000_000_000_000n : micros
}
