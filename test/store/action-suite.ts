/** The log of actions: each method that changes something writes its line, which tells before and after and no secret. */
import type { NewUrl } from '../support/databases.ts'
import type { Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import type { LoggedAction } from '../../lib/store/base/actions.ts'
import type { NewEntry } from '../../lib/store/books/entries.ts'
import { MODEL_DEFAULTS } from '../../lib/catalog-file/schema.ts'
import type { Act } from '../../lib/base/people.ts'
import type { Group, Model, Price } from '../../lib/terms/records.ts'
import { channel, limitOf, newKey } from '../support/store.ts'

/** The log names users by their rows, and there is no such user. */
const ACT: Act = {
  actor: { kind: 'user', userId: 7, name: '', ip: '2001:db8::7' },
  operation: 'a.test',
}
const SECRETS = [
  'upstream-credential',
  'another-credential',
  'proxy-password',
  'header-secret',
  'f'.repeat(64),
  'hash-2',
]

const group = (change: Partial<Group> = {}): Group => ({
  name: 'vip',
  multiplier: 500_000,
  rate: null,
  hedgeMs: 0,
  readOns: 256,
  public: false,
  ...change,
})
const model = (price: Price): Model => ({
  ...MODEL_DEFAULTS,
  name: 'm',
  price,
  maxOutput: null,
  defaultOutput: 4096,
  inputFactor: 1_100_000,
})
const entry = (amount: number): NewEntry => ({
  kind: 'adjustment',
  amount: micro(amount),
  reference: `r${amount}`,
  actor: 'x',
  note: 'why',
})

/** What a line says beside its number, its time and its actor; null = there must be none. */
type Said = Pick<LoggedAction, 'before' | 'after'> & { subject: [kind: string, id: string | null] }
type Step = [name: string, change: (store: Store) => Promise<unknown>, said: Said | null]

const accountId = 1
const keyId = 1

const STEPS: Step[] = [
  [
    'an account is made',
    s => s.accounts.create({ name: 'acme', groups: ['vip'], opening: { amount: micro(5_000_000), actor: 'x' } }, ACT),
    {
      subject: ['account', null],
      before: null,
      after: {
        name: 'acme',
        status: 'active',
        groups: ['vip'],
        rate: null,
        budget: null,
        sandbox: false,
        balance: '5.000000',
      },
    },
  ],
  [
    'it is changed: only what differs is said',
    s =>
      s.accounts.update(
        accountId,
        { status: 'banned', groups: ['vip'], budget: { limit: limitOf(9, 'day'), atMs: 0 } },
        ACT,
      ),
    {
      subject: ['account', null],
      before: { status: 'active', budget: null },
      after: { status: 'banned', budget: { amount: '0.000009', every: 'day' } },
    },
  ],
  ['it is written as it was', s => s.accounts.update(accountId, { status: 'banned' }, ACT), null],
  ['nothing is written', s => s.accounts.update(accountId, {}, ACT), null],
  [
    'a key is made',
    s => s.keys.create(newKey(accountId, { hash: 'f'.repeat(64), cap: limitOf(1) }), ACT),
    {
      subject: ['key', null],
      before: null,
      after: {
        name: 'laptop',
        group: 'default',
        status: 'enabled',
        expires_at: null,
        cap: '0.000001',
        allow_ips: null,
        models: null,
        hint: 'sk-…abcd',
      },
    },
  ],
  [
    'it is changed',
    s => s.keys.update(keyId, { name: 'desk', expiresAtMs: Date.UTC(2030, 0), models: ['m'] }, ACT),
    {
      subject: ['key', null],
      before: { name: 'laptop', expires_at: null, models: null },
      after: { name: 'desk', expires_at: '2030-01-01T00:00:00.000Z', models: ['m'] },
    },
  ],
  [
    'it gets another secret',
    s => s.keys.update(keyId, { hash: 'hash-2', hint: 'sk-…wxyz' }, ACT),
    { subject: ['key', null], before: { hint: 'sk-…abcd' }, after: { hint: 'sk-…wxyz', secret: 'changed' } },
  ],
  ['it stays as it is', s => s.keys.update(keyId, { name: 'desk' }, ACT), null],
  [
    'it is deleted',
    s => s.keys.delete(keyId, ACT),
    { subject: ['key', null], before: { name: 'desk', hint: 'sk-…wxyz', cap: '0.000001' }, after: null },
  ],
  ['it is deleted again', s => s.keys.delete(keyId, ACT), null],
  [
    'an entry is booked',
    s => s.entries.add(accountId, entry(3), ACT),
    {
      subject: ['entry', '2'],
      before: null,
      after: { kind: 'adjustment', amount: '0.000003', reference: 'r3', note: 'why', forced: false },
    },
  ],
  ['it is booked again', s => s.entries.add(accountId, entry(3), ACT), null],
  ['a debit of more than there is', s => s.entries.add(accountId, entry(-9_000_000), ACT), null],
  [
    'a forced one',
    s => s.entries.add(accountId, entry(-9_000_000), ACT, true),
    { subject: ['entry', '3'], before: null, after: { amount: '-9.000000', forced: true } },
  ],
  [
    'a group is made',
    s => s.catalogue.putGroup(group(), ACT),
    { subject: ['group', 'vip'], before: null, after: { name: 'vip', multiplier: 0.5, rate: null, hedge: null } },
  ],
  [
    'it is changed',
    s => s.catalogue.putGroup(group({ multiplier: 2_000_000, hedgeMs: 9 }), ACT),
    {
      subject: ['group', 'vip'],
      before: { multiplier: 0.5, hedge: null },
      after: { multiplier: 2, hedge: { after: '9ms' } },
    },
  ],
  ['it stays', s => s.catalogue.putGroup(group({ multiplier: 2_000_000, hedgeMs: 9 }), ACT), null],
  [
    'it is deleted',
    s => s.catalogue.deleteGroup('vip', ACT),
    { subject: ['group', 'vip'], before: { multiplier: 2 }, after: null },
  ],
  ['it is deleted again', s => s.catalogue.deleteGroup('vip', ACT), null],
  [
    'a model is made',
    s => s.catalogue.putModel(model({ input: 21_000_000 }), ACT),
    { subject: ['model', 'm'], before: null, after: { name: 'm', price: { input: 21 }, default_output: 4096 } },
  ],
  [
    'its price is changed',
    s => s.catalogue.editModel('m', there => ({ ...there!, price: { input: 42_000_000 } }), ACT),
    { subject: ['model', 'm'], before: { price: { input: 21 } }, after: { price: { input: 42 } } },
  ],
  ['nothing of it is', s => s.catalogue.editModel('m', () => null, ACT), null],
  [
    'it is deleted',
    s => s.catalogue.deleteModel('m', ACT),
    { subject: ['model', 'm'], before: { price: { input: 42 } }, after: null },
  ],
  [
    'a channel is made',
    s =>
      s.catalogue.putChannel(
        channel({ headers: { 'x-api-key': '=header-secret' }, proxy: 'http://u:proxy-password@p:1' }),
        ACT,
      ),
    {
      subject: ['channel', 'one'],
      before: null,
      after: { name: 'one', headers: { 'x-api-key': '=…' }, proxy: 'http://p:1/', keys: [{ max_concurrency: 0 }] },
    },
  ],
  [
    'its secrets are changed',
    s =>
      s.catalogue.putChannel(
        channel({
          keys: [{ key: 'another-credential', maxConcurrency: 0 }],
          headers: { 'x-api-key': '=header-secret2' },
          proxy: 'http://u:proxy-password2@p:1',
        }),
        ACT,
      ),
    {
      subject: ['channel', 'one'],
      before: {},
      after: { key: 'changed', proxy_credentials: 'changed', secret_headers: 'changed' },
    },
  ],
  [
    'it is deleted',
    s => s.catalogue.deleteChannel('one', ACT),
    { subject: ['channel', 'one'], before: { name: 'one' }, after: null },
  ],
  ['it is deleted again', s => s.catalogue.deleteChannel('one', ACT), null],
]

/** `newUrl` gives nothing each time, not even tables. */
export function actionSuite(t: Test, newUrl: NewUrl): void {
  // The steps name rows by the numbers that a new store gives them.
  const open = async (t: Test): Promise<Store> => {
    const store = openStore(await newUrl(), { secret: 'a test secret' })
    t.teardown(() => store.close())
    await store.migrate()
    return store
  }

  t.test('every change writes its line, and what changes nothing writes none', async t => {
    const store = await open(t)
    let count = 0
    for (const [name, change, said] of STEPS) {
      await change(store)
      const lines = await store.actions.page({ limit: 100 })
      const line = lines[0]
      if (said !== null) count++
      t.equal(lines.length, count, name)
      if (said === null || line === undefined) continue
      t.match(line, { actor: ACT.actor, operation: 'a.test', before: said.before, after: said.after }, name)
      if (said.before !== null && said.after !== null)
        t.strictSame([line.before, line.after], [said.before, said.after], name)
      t.equal(line.subject.kind, said.subject[0], name)
      const { publicId } = (await store.accounts.byId(accountId))!
      const outward = said.subject[0] === 'account' ? publicId : said.subject[1]
      if (outward === null) t.match(line.subject.id, /^[0-9a-z]{20}$/, name)
      else t.equal(line.subject.id, outward, name)
      t.equal(line.accountId, ['account', 'key', 'entry'].includes(said.subject[0]) ? accountId : null, name)
      t.ok(Math.abs(line.atMs - Date.now()) < 60_000, name)
    }
    const all = JSON.stringify(await store.actions.page({ limit: 100 }))
    for (const secret of SECRETS) t.notOk(all.includes(secret), secret)
  })

  t.test('a change that is refused leaves no line', async t => {
    const store = await open(t)
    const { id } = await store.accounts.create({ name: 'acme', groups: [] }, ACT)
    await store.keys.create(newKey(id), ACT)
    const refused: (() => Promise<unknown>)[] = [
      () => store.accounts.create({ name: 'acme', groups: [] }, ACT),
      () => store.keys.create(newKey(id, { hash: 'other' }), ACT),
      () => store.keys.update(99, { name: 'x' }, ACT),
      () => store.accounts.update(99, { groups: [] }, ACT),
      () => store.entries.add(99, entry(1), ACT),
    ]
    for (const change of refused) await t.rejects(change())
    t.equal((await store.actions.page({ limit: 100 })).length, 2)
  })

  t.test('filters and pages, newest first', async t => {
    const store = await open(t)
    const by = (userId: number, operation: string): Act => ({ actor: { ...ACT.actor, userId }, operation })
    const one = await store.accounts.create({ name: 'one', groups: [] }, by(1, 'accounts.create'))
    const two = await store.accounts.create({ name: 'two', groups: [] }, by(2, 'accounts.create'))
    for (let i = 0; i < 5; i++)
      await store.keys.create(newKey(one.id, { name: `k${i}`, hash: `h${i}` }), by(i % 2, 'keys.create'))
    const seqs = async (filter: object) => (await store.actions.page({ limit: 100, ...filter })).map(line => line.seq)
    const all = await seqs({})
    t.same(
      all,
      [...all].sort((a, b) => b - a),
    )
    t.equal(all.length, 7)
    t.same(await seqs({ accountId: two.id }), [all[5]])
    t.same(await seqs({ userId: 2 }), [all[5]])
    t.same(await seqs({ operation: 'accounts.create' }), [all[5], all[6]])
    t.same(await seqs({ accountId: one.id, userId: 1, operation: 'keys.create' }), [all[1], all[3]])
    t.same(await seqs({ subject: { kind: 'account', id: one.publicId } }), [all[6]])
    t.same(await seqs({ limit: 2 }), all.slice(0, 2))
    t.same(await seqs({ limit: 2, beforeSeq: all[1] }), all.slice(2, 4))
  })
}
