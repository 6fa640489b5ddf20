/** What is refused, what is only warned of because it is in force or accepted, and who asks. */

import { readFileSync, statSync } from 'node:fs'
import t, { type Test } from 'tap'
import { applyWithSense } from '../../lib/operations/catalogue/apply.ts'
import { judgeChange } from '../../lib/operations/catalogue/judging.ts'
import { judgeImport, planImport, readImport, runImport } from '../../lib/operations/catalogue/price-import.ts'
import { Prices } from '../../lib/operations/catalogue/prices.ts'
import { prepareStore } from '../../lib/process/prepare.ts'
import { familiesOf, plainName } from '../../lib/sense/model-names.ts'
import { publicPrices } from '../../lib/sense/public-prices-generate.ts'
import { judge, NOTHING_SEEN, RULES, type Seen } from '../../lib/sense/sense.ts'
import { openStore } from '../../lib/store/store.ts'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { createLogger } from '../../lib/base/log.ts'
import { COMMAND } from '../../lib/base/people.ts'
import { openOps } from '../admin/support.ts'
import { TestClock } from '../support/clock.ts'

type Json = Record<string, unknown>

const NOTHING_ACCEPTED = { config: [], catalog: [] }

const CHANNEL = {
  name: 'up',
  base_url: 'https://up.acme.example',
  protocols: ['chat'],
  key: 'sk-7fQ2mXv91TbW4zR8cLn5',
  groups: ['default'],
  models: ['m', 'n'],
}
const GOOD = {
  groups: [{ name: 'default' }],
  models: [
    { name: 'm', price: { input: 2, output: 8 }, max_output: 64000 },
    { name: 'n', price: { input: 4, output: 16 }, max_output: 64000 },
  ],
  channels: [CHANNEL],
}
const FREE = { ...GOOD, models: [{ name: 'm', price: { input: 0, output: 0 } }, GOOD.models[1]] }

const parse = (file: Json) => parseCatalog(JSON.stringify(file, null, 1), 'cat.yaml', {})
const seen = (file: Json): Seen => ({ ...NOTHING_SEEN, ...parse(file), file: false })
const TERMS = { config: null, configBefore: null, machine: null, force: false }

async function openStoreOf(t: Test) {
  const store = openStore('sqlite::memory:', { secret: 'a test secret' })
  t.teardown(() => store.close())
  await store.migrate()
  return store
}

t.test('what is refused, and what only because it is new', async t => {
  const free = seen(FREE)
  const rows: [name: string, before: Seen | null, after: Seen, accept: string[], refused: string[]][] = [
    ['nothing is in force yet', null, free, [], ['zero_price']],
    ['another price was in force', seen(GOOD), free, [], ['zero_price']],
    ['it was in force', free, free, [], []],
    [
      'it was in force, and another row changes',
      free,
      seen({ ...FREE, groups: [{ name: 'default', multiplier: 2 }] }),
      [],
      [],
    ],
    ['accepted', null, free, ['zero_price'], []],
    ['accepted for this row', null, free, ['zero_price:m'], []],
    ['accepted for another row', null, free, ['zero_price:n'], ['zero_price']],
    ['another rule accepted', null, free, ['loop'], ['zero_price']],
    [
      'a cheap group makes an old cost a loss',
      seen({ ...GOOD, channels: [{ ...CHANNEL, cost: 0.8 }] }),
      seen({ ...GOOD, groups: [{ name: 'default', multiplier: 0.5 }], channels: [{ ...CHANNEL, cost: 0.8 }] }),
      [],
      ['below_cost'],
    ],
    [
      'a loss that becomes larger',
      seen({ ...GOOD, channels: [{ ...CHANNEL, cost: 1.5 }] }),
      seen({ ...GOOD, channels: [{ ...CHANNEL, cost: 2.5 }] }),
      [],
      ['below_cost'],
    ],
  ]
  for (const [name, before, after, config, refused] of rows) {
    const said = judge({ before, after, accept: { ...NOTHING_ACCEPTED, config }, force: false })
    t.same(
      said.refused.map(({ rule }) => rule),
      refused,
      name,
    )
    const forced = judge({ before, after, accept: { ...NOTHING_ACCEPTED, config }, force: true })
    t.same(forced.refused, [], `${name}, by force`)
  }
})

