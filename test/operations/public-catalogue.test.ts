/** The catalogue that people see: which rows, at what prices, in what state, and what must never stand in it. */
import t, { type Test } from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { applyCatalog } from '../../lib/operations/catalogue/apply.ts'
import { usualBound, incidentsOf, STATUS_DAYS } from '../../lib/operations/catalogue/figures.ts'
import { Kept, PublicCatalogue } from '../../lib/operations/catalogue/public-catalogue.ts'
import type { Store } from '../../lib/store/store.ts'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import type { BreakerState, Key } from '../../lib/terms/records.ts'
import { parseConfig } from '../../lib/config/config.ts'
import { World } from '../../lib/world/world.ts'
import { TestClock } from '../support/clock.ts'
import { fund, memoryStore, settlement, usageRow } from '../support/store.ts'

type Json = Record<string, unknown>

const CONFIG = parseConfig('{}', 'config', {})
const HOUR_MS = 3_600_000
const channel = (name: string, change: Json) => ({
  name,
  base_url: `https://${name}.hidden-upstream.example/secret-path`,
  key: 'hidden-credential',
  protocols: ['chat'],
  groups: ['default'],
  weight: 4321,
  cost: 0.61,
  translate: false,
  ...change,
})

const FILE = {
  groups: [
    { name: 'vip', multiplier: 0.5, public: true },
    { name: 'default', multiplier: 1.25, public: true },
    { name: 'hidden-group', multiplier: 0.1 },
  ],
  models: [
    {
      name: 'alpha',
      family: 'a',
      price: {
        input: 3,
        output: 15,
        cache_read: 0.3,
        over: [{ tokens: 200_000, input: 6, output: 22.5 }],
        tiers: { flex: 0.5 },
      },
      max_output: 64_000,
      max_input: 1_000_000,
    },
    { name: 'picture', price: { image: { default: 0.28, '1024x1536/high': 1.6 } } },
    { name: 'unpriced' },
    { name: 'hidden-model', price: { input: 1, output: 2 } },
    { name: 'off', price: { input: 1, output: 2 }, offline: true },
    { name: 'part', price: { input: 1, output: 2 }, offline: ['vip'] },
    { name: 'embedder', price: { input: 1 } },
    { name: 'nobody', price: { input: 1, output: 2 } },
    { name: 'switched-off', price: { input: 1, output: 2 } },
  ],
  channels: [
    channel('hidden-one', {
      groups: ['default', 'vip', 'hidden-group'],
      protocols: ['messages', 'chat'],
      models: { alpha: 'hidden-renamed', off: 'off', part: 'part', unpriced: 'unpriced', undescribed: 'x' },
    }),
    channel('hidden-two', { protocols: ['images', 'chat'], models: ['picture'] }),
    channel('hidden-three', { groups: ['hidden-group'], models: ['hidden-model'], translate: ['messages'] }),
    channel('hidden-four', { protocols: ['embeddings', 'chat'], models: ['embedder'] }),
    channel('hidden-five', { models: ['switched-off'], status: 'disabled' }),
  ],
  accounts: [{ name: 'hidden-account', groups: ['vip', 'hidden-group'], balance: 7 }],
  keys: [{ account: 'hidden-account', name: 'hidden-key', secret: 'sk-hidden-secret', group: 'vip' }],
}

interface Shop {
  store: Store
  clock: TestClock
  catalogue: PublicCatalogue
  states: Map<string, { state: BreakerState; keys: []; open: number }>
  apply(change: Json): Promise<void>
  key: Key
  asked: { states: number }
}

async function shop(t: Test, file: Json = FILE): Promise<Shop> {
  const [store, clock] = [await memoryStore(), new TestClock()]
  t.teardown(() => store.close())
  let world: World | null = null
  const apply = async (change: Json) => {
    await applyCatalog(store, parseCatalog(JSON.stringify({ ...file, ...change }), 'cat', {}), clock)
    world = new World(CONFIG, await store.catalogue.read())
  }
  await apply({})
  const states: Shop['states'] = new Map()
  const asked = { states: 0 }
  const channelStates = async () => {
    asked.states++
    return states
  }
  const catalogue = new PublicCatalogue({ store, clock, fleet: { channelStates }, world: () => world as World })
  return { store, clock, catalogue, states, apply, key: (await fund(store, 'payer', 1e9)).key, asked }
}

