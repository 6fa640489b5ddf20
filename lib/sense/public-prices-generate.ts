/**
 * `npm run public-prices -- FILE SOURCE`: makes `public-prices.json` of LiteLLM's `model_prices_and_context_window.json`, with
 * the day on which it was made. SOURCE says where FILE was taken from, for people. Of models that several providers serve it
 * takes the median price.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { plainName } from './model-names.ts'

const MODES = new Set(['chat', 'responses', 'completion', 'embedding'])
const MOST_BYTES = 200_000
/** Fields of the list, in the order in which the file has their prices. */
const FIELDS = [
  'input_cost_per_token',
  'output_cost_per_token',
  'cache_read_input_token_cost',
  'cache_creation_input_token_cost',
] as const

type Entry = Partial<Record<(typeof FIELDS)[number], unknown>> & { mode?: unknown }

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[(values.length - 1) >> 1] ?? 0

/** USD per million tokens with four significant digits, which is more than a comparison of magnitudes needs. */
const perMillion = (value: unknown): number =>
  typeof value === 'number' && value > 0 ? Number((value * 1e6).toPrecision(4)) : 0

export function publicPrices(list: Record<string, Entry>): Record<string, number[]> {
  const byName = Map.groupBy(
    Object.entries(list).filter(
      ([, { mode, ...entry }]) => MODES.has(String(mode)) && perMillion(entry[FIELDS[0]]) > 0,
    ),
    ([name]) => plainName(name),
  )
  const rows = [...byName]
    .filter(([name]) => /^[a-z][\w.-]{1,60}$/.test(name))
    .map(([name, entries]): [string, number[]] => {
      const prices = FIELDS.map(field =>
        median(entries.map(([, entry]) => perMillion(entry[field])).filter(price => price > 0)),
      )
      while (prices.at(-1) === 0) prices.pop()
      return [name, prices]
    })
  return Object.fromEntries(rows.sort(([a], [b]) => (a < b ? -1 : 1)))
}

function main([file, source]: string[]): void {
  if (file === undefined || source === undefined) throw new Error('expected FILE and SOURCE')
  const models = publicPrices(JSON.parse(readFileSync(file, 'utf8')) as Record<string, Entry>)
  const head = { source, date: new Date().toISOString().slice(0, 10), unit: 'USD per million tokens', fields: FIELDS }
  const rows = Object.entries(models).map(([name, prices]) => `    ${JSON.stringify(name)}: [${prices.join(', ')}]`)
  const text = `${JSON.stringify(head, null, 2).slice(0, -2)},\n  "models": {\n${rows.join(',\n')}\n  }\n}\n`
  if (Buffer.byteLength(text) > MOST_BYTES) throw new Error(`the list would have more than ${MOST_BYTES} bytes`)
  writeFileSync(new URL('public-prices.json', import.meta.url), text)
}

if (import.meta.main) main(process.argv.slice(2))
