/** A process may leave as many leases as there are purses: their return must not keep anybody waiting. */
// The bug behind these rows: a burial that holds everybody up.
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { returnAllLeases } from '../../lib/ledger/recovery.ts'
import { Ledger } from '../../lib/ledger/ledger.ts'
import type { Driver, Param, Transaction } from '../../lib/store/base/driver.ts'
import { Sealer } from '../../lib/store/catalogue/sealer.ts'
import { openSqlite } from '../../lib/store/engines/sqlite.ts'
import { Store } from '../../lib/store/store.ts'
import { keyPurse } from '../../lib/store/books/purses.ts'
import { house, reserve, row } from './house.ts'
import { changed, fund, SETUP, topUp, usageRow } from '../support/store.ts'
import { TestClock } from '../support/clock.ts'
import { kept } from '../support/kept.ts'
import { until } from '../support/wait.ts'

const PURSES = 1_500
/** Of one step: locks and writes of purses and leases. */
const MOST_ROWS = 4 * 256

/** Notes how many rows each transaction touches. */
function counted(driver: Driver): { driver: Driver; rows: number[] } {
  const rows: number[] = []
  const transaction = <T>(op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> =>
    driver.transaction(op, tx => {
      const at = rows.push(0) - 1
      return fn({
        query: (sql, params) => tx.query(sql, params),
        insert: (sql, all) => tx.insert(sql, all),
        async run(sql, params) {
          const result = await tx.run(sql, params)
          rows[at]! += result.changes
          return result
        },
      })
    })
  return { driver: Object.assign(Object.create(driver), { transaction }), rows }
}

/** The driver keeps its state in private fields: calls go to the object itself. */
const bound = (driver: Driver): Driver =>
  new Proxy(driver, {
    get(target, name) {
      const value = target[name as keyof Driver] as unknown
      return typeof value === 'function' ? value.bind(target) : value
    },
  })

async function crowded(t: Test) {
  const real = bound(openSqlite('sqlite::memory:', () => {}))
  const { driver, rows } = counted(real)
  const store = new Store(driver, new Sealer('a test secret'), () => {})
  t.teardown(() => store.close())
  await store.migrate()
  const { account } = await fund(store, 'a', 1_000_000)
  const insert = (sql: string, params: Param[]) => real.run('fill', sql, params)
  for (let from = 0; from < PURSES; from += 500) {
    const ids = Array.from({ length: 500 }, (_, i) => keyPurse(1_000 + from + i))
    const each = (values: string) => ids.map(() => values).join(', ')
    await insert(`INSERT INTO purses (id, credit, promised) VALUES ${each('(?, NULL, 7)')}`, ids)
    await insert(
      `INSERT INTO leases (purse_id, holder, amount, held, ticket) VALUES ${each("(?, 'dead', 7, 0, '')")}`,
      ids,
    )
  }
  await store.holders.register({ id: 'dead', host: 'h', beat: 3 })
  const count = async (sql: string): Promise<number> => Number((await real.query('count', sql, []))[0]!['n'])
  return { store, account, rows, count }
}

t.test('many leases go back in transactions of few rows, the holder last', async t => {
  const { store, rows, count } = await crowded(t)
  rows.length = 0
  t.equal(await store.holders.bury('dead', 3), false, 'a step')
  t.ok((await store.holders.list()).some(({ id }) => id === 'dead'))
  t.equal(await store.holders.beat('dead'), false, 'and there is no way back')
  await t.rejects(store.books.lease(keyPurse(1_000), 'dead', micro(1), micro(1), false))
  t.ok(rows.length > 1 && Math.max(...rows) <= MOST_ROWS, `${rows}`)
  const steps = async () => {
    for (let i = 1; ; i++) if (await store.holders.bury('dead', -1)) return i
  }
  t.ok((await steps()) >= PURSES / 256 - 1, 'whoever goes on where the first broke off')
  t.ok(Math.max(...rows) <= MOST_ROWS, `${rows}`)
  t.equal(await count('SELECT COUNT(*) AS n FROM leases'), 0)
  t.equal(await count('SELECT SUM(promised) AS n FROM purses'), 0)
  t.same(await store.holders.list(), [])
})

t.test('a pause between the steps', async t => {
  const { store } = await crowded(t)
  const clock = new TestClock()
  let done = false
  const burial = returnAllLeases({ store, clock }, 'dead').then(() => (done = true))
  await store.ping()
  for (let i = 0; i < 50; i++) await new Promise(resolve => setImmediate(resolve))
  t.notOk(done)
  await until('buried', () => {
    clock.advance(10)
    return done
  })
  await burial
})

t.test('a lease of which nothing is left is forgotten, also when charges used it up', async t => {
  const { store, account, count, rows } = await crowded(t)
  while (!(await store.holders.bury('dead')));
  const key = (await store.keys.create(
    {
      ...{ accountId: account.id, name: 'k', hash: '1'.repeat(64), hint: '', group: 'default', status: 'enabled' },
      ...{ expiresAtMs: null, cap: null, allowIps: null, models: null },
    } as Parameters<Store['keys']['create']>[0],
    SETUP,
  ))!
  const clock = new TestClock()
  const log = { info() {}, warn() {}, error() {} }
  const ledger = await Ledger.open({ store, clock, log, folder: t.testdir(), limitBytes: 1 << 20 })
  const own = `SELECT COUNT(*) AS n FROM leases WHERE holder = '${ledger.holder}'`
  await kept(ledger.settle(await reserve(ledger, key, 1_000_000), row(key, 1_000_000)))
  await ledger.flush()
  t.equal(await count(own), 1)
  await until('forgotten', async () => {
    clock.advance(20_000)
    return (await count(own)) === 0
  })
  t.ok(Math.max(...rows) <= MOST_ROWS)
  await topUp(store, account.id, 100, 'more')
  await kept(ledger.settle(await reserve(ledger, key, 100), usageRow('01zzzzzzzzzzzzzzzzzzz', key, 100)))
  await ledger.stop()
  t.equal(await count('SELECT COUNT(*) AS n FROM leases'), 0)
})

t.test('whoever buries others, or applies a long journal, gives its own signs of life meanwhile', async t => {
  const { store, clock, open } = await house(t)
  let release = () => {}
  const hung = new Promise<void>(resolve => (release = resolve))
  const slow = changed(store, {
    holders: {
      bury: async (id, beat) => {
        if (id.startsWith('ended')) await hung
        return store.holders.bury(id, beat)
      },
    },
  })
  const ledger = await open({ store: slow })
  await store.holders.register({ id: 'ended', host: 'elsewhere', beat: 5 })
  const beats = async (): Promise<number> =>
    (await store.holders.list()).find(({ id }) => id === ledger.holder)?.beat ?? Number.NaN
  const begun = await beats()
  await until('the burial takes for ever, and the beat goes on', async () => {
    clock.advance(5_000)
    return (await beats()) >= begun + 20
  })
  t.ok(ledger.accepting)
  release()
  await until('buried', async () => {
    clock.advance(1_000)
    return (await store.holders.list()).length === 1
  })
  await ledger.stop()
})
