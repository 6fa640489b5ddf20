import { strict } from 'node:assert'
import { createHash } from 'node:crypto'
import t, { type Test } from 'tap'
import { type Applied, applyCatalog, type Summary } from '../../lib/operations/catalogue/apply.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import type { CatalogKind, Account } from '../../lib/terms/records.ts'
import { TestClock } from '../support/clock.ts'
import { SETUP } from '../support/store.ts'

const CHANNEL = {
  name: 'c',
  base_url: 'http://127.0.0.1:9',
  protocols: ['chat'],
  key: 'up',
  groups: ['vip'],
  models: ['m'],
}
const FILE = {
  groups: [{ name: 'vip', multiplier: 0.5, rate: { requests: 3, minutes: 1 } }],
  models: [{ name: 'm', price: { input: 1, output: 2 } }, { name: 'n' }],
  channels: [CHANNEL],
  accounts: [{ name: 'rich', groups: ['default', 'vip'], balance: 100 }, { name: 'poor' }],
  keys: [
    {
      account: 'rich',
      name: 'k',
      secret: 'sk-rich-0123',
      group: 'vip',
      cap: 5,
      allow_ips: ['10.0.0.0/8'],
      models: ['m'],
    },
    { account: 'poor', name: 'k', secret: 'sk-poor-0123', expires_at: '2030-01-31T00:00:00Z' },
  ],
}

const clock = new TestClock()
const parse = (file: object) => parseCatalog(JSON.stringify(file), 'cat.yaml', {})

/** A dry run says beforehand what then happens, and changes nothing: else the second run would find less to do. */
async function apply(store: Store, file: object): Promise<Summary> {
  const would = await applyCatalog(store, parse(file), clock, false, () => {}, true)
  const done = await applyCatalog(store, parse(file), clock)
  strict.deepEqual(would, done)
  return done
}

let written = 0

/** A store in a folder of the test's own, which counts what changes. */
async function create(t: Test): Promise<Store> {
  const store = openStore(`sqlite:${t.testdir()}/store.db`, { secret: 'a secret of the test' })
  await store.migrate()
  t.teardown(() => store.close())
  written = 0
  for (const [part, name] of [
    ['catalogue', 'putGroup'],
    ['catalogue', 'editModel'],
    ['catalogue', 'putChannel'],
    ['accounts', 'create'],
    ['accounts', 'update'],
    ['keys', 'create'],
    ['keys', 'update'],
    ['entries', 'add'],
  ] as const) {
    const target = store[part] as unknown as Record<string, (...args: unknown[]) => unknown>
    const original = target[name]?.bind(target)
    Object.assign(target, {
      [name]: (...args: unknown[]) => {
        written++
        return original?.(...args)
      },
    })
  }
  return store
}

const account = async (store: Store, name: string): Promise<Account> => (await store.accounts.byName(name))!
const credit = async (store: Store, name: string) =>
  (await store.books.purses([accountPurse((await account(store, name)).id)]))[0]?.credit

const same = (count: number): Applied => ({ created: [], updated: [], kept: [], same: count })

t.test('everything is created, with opening balances', async t => {
  const store = await create(t)
  t.strictSame(await apply(store, FILE), {
    groups: { created: ['vip'], updated: [], kept: [], same: 0 },
    models: { created: ['m', 'n'], updated: [], kept: [], same: 0 },
    channels: { created: ['c'], updated: [], kept: [], same: 0 },
    accounts: { created: ['rich', 'poor'], updated: [], kept: [], same: 0 },
    keys: { created: ['rich/k', 'poor/k'], updated: [], kept: [], same: 0 },
  })
  const { groups, models, channels } = parse(FILE)
  t.strictSame(await store.catalogue.read(), {
    groups,
    models,
    channels,
    priceVersions: new Map([['m', 2]]),
    offlineSince: new Map(),
  })
  t.equal(await credit(store, 'rich'), 100_000_000)
  t.equal(await credit(store, 'poor'), 0)
  const hash = createHash('sha256').update('sk-rich-0123').digest('hex')
  t.match((await store.keys.find(hash))?.key, {
    name: 'k',
    hint: 'sk-…0123',
    group: 'vip',
    status: 'enabled',
    expiresAtMs: null,
    cap: { amount: 5_000_000, every: null, before: null },
    allowIps: ['10.0.0.0/8'],
    models: ['m'],
  })
})

t.test('an opening balance is an entry of the account', async t => {
  const store = await create(t)
  await apply(store, FILE)
  const { entries } = await store.entries.page((await account(store, 'rich')).id, { fromMs: 0, toMs: 1e13, limit: 9 })
  t.match(entries, [{ kind: 'opening', reference: 'opening', actor: 'catalogue' }])
})

t.test('applying twice writes nothing', async t => {
  const store = await create(t)
  await apply(store, FILE)
  const seq = await store.changes.seq()
  written = 0
  t.strictSame(await apply(store, FILE), {
    groups: same(1),
    models: same(2),
    channels: same(1),
    accounts: same(2),
    keys: same(2),
  })
  t.equal(written, 0)
  t.equal(await store.changes.seq(), seq)
})

