/**
 * Every page of 10,000 keys in the order in which they were made is a range of one index: nothing is sorted, and a page reads no more
 * than it shows. In the other orders, and for totals, each key is read once, and its purse and its use by their keys.
 */
import { DatabaseSync } from 'node:sqlite'
import mysql from 'mysql2/promise'
import t, { type Test } from 'tap'
import { openStore } from '../../lib/store/store.ts'
import { type KeyFilter, keyPage, keyTotals } from '../../lib/store/accounts/key-list.ts'
import { startMariadb } from '../support/mariadb.ts'
import { SETUP } from '../support/store.ts'

const KEYS = 10_000
const CREATORS = 100
const LIMIT = 50
const COLUMNS =
  'account_id, created_ms, name, hash, hint, group_name, status, expires_at_ms, cap, allow_ips, models, deleted, public_id, created_by'

const BY = { account: 'api_keys_by_account_id_deleted_id', creator: 'api_keys_by_created_by_deleted_id' }
const middle = { behind: { publicId: `k${KEYS / 2}`, value: null } }
const PAGES: [filter: Omit<KeyFilter, 'limit'>, index: string][] = [
  [{ accountId: 1 }, BY.account],
  [{ accountId: 1, ...middle }, BY.account],
  [{ accountId: 1, condition: 'enabled', nowMs: 1 }, BY.account],
  [{ accountId: 1, createdBy: 7 }, BY.creator],
  [{ accountId: 1, createdBy: 7, ...middle }, BY.creator],
]

const place = (value: string | number) => ({ behind: { publicId: `k${KEYS / 2}`, value } })
const ORDERS: Omit<KeyFilter, 'limit'>[] = [
  { accountId: 1, order: 'name', ...place('key 5') },
  { accountId: 1, order: 'last_used', ...place(0) },
  { accountId: 1, order: 'spent', ...place(0) },
  { accountId: 1, createdBy: 7, order: 'spent' },
  { accountId: 1, order: 'spent', condition: 'used_up' },
]
/** The most rows that a statement may read of each key: its own, its purse, its leases, its use, and a place in what is sorted. */
const READ_OF_A_KEY = 8

const values = (i: number): string =>
  `(1, 1, 'key ${i}', 'h${i}', 'sk-…${i}', 'default', 'enabled', NULL, NULL, NULL, NULL, 0, 'k${i}', ${i % CREATORS})`
const inserts = (): string[] =>
  Array.from({ length: KEYS / 1_000 }, (_, part) => {
    const rows = Array.from({ length: 1_000 }, (_, i) => values(part * 1_000 + i + 1))
    return `INSERT INTO api_keys (${COLUMNS}) VALUES ${rows.join(', ')}`
  })

async function withAccount(url: string): Promise<void> {
  const store = openStore(url, { secret: 'x' })
  await store.migrate()
  await store.accounts.create({ name: 'acme', groups: ['default'] }, SETUP)
  await store.close()
}

async function right(t: Test, url: string): Promise<void> {
  const store = openStore(url, { secret: 'x' })
  const pages: string[] = []
  let after: string | undefined
  for (;;) {
    const at = after === undefined ? {} : { behind: { publicId: after, value: null } }
    const page = await store.keys.page({ accountId: 1, createdBy: 7, descending: true, limit: LIMIT, ...at })
    pages.push(...page.map(key => key.publicId))
    if (page.length < LIMIT) break
    after = page.at(-1)?.publicId
  }
  const expected = Array.from({ length: KEYS / CREATORS }, (_, i) => `k${KEYS - CREATORS * (i + 1) + 7}`)
  t.same(pages, expected)
  await store.close()
}

t.test('SQLite', async t => {
  const file = `${t.testdir()}/keys.db`
  await withAccount(`sqlite:${file}`)
  const db = new DatabaseSync(file)
  for (const insert of inserts()) db.exec(insert)
  db.exec('ANALYZE')
  for (const [filter, index] of PAGES) {
    const [sql, params] = keyPage(
      { ...filter, descending: true, limit: LIMIT },
      {
        using: index => `INDEXED BY ${index}`,
      },
    )
    const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params)
    const text = plan.map(row => String(row['detail'])).join('; ')
    t.match(text, new RegExp(`SEARCH k USING INDEX ${index}`), JSON.stringify(filter))
    t.notMatch(text, /TEMP B-TREE|SCAN/, text)
  }
  for (const filter of ORDERS)
    for (const [sql, params] of [
      keyPage({ ...filter, descending: true, limit: LIMIT }, { using: index => `INDEXED BY ${index}` }),
      keyTotals(filter, { using: index => `INDEXED BY ${index}` }),
    ]) {
      const plan = db.prepare(`EXPLAIN QUERY PLAN ${sql}`).all(...params)
      t.notMatch(plan.map(row => String(row['detail'])).join('; '), /SCAN/, JSON.stringify(filter))
    }
  db.close()
  await right(t, `sqlite:${file}`)
})

t.test('MariaDB', async t => {
  const server = await startMariadb()
  t.teardown(() => server.stop())
  await withAccount(server.url)
  const connection = await mysql.createConnection(server.url)
  for (const insert of inserts()) await connection.query(insert)
  await connection.query('ANALYZE TABLE api_keys')
  const readSoFar = async () => {
    const [rows] = await connection.query<mysql.RowDataPacket[]>("SHOW SESSION STATUS LIKE 'Handler_read_%'")
    return rows.reduce((sum, row) => sum + Number(row['Value']), 0)
  }
  for (const [filter, index] of PAGES) {
    const [sql, params] = keyPage(
      { ...filter, descending: true, limit: LIMIT },
      {
        using: index => `FORCE INDEX (${index})`,
      },
    )
    const [plan] = await connection.query<mysql.RowDataPacket[]>(`EXPLAIN ${sql}`, params)
    const { key, Extra, type } = plan.find(row => row['table'] === 'k') as mysql.RowDataPacket
    t.equal(key, index, `${JSON.stringify(filter)} ${type} ${Extra}`)
    t.notMatch(String(Extra), /filesort|temporary/i)
    const before = await readSoFar()
    const [rows] = await connection.query<mysql.RowDataPacket[]>(sql, params)
    t.equal(rows.length, LIMIT)
    const read = (await readSoFar()) - before
    t.ok(read < LIMIT + 20, `${JSON.stringify(filter)} read ${read} rows`)
  }
  for (const filter of ORDERS)
    for (const [sql, params] of [
      keyPage({ ...filter, descending: true, limit: LIMIT }, { using: index => `FORCE INDEX (${index})` }),
      keyTotals(filter, { using: index => `FORCE INDEX (${index})` }),
    ]) {
      const before = await readSoFar()
      await connection.query(sql, params)
      const read = (await readSoFar()) - before
      t.ok(read < KEYS * READ_OF_A_KEY, `${JSON.stringify(filter)} read ${read} rows`)
    }
  await connection.end()
  await right(t, server.url)
})
