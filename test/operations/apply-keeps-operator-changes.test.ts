/** A catalogue file is applied at every start and reload. What an administrator did since must survive that. */
// The bug behind these rows: the file undoes the operator.
import { strict } from 'node:assert'
import { rmSync } from 'node:fs'
import { DatabaseSync } from 'node:sqlite'
import t, { type Test } from 'tap'
import { systemClock } from '../../lib/base/clock.ts'
import { applyCatalog, type Summary } from '../../lib/operations/catalogue/apply.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import { parseCatalog } from '../../lib/catalog-file/catalog.ts'
import type { Channel, Key, Model } from '../../lib/terms/records.ts'
import { commandLine } from '../support/command-line.ts'
import { changed, SETUP } from '../support/store.ts'

const SECRET = 'the secret of the store'
const CHANNEL = {
  name: 'c',
  base_url: 'http://127.0.0.1:9',
  protocols: ['chat'],
  key: 'up-secret',
  headers: { 'x-team': '=core', 'x-api-key': '=up-constant' },
  proxy: 'http://user:hunter2@127.0.0.1:8',
  groups: ['vip'],
  models: ['m'],
}
const KEY = { account: 'a', name: 'k', secret: 'sk-leaked-0123', group: 'vip' }
const FILE = {
  groups: [{ name: 'vip', multiplier: 0.5 }],
  models: [{ name: 'm', price: { input: 1, output: 2 }, max_output: 100 }],
  channels: [CHANNEL],
  accounts: [{ name: 'a', groups: ['default', 'vip'], balance: 1 }],
  keys: [KEY],
}
type File = Partial<typeof FILE>

const parse = (file: object) => parseCatalog(JSON.stringify(file), 'cat.yaml', {})

/** A dry run says beforehand what then happens, and changes nothing: else the second run would find less to do. */
async function apply(store: Store, file: object = FILE, force = false): Promise<Summary> {
  const would = await applyCatalog(store, parse(file), systemClock, force, () => {}, true)
  const done = await applyCatalog(store, parse(file), systemClock, force)
  strict.deepEqual(would, done)
  return done
}

function at(
  t: Test,
  path: string,
  secret = SECRET,
  secretPrevious: string | null = null,
  warned: string[] = [],
): Store {
  const store = openStore(`sqlite:${path}`, { secret, secretPrevious, onWarning: message => warned.push(message) })
  t.teardown(() => store.close())
  return store
}

async function create(t: Test): Promise<Store> {
  const store = at(t, ':memory:')
  await store.migrate()
  await apply(store)
  return store
}

const channel = async (store: Store) => (await store.catalogue.read()).channels[0] as Channel
const model = async (store: Store) => (await store.catalogue.read()).models[0] as Model
const key = async (store: Store) => (await store.keys.list())[0] as Key
const kept = (summary: Summary) => Object.values(summary).flatMap(({ kept }) => kept)

/** What the administrator does, and how it looks while it stays. */
const ACTS: [name: string, act: (store: Store) => Promise<unknown>, seen: (store: Store) => Promise<unknown>][] = [
  [
    'c',
    async s => s.catalogue.putChannel({ ...(await channel(s)), status: 'disabled' }, SETUP),
    async s => (await channel(s)).status,
  ],
  ['c', s => s.catalogue.deleteChannel('c', SETUP), async s => (await s.catalogue.read()).channels.length],
  [
    'm',
    async s => s.catalogue.putModel({ ...(await model(s)), price: { input: 7 } }, SETUP),
    async s => (await model(s)).price,
  ],
  ['m', s => s.catalogue.deleteModel('m', SETUP), async s => (await s.catalogue.read()).models.length],
  [
    'vip',
    s =>
      s.catalogue.putGroup({ name: 'vip', multiplier: 9, rate: null, hedgeMs: 0, readOns: 256, public: false }, SETUP),
    async s => (await s.catalogue.read()).groups,
  ],
  ['a', async s => s.accounts.update(1, { groups: ['vip'] }, SETUP), async s => (await s.accounts.list())[0]?.groups],
  ['a/k', async s => s.keys.update((await key(s)).id, { status: 'disabled' }, SETUP), async s => (await key(s)).status],
  ['a/k', async s => s.keys.delete((await key(s)).id, SETUP), async s => (await s.keys.list()).length],
]

