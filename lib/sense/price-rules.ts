/** Rules about what models cost, and about factors on it. Amounts are in micro-CNY, token prices per million tokens. */
import { protocolRow } from '../protocols/table.ts'
import { decimal } from '../base/money.ts'
import { TOKEN_CLASSES } from '../protocols/words/usage.ts'
import type { Model, Price } from '../terms/records.ts'
import { COMPARED, publicPrice, type Range } from './public-prices.ts'
import { type Found, inRow, type Rule } from './rule.ts'
import { isText, type Sight } from './sight.ts'

const ONE = 1_000_000
/** How many times a price may be below or above what others cost. */
const UNUSUAL = 20
const THOUSANDFOLD = 200
/** The fewest other models with which a model is compared that no public list knows. */
const LEAST_BESIDE = 3
const BESIDE = 900

type Priced = Model & { price: Price }

/** The models whose prices are judged. */
const sold = (sight: Sight): Priced[] =>
  sight.seen.models.filter((model): model is Priced => hasPrice(model) && sight.isSold(model.name))

const hasPrice = ({ price }: Model): boolean => price !== null && price.format === undefined

/** Every amount of money in a price, with its path. Tiers are factors, and `tokens` is a threshold. */
function* amounts(price: object, at: readonly (string | number)[] = []): Generator<[(string | number)[], number]> {
  for (const [name, value] of Object.entries(price)) {
    if (name === 'tiers' || name === 'tokens' || name === 'format') continue
    const path = [...at, Array.isArray(price) ? Number(name) : name]
    if (typeof value === 'number') yield [path, value]
    else if (typeof value === 'object' && value !== null) yield* amounts(value, path)
  }
}

const isTokenClass = (name: unknown): boolean => (TOKEN_CLASSES as readonly unknown[]).includes(name)

/** The name of the price at a path: `over[0].input` is one of `input`, `image.default` one of `image`. */
const nameOf = (path: readonly (string | number)[]): string => String(path[0] === 'over' ? path[2] : path[0])

/** What pieces cost, in CNY. `null`: fees that are not named here. */
const FEES: Record<string, Range> = {
  image: { least: 0.005, most: 20 },
  request: { least: 0.0005, most: 50 },
  web_search: { least: 0.005, most: 2 },
  second: { least: 0.00005, most: 10 },
  character: { least: 1, most: 3000 },
}
const OTHER_FEE: Range = { least: 0.0005, most: 50 }
/** Prices of tokens of models that nobody knows. */
const TOKENS: Range = { least: 0.02, most: 10_000 }

interface Compared {
  range: Range
  of: string
}

/** What a price is compared with; null = with nothing. */
function comparedWith(sight: Sight, model: Priced, path: readonly (string | number)[]): Compared | null {
  const name = nameOf(path)
  if (!isTokenClass(name)) return { range: FEES[name] ?? OTHER_FEE, of: 'what upstreams ask for it' }
  const known = publicPrice(model.name)
  const compared = COMPARED.find(one => one === name) ?? (name.startsWith('output') ? 'output' : 'input')
  const range = known?.ranges[compared]
  // sound and pictures cost some ten times what text costs
  const factor = /_(?:audio|image)$/.test(name) ? 20 : 1
  if (known !== null && range !== undefined)
    return {
      range: { least: range.least / factor, most: range.most * factor },
      of: `the public price of ${known.of} (${known.date})`,
    }
  if (known !== null || path[0] === 'over') return { range: TOKENS, of: 'what models cost' }
  return besideOf(sight, model, name) ?? { range: TOKENS, of: 'what models cost' }
}

/** The median of the other models, which are from the cheapest to the dearest some hundred times apart. */
function besideOf(sight: Sight, model: Priced, name: string): Compared | null {
  if (name !== 'input' && name !== 'output') return null
  const all = pricesOf(sight, name)
  const own = (model.price[name] ?? 0) / ONE
  if (all.length - 1 < LEAST_BESIDE) return null
  // the list without the model itself, whose price stands before or behind the middle
  const middle = (all.length - 1) >> 1
  const median = all[own <= (all[middle] as number) ? middle + 1 : middle] as number
  const apart = BESIDE / THOUSANDFOLD
  return { range: { least: median / apart, most: median * apart }, of: 'what the models beside it cost' }
}

/** What all models cost, the cheapest first; sorted once for a sight. */
function pricesOf(sight: Sight, name: 'input' | 'output'): readonly number[] {
  let prices = sorted.get(sight)?.[name]
  if (prices === undefined) {
    prices = sight.seen.models
      .filter(hasPrice)
      .map(({ price }) => (price?.[name] ?? 0) / ONE)
      .filter(price => price > 0)
      .sort((a, b) => a - b)
    sorted.set(sight, { ...sorted.get(sight), [name]: prices })
  }
  return prices
}

const sorted = new WeakMap<Sight, Partial<Record<'input' | 'output', readonly number[]>>>()