t.test('versions of prices: one for each change of a price, whatever else the file says anew', async t => {
  const store = await create(t)
  const withModel = (change: object) => ({ models: [{ name: 'v', price: { input: 1 }, ...change }] })
  const rows: [what: string, file: object, inputs: number[]][] = [
    ['made', withModel({}), [1_000_000]],
    ['applied again', withModel({}), [1_000_000]],
    ['another field', withModel({ max_output: 5 }), [1_000_000]],
    ['another price', withModel({ max_output: 5, price: { input: 2 } }), [2_000_000, 1_000_000]],
    ['the same, written otherwise', withModel({ max_output: 5, price: { input: '2.0' } }), [2_000_000, 1_000_000]],
  ]
  for (const [what, file, inputs] of rows) {
    await apply(store, file)
    const versions = await store.catalogue.priceVersions('v', { limit: 9 })
    t.strictSame(
      versions.map(({ value }) => value.input),
      inputs,
      what,
    )
    t.ok(versions.every(({ actor }) => actor === 'file'))
  }
})

t.test('a price that is changed while a file is applied stays', async t => {
  const store = await create(t)
  const file = (change: object) => ({ models: [{ name: 'v', price: { input: 1 }, ...change }] })
  await apply(store, file({}))
  const catalog = store.catalogue.read.bind(store.catalogue)
  store.catalogue.read = async () => {
    const read = await catalog()
    store.catalogue.read = catalog
    await store.catalogue.editModel('v', there => ({ ...there!, price: { input: 7 } }), SETUP)
    return read
  }
  await apply(store, file({ max_output: 5 }))
  t.match((await store.catalogue.read()).models, [{ maxOutput: 5, price: { input: 7 } }])
  t.equal((await store.catalogue.priceVersions('v', { limit: 9 })).length, 2)
})

t.test('what differs is updated; what left the file stays', async t => {
  const changes: [kind: CatalogKind, name: string, file: object][] = [
    ['groups', 'vip', { groups: [{ name: 'vip' }] }],
    ['models', 'm', { models: [{ name: 'm', price: { input: 2 } }] }],
    ['channels', 'c', { channels: [{ ...CHANNEL, key: 'other' }] }],
    ['accounts', 'rich', { accounts: [{ name: 'rich', groups: ['default'], balance: 100 }] }],
    ['keys', 'rich/k', { keys: [{ ...FILE.keys[0], status: 'disabled' }] }],
    ['keys', 'rich/k', { keys: [{ ...FILE.keys[0], secret: 'sk-another-one' }] }],
    ['keys', 'rich/k', { keys: [{ account: 'rich', name: 'k', secret: 'sk-rich-0123', group: 'vip' }] }],
  ]
  for (const [kind, name, file] of changes) {
    const store = await create(t)
    await apply(store, FILE)
    written = 0
    const summary = await apply(store, file)
    t.strictSame(summary[kind], { created: [], updated: [name], kept: [], same: 0 }, JSON.stringify(file))
    t.equal(written, 1)
    t.strictSame((await apply(store, file))[kind], same(1), 'and is the same then')
    t.equal((await store.catalogue.read()).models.length, 2)
    t.equal((await store.keys.list()).length, 2)
  }
})

t.test('the opening balance is credited once', async t => {
  const store = await create(t)
  await apply(store, FILE)
  await apply(store, {
    accounts: [
      { name: 'rich', groups: ['default'], balance: 500 },
      { name: 'poor', balance: 7 },
    ],
  })
  t.equal(await credit(store, 'rich'), 100_000_000)
  t.equal(await credit(store, 'poor'), 0, 'an account that exists is not opened again')
})

t.test('two that apply the same file at once', async t => {
  const store = await create(t)
  const once = () => applyCatalog(store, parse(FILE), clock)
  const summaries = await Promise.all([once(), once()])
  t.equal(summaries.flatMap(s => s.accounts.created).length, 2)
  t.equal(summaries.flatMap(s => s.keys.created).length, 2)
  t.equal(await credit(store, 'rich'), 100_000_000)
  t.equal((await store.keys.list()).length, 2)
})

t.test('references are checked against file and store before anything is written', async t => {
  const store = await create(t)
  await t.rejects(apply(store, { ...FILE, accounts: [] }), /keys\[0\]\.account: expected one of the accounts/)
  t.equal(written, 0)
  await apply(store, FILE)
  const alone = { keys: [{ ...FILE.keys[0], name: 'second', secret: 'sk-second' }] }
  t.strictSame((await apply(store, alone)).keys.created, ['rich/second'])
})

t.test('a secret that is another key’s', async t => {
  const store = await create(t)
  await apply(store, FILE)
  const stolen = { keys: [{ account: 'poor', name: 'new', secret: 'sk-rich-0123' }] }
  await t.rejects(apply(store, stolen), {
    name: 'StoreConflict',
    message: 'key poor/new: its secret belongs to another key',
  })
})