t.test(
  'what was changed, disabled or deleted stays so, however often the file is applied; force undoes it',
  async t => {
    for (const [name, act, seen] of ACTS) {
      const store = await create(t)
      const before = await seen(store)
      await act(store)
      const after = await seen(store)
      const seq = await store.changes.seq()
      for (let i = 0; i < 2; i++) t.strictSame(kept(await apply(store)), [name], `${name} ${act}`)
      t.strictSame(await seen(store), after)
      t.equal(await store.changes.seq(), seq, 'nothing was written')
      t.strictSame(kept(await apply(store, FILE, true)), [])
      t.strictSame(await seen(store), before)
      t.strictSame(kept(await apply(store)), [])
    }
  },
)

t.test('what the file says anew of a row is written, and of no other row', async t => {
  const rows: [
    file: File,
    act: (store: Store) => Promise<unknown>,
    seen: (store: Store) => Promise<unknown>,
    want: unknown,
  ][] = [
    [
      { channels: [{ ...CHANNEL, key: 'up-new' }] },
      s => s.catalogue.deleteChannel('c', SETUP),
      async s => (await channel(s)).keys[0]?.key,
      'up-new',
    ],
    [
      { keys: [{ ...KEY, secret: 'sk-other' }] },
      s => s.keys.delete(1, SETUP),
      async s => (await s.keys.list())[0]?.hint,
      'sk-…ther',
    ],
    [
      { keys: [{ ...KEY, group: 'default' }] },
      s => s.keys.delete(1, SETUP),
      async s => (await s.keys.list())[0]?.group,
      'default',
    ],
    [
      { groups: [{ name: 'vip', multiplier: 3 }] },
      s =>
        s.catalogue.putGroup(
          { name: 'vip', multiplier: 9, rate: null, hedgeMs: 0, readOns: 256, public: false },
          SETUP,
        ),
      async s => (await s.catalogue.read()).groups[0]?.multiplier,
      3_000_000,
    ],
  ]
  for (const [change, act, seen, want] of rows) {
    const store = await create(t)
    await store.accounts.update(1, { groups: ['vip', 'default', 'vip'] }, SETUP)
    await act(store)
    t.strictSame(kept(await apply(store, { ...FILE, ...change })), ['a'])
    t.equal(await seen(store), want)
    t.strictSame(kept(await apply(store, { ...FILE, ...change })), ['a'])
  }
})

t.test('a price is compared apart from the rest of its row', async t => {
  const store = await create(t)
  const [row] = FILE.models
  await store.catalogue.putModel({ ...(await model(store)), price: { input: 7_000_000 }, maxOutput: 5 }, SETUP)
  await apply(store, { ...FILE, models: [{ ...row, max_output: 200 }] })
  t.match(await model(store), { price: { input: 7_000_000 }, maxOutput: 200 }, 'a new ceiling brings no old price back')
  await store.catalogue.putModel({ ...(await model(store)), maxOutput: 6 }, SETUP)
  await apply(store, { ...FILE, models: [{ ...row, max_output: 200, price: { input: 3 } }] })
  t.match(await model(store), { price: { input: 3_000_000 }, maxOutput: 6 }, 'nor a new price an old ceiling')
})

t.test('how a file is written is not what it says', async t => {
  const store = await create(t)
  await store.keys.update(1, { status: 'disabled' }, SETUP)
  const [row] = FILE.models
  const models = [{ max_output: '100', price: { output: '2', input: 1 }, name: row?.name }]
  t.strictSame(kept(await apply(store, { ...FILE, models })), ['a/k'])
  t.equal((await key(store)).status, 'disabled')
  await apply(store, { groups: [], models: [], channels: [], accounts: [], keys: [] })
  t.equal((await store.keys.list()).length, 1, 'what leaves the file stays')
  t.strictSame(kept(await apply(store)), ['a/k'], 'and what comes back says nothing new')
})

t.test('several gateways apply at once: one writes, and none of them over what comes right after', async t => {
  const store = await create(t)
  const next = { ...FILE, channels: [{ ...CHANNEL, weight: 5 }], keys: [{ ...KEY, cap: 3 }] }
  const late = await store.catalogue.digests()
  await apply(store, next)
  await store.catalogue.putChannel({ ...(await channel(store)), status: 'disabled' }, SETUP)
  await store.keys.update(1, { status: 'disabled' }, SETUP)
  const slow = changed(store, { catalogue: { digests: async () => late } }) // it has read before
  t.strictSame((await applyCatalog(slow, parse(next), systemClock)).channels.updated, [])
  t.equal((await channel(store)).status, 'disabled')
  t.equal((await key(store)).status, 'disabled')
  const all = await Promise.all(
    [1, 2, 3].map(() =>
      applyCatalog(store, parse({ ...next, models: [{ name: 'm', price: { input: 4 } }] }), systemClock),
    ),
  )
  t.equal(all.flatMap(one => one.models.updated).length, 1)
})

