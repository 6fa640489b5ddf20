/** The schema of prices, as people write them in the catalogue and in calls: of a model, and of what an upstream charges. */

import { z } from 'zod'
import { parseMillionths } from '../base/money.ts'
import * as kind from '../config/scalars.ts'
import { oneOfThese, type Path } from '../config/yaml.ts'
import { CONTAINER_SIZES } from '../protocols/words/server-tools.ts'
import { FEES, TOKEN_CLASSES } from '../protocols/words/usage.ts'

const MOST_TOKENS = 1_000_000_000
const MOST_LISTS = 8
const MOST_TIERS = 32
const MOST_SIZES = 64
const ONE = 1_000_000
/** Products of three factors stay whole numbers. */
const MOST_FACTOR = 1000 * ONE

/**
 * The size of a picture, perhaps with `/quality`. `auto` is refused: upstreams replace it by a real size or quality.
 */
const SIZE = /^(?!default\/|auto$|auto\/|.*\/auto$)[a-z\d][\w.:*-]{0,31}(?:\/[a-z\d][\w.-]{0,31})?$/i
const TIER = /^(?!auto$)[a-z\d][\w.:-]{0,63}$/i

const PRICE = 'a price in CNY, 0 or more, with at most 6 decimal places'
const FACTOR = 'a factor, 0 or more, with at most 6 decimal places'
const TIER_FACTOR = 'a factor from 0 to 1000 with at most 6 decimal places'

type Written = Record<string, unknown>
type Found = (path: Path, expected: string) => void

const isMap = (value: unknown): value is Written => typeof value === 'object' && value !== null && !Array.isArray(value)

function readAmount(value: unknown): number | undefined {
  const amount = parseMillionths(value)
  return amount === null || amount < 0 ? undefined : amount
}

/**
 * Reads a map of names to amounts. `names` is what a name must match, `named` and `what` are what problems call the
 * names and the amounts, `most` is the largest number of entries, `largest` the largest amount. A problem is reported at
 * the entry that it concerns.
 */
function readMap(
  value: Written,
  names: RegExp,
  named: string,
  what: string,
  most: number,
  found: Found,
  largest = Number.MAX_SAFE_INTEGER,
) {
  const entries = Object.entries(value)
  if (entries.length === 0) found([], `at least one of ${named}`)
  if (entries.length > most) found([], `at most ${most} of ${named}`)
  const seen = new Set<string>()
  const read: [string, number][] = []
  for (const [name, written] of entries) {
    const amount = readAmount(written)
    if (!names.test(name)) found([name], `one of ${named}`)
    else if (seen.has(name.toLowerCase())) found([name], 'a name that stands here once, in capitals or not')
    else if (amount === undefined || amount > largest) found([name], what)
    else read.push([name, amount])
    seen.add(name.toLowerCase())
  }
  return Object.fromEntries(read)
}

const SIZES = 'sizes as "1024x1536", "1024x1536/high" or "default"'
const TIERS = 'tiers as "priority", "flex", "fast" or "geo:us"'

/** Makes the schema of a value with parts. `read` converts the value and calls `found` for each problem in it. */
const composed = <T>(json: Written, read: (value: unknown, found: Found) => T) =>
  z
    .unknown()
    .transform((value, context): T => {
      let wrong = false
      const result = read(value, (path, message) => {
        wrong = true
        context.addIssue({ code: 'custom', path: [...path], message })
      })
      return wrong ? z.NEVER : result
    })
    .meta(json)

const amounts = { type: 'object', additionalProperties: kind.AMOUNT }

const sizes = (value: Written, found: Found): Record<string, number> =>
  readMap(value, SIZE, SIZES, PRICE, MOST_SIZES, found)

const image = composed(
  { anyOf: [kind.AMOUNT, amounts, { type: 'object', properties: { sizes: amounts } }] },
  (value, found) => {
    if (!isMap(value)) {
      const amount = readAmount(value)
      if (amount === undefined) found([], `${PRICE}, or a map of ${SIZES} to such prices`)
      return amount as number
    }
    if (!isMap(value['sizes']) || Object.keys(value).length !== 1) return sizes(value, found)
    return { sizes: sizes(value['sizes'], (path, expected) => found(['sizes', ...path], expected)) }
  },
)

