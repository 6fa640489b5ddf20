/** Price lists, form by form: what becomes of each field, what is named because it has no place, and what is refused. */
import { readFileSync } from 'node:fs'
import t, { type Test } from 'tap'
import { exact, ratio, roundedUp, times } from '../../lib/operations/catalogue/listed-price.ts'
import {
  type ImportOptions,
  type ListFile,
  planImport,
  readImport,
  runImport,
} from '../../lib/operations/catalogue/price-import.ts'
import { flatPrice, readPrice } from '../../lib/operations/catalogue/prices.ts'
import type { Store } from '../../lib/store/store.ts'
import { MODEL_DEFAULTS } from '../../lib/catalog-file/schema.ts'
import type { Model } from '../../lib/terms/records.ts'
import { ConfigError } from '../../lib/config/yaml.ts'
import { seeded } from '../support/random.ts'
import { ADMIN, memoryStore, SETUP } from '../support/store.ts'

const planOf = async (store: Store, list: ListFile, options: ImportOptions) =>
  planImport(store, readImport(list, options))

const LITELLM = readFileSync(new URL('./price-import/litellm.json', import.meta.url), 'utf8')
const AS_IT_IS: ImportOptions = { rate: '1', factor: '1', match: null, make: true, free: false }

const litellm = (models: object): ListFile => ({ text: JSON.stringify(models), file: 'list.json', format: 'litellm' })
const csv = (...lines: string[]): ListFile => ({ text: lines.join('\n'), file: 'list.csv', format: 'csv' })
const gateway = (text: string): ListFile => ({ text, file: 'list.yaml', format: 'gateway' })

async function create(t: Test): Promise<Store> {
  const store = await memoryStore()
  t.teardown(() => store.close())
  return store
}

const model = (name: string, price: object | null): Model => ({
  name,
  price: price === null ? null : readPrice(price),
  maxOutput: 99,
  defaultOutput: 9,
  inputFactor: 1_000_000,
  ...MODEL_DEFAULTS,
})

/** What each model of a list becomes, as `path amount`, or its notes when it is skipped. */
async function become(store: Store, list: ListFile, options: Partial<ImportOptions> = {}) {
  const planned = await planOf(store, list, { ...AS_IT_IS, ...options })
  return Object.fromEntries(
    planned.map(({ model, price, notes }) => [
      model,
      price === null ? notes : [...flatPrice(price)].map(([path, amount]) => `${path} ${amount}`),
    ]),
  )
}

const notesOf = async (store: Store, list: ListFile) =>
  Object.fromEntries((await planOf(store, list, AS_IT_IS)).map(({ model, notes }) => [model, notes]))

t.test('exact decimals', async t => {
  const up = (text: string) => roundedUp(exact(text)!)
  for (const [text, amount] of [
    ['0', '0'],
    ['0.0', '0'],
    ['1e-9', '0.000001'],
    ['0.1234560', '0.123456'],
    ['0.12345600000000000000001', '0.123457'],
    ['2.5e1', '25'],
    ['1E+2', '100'],
    ['999999999.999999', '999999999.999999'],
    ['1000000000', null],
  ] as const)
    t.equal(up(text), amount, text)
  for (const text of ['', '-1', '1e999', 'NaN', '0x1', ' 1', '1.', '.5', '1_0', true, null, [1]])
    t.equal(exact(text), null, String(text))
  t.equal(exact(1e-7)?.digits, 1n)
  t.equal(roundedUp(times(times(exact('3')!, exact('7.1')!), exact('1.15')!)), '24.495')
  t.equal(ratio(exact('1')!, exact('3')!), '0.333334')
})

t.test('conversion by chance: as by whole numbers, rounded up, and never 0', async t => {
  const random = seeded(t)
  for (let i = 0; i < 500; i++) {
    const [nano, rate, factor] = [random.int(1, 2_000_000_000), random.int(1, 10_000), random.int(1, 3_000)]
    const amount = times(times(exact(`${nano}e-9`)!, exact(`${rate}e-3`)!), exact(`${factor}e-3`)!)
    const product = BigInt(nano) * BigInt(rate) * BigInt(factor)
    const millionths = (product + 10n ** 9n - 1n) / 10n ** 9n
    const text = roundedUp(amount)!
    const [whole, places = ''] = text.split('.')
    if (!t.equal(BigInt(whole! + places.padEnd(6, '0')), millionths, `${nano} ${rate} ${factor}: ${text}`)) return
  }
})

