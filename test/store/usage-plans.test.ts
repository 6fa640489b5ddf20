/** Every page of the usage log and of orders is a range of one index, in its order: nothing is sorted, and nothing is searched through. */
import { DatabaseSync } from 'node:sqlite'
import mysql from 'mysql2/promise'
import t, { type Test } from 'tap'
import { openBooks, rows, settlementOf } from '../../bench/parts/store-rows.ts'
import { idAt } from '../../lib/base/ids.ts'
import type { Driver } from '../../lib/store/base/driver.ts'
import { openMysql } from '../../lib/store/engines/mysql.ts'
import { orderList } from '../../lib/store/payments/orders.ts'
import { PRUNED_TOTALS } from '../../lib/store/usage/prune.ts'
import { placeBehind, type LogRange, rowsBetween } from '../../lib/store/usage/requests.ts'
import { type LogPlace, traitConditions, usagePage } from '../../lib/store/usage/pages.ts'
import { openSqlite } from '../../lib/store/engines/sqlite.ts'
import type { UsageFilter } from '../../lib/store/usage/queries.ts'
import { startMariadb } from '../support/mariadb.ts'
import { openDriver } from '../support/store.ts'

const ROWS = 10_000
const FROM_MS = 1_790_000_000_000
const STEP_MS = 1_000

const period = { fromMs: FROM_MS + 2_000 * STEP_MS, toMs: FROM_MS + 3_000 * STEP_MS }
const BY = {
  account: 'usage_log_by_account_id_at_ms_seq_charge',
  key: 'usage_log_by_key_id_at_ms',
  time: 'usage_log_by_at_ms',
  id: 'usage_log_by_request_id',
  orders: 'pay_orders_by_account_id_created_at_ms_id',
  ordersOfState: 'pay_orders_by_state_created_at_ms_id',
}
const within = { atMs: FROM_MS + 2_500 * STEP_MS, seq: 2_500 }
const before = { atMs: FROM_MS + (ROWS * STEP_MS) / 2, seq: ROWS / 2 }
/** Before the end of the period, so that rows of it are behind the place where the oldest come first. */
const early = { atMs: FROM_MS + 2_100 * STEP_MS, seq: 2_100 }

const PAGES: [filter: Omit<UsageFilter, 'limit'>, before: LogPlace | null, index: string][] = [
  [{}, null, BY.time],
  [{}, before, BY.time],
  [period, null, BY.time],
  [period, before, BY.time],
  [{ accountId: 3 }, null, BY.account],
  [{ accountId: 3 }, before, BY.account],
  [{ accountId: 3, ...period }, null, BY.account],
  [{ keyId: 3 }, null, BY.key],
  [{ keyId: 3 }, before, BY.key],
  [{ keyId: 3, ...period }, before, BY.key],
]

/** The index and what else the engine does, in its words. */
type Explain = (sql: string, params: (string | number | null)[]) => Promise<{ index: string; extra: string }>

async function filled(url: string): Promise<void> {
  const { store, keys, holder } = await openBooks(url)
  const all = [...rows(keys, ROWS, FROM_MS, STEP_MS)]
  for (let i = 0; i < all.length; i += 1_000)
    await store.books.settle(all.slice(i, i + 1_000).map(row => settlementOf(row, holder)))
  await store.close()
  const driver = openDriver(url)
  for (let i = 0; i < ORDERS; i += 500) await driver.run('test', insertOrders(i, i + 500), [])
  await driver.close()
}

const ORDERS = 2_000
const ORDER_COLUMNS =
  'id, reference, account_id, method, amount, asked, currency, merchant, state, sandbox, late, credited, refunded, frozen, reversed, created_at_ms, expires_at_ms, checks'
const orderOf = (i: number) =>
  `('T${i}', 'r${i}', ${i % 8}, 'card', 1, 1, 'CNY', 'm', 'credited', 0, 0, 1, 0, 0, 0, ${FROM_MS + i}, ${FROM_MS + i}, 0)`
const insertOrders = (from: number, to: number) =>
  `INSERT INTO pay_orders (${ORDER_COLUMNS}) VALUES ${Array.from({ length: to - from }, (_, i) => orderOf(from + i)).join(', ')}`