t.test('who sees which models, with which protocols, at what price, in what state', async t => {
  const { catalogue, states } = await shop(t)
  states.set('hidden-four', { state: 'open', keys: [], open: 0 })
  const rows = async (
    models: Promise<{ models: { name: string; protocols: string[]; state: string; price: unknown }[] }>,
  ) => (await models).models.map(({ name, protocols, state, price }) => [name, protocols.join(), state, price !== null])
  const inDefault = [
    ['alpha', 'messages,chat', 'available', true],
    ['embedder', 'embeddings', 'resting', true],
    ['off', 'messages,chat', 'offline', true],
    ['part', 'messages,chat', 'available', true],
    ['picture', 'images', 'available', true],
  ]
  const inVip = [
    ['alpha', 'messages,chat', 'available', true],
    ['off', 'messages,chat', 'offline', true],
    ['part', 'messages,chat', 'offline', true],
  ]
  t.same(await rows(catalogue.models()), inDefault, 'the default group first')
  t.same(await rows(catalogue.models('vip')), inVip)
  t.same(await rows(catalogue.modelsOf(['hidden-group', 'vip'], 'vip')), [
    ...inVip,
    ['unpriced', 'messages,chat', 'unpriced', false],
  ])
  t.same((await rows(catalogue.modelsOf(['hidden-group', 'vip'])))[1], [
    'hidden-model',
    'chat,messages',
    'available',
    true,
  ])
  const { models: hidden } = await catalogue.modelsOf(['hidden-group'])
  t.same(
    hidden.map(({ name, translated }) => [name, translated]),
    [
      ['alpha', []],
      ['hidden-model', ['messages']],
      ['off', []],
      ['part', []],
      ['unpriced', []],
    ],
  )
  t.same((await catalogue.models()).groups, ['default', 'vip'])
  const refused: Record<string, () => Promise<unknown>> = {
    hidden: () => catalogue.models('hidden-group'),
    unknown: () => catalogue.models('constructor'),
    status: () => catalogue.status('hidden-group'),
    prices: () => catalogue.prices('alpha', 'hidden-group'),
    'of another account': () => catalogue.modelsOf(['vip'], 'default'),
  }
  for (const [name, call] of Object.entries(refused))
    await t.rejects(call(), { fault: 'missing', message: 'there is no such group' }, name)
  for (const model of ['hidden-model', 'unpriced', 'undescribed', 'switched-off', 'nobody', '__proto__'])
    await t.rejects(
      catalogue.prices(model),
      { fault: 'missing', message: 'there is no such model in the group' },
      model,
    )
})

t.test('prices of the chosen group, with lists, tiers and sizes; limits; since when it is offline', async t => {
  const { catalogue, store } = await shop(t)
  const one = async (name: string, group?: string) =>
    (await catalogue.models(group)).models.find(model => model.name === name)
  t.match(await one('alpha'), {
    family: 'a',
    max_output: 64_000,
    max_input: 1_000_000,
    since: null,
    price: {
      lists: [
        {
          over: null,
          prices: { input: '3.75', output: '18.75', cache_read: '0.375', cache_write_5m: '3.75' },
          images: {},
        },
        { over: 200_000, prices: { input: '7.5', output: '28.125', cache_read: '7.5' } },
      ],
      tiers: { flex: '0.5' },
      search_unit: 'query',
    },
  })
  t.match((await one('alpha', 'vip'))?.price?.lists[0]?.prices, { input: '1.5', output: '7.5' })
  t.strictSame((await one('picture'))?.price?.lists, [
    { over: null, prices: {}, images: { default: '0.35', '1024x1536/high': '2' } },
  ])
  const since = (await store.catalogue.read()).offlineSince.get('part')?.get('vip') as number
  t.equal((await one('part', 'vip'))?.since, new Date(since).toISOString())
})

t.test('no public group: nothing is shown to everybody', async t => {
  const { catalogue } = await shop(t, { ...FILE, groups: [{ name: 'vip' }, { name: 'hidden-group' }] })
  t.same(await catalogue.models(), { group: null, groups: [], models: [] })
  t.match(await catalogue.status(), { group: null, models: [], incidents: [] })
  await t.rejects(catalogue.models('default'), { message: 'there is no such group' })
})