t.test('LiteLLM: each field is the price that it means', async t => {
  const store = await create(t)
  t.strictSame(await become(store, { text: LITELLM, file: 'list.json', format: 'litellm' }), {
    'chat-cached': [
      'input 3',
      'cache_read 0.3',
      'cache_write_5m 3.75',
      'cache_write_1h 6',
      'output 15',
      'web_search 0.01',
      'tiers.fast 6',
      'tiers.geo:us 1.1',
      'tiers.batch 0.5',
      'over.200000.input 6',
      'over.200000.cache_read 0.6',
      'over.200000.cache_write_5m 7.5',
      'over.200000.cache_write_1h 12',
      'over.200000.output 22.5',
    ],
    'chat-tiers': ['input 1.25', 'cache_read 0.125', 'output 10', 'tiers.flex 0.5'],
    'chat-modes': [
      'input 2.5',
      'input_audio 40',
      'input_image 5',
      'cache_read_audio 0.4',
      'output 10',
      'output_audio 80',
      'web_search 0.05',
    ],
    'chat-above-128k': ['input 0.075', 'output 0.3', 'over.128000.input 0.15', 'over.128000.output 0.3'],
    'chat-ranges': ['input 0.05', 'output 0.4', 'over.256000.input 0.25', 'over.256000.output 2'],
    'free-of-charge': ['everything is free in the list'],
    embedding: ['input 0.02', 'output 0'],
    pictures: ['image 0.04'],
    'pictures-old-field': ['image 0.02'],
    'pictures-by-token': ['input 0.3', 'output 2.5', 'output_image 30'],
    'pictures-by-pixel': ['it has no price that could be taken', 'input_cost_per_pixel: 4.0054321e-8'],
    listening: ['second 0.0001'],
    speaking: ['character 15'],
    ranking: ['input 0', 'output 0', 'request 0.002'],
    'output-only': ['input: expected a price of input beside the other prices of tokens (0 where it is free)'],
    tiny: ['input 0.000001', 'output 1'],
    'hosted/by-time': ['it has no price that could be taken', 'input_cost_per_second: 0.42'],
  })
})