async function check(t: Test, driver: Driver, explain: Explain): Promise<void> {
  for (const [filter, before, wanted] of PAGES) {
    const asked = { ...filter, limit: 100 }
    for (const page of [
      usagePage(asked, before, [], driver.dialect),
      usagePage(asked, before, traitConditions({ model: 'm', outcome: 'ok' }), driver.dialect),
    ]) {
      const { index, extra } = await explain(...page)
      t.equal(index, wanted, `${JSON.stringify(filter)} ${extra}`)
      t.notMatch(extra, /filesort|temporary|TEMP B-TREE/i, extra)
    }
  }
  const ranges: [range: Omit<LogRange, 'ascending'>, index: string][] = [
    [{ owner: { accountId: 3 } }, BY.account],
    [{ owner: { accountId: 3 }, ...period }, BY.account],
    [{ owner: { keyId: 3 } }, BY.key],
    [{ owner: { keyId: 3 }, ...period }, BY.key],
  ]
  const bothWays = ranges.flatMap(([range, index]) =>
    [false, true].map((ascending): [LogRange, string] => [{ ...range, ascending }, index]),
  )
  for (const [range, wanted] of bothWays) {
    for (const [what, statement] of [
      ['the place behind some rows', placeBehind(range, range.ascending ? early : before, 500, driver.dialect)],
      ['the rows before it', rowsBetween(range, null, within, [['status >= ?', 400]], 50, driver.dialect)],
    ] as const) {
      const { index, extra } = await explain(...statement)
      t.equal(index, wanted, `${what} ${JSON.stringify(range)} ${extra}`)
      t.notMatch(extra, /filesort|temporary|TEMP B-TREE/i, extra)
    }
  }
  for (const ascending of [false, true])
    for (const begin of [{}, { beyond: { createdAtMs: FROM_MS + 500, id: 'T500' } }]) {
      const { index, extra } = await explain(...orderList({ accountId: 3, limit: 50, ascending, ...begin }))
      t.equal(index, BY.orders, `orders ${JSON.stringify(begin)} ${ascending} ${extra}`)
      t.notMatch(extra, /filesort|temporary|TEMP B-TREE/i, extra)
      const old = { states: ['credited'] as const, beforeMs: FROM_MS + 900, limit: 50, ascending, ...begin }
      const ofState = await explain(...orderList(old))
      t.equal(
        ofState.index,
        BY.ordersOfState,
        `orders of a state ${JSON.stringify(begin)} ${ascending} ${ofState.extra}`,
      )
      t.notMatch(ofState.extra, /filesort|temporary|TEMP B-TREE/i, ofState.extra)
    }
  // of the oldest rows: an early id, so that an engine which counts finds few
  const { index, extra } = await explain(PRUNED_TOTALS, [idAt(1)])
  t.equal(index, BY.id, `a slice of the oldest rows is a range of the request ids: ${extra}`)
}

t.test('SQLite', async t => {
  const file = `${t.testdir()}/books.db`
  await filled(`sqlite:${file}`)
  const db = new DatabaseSync(file)
  await check(
    t,
    openSqlite(`sqlite:${file}`, () => {}),
    async (sql, params) => {
      const extra = db
        .prepare(`EXPLAIN QUERY PLAN ${sql}`)
        .all(...params)
        .map(row => String(row['detail']))
        .join('; ')
      return { index: /USING (?:COVERING )?INDEX (\w+)/.exec(extra)?.[1] ?? extra, extra }
    },
  )
  db.close()
})

t.test('MariaDB', async t => {
  const server = await startMariadb()
  t.teardown(() => server.stop())
  await filled(server.url)
  const connection = await mysql.createConnection(server.url)
  await connection.query('ANALYZE TABLE usage_log, pay_orders')
  await check(
    t,
    openMysql(
      server.url,
      () => {},
      () => {},
    ),
    async (sql, params) => {
      const [plan] = await connection.query<mysql.RowDataPacket[]>(`EXPLAIN ${sql}`, params)
      const { key, Extra, type } = plan[0] as mysql.RowDataPacket
      return { index: String(key ?? Extra), extra: `${type}: ${Extra}` }
    },
  )
  await connection.end()
})