const tiers = composed(amounts, (value, found) => {
  if (isMap(value)) return readMap(value, TIER, TIERS, TIER_FACTOR, MOST_TIERS, found, MOST_FACTOR)
  found([], `a map of ${TIERS} to factors`)
  return {}
})

/** Searches have a price of their own. */
const TOOL = /^(?!web_search$)[a-z\d$][\w:.$-]{0,63}$/i
const MOST_TOOLS = 32
const CONTAINERS = `sizes of containers (${CONTAINER_SIZES.join(', ')})`
const TOOLS = 'names of tools as "x_browser"'
const map = (names: RegExp, called: string, most: number) =>
  composed(amounts, (value, found) => {
    if (isMap(value)) return readMap(value, names, called, PRICE, most, found)
    found([], `a map of ${called} to prices`)
    return {}
  })
const container = map(new RegExp(`^(?:${CONTAINER_SIZES.join('|')})$`), CONTAINERS, CONTAINER_SIZES.length)
const tools = map(TOOL, TOOLS, MOST_TOOLS)

const priced = (meaning: string) =>
  kind
    .millionths({ zh: '不小于0的人民币价格', en: 'a price in CNY, 0 or more,' })
    .optional()
    .meta({ description: meaning })
const perMillion = (meaning: string) => priced(`CNY per million tokens: ${meaning}`)

const list = {
  input: perMillion('fresh input.'),
  input_audio: perMillion('sound in the input. Default: as `input`.'),
  input_image: perMillion('pictures in the input. Default: as `input`.'),
  cache_read: perMillion('input read from a cache. Default: as `input`.'),
  cache_read_audio: perMillion('sound read from a cache. Default: as `cache_read`, and without it as `input_audio`.'),
  cache_read_image: perMillion(
    'pictures read from a cache. Default: as `cache_read`, and without it as `input_image`.',
  ),
  cache_write_5m: perMillion('input written to a cache for five minutes. Default: as `input`.'),
  cache_write_1h: perMillion('input written to a cache for an hour. Default: as `cache_write_5m`.'),
  output: perMillion('output, reasoning included.'),
  output_audio: perMillion('sound in the output. Default: as `output`.'),
  output_image: perMillion('pictures in the output, where `image` has no price. Default: as `output`.'),
  image: image.optional().meta({
    description:
      'CNY per image, or a map of prices by `size/quality`, `size` and `default` (a map `sizes` of them is the same).',
  }),
  web_search: priced('CNY per web search that the upstream makes.'),
  request: priced('CNY per answered request.'),
  second: priced('CNY per second of sound or film.'),
  character: priced('CNY per million characters of text that is spoken.'),
}

const over = z.strictObject({
  tokens: kind
    .whole(1, MOST_TOKENS)
    .meta({ description: 'The entry prices the whole request when its prompt has more tokens than this.' }),
  ...list,
})

const KEYS = [...TOKEN_CLASSES, ...FEES] as const

/** What tools of the upstream cost. Large prompts change none of it, so that it stands in no entry of `over`. */
const ofTools = {
  maps: priced('CNY per call of the upstream’s maps (`googleMaps`), or per request that used them: see `search_unit`.'),
  container: container.optional().meta({
    description:
      'CNY per container in which the upstream runs code (`code_interpreter`, `shell`), by its memory: `1g`, `4g`, `16g`, `64g`.',
  }),
  code_execution: priced('CNY per request in which the upstream ran code (`code_execution`).'),
  tools: tools.optional().meta({
    description:
      'CNY per call of other tools that the upstream runs, by name. A tool that has no price is refused; 0 is free. A name that has a price of another kind (`code_interpreter`) is charged by the call instead.',
  }),
}