t.test('LiteLLM: what has no place is named', async t => {
  const store = await create(t)
  const notes = await notesOf(store, { text: LITELLM, file: 'list.json', format: 'litellm' })
  t.strictSame(notes['chat-cached'], ['provider_specific_entry.batched_elsewhere: 2'])
  t.strictSame(notes['chat-tiers'], [
    'regional_processing_uplift_multiplier_eu: 1.1',
    'cache_read_input_token_cost_priority, input_cost_per_token_priority, output_cost_per_token_priority: not one factor of the other prices',
  ])
  t.strictSame(notes['chat-modes'], [
    'input_cost_per_image: 0.0001315',
    'search_context_cost_per_query: the dearest counts for every size',
    'output_cost_per_reasoning_token: 0.00002',
  ])
  t.strictSame(notes['chat-above-128k'], [])
  const base = { mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
  const rows: [field: string, value: unknown, notes: string[]][] = [
    ['supports_vision', true, []],
    ['input_cost_per_video_per_second', 0, []],
    ['input_cost_per_video_per_second', 0.1, ['input_cost_per_video_per_second: 0.1']],
    ['file_search_cost_per_1k_calls', 0.0025, ['file_search_cost_per_1k_calls: 0.0025']],
    ['ocr_cost_per_page', { a: 1 }, ['ocr_cost_per_page: {"a":1}']],
    ['input_cost_per_token_priority', 2e-6, []],
    [
      'output_cost_per_image_token_flex',
      1e-6,
      ['output_cost_per_image_token_flex: not one factor of the other prices'],
    ],
    [
      'input_cost_per_token_above_200k_tokens_priority',
      1,
      ['input_cost_per_token_above_200k_tokens_priority: not one factor of the other prices'],
    ],
    ['search_context_cost_per_query', {}, []],
    ['code_interpreter_cost_per_session', 0, []],
    [
      'code_interpreter_cost_per_session',
      0.03,
      [
        'code_interpreter_cost_per_session: taken for a container of 1g; larger ones stay without a price, and are refused',
      ],
    ],
    [
      'tiered_pricing',
      [{ input_cost_per_query: 1, max_results_range: [0, 5] }],
      ['tiered_pricing: [{"input_cost_per_query":1,"max_results_range":[0,5]}]'],
    ],
    ['output_cost_per_reasoning_token', 2e-6, []],
    ['output_cost_per_character', 1e-6, ['output_cost_per_character: 0.000001']],
    ['input_cost_per_query', 1, ['input_cost_per_query: 1']],
  ]
  for (const [field, value, notes] of rows)
    t.strictSame((await notesOf(store, litellm({ m: { ...base, [field]: value } })))['m'], notes, field)
})

t.test('rate, factor, match, and models that are free', async t => {
  const store = await create(t)
  const list: ListFile = { text: LITELLM, file: 'list.json', format: 'litellm' }
  t.strictSame(await become(store, list, { rate: '7.1', factor: '1.15', match: 'chat-t*s' }), {
    'chat-tiers': ['input 10.20625', 'cache_read 1.020625', 'output 81.65', 'tiers.flex 0.5'],
  })
  t.strictSame(Object.keys(await become(store, list, { match: 'hosted/?y-time' })), ['hosted/by-time'])
  t.strictSame(await become(store, list, { match: '.*' }), {}, 'a dot is a dot')
  t.strictSame(await become(store, list, { match: 'free*', free: true }), { 'free-of-charge': ['input 0', 'output 0'] })
  for (const options of [{ rate: '0' }, { rate: '-1' }, { factor: 'x' }])
    await t.rejects(become(store, list, options), { message: /^(rate|factor): expected a decimal number above 0/ })
  t.match(await become(store, litellm({ m: { input_cost_per_token: 10_000 } })), { m: [/input: expected a smaller/] })
})

t.test('only what differs is written, and applied again nothing is', async t => {
  const store = await create(t)
  await store.catalogue.putModel(model('chat-tiers', { input: 9, output: 10, request: 1 }), SETUP)
  await store.catalogue.putModel(model('embedding', { input: 0.02, output: 0 }), SETUP)
  await store.catalogue.putModel(model('pictures', null), SETUP)
  const list: ListFile = { text: LITELLM, file: 'list.json', format: 'litellm' }
  const seq = await store.changes.seq()
  const plan = (options = {}) => planOf(store, list, { ...AS_IT_IS, ...options })
  const outcomes = async (options = {}) =>
    Object.fromEntries((await plan(options)).map(({ model, outcome }) => [model, outcome]))
  const planned = await plan()
  t.equal(await store.changes.seq(), seq, 'a plan writes nothing')
  t.match(await outcomes(), { 'chat-tiers': 'changed', embedding: 'same', pictures: 'changed', speaking: 'new' })
  t.match(await outcomes({ make: false }), { 'chat-tiers': 'changed', speaking: 'absent', tiny: 'absent' })
  t.strictSame(planned.find(({ model }) => model === 'chat-tiers')?.changes, {
    input: { before: '9', after: '1.25' },
    cache_read: { before: null, after: '0.125' },
    'tiers.flex': { before: null, after: '0.5' },
    request: { before: '1', after: null },
  })
  t.equal(await runImport(store, planned, ADMIN), 12)
  t.equal(await runImport(store, await plan(), ADMIN), 0)
  const { models } = await store.catalogue.read()
  const named = (name: string) => models.find(row => row.name === name)
  t.match(named('chat-tiers'), { maxOutput: 99, defaultOutput: 9 }, 'the rest of a model stays')
  t.match(named('chat-cached'), { maxOutput: 64_000, defaultOutput: 4096, maxInput: 1_000_000 })
  t.match(
    (await store.catalogue.priceVersions('chat-tiers', { limit: 9 })).map(({ actor }) => actor),
    ['import', 'token'],
  )
  t.equal((await store.catalogue.priceVersions('embedding', { limit: 9 })).length, 1)
})

t.test('the context comes with the price, where nobody has said it and the list can be believed', async t => {
  const store = await create(t)
  const price = { input: 1, output: 2 }
  await store.catalogue.putModel(model('unsaid', price), SETUP)
  await store.catalogue.putModel({ ...model('said', price), context: 9000 }, SETUP)
  await store.catalogue.putModel(model('silent', price), SETUP)
  await store.catalogue.putModel(model('larger', price), SETUP)
  const entry = { mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
  const above = { input_cost_per_token_above_200k_tokens: 2e-6, output_cost_per_token_above_200k_tokens: 4e-6 }
  const list = litellm({
    unsaid: { ...entry, max_input_tokens: 200_000 },
    said: { ...entry, max_input_tokens: 200_000 },
    silent: entry,
    larger: { ...entry, ...above, max_input_tokens: 200_000 },
    made: { ...entry, max_input_tokens: 300_000 },
  })
  const planned = await planOf(store, list, AS_IT_IS)
  t.match(planned[0], { outcome: 'changed', changes: { context: { before: null, after: '200000' } } })
  await runImport(store, planned, ADMIN)
  const { models } = await store.catalogue.read()
  t.same(Object.fromEntries(models.map(({ name, context }) => [name, context])), {
    unsaid: 200_000,
    said: 9000,
    silent: 2_000_000,
    larger: 2_000_000,
    made: 300_000,
  })
  t.equal(await runImport(store, await planOf(store, list, AS_IT_IS), ADMIN), 0)
})

t.test('tools of the upstream, and models that search unasked', async t => {
  const store = await create(t)
  const price = { input: 1, output: 2 }
  for (const name of ['sonar', 'gpt-4o-search-preview']) await store.catalogue.putModel(model(name, price), SETUP)
  const entry = { mode: 'chat', input_cost_per_token: 1e-6, output_cost_per_token: 2e-6 }
  const names = [
    'sonar',
    'perplexity/sonar-pro',
    'gpt-4o-search-preview',
    'gpt-4o-search-preview-2025-03-11',
    'gpt-5-search-api',
  ]
  const others = ['sonarly/plain', 'gpt-4o', 'research-preview', 'x-sonar']
  const list = litellm(
    Object.fromEntries(
      [...names, ...others].map(name => [name, { ...entry, code_interpreter_cost_per_session: 0.03 }]),
    ),
  )
  const planned = await planOf(store, list, { ...AS_IT_IS, rate: '7.1' })
  t.match(planned[0], { outcome: 'changed', changes: { searches: { before: null, after: 'always' } } })
  await runImport(store, planned, ADMIN)
  const { models } = await store.catalogue.read()
  t.same(new Set(models.filter(one => one.searches === 'always').map(one => one.name)), new Set(names))
  t.same(models.find(one => one.name === 'gpt-4o')?.price?.container, { '1g': 213_000 })
  t.equal(await runImport(store, await planOf(store, list, { ...AS_IT_IS, rate: '7.1' }), ADMIN), 0, 'once')
  const lines = csv('model,input,output,container.4g,tools.x_browser,maps,code_execution', 'a,1,2,0.5,0.25,0.3,0.4')
  t.same(await become(store, lines), {
    a: ['input 1', 'output 2', 'maps 0.3', 'container.4g 0.5', 'code_execution 0.4', 'tools.x_browser 0.25'],
  })
})

t.test('CSV', async t => {
  const store = await create(t)
  const list = csv(
    '\uFEFFmodel,input,output,"tiers.flex",image.1024x1024/high,over.200000.input,over.200000.output,search_unit',
    'a,1.5,"3",0.5,,2,4,prompt\r',
    '',
    '"b, ""quoted""",0,,,0.3,,,',
  )
  t.strictSame(await become(store, list, { rate: '2' }), {
    a: ['input 3', 'output 6', 'search_unit prompt', 'tiers.flex 0.5', 'over.200000.input 4', 'over.200000.output 8'],
    'b, "quoted"': ['input 0', 'image.1024x1024/high 0.6'],
  })
  const rows: [lines: string[], problem: RegExp][] = [
    [[''], /^list\.csv:1: expected a column "model"/],
    [['model,inputs', 'a,1'], /^list\.csv:1: inputs: expected model, input/],
    [['model,input,input', 'a,1,1'], /^list\.csv:1: input: expected each column once/],
    [['model,input', 'a,1', 'b,1,1'], /^list\.csv:3: expected 2 cells/],
    [['model,input', ',1'], /^list\.csv:2: expected the name of a model/],
    [['model,input', 'a,1', 'a,1'], /^list\.csv:3: a: expected each model once/],
    [['model,input', '"a\nb",-1'], /^list\.csv:2: input: expected a decimal number/],
    [['model,input', 'a,"1'], /^list\.csv:2: expected cells between commas/],
    [['model,input', 'a,1,000'], /^list\.csv:2: expected 2 cells/],
    [['model,input,output', 'a,,1'], /^list\.csv:2: input: expected a price of input/],
    [['model,input,tiers.flex', 'a,1,x'], /^list\.csv:2: tiers\.flex: expected a factor/],
  ]
  for (const [lines, message] of rows) await t.rejects(become(store, csv(...lines)), { message }, lines.join('|'))
})

t.test('our own forms: a catalogue file, and what the admin API answers', async t => {
  const store = await create(t)
  const yaml = 'models:\n  - { name: a, price: { input: 1, image: { 1x1: 0.5 } }, max_output: 5 }\n  - { name: none }\n'
  t.strictSame(await become(store, gateway(yaml), { factor: '1.5' }), {
    a: ['input 1.5', 'image.1x1 0.75'],
    none: ['it has no price that could be taken'],
  })
  const answer = JSON.stringify({ data: [{ model: 'a', version: 3, price: { input: 0, tiers: { flex: 0.5 } } }] })
  t.strictSame(await become(store, gateway(answer)), { a: ['input 0', 'tiers.flex 0.5'] })
  const rows: [text: string, problem: RegExp][] = [
    ['models: 5', /^list\.yaml: models: expected a list of models/],
    ['models: [5]', /^list\.yaml: models\[0\]: expected the name of a model/],
    ['models: [{ name: a, price: { inputs: 1 } }]', /^list\.yaml: models\[0\]\.price: inputs: unknown field/],
    ['models: [{ name: a }, { name: a }]', /^list\.yaml: models\[1\]: a: expected each model once/],
    ['models: [', /^list\.yaml:1:\d+: expected YAML/],
  ]
  for (const [text, message] of rows) await t.rejects(become(store, gateway(text)), { message }, text)
})

t.test('a list that is wrong changes nothing and says where', async t => {
  const store = await create(t)
  const good = { mode: 'chat', input_cost_per_token: 1e-6 }
  const rows: [text: string, problem: RegExp][] = [
    ['{"a": 1', /^list\.json: expected JSON: .*(position|end)/],
    ['[]', /^list\.json: expected a map of models/],
    [JSON.stringify({ good, bad: 5 }), /^list\.json: bad: expected a map of fields/],
    [
      JSON.stringify({ good, bad: { input_cost_per_token: -1 } }),
      /^list\.json: bad\.input_cost_per_token: expected a number/,
    ],
    [
      JSON.stringify({ good, bad: { output_cost_per_image: 'x' } }),
      /^list\.json: bad\.output_cost_per_image: expected/,
    ],
    [
      JSON.stringify({ good, bad: { search_context_cost_per_query: { low: true } } }),
      /^list\.json: bad\.search_context_cost_per_query\.low: expected a number/,
    ],
  ]
  for (const [text, message] of rows)
    await t.rejects(planOf(store, { text, file: 'list.json', format: 'litellm' }, AS_IT_IS), { message }, text)
  const many = Object.fromEntries(Array.from({ length: 50 }, (_, i) => [`m${i}`, 1]))
  const error = (await planOf(store, litellm(many), AS_IT_IS).catch(error => error)) as ConfigError
  t.ok(error instanceof ConfigError)
  t.equal(error.problems.length, 21)
  t.equal(error.problems.at(-1), 'and 30 more')
  t.strictSame((await store.catalogue.read()).models, [])
})

t.test('a model that somebody changes meanwhile keeps what it became', async t => {
  const store = await create(t)
  await store.catalogue.putModel(model('pictures', { image: 1 }), SETUP)
  await store.catalogue.putModel(model('embedding', { input: 1 }), SETUP)
  const planned = await planOf(store, { text: LITELLM, file: 'l', format: 'litellm' }, { ...AS_IT_IS, make: false })
  await store.catalogue.editModel('pictures', there => ({ ...there!, maxOutput: 5 }), SETUP)
  await store.catalogue.deleteModel('embedding', SETUP)
  await runImport(store, planned, ADMIN)
  t.match((await store.catalogue.read()).models, [{ name: 'pictures', maxOutput: 5, price: { image: 40_000 } }])
  t.equal((await store.catalogue.read()).models.length, 1, 'and one that was deleted is not made again')
})