const shown = (cny: number): string => String(Number(cny.toPrecision(3)))

const between = ({ least, most }: Range): string =>
  least === most ? `¥${shown(least)}` : `¥${shown(least)} to ¥${shown(most)}`

/** How many times the price is outside of the range; 1 = it is in it. */
function timesOff(cny: number, { least, most }: Range): number {
  if (cny < least) return least / cny
  return cny > most ? cny / most : 1
}

const PER = (name: string): string =>
  isTokenClass(name) ? 'per million tokens' : name === 'character' ? 'per million characters' : 'per piece'

function* scaled(sight: Sight, isWanted: (times: number) => boolean): Generator<Found> {
  for (const model of sold(sight))
    for (const [path, amount] of amounts(model.price)) {
      if (amount === 0) continue
      const with_ = comparedWith(sight, model, path)
      if (with_ === null) continue
      const times = timesOff(amount / ONE, with_.range)
      if (!isWanted(times)) continue
      const off = amount / ONE < with_.range.least ? 'below' : 'above'
      const name = nameOf(path)
      const expected = `a price in CNY ${PER(name)} of the magnitude of ${with_.of}, ${between(with_.range)} (this is ${shown(times)} times ${off})`
      yield inRow('models', model.name, ['price', ...path], expected, amount)
    }
}

/** Models that everybody on the internet can be charged for, with what is free of them. */
function* free(sight: Sight): Generator<Found> {
  for (const model of sight.seen.models.filter(hasPrice) as Priced[]) {
    if (!sight.serving(model.name).some(one => sight.isPublic(one))) continue
    const { input, output } = model.price
    const all = [...amounts(model.price)]
    const isText_ = sight.protocolsOf(model.name).some(isText)
    const expected = (what: string) => `a price of ${what} above 0, because the upstream is not the operator's own`
    if (all.every(([, amount]) => amount === 0)) {
      const [first] = all
      if (first !== undefined) yield inRow('models', model.name, ['price', ...first[0]], expected(nameOf(first[0])), 0)
    } else if (input === 0 && (output ?? 0) > 0)
      yield inRow('models', model.name, ['price', 'input'], expected('input'), 0)
    else if (output === 0 && isText_ && model.price.request === undefined)
      yield inRow('models', model.name, ['price', 'output'], expected('output'), 0)
  }
  for (const { name, multiplier } of sight.seen.groups)
    if (multiplier === 0 && publicChannelOf(sight, name) !== undefined)
      yield inRow(
        'groups',
        name,
        ['multiplier'],
        'a factor above 0: everything is free in this group, and its upstreams are not',
        0,
      )
}

const publicChannelOf = (sight: Sight, group: string) =>
  sight.seen.channels.find(
    channel => channel.status === 'enabled' && channel.groups.includes(group) && sight.isPublic(channel),
  )

/** Selling for less than the upstream takes. */
function* belowCost(sight: Sight): Generator<Found> {
  for (const { name, cost, groups, models, status } of sight.seen.channels) {
    if (cost === null || status !== 'enabled') continue
    for (const group of groups) {
      const multiplier = sight.multiplierOf(group)
      const others = [{ kind: 'groups', name: group } as const]
      if (typeof cost === 'number') {
        if (multiplier < cost)
          yield inRow(
            'channels',
            name,
            ['cost'],
            `at most ${decimal(multiplier)}, the multiplier of group ${group}: each request there loses money`,
            `${group} ${cost} ${multiplier}`,
            { others },
          )
        continue
      }
      for (const [model, upstream] of Object.entries(cost)) {
        const price = sight.seen.models.find(row => row.name === model && row.name in models)?.price
        if (price === null || price === undefined) continue
        const lost = lossOf(upstream, price, multiplier)
        if (lost === null) continue
        const [path, most] = lost
        const expected = `at most ${decimal(most)}, what the model costs in group ${group}: each request there loses money`
        const value = `${group} ${JSON.stringify(upstream)} ${most}`
        yield inRow('channels', name, ['cost', model, ...path], expected, value, {
          others: [...others, { kind: 'models', name: model }],
        })
      }
    }
  }
}

/** The first class or fee for which the upstream takes more than customers pay, with what they pay. */
function lossOf(cost: Price, price: Price, multiplier: number): [path: (string | number)[], most: number] | null {
  for (const name of ['input', 'output', 'request', 'web_search', 'second', 'character', 'image'] as const) {
    const [taken, paid] = [cost[name], price[name]]
    if (typeof taken !== 'number' || typeof paid !== 'number') continue
    const most = Math.floor((paid * multiplier) / ONE)
    if (taken > most) return [[name], most]
  }
  return null
}