t.test('a price that becomes far off because of the models beside it is no reason to refuse it now', async t => {
  const models = (input: number) =>
    ['a', 'b', 'c', 'd'].map(name => ({ name: `${name}-1`, price: { input, output: input * 4 } }))
  const file = (input: number) => ({
    ...GOOD,
    models: [...models(input), { name: 'zz', price: { input: 0.5, output: 2 } }],
    channels: [],
  })
  const before = seen(file(1))
  const { refused, warned } = judge({ before, after: seen(file(3000)), accept: NOTHING_ACCEPTED, force: false })
  t.notOk(refused.some(({ row }) => row?.name === 'zz'))
  t.ok(warned.some(({ row, rule }) => row?.name === 'zz' && rule === 'price_scale'))
})

t.test('apply writes nothing of a file that is refused', async t => {
  const store = await openStoreOf(t)
  const clock = new TestClock()
  const apply = (file: Json, force = false) => applyWithSense(store, parse(file), clock, { ...TERMS, force })
  await t.rejects(
    apply(FREE),
    /^cat\.yaml:\d+:\d+: models\[0\]\.price\.input: expected .*, found 0 \[zero_price\]\nrefused by/,
  )
  t.same((await store.catalogue.read()).models, [])
  t.same((await apply(GOOD)).warnings, [])
  await t.rejects(apply(FREE), /zero_price/)
  t.match((await store.catalogue.read()).models[0]?.price, { input: 2_000_000 })
  t.match((await apply({ ...FREE, accept: ['zero_price:m'] })).warnings, [])
  t.match((await apply(FREE)).warnings, [/zero_price/], 'it is in force now')
  await apply(GOOD)
  t.match((await apply(FREE, true)).warnings, [/zero_price/])
})

t.test('a start refuses what is new, and a restart warns of it; a reload leaves all as it was', async t => {
  const store = await openStoreOf(t)
  const dir = t.testdir({ 'free.yaml': JSON.stringify(FREE), 'good.yaml': JSON.stringify(GOOD) })
  const logged: string[] = []
  const log = createLogger('info', { write: line => void logged.push(line) })
  const config = (more: Json) =>
    parseConfig(
      JSON.stringify({ store: 'sqlite::memory:', journal: dir, admin_token: 'Zr8mT2kQ5vX1', ...more }),
      `${dir}/c.yaml`,
      {},
    )
  const free = config({ catalog: 'free.yaml' })
  await t.rejects(prepareStore(store, free, {}, log), /zero_price/)
  await prepareStore(store, config({ catalog: 'good.yaml' }), {}, log)
  await t.rejects(prepareStore(store, free, {}, log), /zero_price/, 'a reload')
  await prepareStore(store, config({ catalog: 'free.yaml', accept: ['zero_price'] }), {}, log)
  logged.length = 0
  await prepareStore(store, free, {}, log)
  t.ok(
    logged.some(line => line.includes('[zero_price]')),
    'a restart',
  )
  const open = { catalog: 'free.yaml', admin_token: 'changeme', listen: { ops: '0.0.0.0:3002' } }
  await t.rejects(
    prepareStore(store, config(open), {}, log, free),
    /admin_token: expected a random token.*\[default_token\]/,
  )
  await prepareStore(store, config(open), {}, log, config(open))
  await prepareStore(store, config({ ...open, accept: ['default_token'] }), {}, log, free)
})

t.test('the admin API', async t => {
  const ops = await openOps(t)
  const put = (path: string, body: object) => ops.admin('PUT', `/admin/${path}`, body)
  const price = { input: 0.003, output: 0.015 }
  const refused = await put('models/claude-sonnet-4-5', { price })
  t.equal(refused.status, 400)
  t.match(
    refused.error.message,
    /^price\.input: expected .*\[price_scale\]; price\.output: .*; what is meant can be accepted: accept price_scale/,
  )
  t.equal((await ops.store.catalogue.read()).models.length, 0)
  t.equal((await put('models/claude-sonnet-4-5', { price, accept: ['price_scale'] })).status, 200)
  t.equal((await put('models/claude-sonnet-4-5', { price, max_output: 9 })).status, 200, 'it is in force')
  t.equal((await put('models/m', { price: { input: 2, output: 8 }, accept: 5 })).status, 400)
  const swapped = await put('models/m', { price: { input: 8, output: 2 } })
  t.match(swapped.json.warnings, [/^price\.output: expected a price of output not below .*\[output_cheaper\]$/])
  t.equal((await put('models/m', swapped.json)).status, 200, 'the answer may be sent')
  t.notOk('warnings' in (await put('models/m', { price: { input: 2, output: 8 } })).json)
  const loop = await put('channels/up', { ...CHANNEL, base_url: 'http://127.0.0.1:3000' })
  t.match(
    loop.error.message,
    /^base_url: expected the address of an upstream: listen\.main is this gateway itself \[loop\]/,
  )
  t.equal((await put('channels/up', CHANNEL)).status, 200)
  t.equal((await put('channels/other', { ...CHANNEL, models: ['m'], status: 'disabled' })).status, 200)
  t.match((await put('groups/default', { multiplier: 0 })).error.message, /^multiplier: .*\[zero_price\]/)
  const served = await ops.admin('DELETE', '/admin/models/m')
  t.match(served, { status: 409, error: { message: /model m is still served by other, up/, channels: 'other, up' } })
  for (const name of ['up', 'other']) t.equal((await ops.admin('DELETE', `/admin/channels/${name}`)).status, 204)
  t.equal((await ops.admin('DELETE', '/admin/models/m')).status, 204)
})

