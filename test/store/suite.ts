/** What every store must do, whatever it is made of. Two instances of one store stand for two gateways. */

import { databasesFor, type NewUrl } from '../support/databases.ts'
import type { Test } from 'tap'
import { idAt, idMaker } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import { accountPurse, keyPurse, type PurseId } from '../../lib/store/books/purses.ts'
import { StoreConflict } from '../../lib/store/base/errors.ts'
import { MODEL_DEFAULTS } from '../../lib/catalog-file/schema.ts'
import type { UsageRow } from '../../lib/terms/usage-row.ts'
import type { Limit, Offline } from '../../lib/terms/records.ts'
import { channel, fund, limitOf, newKey, SETUP, settlement, topUp, usageRow } from '../support/store.ts'
import { actionSuite } from './action-suite.ts'
import { transferSuite } from './transfer-suite.ts'
import { disputeSuite } from './dispute-suite.ts'
import { entrySuite } from './entry-suite.ts'
import { exportSuite } from './export-suite.ts'
import { keySuite } from './key-suite.ts'
import { payAuditSuite } from './pay-audit-suite.ts'
import { paySuite } from './pay-suite.ts'
import { peopleSuite } from './people-suite.ts'
import { priceSuite } from './price-suite.ts'
import { requestSuite } from './request-suite.ts'
import { statsSuite } from './stats-suite.ts'
import { usageSuite } from './usage-suite.ts'

const SECRET = 'a test secret'

interface Pair {
  one: Store
  two: Store
  url: string
  /** Statements of both by name, since the last clear. */
  ops: Map<string, number>
}

/** What rows of today say beside those of before. */
const RECORDED = {
  priceVersion: 7,
  multiplier: 500_000,
  lines: [
    { model: 'm', priceVersion: 7, list: 'base', tier: 1_000_000, tierName: null, class: 'input', count: 3, price: 9 },
  ],
  held: micro(99),
  cost: micro(2),
  askedMs: 4,
  attempts: [{ channel: 'one', status: 502, error: 'cut', ms: 5 }],
  answerId: 'a-1',
  upstreamKey: 'k-1',
  upstreamId: 'u-1',
  clientRequestId: 'c-1',
  via: 'messages',
} satisfies Partial<UsageRow>

const sorted = (row: object) => Object.fromEntries(Object.entries(row).sort(([a], [b]) => (a < b ? -1 : 1)))

const many = <T>(count: number, fn: (i: number) => T): T[] => Array.from({ length: count }, (_, i) => fn(i))