export const PRICE_RULES: Rule[] = [
  {
    name: 'price_scale',
    severity: 'refused',
    about: `A price that is more than ${THOUSANDFOLD} times below or above what the model, its family, or the models beside it cost: mostly one per thousand tokens, or per token.`,
    find: sight => scaled(sight, times => times >= THOUSANDFOLD),
  },
  {
    name: 'price_unusual',
    severity: 'warned',
    about: `A price that is more than ${UNUSUAL} times off.`,
    find: sight => scaled(sight, times => times >= UNUSUAL && times < THOUSANDFOLD),
  },
  {
    name: 'zero_price',
    severity: 'refused',
    about: 'A price or a multiplier of 0 where a channel leads to an upstream on the internet.',
    find: free,
  },
  {
    name: 'below_cost',
    severity: 'refused',
    about: 'A multiplier, or a price times it, below what a channel costs.',
    find: belowCost,
  },
  {
    name: 'output_cheaper',
    severity: 'warned',
    about: 'Output that is cheaper than input: the two are probably swapped.',
    *find(sight) {
      for (const { name, price } of sold(sight)) {
        const { input, output } = price
        if (input === undefined || output === undefined || output === 0 || output >= input) continue
        yield inRow(
          'models',
          name,
          ['price', 'output'],
          `a price of output not below that of input (${decimal(input)})`,
          output,
        )
      }
    },
  },
  {
    name: 'cache_dearer',
    severity: 'warned',
    about: 'Reading from a cache that is dearer than fresh input.',
    *find(sight) {
      for (const { name, price } of sold(sight))
        for (const [cached, fresh] of [
          ['cache_read', 'input'],
          ['cache_read_audio', 'input_audio'],
          ['cache_read_image', 'input_image'],
        ] as const) {
          const most = price[fresh] ?? price.input
          const amount = price[cached]
          if (amount !== undefined && most !== undefined && amount > most)
            yield inRow('models', name, ['price', cached], `at most the price of ${fresh} (${decimal(most)})`, amount)
        }
    },
  },
  {
    name: 'cache_write_missing',
    severity: 'warned',
    about:
      'A price of reading from a cache without one of writing to it, at upstreams that charge more for writing than for input.',
    *find(sight) {
      for (const { name, price } of sold(sight)) {
        if (price.cache_read === undefined || price.cache_write_5m !== undefined) continue
        const known = publicPrice(name)?.ranges
        if ((known?.cache_write_5m?.least ?? 0) <= (known?.input?.least ?? 0)) continue
        if (!sight.serving(name).some(one => sight.isPublic(one) && one.protocols.some(writes))) continue
        const expected =
          'a price of cache_write_5m (and cache_write_1h) beside cache_read: upstreams take more for it than for input, which it costs here'
        yield inRow('models', name, ['price', 'cache_write_5m'], expected, null)
      }
    },
  },
  {
    name: 'price_missing',
    severity: 'warned',
    about:
      'A price that covers the answers of no protocol by which the model is served, so that every request is refused as not priced.',
    *find(sight) {
      for (const { name, price } of sight.seen.models.filter(hasPrice) as Priced[]) {
        const protocols = sight.protocolsOf(name)
        const covered = protocols.some(one =>
          protocolRow(one).price.cover.some(set => set.every(line => price[line] !== undefined)),
        )
        if (protocols.length === 0 || covered) continue
        const protocol = protocols[0]!
        const sets = protocolRow(protocol).price.cover.map(set => set.join(' and '))
        const expected = `${sets.join(', or ')}: without it every request on ${protocol} is refused as not priced`
        yield inRow('models', name, ['price'], expected, protocols)
      }
    },
  },
  {
    name: 'over_cheaper',
    severity: 'warned',
    about: 'A price for large prompts below the usual one.',
    *find(sight) {
      for (const { name, price } of sold(sight))
        for (const [i, entry] of (price.over ?? []).entries())
          for (const one of ['input', 'output'] as const) {
            const [above, base] = [entry[one], price[one]]
            if (above === undefined || base === undefined || above >= base) continue
            yield inRow(
              'models',
              name,
              ['price', 'over', i, one],
              `at least the usual price of ${one} (${decimal(base)})`,
              above,
            )
          }
    },
  },
  {
    name: 'tier_factor',
    severity: 'warned',
    about: 'A factor of a service tier of 0, or above 10.',
    *find(sight) {
      for (const { name, price } of sold(sight))
        for (const [tier, factor] of Object.entries(price.tiers ?? {}))
          if (factor === 0 || factor > 10 * ONE)
            yield inRow('models', name, ['price', 'tiers', tier], 'a factor above 0 and at most 10', factor)
    },
  },
  {
    name: 'multiplier_range',
    severity: 'warned',
    about: 'A multiplier below 0.1 or above 10: 80 % is written 0.8.',
    *find({ seen }) {
      for (const { name, multiplier } of seen.groups)
        if (multiplier !== 0 && (multiplier < ONE / 10 || multiplier > 10 * ONE))
          yield inRow('groups', name, ['multiplier'], 'a factor from 0.1 to 10 (80 % is 0.8)', multiplier)
    },
  },
]

const writes = (protocol: Parameters<typeof protocolRow>[0]): boolean => protocolRow(protocol).price.cachesWhenAsked
