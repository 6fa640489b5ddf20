/** Which prices are accepted, which are refused with which words, and that an accepted one is kept as it was written. */
import t from 'tap'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { ConfigError } from '../../lib/config/config.ts'

const TEXT = { input: 2, output: 8 }
const file = (price: unknown) => parseCatalog(JSON.stringify({ models: [{ name: 'm', price }] }), 'cat.yaml', {})

function problemsOf(price: unknown): string[] {
  try {
    file(price)
    return []
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error
    return error.problems.map(line => line.replace(/^cat\.yaml:1:\d+: models\[0\]\.price\.?/, ''))
  }
}

t.test('every price there is', async t => {
  const written = {
    input: 2,
    input_audio: 3,
    input_image: '4',
    cache_read: 0.2,
    cache_read_audio: 0.3,
    cache_read_image: 0.4,
    cache_write_5m: 2.5,
    cache_write_1h: 4,
    output: 8,
    output_audio: 16,
    output_image: 24,
    image: { default: 0.28, '1024x1536': '0.4', '1024x1536/high': 1.6 },
    web_search: 0.07,
    request: 0.01,
    second: 0.002,
    character: 110,
    search_unit: 'prompt',
    over: [
      { tokens: 32_000, input: 3, output: 9 },
      { tokens: 200_000, input: 4, output: 12, cache_read: 0.4, image: 0.5 },
    ],
    tiers: { priority: 2, flex: 0.5, 'geo:us': '1.1' },
  }
  const [model] = file(written).models
  t.match(model?.price, {
    input_audio: 3_000_000,
    input_image: 4_000_000,
    output_image: 24_000_000,
    image: { default: 280_000, '1024x1536': 400_000, '1024x1536/high': 1_600_000 },
    web_search: 70_000,
    second: 2000,
    character: 110_000_000,
    search_unit: 'prompt',
    tiers: { priority: 2_000_000, flex: 500_000, 'geo:us': 1_100_000 },
  })
  t.strictSame(model?.price?.over, [
    { tokens: 32_000, input: 3_000_000, output: 9_000_000 },
    { tokens: 200_000, input: 4_000_000, output: 12_000_000, cache_read: 400_000, image: 500_000 },
  ])
})

t.test('pictures keep the form in which they were priced', async t => {
  t.strictSame(file({ image: 0.28 }).models[0]?.price, { image: 280_000 })
  t.strictSame(file({ image: { default: 1 } }).models[0]?.price, { image: { default: 1_000_000 } })
  t.strictSame(file({ image: { sizes: { '1K': 1 } } }).models[0]?.price, { image: { sizes: { '1K': 1_000_000 } } })
})

