import { setTimeout as sleep } from 'node:timers/promises'
import mysql from 'mysql2/promise'
import t, { type Test } from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import { accountPurse, type PurseId } from '../../lib/store/books/purses.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { startCommitProxy } from '../support/commit-proxy.ts'
import { databasesOf } from '../support/databases.ts'
import { startMariadb } from '../support/mariadb.ts'
import type { MysqlServer } from '../support/mysql-server.ts'
import { fund, SETUP, settlement, topUp, usageRow } from '../support/store.ts'
import { until } from '../support/wait.ts'
import { storeSuite } from './suite.ts'

const server = await startMariadb()
t.teardown(() => server.stop())

const newUrl = databasesOf(server)

t.test('every store', async t => storeSuite(t, newUrl))

/** A store with one funded account and holder h1. */
async function ready(
  url: string,
): Promise<{ store: Store; purse: PurseId; key: Awaited<ReturnType<typeof fund>>['key'] }> {
  const store = openStore(url, { secret: 'x' })
  await store.migrate()
  const { account, key } = await fund(store, 'demo', 1_000)
  await store.holders.register({ id: 'h1', host: 'here', beat: 0 })
  return { store, purse: accountPurse(account.id), key }
}

const view = async (store: Store, purse: PurseId) => {
  const [{ spent, leased } = { spent: -1, leased: -1 }] = await store.books.purses([purse])
  return { spent, leased }
}

/** Not `rejects` with the class: what is thrown are its subclasses. */
const unavailable = async (t: Test, promise: Promise<unknown>, name: string) => {
  const error = await promise.then(
    () => null,
    (error: unknown) => error,
  )
  t.ok(error instanceof StoreUnavailable, `${name}: ${error}`)
}

t.test(
  'inserted numbers are exact up to the largest safe integer, also where they are added to what is there',
  async t => {
    const url = await newUrl()
    const { store, key } = await ready(url)
    t.teardown(() => store.close())
    await topUp(store, key.accountId, 2 ** 51, 'much')
    const most = micro(Number.MAX_SAFE_INTEGER)
    for (const n of [1, 2]) {
      const sums = { cost: micro(2 ** 51 + n), held: most, input: 2 ** 52 + n, images: n - 1 }
      await store.books.settle(
        [settlement(usageRow(`${idAt(1e12)}n0de01${n}0000`, key, 2 ** 49 - n, sums), 'h1', 0)],
        false,
      )
    }
    const connection = await mysql.createConnection(url)
    t.teardown(() => connection.end())
    const text = async (columns: string, from: string) => {
      const shown = columns.split(' ').map(name => `CAST(${name} AS CHAR) AS ${name}`)
      const [rows] = await connection.query(`SELECT ${shown.join(', ')} FROM ${from}`)
      return rows
    }
    t.match(await text('charge cost held', 'usage_log ORDER BY seq'), [
      { charge: String(2n ** 49n - 1n), cost: String(2n ** 51n + 1n), held: String(most) },
      { charge: String(2n ** 49n - 2n), cost: String(2n ** 51n + 2n), held: String(most) },
    ])
    t.match(await text('charge cost input images', 'usage_sums WHERE grain = 1'), [
      { charge: String(2n ** 50n - 3n), cost: String(2n ** 52n + 3n), input: String(2n ** 53n + 3n), images: '1' },
    ])
  },
)