t.test('nothing that is hidden stands in a byte of what everybody may read', async t => {
  const { catalogue, store, clock, key } = await shop(t)
  const rows = Array.from({ length: 60 }, (_, i) =>
    usageRow(`${idAt(clock.now() - HOUR_MS)}node00${String(i).padStart(5, '0')}`, key, 123_456, {
      model: i % 2 === 0 ? 'alpha' : 'hidden-model',
      group: i % 3 === 0 ? 'default' : 'hidden-group',
      channel: 'hidden-one',
      end: 'upstream_error',
      status: 502,
      upstreamId: 'hidden-upstream-id',
    }),
  )
  await store.books.settle(rows.map(row => settlement(row, 'h', 0)))
  const models = (await catalogue.models()).models.map(({ name }) => name)
  const all = [
    ...(await Promise.all(
      [undefined, 'default', 'vip'].flatMap(group => [catalogue.models(group), catalogue.status(group)]),
    )),
    ...(await Promise.all(models.map(name => catalogue.prices(name)))),
  ]
  const text = JSON.stringify(all)
  t.ok(text.includes('"alpha"') && text.length > 1_000)
  for (const secret of [
    'hidden',
    'unpriced',
    'undescribed',
    'upstream',
    'example',
    '4321',
    '0.61',
    'token',
    'weight',
    'channel',
    'cost',
    'multiplier',
  ])
    t.notOk(text.includes(secret), secret)
})

t.test('what a model has cost: its versions times those of the group, newest first', async t => {
  const { catalogue, store, apply } = await shop(t, { ...FILE, models: [{ name: 'alpha', price: { request: 1 } }] })
  const wait = () => new Promise(resolve => setTimeout(resolve, 5)) // the store's clock gives versions their time
  for (const step of [
    { models: [{ name: 'alpha', price: { request: 2 } }] },
    { models: [{ name: 'alpha', price: { request: 2 } }], groups: [{ name: 'default', multiplier: 2, public: true }] },
    { models: [{ name: 'alpha', price: { request: 3 } }], groups: [{ name: 'default', multiplier: 2, public: true }] },
  ]) {
    await wait()
    await apply(step)
  }
  const { data, group, model } = await catalogue.prices('alpha')
  t.same([group, model], ['default', 'alpha'])
  t.same(
    data.map(({ price }) => price.lists[0]?.prices['request']),
    ['6', '4', '2.5', '1.25'],
  )
  t.equal(data[0]?.until, null)
  for (const [i, period] of data.entries()) if (i > 0) t.equal(period.until, data[i - 1]?.from, 'without gaps')
  t.equal((await store.catalogue.priceVersions('alpha', { limit: 9 })).length, 3)
})

t.test('the default group without a row has the plain prices', async t => {
  const { catalogue } = await shop(t, { ...FILE, groups: [{ name: 'vip' }, { name: 'hidden-group' }] })
  const { models, group } = await catalogue.modelsOf(['default'])
  t.same([group, models[0]?.price?.lists[0]?.prices['input']], ['default', '3'])
})

t.test('figures: shares and times of enough requests; nothing of few', async t => {
  const { catalogue, store, clock, key } = await shop(t)
  let made = 0
  const add = (model: string, answered: number, failed: number, hoursAgo: number, firstByteMs = 150) =>
    Array.from({ length: answered + failed }, (_, i) =>
      usageRow(`${idAt(clock.now() - hoursAgo * HOUR_MS)}node00${String(made++).padStart(5, '0')}`, key, 1, {
        model,
        firstByteMs,
        ...(i < answered ? {} : { end: 'upstream_error' as const, status: 502 }),
      }),
    )
  const rows = [
    ...add('alpha', 30, 10, 2),
    ...add('alpha', 60, 0, 50, 3_000),
    ...add('part', 19, 0, 2),
    ...add('off', 0, 40, 2),
  ]
  await store.books.settle(rows.map(row => settlement(row, 'h', 0)))
  const figures = Object.fromEntries((await catalogue.models()).models.map(({ name, figures }) => [name, figures]))
  const none = { answered_share: null, first_byte_up_to_ms: null }
  t.same(figures['alpha'], {
    day: { answered_share: 0.75, first_byte_up_to_ms: 200 },
    week: { answered_share: 0.9, first_byte_up_to_ms: 5_000 },
  })
  t.same(figures['part'], { day: none, week: none }, 'too few')
  t.same(figures['off']?.day, { answered_share: 0, first_byte_up_to_ms: null })
  t.same(figures['picture'], { day: none, week: none })
  const { models, incidents, from } = await catalogue.status()
  const days = (name: string) => models.find(model => model.name === name)?.days as (number | null)[]
  t.equal(days('alpha').length, STATUS_DAYS)
  t.same(
    [
      days('alpha')
        .filter(share => share !== null)
        .sort(),
      days('part').filter(share => share !== null),
    ],
    [[0.75, 1], []],
  )
  t.equal(
    Date.parse(from) + (STATUS_DAYS - 1) * 24 * HOUR_MS,
    Math.floor((clock.now() + 8 * HOUR_MS) / (24 * HOUR_MS)) * 24 * HOUR_MS,
  )
  t.same(incidents.map(({ model, answered_share }) => [model, answered_share]).sort(), [
    ['alpha', 0.75],
    ['off', 0],
  ])
})