t.test('what is refused, and how', async t => {
  const rows: [price: unknown, ...problems: RegExp[]][] = [
    [{}, /^: expected at least one price, found a map$/],
    [{ tiers: { flex: 0.5 } }, /^: expected at least one price/],
    [{ output: 1 }, /^input: expected a price of input beside the other prices of tokens/],
    [{ input_audio: 1 }, /^input: expected a price of input/],
    [{ character: -1 }, /^character: expected a price in CNY, 0 or more,.*found -1$/],
    [{ character: 1, search_unit: 'word' }, /^search_unit: expected one of query, prompt, found "word"$/],
    [{ inputs: 1 }, /^inputs: expected one of input, .*did you mean input/],
    [{ image: 'dear' }, /^image: expected a price in CNY.*or a map of sizes.*found "dear"$/],
    [{ image: {} }, /^image: expected at least one of sizes/],
    [{ image: { sizes: {} } }, /^image\.sizes: expected at least one of sizes/],
    [{ image: { '1024x1024': -1 } }, /^image\.1024x1024: expected a price in CNY.*found -1$/],
    [{ image: { sizes: { '1K': 'x' } } }, /^image\.sizes\.1K: expected a price in CNY.*found "x"$/],
    [{ image: { 'default/high': 1 } }, /expected one of sizes/],
    [{ image: { '1K/auto': 1 } }, /expected one of sizes/],
    [{ image: { '1K': 1, '1k': 2 } }, /^image\.1k: expected a name that stands here once/],
    [{ ...TEXT, tiers: { auto: 2 } }, /^tiers\.auto: expected one of tiers/],
    [{ ...TEXT, tiers: { fast: -6 } }, /^tiers\.fast: expected a factor from 0 to 1000.*found -6$/],
    [{ ...TEXT, tiers: { fast: 1001 } }, /^tiers\.fast: expected a factor from 0 to 1000.*found 1001$/],
    [{ ...TEXT, tiers: { Default: 1.1 } }, /^tiers\.Default: expected a factor of at most 1/],
    [{ ...TEXT, tiers: [] }, /^tiers: expected a map of tiers/],
    [
      { ...TEXT, tiers: Object.fromEntries(Array.from({ length: 33 }, (_, i) => [`t${i}`, 1])) },
      /^tiers: expected at most 32/,
    ],
    [{ ...TEXT, over: [{ input: 1, output: 1 }] }, /^over\[0\]\.tokens: expected a whole number from 1/],
    [{ ...TEXT, over: [{ tokens: 0, input: 1, output: 1 }] }, /^over\[0\]\.tokens: expected a whole number from 1/],
    [{ ...TEXT, over: [{ tokens: 5, input: 1 }] }, /^over\[0\]\.output: expected a price of output, which stands/],
    [{ ...TEXT, over: [{ tokens: 5, output: 1 }] }, /^over\[0\]\.input: expected a price of input, which stands/],
    [{ input: 1, over: [{ tokens: 5, input: 1, output: 1 }] }, /^over\[0\]\.output: expected only prices that stand/],
    [{ ...TEXT, over: [{ tokens: 5, ...TEXT, image: 1 }] }, /^over\[0\]\.image: expected only prices that stand/],
    [{ request: 1, over: [{ tokens: 5 }] }, /^over\[0\]: expected at least one price/],
    [
      {
        ...TEXT,
        over: [
          { tokens: 5, ...TEXT },
          { tokens: 5, ...TEXT },
        ],
      },
      /^over\[1\]\.tokens: expected more tokens than the entry before it has \(5\), found 5$/,
    ],
    [
      {
        ...TEXT,
        over: [
          { tokens: 6, ...TEXT },
          { tokens: 5, ...TEXT },
        ],
      },
      /^over\[1\]\.tokens: expected more tokens/,
    ],
    [{ ...TEXT, over: Array.from({ length: 9 }, (_, i) => ({ tokens: i + 1, ...TEXT })) }, /^over: expected at most 8/],
  ]
  for (const [price, ...expected] of rows) {
    const problems = problemsOf(price)
    t.equal(problems.length, expected.length, `${JSON.stringify(price)}: ${problems.join('; ')}`)
    for (const [i, one] of expected.entries()) t.match(problems[i], one)
  }
})

t.test('what an upstream takes: a factor, or prices by model', async t => {
  const channel = { name: 'c', base_url: 'http://127.0.0.1:9', protocols: ['chat'], key: 'k', groups: ['default'] }
  const costOf = (cost: unknown) =>
    parseCatalog(JSON.stringify({ channels: [{ ...channel, models: ['m'], cost }] }), 'cat.yaml', {}).channels[0]?.cost
  t.equal(costOf(undefined), null)
  t.equal(costOf(0.62), 620_000)
  t.strictSame(costOf({ m: { input: 1, over: [{ tokens: 5, input: 2 }] } }), {
    m: { input: 1_000_000, over: [{ tokens: 5, input: 2_000_000 }] },
  })
  const rows: [cost: unknown, problem: RegExp][] = [
    [-1, /cost: expected a factor, 0 or more.*or a map of models to prices, found -1/],
    [{ m: 5 }, /cost\.m: expected a price as models have it, found 5/],
    [{ m: { output: 1 } }, /cost\.m\.input: expected a price of input/],
    [{ m: { inputs: 1 } }, /cost\.m\.inputs: expected one of input, .*did you mean input/],
  ]
  for (const [cost, problem] of rows) t.throws(() => costOf(cost), problem, JSON.stringify(cost))
})