t.test('prices that are set and imported', async t => {
  const store = await openStoreOf(t)
  await applyWithSense(store, parse(GOOD), new TestClock(), TERMS)
  const prices = new Prices({ store })
  const terms = { config: null, accept: [], force: false }
  const deps = {
    config: () => parseConfig('', 'test.yaml', {}),
    fleet: { changed: async () => {} },
    log: createLogger('silent'),
  }
  const free = { changes: { input: '0' }, accept: [] as string[] }
  await t.rejects(prices.change('m', free, COMMAND, deps), {
    fault: 'invalid',
    message: /price\.input: .*\[zero_price\]/,
  })
  t.match(await prices.change('m', { ...free, accept: ['zero_price'] }, COMMAND, deps), {
    changes: { input: { after: '0' } },
  })
  const list = { text: 'model,input,output\nn,0.000004,0.000016\n', file: 'l.csv', format: 'csv' } as const
  const planned = await planImport(
    store,
    readImport(list, { rate: '1', factor: '1', match: null, make: true, free: false }),
  )
  await t.rejects(judgeImport(store, planned, terms), { fault: 'invalid', message: /price\.input: .*\[price_scale\]/ })
  t.match(await judgeImport(store, planned, { ...terms, force: true }), [/price_scale/, /price_scale/])
  t.equal(await runImport(store, planned, COMMAND), 1)
})

t.test('a change of one row says nothing of the others', async t => {
  const store = await openStoreOf(t)
  await applyWithSense(store, parse(FREE), new TestClock(), { ...TERMS, force: true })
  const terms = { config: null, accept: [], force: false }
  t.same(await judgeChange(store, terms, [{ kind: 'models', name: 'n' }], () => ({})), [])
  t.match(await judgeChange(store, terms, [{ kind: 'models', name: 'm' }], () => ({})), [/zero_price/])
})

t.test('names of models and of their families', async t => {
  for (const [name, plain, families] of [
    ['claude-sonnet-4-5', 'claude-sonnet-4-5', ['claude-sonnet', 'claude']],
    ['us.anthropic.claude-sonnet-4-5-20250929-v1:0', 'claude-sonnet-4-5', ['claude-sonnet', 'claude']],
    ['openrouter/openai/gpt-5.2-mini', 'gpt-5.2-mini', ['gpt-mini', 'gpt']],
    ['gpt-4o-2024-08-06', 'gpt-4o', ['gpt']],
    ['Qwen3-Max-Latest', 'qwen3-max', ['qwen-max', 'qwen']],
    ['o3-mini', 'o3-mini', ['o-mini', 'o']],
  ] as const) {
    t.equal(plainName(name), plain)
    t.same(familiesOf(name), families)
  }
})

t.test('the public list', async t => {
  const file = new URL('../../lib/sense/public-prices.json', import.meta.url)
  t.ok(statSync(file).size <= 200_000)
  const list = JSON.parse(readFileSync(file, 'utf8'))
  t.match(list, { source: /./, date: /^\d{4}-\d\d-\d\d$/ })
  t.ok(Object.keys(list.models).length > 500)
  const entry = (input: number, more: object = {}) => ({
    mode: 'chat',
    input_cost_per_token: input,
    output_cost_per_token: input * 4,
    ...more,
  })
  t.same(
    publicPrices({
      'a/m-1': entry(1e-6),
      'b/m-1-20300101': entry(2e-6, { cache_read_input_token_cost: 1e-7 }),
      'c/m-1:free': entry(0),
      'd/m-1': entry(9e-6),
      pictures: { ...entry(1e-6), mode: 'image_generation' },
    }),
    { 'm-1': [2, 8, 0.1] },
  )
})

t.test('docs/sense.md has every rule', async t => {
  const page = readFileSync(new URL('../../docs/sense.md', import.meta.url), 'utf8')
  const rows = [...page.matchAll(/^\| `(\w+)` \| (\w+) \| (.*) \|$/gm)].map(([, ...cells]) => cells)
  t.same(
    rows,
    RULES.map(({ name, severity, about }) => [name, severity, about]),
  )
})
