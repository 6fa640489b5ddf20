/** What every store must do with keys beside making and changing them: other secrets, last uses, pages, kept lists. */
import type { Databases } from '../support/databases.ts'
import type { Test } from 'tap'
import type { Store } from '../../lib/store/store.ts'
import {
  KEY_ORDERS,
  type KeyCondition,
  type KeyFilter,
  type KeyOrder,
  type KeyPlace,
} from '../../lib/store/accounts/key-list.ts'
import { MOST_OLD_SECRETS } from '../../lib/store/accounts/key-rows.ts'
import { StoreConflict, StoreFull } from '../../lib/store/base/errors.ts'
import { micro, ZERO } from '../../lib/base/money.ts'
import type { Act } from '../../lib/base/people.ts'
import { type Every, periodAt, periodName } from '../../lib/base/periods.ts'
import { keyPurse, limitPurse } from '../../lib/store/books/purses.ts'
import type { Limit } from '../../lib/terms/records.ts'
import { fund, limitOf, newKey, SETUP, settlement, usageRow } from '../support/store.ts'
import { until } from '../support/wait.ts'

const HOUR_MS = 3_600_000
/** The log names users by their rows, and there is no such user. */
const BY_ANN: Act = { actor: { kind: 'user', userId: 7, name: '', ip: '192.0.2.7' }, operation: 'test.setup' }
const secret = (name: string) => ({ hash: `hash-${name}`, hint: `sk-…${name}` })