t.test('a group that somebody deleted comes back when the file names it anew', async t => {
  const store = await create(t)
  await store.catalogue.deleteChannel('c', SETUP)
  await store.accounts.update(1, { groups: ['default'] }, SETUP)
  await store.keys.update(1, { group: 'default' }, SETUP)
  await store.catalogue.deleteGroup('vip', SETUP)
  await apply(store)
  t.equal((await store.catalogue.read()).groups.length, 0)
  await apply(store, { ...FILE, channels: [{ ...CHANNEL, weight: 2 }] })
  t.match((await store.catalogue.read()).groups, [{ name: 'vip', multiplier: 500_000 }])
})

t.test('secrets: none in the digests, sealed anew under another secret, the rest as it was left', async t => {
  const path = `${t.testdir()}/store.db`
  const first = at(t, path)
  await first.migrate()
  await apply(first)
  await first.catalogue.putChannel({ ...(await channel(first)), weight: 7 }, SETUP)
  const marks = JSON.stringify([...(await first.catalogue.digests())])
  for (const secret of ['up-secret', 'up-constant', 'hunter2', 'sk-leaked']) t.notMatch(marks, secret)
  const database = new DatabaseSync(path, { readOnly: true })
  const doc = JSON.stringify(database.prepare("SELECT doc FROM catalog_rows WHERE kind = 'channel'").get())
  database.close()
  for (const secret of ['up-secret', 'up-constant', 'hunter2']) t.notMatch(doc, secret)

  const warned: string[] = []
  const other = at(t, path, 'another secret', null, warned)
  t.match(await channel(other), { sealed: true, status: 'enabled', weight: 7 })
  await channel(other)
  t.match(warned, [/^channel c: sealed under another secret/])
  t.equal(warned.length, 1, 'said once')
  t.strictSame((await apply(other)).channels.updated, ['c'])
  const { sealed, keys, proxy, headers, weight } = await channel(other)
  t.strictSame([sealed, keys[0]?.key, weight], [undefined, 'up-secret', 7])
  t.match(proxy, /hunter2/)
  t.strictSame(headers, CHANNEL.headers)
  t.strictSame(kept(await apply(other)), ['c'], 'and the administrator’s weight stays')
})

t.test('a secret is rotated without a file: both are named for a while', async t => {
  const path = `${t.testdir()}/store.db`
  const first = at(t, path)
  await first.migrate()
  await apply(first)
  const seq = await first.changes.seq()
  const rotating = at(t, path, 'the next secret', SECRET)
  t.equal((await channel(rotating)).keys[0]?.key, 'up-secret')
  await rotating.reseal()
  t.equal(await rotating.changes.seq(), seq, 'nobody reloads for it')
  t.strictSame(kept(await apply(rotating)), [])
  const after = at(t, path, 'the next secret')
  t.equal((await channel(after)).keys[0]?.key, 'up-secret')
  t.equal((await channel(first)).sealed, true)
})

t.test('apply --force on the command line; what is kept is said', async t => {
  const folder = t.testdir({
    'c.yaml': JSON.stringify({ store: 'sqlite:s.db', journal: 'j', admin_token: 'a-long-enough-token' }),
    'cat.yaml': JSON.stringify(FILE),
  })
  const command = commandLine()
  const run = (...args: string[]) => command([...args, '--config', 'c.yaml'], folder)
  await run('apply', 'cat.yaml')
  const database = new DatabaseSync(`${folder}/s.db`)
  database.exec("UPDATE api_keys SET status = 'disabled'")
  const status = () => (database.prepare('SELECT status FROM api_keys').get() as { status: string }).status
  t.match(await run('apply', 'cat.yaml'), { stdout: /^keys\tkept a\/k, 0 unchanged$/m, stderr: /--force/ })
  t.equal(status(), 'disabled')
  t.match((await run('apply', '--force', 'cat.yaml')).stdout, /^keys\tupdated a\/k, 0 unchanged$/m)
  t.equal(status(), 'enabled')
  database.close()
  rmSync(folder, { recursive: true })
})