for (const lost of ['answer', 'commit'] as const) {
  t.test(`the ${lost} of a COMMIT is lost`, async t => {
    const proxy = await startCommitProxy(server.port)
    t.teardown(() => proxy.close())
    const { store, purse, key } = await ready((await newUrl()).replace(/:\d+\//, `:${proxy.port}/`))
    t.teardown(() => store.close())
    const happened = lost === 'answer'
    const losing = (name: string, fn: () => Promise<unknown>) => {
      void proxy.loseNext(lost)
      return unavailable(t, fn(), name)
    }

    await losing('lease', () => store.books.lease(purse, 'h1', micro(10), micro(10), false))
    t.strictSame(await view(store, purse), { spent: 0, leased: happened ? 10 : 0 }, 'in doubt')
    await store.holders.beat('h1')
    t.strictSame(await view(store, purse), { spent: 0, leased: 0 }, 'the next beat puts it right')

    await store.books.lease(purse, 'h1', micro(30), micro(30), false)
    await losing('giveBack', () => store.books.giveBack(purse, 'h1', micro(20)))
    await losing('lease, before which that is made up for', () =>
      store.books.lease(purse, 'h1', micro(5), micro(5), false),
    )
    const { purse: after } = await store.books.lease(purse, 'h1', micro(1), micro(1), false)
    t.equal(after.leased, 11, 'given back once, and nothing of the lease in doubt')
    await store.books.giveBack(purse, 'h1', micro(11))

    const batch = [settlement(usageRow('r1', key, 5), 'h1', 0)]
    await losing('settle', () => store.books.settle(batch))
    t.equal((await store.books.settle(batch)).applied, happened ? 0 : 1)
    t.strictSame(await view(store, purse), { spent: 5, leased: 0 }, 'charged once')

    await losing('topUp', () => topUp(store, key.accountId, 3, 'ref'))
    t.equal(await topUp(store, key.accountId, 3, 'ref'), happened ? 'same' : 'created')
    t.match(await store.audit(), { ok: true, credits: 1_003, charges: 5, leased: 0 })
  })
}

t.test('a server that is full, read-only, slow, killed', async t => {
  const url = await newUrl()
  const { store, purse, key } = await ready(url)
  const impatient = openStore(`${url}?query_ms=1000&connect_ms=1000&pool=2`, { secret: 'x' })
  t.teardown(() => Promise.all([store.close(), impatient.close()]))
  const lease = () => store.books.lease(purse, 'h1', micro(1), micro(1), false)

  await server.admin('SET GLOBAL read_only = 1')
  await server.admin(`CREATE USER plain@'127.0.0.1'`)
  await server.admin(`GRANT SELECT, INSERT, UPDATE, DELETE ON *.* TO plain@'127.0.0.1'`)
  const plain = openStore(url.replace('root', 'plain'), { secret: 'x' })
  t.teardown(() => plain.close())
  await unavailable(t, plain.books.lease(purse, 'h1', micro(1), micro(1), false), 'read-only')
  t.ok(await plain.keys.find(key.hash), 'what only reads goes on')
  await server.admin('SET GLOBAL read_only = 0')
  t.match(await plain.books.lease(purse, 'h1', micro(1), micro(1), false), { granted: 1 })

  await server.admin('SET GLOBAL max_connections = 10')
  const crowd = Array.from({ length: 14 }, () => openStore(url.replace('root', 'plain'), { secret: 'x' }))
  const results = await Promise.allSettled(crowd.map(store => store.ping()))
  const refused = results.flatMap(result => (result.status === 'rejected' ? [result.reason] : []))
  t.ok(refused.length > 0 && refused.every(error => error instanceof StoreUnavailable), 'too many connections')
  await Promise.all(crowd.map(store => store.close()))
  await server.admin('SET GLOBAL max_connections = 100')

  const answers = () =>
    impatient.ping().then(
      () => true,
      () => false,
    )
  // a busy machine may take longer than that
  await until('it is connected', answers)
  server.pause()
  await unavailable(t, impatient.ping(), 'no answer')
  await unavailable(t, impatient.books.lease(purse, 'h1', micro(1), micro(1), false), 'no connection')
  server.resume()
  await until('the server answers again', answers)

  await lease()
  await server.kill()
  await unavailable(t, lease(), 'nobody listens')
  await server.start()
  t.match(await lease(), { granted: 1 }, 'and again')
  await server.restart()
  t.match(await lease(), { granted: 1 }, 'also when all connections have died unnoticed')
  t.match(await store.audit(), { ok: true, leased: 4 })
})

/** Another client's transaction, with the row of h1's lease locked. */
async function locking(url: string): Promise<mysql.Connection> {
  const rival = await mysql.createConnection(url)
  await rival.query('START TRANSACTION')
  // much to undo: of two that wait for each other, the server ends the one that has done less
  const rows = Array.from({ length: 500 }, (_, i) => `('m${i}', 1)`)
  await rival.query(`INSERT INTO meta (name, value) VALUES ${rows.join(', ')}`)
  await rival.query("UPDATE leases SET amount = amount WHERE holder = 'h1'")
  return rival
}

/** Until the store's statement stands in line for a lock. The server refreshes its list only when nobody has read it for 100 ms. */
async function waiting(server: MysqlServer): Promise<void> {
  const sql = "SELECT COUNT(*) AS waiting FROM information_schema.innodb_trx WHERE trx_state = 'LOCK WAIT'"
  while (((await server.admin(sql)) as { waiting: number }[])[0]?.waiting !== 1) await sleep(150)
}

const deadlocks = async (): Promise<number> => {
  const [row] = (await server.admin("SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'")) as { Value: string }[]
  return Number(row?.Value)
}

t.test('a real deadlock: run again, applied once', async t => {
  const url = await newUrl()
  const { store: plain, purse, key } = await ready(url)
  const failed: string[] = []
  const store = openStore(url, { secret: 'x', onStatement: (op, ok) => void (ok || failed.push(op)) })
  t.teardown(() => Promise.all([plain.close(), store.close()]))
  await store.books.lease(purse, 'h1', micro(100), micro(100), false)

  const before = await deadlocks()
  const rival = await locking(url)
  const batch = ['r1', 'r2'].map(id => settlement(usageRow(id, key, 5), 'h1', 5))
  const settling = store.books.settle(batch)
  await waiting(server) // for the lease; it has inserted r1
  await rival.query("INSERT IGNORE INTO usage_log SELECT * FROM usage_log WHERE request_id = 'r1' FOR UPDATE")
  t.equal(await deadlocks(), before + 1, '1213')
  await until('ours was ended', () => failed.length > 0)
  t.same([...new Set(failed.splice(0))], ['settle'])
  await rival.query('ROLLBACK')
  t.equal((await settling).applied, 2)
  t.strictSame(await view(store, purse), { spent: 10, leased: 90 })
  await rival.end()

  t.match(await store.audit(), { ok: true, charges: 10 })
  t.equal((await store.usage.page({ limit: 10 })).length, 2)
})

// at once, on a database each: every one waits for the session's five seconds
t.test('real lock waits that take too long: run again, applied once', t =>
  Promise.all(
    (
      [
        ['settle', ({ store, key }) => store.books.settle([settlement(usageRow('r3', key, 7), 'h1', 7)]), 7, 93],
        ['lease', ({ store, purse }) => store.books.lease(purse, 'h1', micro(10), micro(10), false), 0, 110],
        ['giveBack', ({ store, purse }) => store.books.giveBack(purse, 'h1', micro(3)), 0, 97],
      ] as [string, (on: Awaited<ReturnType<typeof ready>>) => Promise<unknown>, number, number][]
    ).map(async ([name, act, spent, leased]) => {
      const url = await newUrl()
      const { store: plain, purse, key } = await ready(url)
      const failed: string[] = []
      const store = openStore(url, { secret: 'x', onStatement: (op, ok) => void (ok || failed.push(op)) })
      t.teardown(() => Promise.all([plain.close(), store.close()]))
      await store.books.lease(purse, 'h1', micro(100), micro(100), false)
      const rival = await locking(url)
      const acting = act({ store, purse, key })
      await until('1205', () => failed.includes(name))
      await rival.query('ROLLBACK')
      await acting
      t.strictSame(await view(store, purse), { spent, leased }, `${name}: 1205, then once`)
      t.match(await store.audit(), { ok: true, charges: spent })
      await rival.end()
    }),
  ),
)

t.test('two change a secret at once: everybody hears of the one in between', async t => {
  const url = await newUrl()
  const { store, key } = await ready(url)
  t.teardown(() => store.close())
  const rival = await mysql.createConnection(url)
  t.teardown(() => rival.end())
  await rival.query('START TRANSACTION')
  await rival.query("UPDATE api_keys SET hash = 'between' WHERE id = ?", [key.id])
  const from = await store.changes.seq()
  const changing = store.keys.update(key.id, { hash: 'last' }, SETUP)
  await waiting(server) // for the row of the key
  await rival.query('COMMIT')
  t.equal((await changing).hash, 'last')
  t.strictSame(
    (await store.changes.since(from))!.map(({ kind, ref }) => `${kind} ${ref}`),
    ['key last', 'key between'],
  )
})

t.test('URLs', async t => {
  for (const [rest, message] of [
    ['@127.0.0.1:3306/', /must name a host and a database/],
    ['@127.0.0.1:3306/d?pol=3', /expected only ssl, ssl_ca, pool, connect_ms, query_ms in the URL's query$/],
    ['@127.0.0.1:3306/d?pool=0', /pool: expected a whole number from 2 to 100$/],
    ['@127.0.0.1:3306/d?ssl=no', /ssl: expected verify$/],
  ] as const) {
    t.throws(() => openStore(`mysql://u:p${rest}`, { secret: 'x' }), message, rest)
  }
})