export function keySuite(t: Test, { pair }: Databases): void {
  const check = (name: string, fn: (t: Test, one: Store, two: Store, ops: string[]) => Promise<void>) =>
    t.test(name, async t => {
      const ops: string[] = []
      const { one, two } = await pair(t, { secret: 'x', onStatement: op => ops.push(op) })
      await fn(t, one, two, ops)
    })

  const changedKeys = async (store: Store, seq: number) =>
    ((await store.changes.since(seq)) ?? []).filter(({ kind }) => kind === 'key').map(({ ref }) => ref)

  check('another secret: the old one works until its time is over', async (t, one, two) => {
    const { key } = await fund(one, 'demo', 9)
    const seq = await one.changes.seq()
    const rolled = await one.keys.roll(key.id, secret('b'), HOUR_MS, SETUP)
    t.strictSame(rolled.key, { ...key, ...secret('b') })
    t.ok(Math.abs((rolled.oldSecretEndsAtMs as number) - Date.now() - HOUR_MS) < 60_000)
    t.match(await two.keys.find('hash-b'), { key: rolled.key, endsInMs: null })
    const old = await two.keys.find(key.hash)
    t.match(old, { key: rolled.key, account: { name: 'demo' }, accountPurse: { credit: 9 } })
    t.ok((old?.endsInMs as number) > HOUR_MS - 60_000 && (old?.endsInMs as number) <= HOUR_MS)
    t.same((await changedKeys(two, seq)).sort(), [key.hash, 'hash-b'].sort(), 'every process hears of both')
    const [line] = await one.actions.page({ limit: 1 })
    t.strictSame(line?.before, { hint: key.hint })
    t.match(line?.after, { hint: 'sk-…b', secret: 'changed', old_secret_ends_at: /^\d{4}-/ })
    t.notMatch(JSON.stringify(line), /hash/)

    await two.keys.roll(key.id, secret('c'), 1, SETUP)
    await until('the second secret has ended', async () => (await one.keys.find('hash-b')) === null)
    t.match(await one.keys.find('hash-c'), { endsInMs: null })
    t.not(await one.keys.find(key.hash), null, 'the first one has its own end')

    const before = await one.changes.seq()
    t.equal((await one.keys.roll(key.id, secret('d'), 0, SETUP)).oldSecretEndsAtMs, null)
    t.strictSame(
      await Promise.all([key.hash, 'hash-b', 'hash-c'].map(hash => two.keys.find(hash))),
      [null, null, null],
      'without grace all earlier secrets end',
    )
    t.same(new Set(await changedKeys(two, before)), new Set([key.hash, 'hash-b', 'hash-c', 'hash-d']))
  })

  check(
    'many keys are looked up at once: each finds its own, and invented ones cost next to no statements',
    async (t, one, two, ops) => {
      const { key } = await fund(one, 'demo', 9)
      await one.keys.roll(key.id, secret('b'), HOUR_MS, SETUP)
      const { key: gone } = await fund(one, 'gone', 9)
      await one.keys.delete(gone.id, SETUP)
      ops.length = 0
      const invented = Array.from({ length: 100 }, (_, i) => `none-${i}`)
      const asked = ['hash-b', ...invented, key.hash, gone.hash, 'hash-b']
      const found = await Promise.all(asked.map(hash => two.keys.find(hash)))
      t.same(
        found.flatMap((one, i) => (one === null ? [] : [[asked[i], one.key.id, one.endsInMs === null]])),
        [
          ['hash-b', key.id, true],
          [key.hash, key.id, false],
          ['hash-b', key.id, true],
        ],
      )
      t.same(
        ops,
        Array(8).fill('findKey'),
        'two for each that is there, one for that which was deleted, and one for all that waited',
      )
    },
  )

  check('how many secrets may work at once', async (t, one) => {
    const { key } = await fund(one, 'demo', 9)
    for (let i = 0; i < MOST_OLD_SECRETS; i++) await one.keys.roll(key.id, secret(`r${i}`), HOUR_MS, SETUP)
    await t.rejects(one.keys.roll(key.id, secret('more'), HOUR_MS, SETUP), StoreFull)
    t.match(await one.keys.byId(key.id), secret(`r${MOST_OLD_SECRETS - 1}`), 'a refusal changes nothing')
    await one.keys.roll(key.id, secret('more'), 0, SETUP)
    await one.keys.roll(key.id, secret('again'), HOUR_MS, SETUP)
    t.not(await one.keys.find('hash-more'), null)
    await t.rejects(one.keys.roll(99, secret('x'), 0, SETUP), StoreConflict)
  })

  check('changes and the end of a key reach its earlier secrets', async (t, one, two) => {
    const { account, key } = await fund(one, 'demo', 9)
    await one.keys.roll(key.id, secret('b'), HOUR_MS, SETUP)
    let seq = await one.changes.seq()
    await two.keys.update(key.id, { status: 'disabled' }, SETUP)
    t.same((await changedKeys(one, seq)).sort(), [key.hash, 'hash-b'].sort())
    t.match(await one.keys.find(key.hash), { key: { status: 'disabled' } })

    await t.rejects(
      one.keys.create(newKey(account.id, { name: 'other' }), SETUP),
      StoreConflict,
      'it works for another key',
    )
    const other = await one.keys.create(newKey(account.id, { name: 'other', hash: 'o' }), SETUP)
    await t.rejects(one.keys.update(other.id, { hash: key.hash }, SETUP), StoreConflict)
    await one.keys.update(key.id, { hash: key.hash }, SETUP)
    t.match(await one.keys.find(key.hash), { key: { id: key.id }, endsInMs: null }, "it is the key's own once more")
    t.equal(await one.keys.find('hash-b'), null)

    await one.keys.roll(key.id, secret('c'), HOUR_MS, SETUP)
    seq = await one.changes.seq()
    await one.keys.delete(key.id, SETUP)
    t.same((await changedKeys(two, seq)).sort(), [key.hash, 'hash-c'].sort())
    t.strictSame(await Promise.all([key.hash, 'hash-c'].map(hash => two.keys.find(hash))), [null, null])
    t.match(await one.keys.create(newKey(account.id), SETUP), { hash: key.hash }, 'and the secret is free')
  })

  check('so many keys, also of two who make them at once', async (t, one, two) => {
    const { account } = await fund(one, 'demo', 0)
    const { account: other } = await fund(two, 'other', 0)
    const make = (store: Store, name: string, accountId = account.id) =>
      store.keys.create(newKey(accountId, { name, hash: `hash ${name}` }), SETUP, { most: 3 })
    const made = await Promise.allSettled([one, two, one, two].map((store, i) => make(store, `k${i}`)))
    t.equal(made.filter(({ status }) => status === 'fulfilled').length, 2, 'beside the one that there was')
    for (const one of made)
      if (one.status === 'rejected') t.match(one.reason, { name: 'StoreFull', words: { zh: /3/ } })
    t.ok(await make(one, 'of others', other.id))
    const [last] = await one.keys.page({ accountId: account.id, limit: 1 })
    await one.keys.delete(last!.id, SETUP)
    t.ok(await make(two, 'again'), 'a key that is deleted makes room')
    t.ok(await one.keys.create(newKey(account.id, { name: 'by an operator', hash: 'o' }), SETUP))
  })

  check('two changes of a secret at once', async (t, one, two) => {
    const { key } = await fund(one, 'demo', 9)
    await Promise.all([
      one.keys.roll(key.id, secret('b'), HOUR_MS, SETUP),
      two.keys.roll(key.id, secret('c'), HOUR_MS, SETUP),
    ])
    const found = await Promise.all([key.hash, 'hash-b', 'hash-c'].map(hash => one.keys.find(hash)))
    t.equal(found.filter(one => one === null).length, 0, 'no secret is lost on the way')
    t.equal(found.filter(one => one?.endsInMs === null).length, 1)
    t.equal((await one.audit()).ok, true)
  })

  check('a list survives that the restriction is switched off', async (t, one, two) => {
    const { key } = await fund(one, 'demo', 9)
    const steps: [change: object, models: string[] | null, modelsOff: string[] | null][] = [
      [{ models: ['a', 'b'] }, ['a', 'b'], null],
      [{ models: null }, null, ['a', 'b']],
      [{ models: null, name: 'x' }, null, ['a', 'b']],
      [{ name: 'y' }, null, ['a', 'b']],
      [{ models: null, modelsOff: ['c'] }, null, ['c']],
      [{ models: ['c'] }, ['c'], null],
      [{ models: [] }, [], null],
      [{ models: null }, null, []],
    ]
    for (const [change, models, modelsOff] of steps)
      t.match(await one.keys.update(key.id, change, SETUP), { models, modelsOff }, JSON.stringify(change))
    t.match(await two.keys.byId(key.id), { models: null, modelsOff: [] })
  })

  check(
    'what stays for ever of long lists is short: the lines of the log of actions, and the row of a deleted key',
    async (t, one) => {
      const { key } = await fund(one, 'demo', 0)
      const list = (from: number) => Array.from({ length: 500 }, (_, i) => `model-${from + i}-${'x'.repeat(100)}`)
      const lastLine = async () => (await one.actions.page({ limit: 1 }))[0]
      await one.keys.update(key.id, { models: list(0) }, BY_ANN)
      const sizes = [JSON.stringify(await lastLine()).length]
      await one.keys.update(key.id, { models: list(1) }, BY_ANN)
      const moved = await lastLine()
      t.strictSame(
        [moved?.before, moved?.after],
        [{ models: [list(0)[0], '… 499'] }, { models: [list(1)[499], '… 499'] }],
      )
      await one.keys.update(key.id, { models: list(1_000) }, BY_ANN)
      sizes.push(JSON.stringify(await lastLine()).length)
      t.match(await one.keys.byId(key.id), { models: list(1_000) }, 'the key itself has all')
      await one.keys.update(key.id, { models: ['a', 'b'] }, BY_ANN)
      t.strictSame((await lastLine())?.after, { models: ['a', 'b'] }, 'a short list stands there whole')
      const short = Array.from({ length: 100 }, (_, i) => `m-${100_000 + i}`)
      await one.keys.update(key.id, { models: short }, BY_ANN)
      t.strictSame(
        (await lastLine())?.after,
        { models: short },
        'a list of which all fits says of none that it is left out',
      )
      await one.keys.update(key.id, { models: list(0) }, BY_ANN)
      await one.keys.delete(key.id, BY_ANN)
      sizes.push(JSON.stringify(await lastLine()).length)
      for (const size of sizes) t.ok(size < 4_000, `${size} characters`)
    },
  )

  // The bug behind it: nobody could find out from where a key that was stolen could be used, nor which models an operator took away.
  check('from where a key could be used is not forgotten, nor what operators changed of its models', async (t, one) => {
    const { key } = await fund(one, 'demo', 0)
    const ips = (from: number) => Array.from({ length: 100 }, (_, i) => `2001:db8:${from}:${i}::/64`)
    const list = (from: number) => Array.from({ length: 500 }, (_, i) => `model-${from + i}`)
    const lastLine = async () => (await one.actions.page({ limit: 1 }))[0]
    await one.keys.update(key.id, { allowIps: ips(1) }, BY_ANN)
    await one.keys.update(key.id, { allowIps: ips(2), models: list(0) }, BY_ANN)
    t.strictSame((await lastLine())?.before, { models: null, allow_ips: ips(1) })
    t.strictSame((await lastLine())?.after?.['allow_ips'], ips(2))
    await one.keys.update(key.id, { models: list(1) }, SETUP)
    t.match(await lastLine(), { before: { models: list(0) }, after: { models: list(1) } }, 'an operator')
    await one.keys.delete(key.id, BY_ANN)
    t.strictSame((await lastLine())?.before?.['allow_ips'], ips(2))
  })

  check('somebody who leaves hundreds of keys: others do not wait for them one by one', async (t, one, two, ops) => {
    const { account } = await fund(one, 'demo', 0)
    const make = (email: string) =>
      one.people.users.create({ email, name: 'A', password: null, operator: false, language: null, atMs: 0 }, SETUP)
    const [ann, bob] = [await make('a@example.org'), await make('b@example.org')]
    const member = { userId: bob.id, accountId: account.id }
    await one.people.members.add({ ...member, role: 'member' }, 0, SETUP)
    const made = []
    for (let i = 0; i < 501; i++)
      made.push(await one.keys.create(newKey(account.id, { name: `k${i}`, hash: `h${i}`, createdBy: bob.id }), SETUP))
    const leave = async (change: Parameters<Store['people']['members']['setRole']>[0]) => {
      const [before, seq] = [ops.length, await one.changes.seq()]
      await two.people.members.setRole(change, SETUP)
      const statements = ops.slice(before).filter(op => op === 'setRole').length
      t.ok(statements < 60, `${statements} statements`)
      return ((await one.changes.since(seq)) ?? []).map(({ kind, ref }) => `${kind} ${ref}`)
    }
    t.strictSame(
      await leave({ ...member, role: 'viewer' }),
      [`account ${account.id}`],
      'that of so many is told of the account',
    )
    t.match(await one.keys.byId(made[500]!.id), { status: 'disabled' })
    t.equal(
      (await one.actions.page({ accountId: account.id, limit: 1_000 })).filter(
        ({ after }) => after?.['status'] === 'disabled',
      ).length,
      501,
    )
    await two.keys.delete(made[0]!.id, SETUP)
    const heard = await leave({ ...member, role: null, keysTo: ann.id })
    t.same(new Set(heard), new Set(made.slice(1).map(({ hash }) => `key ${hash}`)), 'that of fewer is told of each')
    t.match(await one.keys.byId(made[500]!.id), { createdBy: ann.id })
  })

  check('when and from where keys were last used', async (t, one, two) => {
    const { account, key } = await fund(one, 'demo', 9)
    const other = await one.keys.create(newKey(account.id, { name: 'b', hash: 'b' }), SETUP)
    t.equal((await one.keys.uses([key.id, other.id])).size, 0)
    t.equal((await one.keys.uses([])).size, 0)
    const seq = await one.changes.seq()
    await one.keys.recordUses([
      { keyId: other.id, atMs: 5, ip: '10.0.0.1' },
      { keyId: key.id, atMs: 7, ip: '2001:db8::1' },
    ])
    await two.keys.recordUses([
      { keyId: key.id, atMs: 6, ip: '10.0.0.2' },
      { keyId: other.id, atMs: 9, ip: '10.0.0.3' },
    ])
    await two.keys.recordUses([])
    t.strictSame(
      await one.keys.uses([key.id, other.id, 99]),
      new Map([
        [key.id, { keyId: key.id, atMs: 7, ip: '2001:db8::1' }],
        [other.id, { keyId: other.id, atMs: 9, ip: '10.0.0.3' }],
      ]),
    )
    t.equal(await one.changes.seq(), seq, 'no process has to hear of it')
    await one.keys.delete(other.id, SETUP)
    t.same([...(await two.keys.uses([key.id, other.id])).keys()], [key.id], 'a deleted key leaves no address')
    await two.keys.recordUses([{ keyId: other.id, atMs: 10, ip: '10.0.0.3' }])
    t.same([...(await one.keys.uses([key.id, other.id])).keys()], [key.id], 'and none comes from a late note')
    t.equal((await one.actions.page({ operation: 'keys.use', limit: 9 })).length, 0)
  })

  check('pages by account, creator, group, text and state', async (t, one) => {
    const { account } = await fund(one, 'demo', 0)
    const { account: foreign } = await fund(one, 'other', 0)
    const NOW = 1_000_000
    const rows: [name: string, change: object][] = [
      ['plain', {}],
      ['off', { status: 'disabled', expiresAtMs: 5 }],
      ['old', { expiresAtMs: NOW }],
      ['later', { expiresAtMs: NOW + 1, createdBy: 7 }],
      ['capped', { cap: limitOf(5), createdBy: 7, group: 'vip' }],
      ['bound', { allowIps: ['10.0.0.1'], models: [] }],
      ['Half%', { models: ['m'] }],
    ]
    for (const [name, change] of rows) await one.keys.create(newKey(account.id, { name, hash: name, ...change }), SETUP)
    const gone = await one.keys.create(newKey(account.id, { name: 'gone', hash: 'gone' }), SETUP)
    await one.keys.delete(gone.id, SETUP)
    const names = async (filter: Partial<KeyFilter>) =>
      (await one.keys.page({ accountId: account.id, limit: 50, nowMs: NOW, descending: true, ...filter })).map(
        k => k.name,
      )
    const all = ['Half%', 'bound', 'capped', 'later', 'old', 'off', 'plain', 'laptop']
    const cases: [filter: Partial<KeyFilter>, names: string[]][] = [
      [{}, all],
      [{ descending: false }, [...all].reverse()],
      [{ condition: 'disabled' }, ['off']],
      [{ condition: 'expired' }, ['old']],
      [{ condition: 'enabled' }, ['Half%', 'bound', 'capped', 'later', 'plain', 'laptop']],
      [{ condition: 'used_up' }, []],
      [{ condition: 'ip_bound' }, ['bound']],
      [{ condition: 'model_bound' }, ['Half%', 'bound']],
      [{ createdBy: 7 }, ['capped', 'later']],
      [{ createdBy: 7, group: 'vip' }, ['capped']],
      [{ createdBy: 7, accountId: foreign.id }, []],
      [{ group: 'vip' }, ['capped']],
      [{ q: 'LA' }, ['later', 'plain', 'laptop']],
      [{ q: 'half%' }, ['Half%']],
      [{ q: '%' }, ['Half%']],
      [{ q: 'abcd' }, all],
      [{ limit: 3 }, all.slice(0, 3)],
    ]
    for (const [filter, expected] of cases) t.same(await names(filter), expected, JSON.stringify(filter))
    const at = (publicId: string) => ({ publicId, value: null })
    const third = (await one.keys.byName(account.id, 'capped'))!
    t.same(await names({ behind: at(third.publicId), limit: 2 }), all.slice(3, 5))
    t.same(await names({ behind: at(gone.publicId) }), all, 'a page goes on behind a key that was deleted')
    t.same(await names({ behind: at('unknown') }), [])
    const theirs = await one.keys.create(newKey(foreign.id, { name: 'theirs', hash: 'theirs' }), SETUP)
    t.same(await names({ behind: at(theirs.publicId) }), [], 'one of another account tells nothing of its age')
  })
  check('orders by name, making, last use and spend, and totals', async (t, one, two) => {
    const { account, key: laptop } = await fund(one, 'demo', 1_000)
    const keys = [laptop]
    for (const name of ['b', 'Zoe', 'a', '密钥'])
      keys.push(await one.keys.create(newKey(account.id, { name, hash: name }), SETUP))
    const named = (name: string) => keys.find(key => key.name === name)!
    t.ok(Math.abs(named('a').createdAtMs - Date.now()) < 60_000, 'by the clock of the store')
    const { key: foreign } = await fund(one, 'other', 1_000)
    await one.holders.register({ id: 'h1', host: 'here', beat: 0 })
    const spent: [name: string, charge: number][] = [
      ['b', 70],
      ['Zoe', 500],
      ['密钥', 70],
    ]
    const rows = spent.map(([name, charge], i) => usageRow(`01jgfjjz0${i}x`, named(name), charge))
    await one.books.settle([...rows, usageRow('01jgfjjz0ax', foreign, 9)].map(row => settlement(row, 'h1', 0)))
    await one.books.lease(keyPurse(named('a').id), 'h1', micro(300), micro(300), false) // promised is not spent
    const use = (name: string, atMs: number) => ({ keyId: named(name).id, atMs, ip: '10.0.0.1' })
    await one.keys.recordUses([use('a', 20), use('laptop', 30)])
    const orders: Record<KeyOrder, string[]> = {
      created: ['laptop', 'b', 'Zoe', 'a', '密钥'],
      name: ['a', 'b', 'laptop', 'Zoe', '密钥'],
      last_used: ['b', 'Zoe', '密钥', 'a', 'laptop'],
      spent: ['laptop', 'a', 'b', '密钥', 'Zoe'],
    }
    for (const order of KEY_ORDERS)
      for (const descending of [false, true])
        for (const limit of [1, 2, 50]) {
          const found: string[] = []
          for (let behind: KeyPlace | undefined; ; ) {
            const filter = {
              accountId: account.id,
              order,
              descending,
              limit,
              ...(behind === undefined ? {} : { behind }),
            }
            const page = await two.keys.placed(filter)
            found.push(...page.map(({ key }) => key.name))
            if (page.length < limit) break
            behind = page.at(-1)!.place
          }
          t.same(found, descending ? orders[order].toReversed() : orders[order], `${order} ${limit}`)
        }
    t.same(await two.keys.totals({ accountId: account.id }), { keys: 5, spent: 640 })
    t.same(await two.keys.totals({ accountId: account.id, q: 'z' }), { keys: 1, spent: 500 })
    t.same(await two.keys.totals({ accountId: account.id, group: 'none' }), { keys: 0, spent: 0 })

    const [last] = await two.keys.placed({ accountId: account.id, order: 'spent', descending: true, limit: 1 })
    await one.books.settle([settlement(usageRow('01jgfjjz0bx', named('Zoe'), 100), 'h1', 0)])
    const next = await two.keys.page({
      accountId: account.id,
      order: 'spent',
      descending: true,
      limit: 9,
      behind: last!.place,
    })
    t.same(
      next.map(({ name }) => name),
      ['密钥', 'b', 'a', 'laptop'],
      'a page begins where the one before ended, whatever was spent since',
    )
  })

  check(
    'caps that are used up: for ever, in the running period, and in one that somebody has changed',
    async (t, one) => {
      const atMs = Date.parse('2030-05-15T10:00:00Z')
      const zone = 'Asia/Shanghai'
      const { account } = await fund(one, 'demo', 1_000)
      await one.holders.register({ id: 'h1', host: 'here', beat: 0 })
      const purseOf = (every: Every, ms = atMs) => periodName(periodAt(every, ms, zone))
      const changed = (until: number): Limit => ({ ...limitOf(50, 'month'), before: { every: 'day', untilMs: until } })
      const caps: [
        name: string,
        cap: Limit | null,
        spent: [period: string | null, amount: number][],
        isUsedUp: boolean,
      ][] = [
        ['none', null, [[null, 99]], false],
        ['nothing', limitOf(0), [], true],
        ['ever, some', limitOf(50), [[null, 49]], false],
        ['ever, all', limitOf(50), [[null, 50]], true],
        ['day, all', limitOf(50, 'day'), [[purseOf('day'), 50]], true],
        ['day, yesterday', limitOf(50, 'day'), [[purseOf('day', atMs - 86_400_000), 60]], false],
        ['week, more', limitOf(50, 'week'), [[purseOf('week'), 70]], true],
        ['week, a day', limitOf(50, 'week'), [[purseOf('day'), 70]], false],
        ['month, some', limitOf(50, 'month'), [[purseOf('month'), 20]], false],
        ['still by the day', changed(atMs + 1), [[purseOf('day'), 50]], true],
        ['by the month now', changed(atMs), [[purseOf('day'), 50]], false],
      ]
      let count = 0
      for (const [name, cap, spent] of caps) {
        const key = await one.keys.create(newKey(account.id, { name, hash: name, cap }), SETUP)
        for (const [period, amount] of spent) {
          const row = usageRow(`01jgfjjz${String(count++).padStart(2, '0')}x`, key, amount)
          const purse = period === null ? null : limitPurse('k', key.id, period)
          if (purse !== null) await one.books.lease(purse, 'h1', micro(1), micro(1), false)
          await one.books.settle([
            { ...settlement(row, 'h1', 0), limits: purse === null ? [] : [{ purse, fromLease: ZERO }] },
          ])
        }
      }
      const filter = { accountId: account.id, limit: 50, nowMs: atMs, caps: { atMs, zone } }
      const names = async (condition: KeyCondition) =>
        (await one.keys.page({ ...filter, condition })).map(({ name }) => name)
      const wanted = (isUsedUp: boolean) => caps.filter(row => row[3] === isUsedUp).map(([name]) => name)
      t.same(await names('used_up'), wanted(true))
      t.same(await names('enabled'), ['laptop', ...wanted(false)])
      t.equal((await one.keys.totals({ ...filter, condition: 'used_up' })).keys, wanted(true).length)
    },
  )
}