export const priceSchema = z
  .strictObject({
    ...list,
    ...ofTools,
    search_unit: kind.oneOf('query', 'prompt').optional().meta({
      description:
        'What `web_search` and `maps` are charged for: each search, or once where a request searched. Default: `query`.',
    }),
    over: z.array(over).optional().meta({ description: 'Other prices for larger prompts, by rising `tokens`.' }),
    tiers: tiers.optional().meta({
      description:
        'Factors on prices of tokens by service tier (`priority: 2`), by speed (`fast: 6`) and by place (`geo:us: 1.1`). Default: 1.',
    }),
  })
  .superRefine((written, context) => {
    // only where the fields themselves are right: a misspelt price would be reported as missing too
    if (context.issues.length === 0)
      checkPrice(written, (path, message) => context.addIssue({ code: 'custom', path: [...path], message }))
  })

type PriceForm = Partial<Record<(typeof KEYS)[number], unknown>>
type OverForm = PriceForm & { tokens: number }

function checkPrice(
  written: PriceForm & { over?: OverForm[] | undefined; tiers?: Record<string, number> | undefined },
  found: Found,
): void {
  const has = (one: PriceForm, name: (typeof KEYS)[number]) => one[name] !== undefined
  const entries = written.over ?? []
  if (!KEYS.some(name => has(written, name))) found([], 'at least one price')
  // without a price of input a prompt of a million tokens would cost nothing
  else if (!has(written, 'input') && TOKEN_CLASSES.some(name => has(written, name)))
    found(['input'], 'a price of input beside the other prices of tokens (0 where it is free)')
  // a request that names no tier is held at the prices as they stand
  const usual = Object.entries(written.tiers ?? {}).find(([name]) => name.toLowerCase() === 'default')
  if (usual !== undefined && usual[1] > ONE)
    found(['tiers', usual[0]], 'a factor of at most 1: prices are those of this tier')
  if (entries.length > MOST_LISTS) found(['over'], `at most ${MOST_LISTS} entries`)
  for (const [i, entry] of entries.entries()) {
    const before = entries[i - 1]?.tokens ?? 0
    if (entry.tokens <= before) found(['over', i, 'tokens'], `more tokens than the entry before it has (${before})`)
    for (const name of ['input', 'output'] as const)
      if (has(written, name) && !has(entry, name))
        found(['over', i, name], `a price of ${name}, which stands beside \`over\` too`)
    const known = KEYS.filter(name => has(written, name) || (has(written, 'input') && isPartOfTokens(name)))
    for (const name of KEYS)
      if (has(entry, name) && !known.includes(name))
        found(['over', i, name], `only prices that stand beside \`over\` too (${known.join(', ')})`)
    if (!KEYS.some(name => has(entry, name))) found(['over', i], 'at least one price')
  }
}

/** True for classes of tokens that cost as another class where they have no price. */
const isPartOfTokens = (name: string): boolean => /^(input|output|cache)_/.test(name)

/** What an upstream charges us: a factor of the model's price, or a map of models to prices. */
export const cost = composed({ anyOf: [kind.AMOUNT, { type: 'object' }] }, (value, found) => {
  if (!isMap(value)) {
    const factor = readAmount(value)
    if (factor === undefined) found([], `${FACTOR}, or a map of models to prices`)
    return factor as number
  }
  const read = Object.entries(value).map(([name, written]) => {
    const result = priceSchema.safeParse(written)
    if (kind.asModelName(name) === undefined) found([name], 'the name of a model')
    for (const { path, message, ...issue } of result.error?.issues ?? [])
      if (issue.code === 'unrecognized_keys')
        for (const key of issue.keys)
          found(
            [name, ...(path as Path), key],
            oneOfThese(key, [...KEYS, ...Object.keys(ofTools), 'search_unit', 'over', 'tiers']),
          )
      else found([name, ...(path as Path)], issue.code === 'custom' ? message : 'a price as models have it')
    return [name, result.data ?? {}] as const
  })
  return Object.fromEntries(read) as Record<string, z.output<typeof priceSchema>>
})