t.test('the bound within which half of the first bytes came', async t => {
  const buckets = (counts: Record<number, number>) => Array.from({ length: 12 }, (_, i) => counts[i] ?? 0)
  const rows: [counts: Record<number, number>, ms: number | null][] = [
    [{}, null],
    [{ 0: 19 }, null],
    [{ 0: 20 }, 100],
    [{ 1: 40 }, 200],
    [{ 0: 10, 3: 20 }, 700],
    [{ 0: 10, 1: 10 }, 100],
    [{ 11: 20 }, null],
  ]
  for (const [counts, ms] of rows) t.equal(usualBound(buckets(counts)), ms, JSON.stringify(counts))
})

t.test('incidents: hours in a row are one, and one that touches the present is not over', async t => {
  const at = (hour: number, model: string, answered: number, failed: number) => ({
    atMs: hour * HOUR_MS,
    model,
    answered,
    failed,
  })
  const hours = [at(9, 'm', 0, 30), at(8, 'm', 10, 10), at(8, 'n', 20, 20), at(6, 'm', 0, 20), at(5, 'm', 3, 5)]
  const shown = incidentsOf(hours, 9.5 * HOUR_MS).map(({ model, from, until, answered_share }) => [
    model,
    Date.parse(from) / HOUR_MS,
    until === null ? null : Date.parse(until) / HOUR_MS,
    answered_share,
  ])
  t.same(shown, [
    ['m', 8, null, 0],
    ['n', 8, 9, 0.5],
    ['m', 6, 7, 0],
  ])
})

t.test('however many people ask, the work is done once in a while; a new world shows at once', async t => {
  const { catalogue, clock, apply, asked, states } = await shop(t)
  const ask = () => Promise.all(Array.from({ length: 50 }, () => catalogue.models()))
  const [first] = await ask()
  const [again] = await ask()
  t.equal(again?.models, first?.models && again?.models, 'the same rows')
  t.equal(asked.states, 1)
  clock.advance(3_000)
  const [later] = await ask()
  t.equal(asked.states, 2)
  t.equal(later, first, 'and as long as nothing is another')
  t.equal(await catalogue.status(), await catalogue.status())
  states.set('hidden-four', { state: 'open', keys: [], open: 0 })
  clock.advance(3_000)
  const [changed] = await ask()
  t.equal(asked.states, 3)
  t.same(
    changed?.models.filter((row, i) => row !== first?.models[i]).map(({ name, state }) => [name, state]),
    [['embedder', 'resting']],
    'then only that row',
  )
  await apply({ models: FILE.models.map(row => ({ ...row, family: 'new' })) })
  t.equal((await catalogue.models()).models[0]?.family, 'new')
  t.equal(asked.states, 3)
})

t.test('a kept value: made once at a time, again when it is old, and the last one when it cannot be made', async t => {
  const clock = new TestClock()
  let made = 0
  let fails = true
  const kept = new Kept(clock, 1_000, async () => {
    made++
    if (fails) throw new Error('away')
    return made
  })
  await t.rejects(kept.get(), { message: 'away' })
  fails = false
  t.same(await Promise.all([kept.get(), kept.get()]), [2, 2])
  t.equal(await kept.get(), 2)
  clock.advance(1_000)
  fails = true
  t.same([await kept.get(), made], [2, 3])
  t.same([await kept.get(), made], [2, 3], 'it is not tried again at once')
  clock.advance(1_000)
  fails = false
  t.equal(await kept.get(), 4)
})