/** `newUrl` gives a store without data each time. */
export function storeSuite(t: Test, newUrl: NewUrl): void {
  const databases = databasesFor(t, newUrl)
  const { pair } = databases
  const check = (name: string, fn: (t: Test, pair: Pair) => Promise<void>) =>
    t.test(name, async t => {
      const ops = new Map<string, number>()
      const onStatement = (op: string) => void ops.set(op, (ops.get(op) ?? 0) + 1)
      const { one, two, url } = await pair(t, { secret: SECRET, onStatement })
      await Promise.all(['h1', 'h2'].map(id => one.holders.register({ id, host: 'here', beat: 0 })))
      await fn(t, { one, two, url, ops })
    })

  const spent = async (store: Store, id: PurseId) => {
    const [{ spent, leased } = { spent: -1, leased: -1 }] = await store.books.purses([id])
    return { spent, leased }
  }
  const clean = async (t: Test, store: Store, want: object = {}) =>
    t.match(await store.audit(), { ok: true, imbalance: 0, broken: [], ...want }, 'the books add up')

  t.test('two make the tables at once', async t => {
    const url = await newUrl()
    const stores = [1, 2].map(() => openStore(url, { secret: SECRET }))
    t.teardown(() => Promise.all(stores.map(store => store.close())))
    await Promise.all(stores.map(store => store.migrate()))
    for (const [i, store] of stores.entries()) await fund(store, `account ${i}`, 5)
    for (const store of stores) t.match(await store.audit(), { ok: true, accounts: 2 })
  })

  check('migrating again changes nothing', async (t, { one }) => {
    await fund(one, 'demo', 5)
    await one.migrate()
    await one.ping()
    t.equal((await one.accounts.list()).length, 1)
  })

  check('accounts', async (t, { one, two }) => {
    const a = await one.accounts.create({ name: 'Demo', groups: ['default', '组'] }, SETUP)
    t.strictSame(a, {
      id: a.id,
      publicId: a.publicId,
      name: 'Demo',
      status: 'active',
      groups: ['default', '组'],
      rate: null,
      budget: null,
      sandbox: false,
    })
    t.strictSame(await two.accounts.byId(a.id), a)
    t.strictSame(await two.accounts.byName('Demo'), a)
    t.match(a.publicId, /^[0-9a-z]{20}$/)
    t.strictSame(await two.accounts.byPublicId(a.publicId), a)
    t.equal(await two.accounts.byName('demo'), null, 'names differ by case')
    await t.rejects(two.accounts.create({ name: 'Demo', groups: [] }, SETUP), StoreConflict)
    const rate = { requests: 3, minutes: 2 }
    t.strictSame(await two.accounts.update(a.id, { status: 'banned', rate }, SETUP), { ...a, status: 'banned', rate })
    t.strictSame(await one.accounts.update(a.id, { rate: null, groups: [] }, SETUP), {
      ...a,
      status: 'banned',
      groups: [],
    })
    await t.rejects(one.accounts.update(a.id + 1, { groups: [] }, SETUP), StoreConflict)
    t.strictSame(await one.books.purses([accountPurse(a.id)]), [{ id: `a${a.id}`, credit: 0, spent: 0, leased: 0 }])
  })

  check('keys', async (t, { one, two }) => {
    const { account, key } = await fund(one, 'demo', 9, 4)
    t.strictSame(await two.keys.find(key.hash), {
      key,
      account,
      keyPurse: { id: keyPurse(key.id), credit: 4, spent: 0, leased: 0 },
      accountPurse: { id: accountPurse(account.id), credit: 9, spent: 0, leased: 0 },
      endsInMs: null,
    })
    t.equal(await two.keys.find('unknown'), null)
    await t.rejects(two.keys.create(newKey(account.id, { hash: 'other' }), SETUP), StoreConflict, 'same name')
    await t.rejects(two.keys.create(newKey(account.id, { name: 'other' }), SETUP), StoreConflict, 'same secret')
    const change = {
      allowIps: ['::1'],
      models: ['m'],
      expiresAtMs: 1e13,
      status: 'disabled',
      name: '手机',
    } as const
    const changed = { ...key, ...change, cap: null, allowIps: ['::1'], models: ['m'] }
    t.strictSame(
      await two.keys.update(
        key.id,
        { ...change, cap: { limit: null, atMs: 0 }, allowIps: ['::1'], models: ['m'] },
        SETUP,
      ),
      changed,
    )
    t.strictSame(await one.keys.byId(key.id), changed)
    t.strictSame(await one.keys.byName(account.id, '手机'), changed)
    t.equal((await one.books.purses([keyPurse(key.id)]))[0]?.credit, null, 'the cap is the purse')
    t.equal(await one.keys.delete(key.id, SETUP), true)
    t.equal(await two.keys.delete(key.id, SETUP), false)
    t.strictSame([await one.keys.list(), await one.keys.byId(key.id), await one.keys.find(key.hash)], [[], null, null])
    await t.rejects(one.keys.update(key.id, { name: 'x' }, SETUP), StoreConflict)
    const again = await one.keys.create(newKey(account.id, { name: '手机' }), SETUP)
    t.strictSame(await two.keys.list(account.id), [again], 'its name and secret are free again')
    t.strictSame(await two.keys.names([key.id, again.id]), new Map([key.id, again.id].map(id => [id, '手机'])))
  })

  check('catalogue', async (t, { one, two, url }) => {
    const group = { name: 'default', multiplier: 500_000, rate: null, hedgeMs: 0, readOns: 256, public: false }
    const model = {
      name: 'm',
      price: { input: 1 },
      maxOutput: null,
      defaultOutput: 4096,
      inputFactor: 1_100_000,
      ...MODEL_DEFAULTS,
    }
    await one.catalogue.putGroup(group, SETUP)
    await one.catalogue.putModel(model, SETUP)
    await one.catalogue.putChannel(channel(), SETUP)
    t.strictSame(await two.catalogue.read(), {
      groups: [group],
      models: [model],
      channels: [channel()],
      priceVersions: new Map([['m', 2]]),
      offlineSince: new Map(),
    })
    const seq = await one.changes.seq()
    await Promise.all([
      two.catalogue.putGroup(group, SETUP),
      two.catalogue.putModel(model, SETUP),
      two.catalogue.putChannel(channel(), SETUP),
    ])
    t.equal(await one.changes.seq(), seq, 'the same again is no change')
    await two.catalogue.putChannel(
      channel({
        keys: [
          { key: 'new', maxConcurrency: 3 },
          { key: 'other', maxConcurrency: 0 },
        ],
      }),
      SETUP,
    )
    t.strictSame(await one.changes.since(seq), [{ seq: seq + 1, kind: 'catalog', ref: '' }])
    t.same(
      (await one.catalogue.read()).channels[0]?.keys.map(one => one.key),
      ['new', 'other'],
    )
    const warnings: string[] = []
    const stranger = openStore(url, { secret: 'another', onWarning: text => warnings.push(text) })
    t.teardown(() => stranger.close())
    t.match((await stranger.catalogue.read()).channels, [
      { name: 'one', keys: [{ key: '' }, { key: '' }], status: 'enabled', sealed: true },
    ])
    t.match(warnings, [/channel one: sealed under another secret/])
    t.equal(await one.catalogue.deleteChannel('one', SETUP), true)
    t.equal(await one.catalogue.deleteChannel('one', SETUP), false)
    t.strictSame(
      [await two.catalogue.deleteModel('m', SETUP), await two.catalogue.deleteGroup('default', SETUP)],
      [true, true],
    )
    t.strictSame(await one.catalogue.read(), {
      groups: [],
      models: [],
      channels: [],
      priceVersions: new Map(),
      offlineSince: new Map(),
    })
  })

  check('since when models are offline', async (t, { one, two }) => {
    const model = (name: string, offline: Offline, family: string | null = null) => ({
      name,
      price: { input: 1 },
      maxOutput: null,
      defaultOutput: 4096,
      inputFactor: 1_100_000,
      ...MODEL_DEFAULTS,
      family,
      offline,
    })
    const since = async (name: string) => Object.fromEntries((await two.catalogue.read()).offlineSince.get(name) ?? [])
    await one.catalogue.putModel(model('m', []), SETUP)
    t.strictSame(await since('m'), {})
    await one.catalogue.putModel(model('m', ['a', '__proto__']), SETUP)
    const first = await since('m')
    t.same(Object.keys(first), ['a', '__proto__'])
    t.match(first['a'], /^\d{13}$/)
    await one.catalogue.putModel(model('m', ['a', 'b'], 'beta'), SETUP)
    const second = await since('m')
    t.same([Object.keys(second), second['a']], [['a', 'b'], first['a']], 'an entry that stays keeps its time')
    const seq = await one.changes.seq()
    await two.catalogue.putModel(model('m', ['a', 'b'], 'beta'), SETUP)
    t.equal(await one.changes.seq(), seq, 'the same again is no change')
    t.same((await two.catalogue.read()).models, [model('m', ['a', 'b'], 'beta')])
    await one.catalogue.putModel(model('m', true), SETUP)
    const third = await since('m')
    t.same(Object.keys(third), ['*'])
    await one.catalogue.putModel(model('m', ['b']), SETUP)
    t.strictSame(await since('m'), { b: third['*'] }, 'it was offline there before, too')
    await one.catalogue.putModel(model('m', []), SETUP)
    t.strictSame(await since('m'), {})
  })

  check('changes', async (t, { one, two }) => {
    const registered = await one.changes.since(0)
    t.same(
      registered?.map(({ seq, kind }) => `${seq} ${kind}`),
      ['1 holder', '2 holder'],
      'each process that registers is told of',
    )
    t.same(registered?.map(({ ref }) => ref).sort(), ['h1', 'h2'], 'whichever was first')
    const { account, key } = await fund(one, 'demo', 1)
    const start = await two.changes.seq()
    await two.keys.update(key.id, { hash: 'new-hash' }, SETUP)
    await one.books.recall(accountPurse(account.id))
    await topUp(one, account.id, 1, 'more')
    t.strictSame(
      (await one.changes.since(start))?.map(({ kind, ref }) => `${kind} ${ref}`),
      ['key new-hash', `key ${key.hash}`, `recall a${account.id}`, `account ${account.id}`],
    )
    await Promise.all(many(20, i => (i % 2 ? one : two).books.recall('a1')))
    const seqs = (await two.changes.since(start + 4))!.map(change => change.seq)
    t.strictSame(
      seqs,
      many(20, i => start + 5 + i),
      'no gaps, in order',
    )
    t.equal(await one.changes.since(start + 1_000), null, 'a number that was never given')
  })

  check('top-ups count once', async (t, { one, two }) => {
    const { account } = await fund(one, 'demo', 0)
    const results = await Promise.all(many(8, i => topUp(i % 2 ? one : two, account.id, 7, 'r')))
    t.strictSame(results.sort(), ['created', ...many(7, () => 'same')])
    const mixed = await Promise.all(many(6, i => topUp(i % 2 ? one : two, account.id, 1 + (i % 2), 'mixed')))
    t.equal(mixed.filter(result => result === 'created').length, 1)
    t.equal(mixed.filter(result => result === 'conflict').length, 3)
    t.equal(await topUp(one, account.id, 8, 'r'), 'conflict')
    await t.rejects(topUp(one, account.id + 1, 8, 'r'), StoreConflict)
    await t.rejects(topUp(one, account.id, Number.MAX_SAFE_INTEGER, 'all'), StoreConflict)
    await clean(t, one)
  })

  check('leases', async (t, { one }) => {
    const { account, key } = await fund(one, 'demo', 1_000)
    const purse = accountPurse(account.id)
    // need, want, partial → granted; on a purse of 1,000 that shrinks with each.
    for (const [need, want, partial, granted] of [
      [10, 20, false, 20],
      [10, 1_000, false, 131],
      [849, 849, false, 849],
      [1, 5, false, 0],
      [1, 5, true, 0],
    ] as const) {
      const grant = await one.books.lease(purse, 'h1', micro(need), micro(want), partial)
      t.equal(grant.granted, granted, `need ${need}, want ${want}, ${partial ? 'partial' : 'whole'}`)
      t.equal(grant.elsewhere.leased, 0)
    }
    t.match(await one.books.lease(purse, 'h2', micro(1), micro(1), false), {
      granted: 0,
      elsewhere: { leased: 1_000, held: 0 },
      purse: { id: purse, credit: 1_000, spent: 0, leased: 1_000 },
    })
    await one.books.giveBack(purse, 'h1', micro(30))
    t.match(
      await one.books.lease(purse, 'h2', micro(50), micro(60), true),
      { granted: 30 },
      'partial takes what is there',
    )
    await one.books.giveBack(purse, 'h2', micro(1_000_000))
    t.strictSame(await spent(one, purse), { spent: 0, leased: 970 }, 'never more than the lease has')
    t.match(await one.books.lease(keyPurse(key.id), 'h1', micro(5), micro(1e12), false), { granted: 1e12 }, 'no limit')
    await t.rejects(one.books.lease(purse, 'nobody', micro(1), micro(1), false), StoreConflict)
    await t.rejects(one.books.lease('a999', 'h1', micro(1), micro(1), false), StoreConflict)
    t.strictSame(await spent(one, purse), { spent: 0, leased: 970 }, 'refusals leave no trace')
    await clean(t, one, { leased: 970 })
  })

  check('parallel leases never promise more than there is', async (t, { one, two }) => {
    const { account } = await fund(one, 'demo', 1_000)
    const purse = accountPurse(account.id)
    const grants = await Promise.all(
      many(60, i => (i % 2 ? one : two).books.lease(purse, i % 2 ? 'h1' : 'h2', micro(30), micro(30 + i), i % 3 === 0)),
    )
    const total = grants.reduce((sum, grant) => sum + grant.granted, 0)
    t.ok(total <= 1_000 && total > 970, `granted ${total}`)
    t.strictSame(await spent(one, purse), { spent: 0, leased: total })
    await clean(t, one)
  })

  check('settling', async (t, { one, url, ops }) => {
    const { account, key } = await fund(one, 'demo', 1_000, 500)
    const [a, k] = [accountPurse(account.id), keyPurse(key.id)]
    await one.books.lease(a, 'h1', micro(40), micro(40), false)
    await one.books.lease(k, 'h1', micro(40), micro(40), false)
    const of = (id: string, charge: number, fromAccount = charge, fromKey = charge, holder = 'h1') =>
      settlement(usageRow(id, key, charge), holder, fromAccount, fromKey)
    ops.clear()
    t.equal((await one.books.settle([of('r1', 10), of('r2', 5)])).applied, 2)
    // an engine with a clock of its own is asked for the time
    const fewest = url.startsWith('sqlite:') ? 4 : 5
    t.equal(ops.get('settle'), fewest, 'as few statements as possible')
    t.strictSame(
      [await spent(one, a), await spent(one, k)],
      many(2, () => ({ spent: 15, leased: 25 })),
    )
    ops.clear()
    t.equal((await one.books.settle([of('r3', 10, 4, 10)])).applied, 1, 'beyond its hold')
    t.equal(ops.get('settle'), fewest + 1, 'one more')
    t.strictSame(await spent(one, a), { spent: 25, leased: 21 })
    t.equal((await one.books.settle([of('r1', 10), of('r2', 5)])).applied, 0, 'again')
    t.equal(
      (await one.books.settle([of('r3', 10, 4), of('r4', 1), of('r4', 1)])).applied,
      1,
      'partly again, and twice in one batch',
    )
    t.strictSame(await spent(one, a), { spent: 26, leased: 20 })
    t.equal((await one.books.settle([of('r5', 30)])).applied, 1, 'more than the lease has')
    t.strictSame(
      [await spent(one, a), await spent(one, k)],
      [
        { spent: 56, leased: 0 },
        { spent: 56, leased: 0 },
      ],
    )
    t.equal(
      (await one.books.settle([of('r6', 7, 7, 7, 'h2'), of('r7', 0, 0, 0, 'h3')])).applied,
      2,
      'without any lease',
    )
    t.strictSame(await spent(one, a), { spent: 63, leased: 0 })
    t.equal((await one.books.settle([of('r8', 2_000, 0, 0)])).applied, 1, 'below zero')
    t.equal((await one.books.settle([])).applied, 0)
    await clean(t, one, { credits: 1_000, charges: 2_063, balances: -1_063, leased: 0 })
  })

  check('a large batch, settled by two at once', async (t, { one, two }) => {
    const people = await Promise.all(many(5, i => fund(one, `demo${i}`, 1e9)))
    for (const { key } of people)
      await one.books.lease(accountPurse(key.accountId), 'h1', micro(1e6), micro(1e6), false)
    const id = idMaker(() => 1_000)
    const batch = many(1_000, i => settlement(usageRow(id(), people[i % 5]!.key, 1 + i), 'h1', i))
    const counts = await Promise.all([
      one.books.settle(batch),
      two.books.settle(batch),
      two.books.settle(batch.slice(300, 700)),
    ])
    t.equal(
      counts.reduce((sum, { applied }) => sum + applied, 0),
      1_000,
      `each once: ${JSON.stringify(counts.map(({ applied }) => applied))}`,
    )
    await clean(t, one, { charges: 500_500, leased: 5e6 - 499_500 })
  })

  check('leases, gifts back and settlements of two at once', async (t, { one, two }) => {
    const people = await Promise.all(many(3, i => fund(one, `demo${i}`, 1e6)))
    const id = idMaker(() => 1_000)
    let charged = 0
    await Promise.all(
      [one, two].map(async (store, s) => {
        const holder = `h${s + 1}`
        await Promise.all(
          many(24, async i => {
            const { key } = people[i % 3]!
            const purse = accountPurse(key.accountId)
            const { granted } = await store.books.lease(purse, holder, micro(100), micro(150), false)
            const charge = Math.floor(granted / 2) + (i % 5 === 0 ? 200 : 0)
            charged += charge
            await store.books.settle([settlement(usageRow(id() + s, key, charge), holder, Math.floor(granted / 2))])
            await store.books.giveBack(purse, holder, micro(granted - Math.floor(granted / 2)))
          }),
        )
      }),
    )
    await clean(t, one, { charges: charged, leased: 0 })
  })

  check('caps and budgets that renew', async (t, { one, two }) => {
    const { account, key } = await fund(one, 'demo', 10_000)
    const { key: another } = await fund(one, 'another', 100)
    const END = 495_600 * 3_600_000
    const first: PurseId = `k${key.id}.d495600`
    const second: PurseId = `k${key.id}.d495624`
    const month: PurseId = `b${account.id}.m495600`
    const forEver: PurseId = `b${account.id}`
    const set = (amount: number, atMs = END - 1) =>
      one.keys.update(key.id, { cap: { limit: limitOf(amount, 'day'), atMs } }, SETUP)
    t.strictSame((await set(100)).cap, limitOf(100, 'day'))
    t.strictSame((await two.keys.find(key.hash))?.key.cap, limitOf(100, 'day'))
    t.equal((await one.books.purses([keyPurse(key.id)]))[0]?.credit, null, 'the purse for ever has no limit then')

    const ask = (i: number) => (i % 2 ? one : two).books.lease(first, i % 2 ? 'h1' : 'h2', micro(10), micro(10), false)
    const grants = await Promise.all(many(12, ask))
    const granted = grants.reduce((sum, grant) => sum + grant.granted, 0)
    t.equal(granted, 100, 'made once, by whoever comes first')
    t.match(await one.books.purses([first, second]), [{ id: first, credit: 100, leased: 100 }])
    await one.books.lease(second, 'h1', micro(5), micro(5), false)

    const from = await one.changes.seq()
    await set(70, END)
    t.match(await one.books.purses([first, second]), [{ credit: 100 }, { credit: 70 }], 'what is over keeps its amount')
    t.ok((await one.changes.since(from))!.some(({ kind, ref }) => kind === 'recall' && ref === second))
    await set(120)
    t.match(await one.books.purses([first, second]), [{ credit: 120 }, { credit: 120 }])
    const changed = { ...limitOf(7, 'month'), before: { every: 'day', untilMs: END } } as const
    t.strictSame((await one.keys.update(key.id, { cap: { limit: changed, atMs: END - 1 } }, SETUP)).cap, changed)
    t.strictSame((await two.keys.byId(key.id))?.cap, changed)

    const budget = (limit: Limit | null) => one.accounts.update(account.id, { budget: { limit, atMs: 0 } }, SETUP)
    t.strictSame((await budget(limitOf(40, 'month'))).budget, limitOf(40, 'month'))
    t.match(await one.books.lease(month, 'h1', micro(40), micro(40), false), { granted: 40 })
    const limits = [
      { purse: first, fromLease: micro(20) },
      { purse: month, fromLease: micro(30) },
    ]
    await one.books.settle([{ ...settlement(usageRow('r1', key, 30), 'h1', 0), limits }])
    const spentNow = await one.books.purses([first, month, keyPurse(key.id)])
    t.match(spentNow, [{ spent: 30 }, { spent: 30, leased: 10 }, { spent: 30 }])
    await budget(limitOf(35))
    t.match(await one.books.purses([forEver]), [{ credit: 35, spent: 30 }], 'for ever: all that was ever spent')
    t.match(await one.books.lease(forEver, 'h1', micro(6), micro(6), false), { granted: 0 })
    t.equal((await budget(null)).budget, null)
    const budgeted = await one.accounts.create({ name: 'budgeted', groups: [], budget: limitOf(9) }, SETUP)
    t.strictSame((await two.accounts.byId(budgeted.id))?.budget, limitOf(9))
    t.match(await one.books.lease(`b${budgeted.id}`, 'h1', micro(9), micro(9), false), { granted: 9 })
    await t.rejects(one.books.lease('b99999.d1', 'h1', micro(1), micro(1), false), StoreConflict)
    await clean(t, one)

    t.equal(await one.books.forgetPurses(END), 0, 'it ended at that moment, not before')
    t.equal(await one.books.forgetPurses(END + 1), 0, 'it is leased')
    for (const holder of ['h1', 'h2']) while (!(await one.holders.bury(holder)));
    t.equal(await two.books.forgetPurses(END + 1), 2)
    t.match(await one.books.purses([first, second, month]), [{ id: second }])
    const late = { ...settlement(usageRow('r2', key, 4), 'h1', 0), limits: [{ purse: first, fromLease: micro(4) }] }
    await one.books.settle([late])
    t.match(await one.books.purses([keyPurse(key.id)]), [{ spent: 34 }], 'a charge that comes even later')
    await clean(t, one)

    const wrong = [{ purse: second, fromLease: micro(0) }] // not of the key that is charged
    await one.books.settle([{ ...settlement(usageRow('r3', another, 50), 'h1', 0), limits: wrong }])
    t.match(await one.audit(), { ok: false, imbalance: 16, broken: [account.id] }, 'more than the key has spent')
  })

  check('holders', async (t, { one, two }) => {
    t.strictSame(await two.holders.list(), [
      { id: 'h1', host: 'here', beat: 0 },
      { id: 'h2', host: 'here', beat: 0 },
    ])
    const { account, key } = await fund(one, 'demo', 100)
    const purse = accountPurse(account.id)
    await one.books.lease(purse, 'h1', micro(60), micro(60), false)
    await one.books.settle([settlement(usageRow('r1', key, 10), 'h1', 10)])
    t.equal(await one.holders.beat('h1'), true)
    await two.holders.bury('h1', 0)
    t.equal(await one.holders.beat('h1'), true, 'who has raised its counter since it was read lives')
    await Promise.all([one.holders.bury('h1', 2), two.holders.bury('h1')])
    t.equal(await one.holders.beat('h1'), false, 'tells the buried')
    t.strictSame(
      (await two.holders.list()).map(h => h.id),
      ['h2'],
    )
    t.strictSame(await spent(one, purse), { spent: 10, leased: 0 }, 'the lease went back')
    await one.books.giveBack(purse, 'h1', micro(50))
    t.strictSame(await spent(one, purse), { spent: 10, leased: 0 }, 'and not twice')
    t.equal((await one.books.settle([settlement(usageRow('r2', key, 20), 'h1', 20)])).applied, 1)
    t.strictSame(await spent(one, purse), { spent: 30, leased: 0 }, 'a late settlement is charged in full')
    await t.rejects(one.books.lease(purse, 'h1', micro(1), micro(1), false), StoreConflict)
    await clean(t, one)
  })

  check('what is held open', async (t, { one, two }) => {
    const people = await Promise.all(many(3, i => fund(one, `demo${i}`, 100)))
    const [a, b, c] = people.map(({ account }) => accountPurse(account.id)) as [PurseId, PurseId, PurseId]
    for (const purse of [a, b, c]) await one.books.lease(purse, 'h1', micro(50), micro(50), false)
    await two.books.lease(a, 'h2', micro(50), micro(50), false)
    await one.holders.reportHeld(
      'h1',
      new Map([
        [b, micro(3)],
        [a, micro(7)],
      ]),
    )
    await two.holders.reportHeld('h2', new Map([[a, micro(2)]]))
    t.strictSame(
      await one.holders.heldByOthers(null, []),
      new Map([
        [a, 9],
        [b, 3],
      ]),
    )
    t.strictSame(await two.holders.heldByOthers([a, c], ['h2', 'h9']), new Map([[a, 7]]))
    await one.holders.reportHeld('h1', new Map([[c, micro(1)]]))
    t.strictSame(await two.holders.heldByOthers(null, ['h2']), new Map([[c, 1]]), 'the last report counts')
  })

  for (const name of ['rateWindows', 'places'] as const)
    check(`state of accounts that is swapped: ${name}`, async (t, stores) => {
      const [one, two] = [stores.one[name], stores.two[name]]
      t.equal(await one.read(1), null)
      const first = await Promise.all([one.swap(1, 0, 'a'), two.swap(1, 0, 'a')])
      t.strictSame(first.sort(), [false, true])
      t.strictSame(await two.read(1), { version: 1, state: 'a' })
      t.equal(await two.swap(1, 1, '界'), true)
      t.equal(await one.swap(1, 1, 'c'), false)
      t.strictSame(await one.read(1), { version: 2, state: '界' })
    })

  check('usage', async (t, { one }) => {
    const { key } = await fund(one, 'demo', 100)
    const other = (await fund(one, 'other', 100)).key
    const at = (ms: number, n: number) => `${idAt(ms)}node00${String(n).padStart(5, '0')}`
    const rows = many(10, i =>
      usageRow(at(1_000 + i, i), i % 2 ? key : other, i, {
        model: i < 5 ? 'm1' : 'm2',
        firstByteMs: i === 0 ? null : 3,
      }),
    )
    rows[3] = { ...rows[3]!, ...RECORDED, status: 502, end: 'upstream_cut', group: '组', channel: 'two' }
    await one.books.settle(rows.map(row => settlement(row, 'h1', 0)))
    const pick = async (filter: object) => (await one.usage.page({ limit: 100, ...filter })).map(row => row.charge)
    const booked = await one.usage.page({ limit: 100 })
    t.strictSame(
      booked.map(({ seq: _, bookedAtMs: __, outcome: ___, ...row }) => sorted(row)),
      rows.toReversed().map(sorted),
      'whole rows, newest first',
    )
    const now = (await one.now()) ?? Date.now()
    t.ok(
      booked.every(({ bookedAtMs }) => Math.abs(bookedAtMs - now) < 60_000),
      'with the time of the store',
    )
    t.strictSame(
      booked.map(({ seq }) => seq),
      booked.map((_, i) => booked[0]!.seq - i),
      'and their number',
    )
    const ofKey = await pick({ keyId: key.id })
    t.ok(ofKey.length > 0)
    t.strictSame(await pick({ keyId: key.id, accountId: key.accountId }), ofKey, 'a key and its account')
    t.strictSame(await pick({ keyId: key.id, accountId: key.accountId + 1_000 }), [], 'and another account')
    for (const [filter, charges] of [
      [{ limit: 2 }, [9, 8]],
      [{ accountId: key.accountId }, [9, 7, 5, 3, 1]],
      [{ keyId: other.id, limit: 2, after: at(1_006, 6) }, [4, 2]],
      [{ model: 'm1', accountId: key.accountId }, [3, 1]],
      [{ fromMs: 1_003, toMs: 1_005 }, [4, 3]],
      [{ requestId: at(1_004, 4) }, [4]],
      [{ requestId: at(1_004, 4), keyId: key.id }, []],
      [{ after: at(1_001, 1) }, [0]],
      [{ model: 'm2', limit: 2, after: at(1_009, 9) }, [8, 7]],
      [{ model: 'm1', keyId: key.id, after: at(1_003, 3) }, [1]],
      [{ group: '组' }, [3]],
      [{ channel: 'two', protocol: 'chat', accountId: key.accountId }, [3]],
      [{ channel: 'two', fromMs: 1_004 }, []],
      [{ channel: 'two', toMs: 1_003 }, []],
      [{ outcome: 'upstream' }, [3]],
      [{ outcome: 'client' }, []],
      [{ protocol: 'images' }, []],
    ] as const) {
      t.strictSame(await pick(filter), charges, JSON.stringify(filter))
      const { limit = 0, ...rest } = filter as { limit?: number }
      const slices = await Array.fromAsync(one.usage.slices(rest))
      if (limit === 0)
        t.strictSame(
          slices.flat().map(row => row.charge),
          charges,
          'exported the same',
        )
    }
  })

  check('rows that counted nothing are known again, beside new ones', async (t, { one, two }) => {
    const { key } = await fund(one, 'demo', 1_000)
    const nothing = { input: 0, cache_read: 0, cache_write_5m: 0, cache_write_1h: 0, output: 0, images: 0 }
    const [first, second] = ['r1', 'r2'].map(id => settlement(usageRow(id, key, 7, nothing), 'h1', 0))
    t.match(await one.books.settle([first!]), { applied: 1, repeated: [] })
    t.match(await two.books.settle([first!, second!]), { applied: 1, repeated: [first!] })
    const other = settlement(usageRow('r1', key, 7, { ...nothing, output: 1 }), 'h1', 0)
    t.match(await one.books.settle([other]), { applied: 0, clashing: [other] })
    await clean(t, one, { charges: 14 })
  })

  check('pruning leaves the books true', async (t, { one, two }) => {
    const { key } = await fund(one, 'demo', 1_000)
    const other = (await fund(one, 'other', 1_000)).key
    const rows = many(30, i => usageRow(`${idAt(i)}node0000000`, i % 3 ? key : other, 1 + i))
    await one.books.settle(rows.map(row => settlement(row, 'h1', 0)))
    const gone = async (store: Store): Promise<number> => {
      const { unsure, repeated } = await store.books.settle(
        rows.map(row => settlement(row, 'h1', 0)),
        true,
      )
      t.equal(unsure.length + repeated.length, 30)
      return unsure.length
    }
    t.equal(await gone(one), 0)
    t.equal(await one.usage.prune(20, 8), 8)
    t.equal(await gone(two), 8, 'whose rows may be gone')
    await clean(t, one, { charges: 465 })
    const both = await Promise.all([one.usage.prune(20, 8), two.usage.prune(20, 8)])
    t.strictSame(both.sort(), [4, 8])
    t.equal(await one.usage.prune(20, 8), 0)
    t.equal(await gone(one), 20)
    t.equal(await one.usage.prune(5, 8), 0)
    t.equal(await gone(one), 20)
    t.strictSame(
      (await one.usage.page({ limit: 100 })).map(row => row.charge),
      many(10, i => 30 - i),
    )
    t.equal((await one.books.purses([accountPurse(other.accountId)]))[0]?.spent, 145)
    await clean(t, two, { charges: 465 })
  })

  statsSuite(check)
  usageSuite(t, databases)
  t.test('requests and refusals of an account', async t => requestSuite(t, databases))
  t.test('exports', async t => exportSuite(t, newUrl))
  t.test('people', async t => peopleSuite(t, databases))
  t.test('entries', async t => entrySuite(t, databases))
  t.test('disputes', async t => disputeSuite(t, databases))
  t.test('the log of actions', async t => actionSuite(t, newUrl))
  t.test('payments', async t => paySuite(t, databases))
  t.test('transfers', async t => transferSuite(t, databases))
  t.test('payments, audited', async t => payAuditSuite(t, newUrl))
  t.test('keys, their secrets and their uses', async t => keySuite(t, databases))
  t.test('versions of prices', async t => priceSuite(t, databases))
}
