/**
 * What a server says when it is read-only after a fail-over, or can prepare no more statements, left the connection in
 * the pool: every call failed until a restart.
 */
// The bug behind these rows: a store that moved or is full.
import t, { type Test } from 'tap'
import { idMaker } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { CommitUncertain } from '../../lib/store/base/driver.ts'
import {
  ConnectionLost,
  isUndone,
  MYSQL_ERRORS,
  mapMysqlError,
  RunAgain,
  ServerMoved,
} from '../../lib/store/engines/mysql-errors.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { copyDatabase } from '../support/copy-database.ts'
import { startMariadb } from '../support/mariadb.ts'
import type { MysqlServer } from '../support/mysql-server.ts'
import { startRewritingProxy } from '../support/rewriting-proxy.ts'
import { fund, settlement, usageRow } from '../support/store.ts'
import { startTcpProxy } from '../support/tcp-proxy.ts'
import { until } from '../support/wait.ts'

const [first, second] = (await Promise.all([startMariadb(), startMariadb()])) as [MysqlServer, MysqlServer]
t.teardown(() => Promise.all([first.stop(), second.stop()]))

/** One who may not write to a read-only server. */
async function addUser(server: MysqlServer, ...grants: string[]): Promise<void> {
  await server.admin(`CREATE USER IF NOT EXISTS gateway@'127.0.0.1' ${grants.join(' ')}`)
  await server.admin(`GRANT ALL ON gateway.* TO gateway@'127.0.0.1'`)
}
await Promise.all([addUser(first), addUser(second)])

const urlAt = (port: number, query = '') => `mysql://gateway@127.0.0.1:${port}/gateway${query}`

/** A store at an address that leads to the first server, and may lead to the second later. */
async function behindAnAddress(t: Test) {
  const proxy = await startRewritingProxy(first.port)
  const store = openStore(urlAt(proxy.port), { secret: 'x' })
  t.teardown(async () => {
    await store.close()
    proxy.close()
    await first.admin('SET GLOBAL read_only = 0')
  })
  await store.migrate()
  return { store, proxy }
}

const unavailable = (t: Test, promise: Promise<unknown>, name: string) =>
  promise.then(
    () => t.fail(`${name}: should have failed`),
    error => t.ok(error instanceof StoreUnavailable && !(error instanceof CommitUncertain), `${name}: ${error}`),
  )

t.test('the server is read-only, and the address moves to another', async t => {
  const { store, proxy } = await behindAnAddress(t)
  const { account, key } = await fund(store, 'demo', 1_000)
  await store.holders.register({ id: 'h1', host: 'here', beat: 0 })
  const purse = accountPurse(account.id)
  const lease = () => store.books.lease(purse, 'h1', micro(1), micro(1), false)
  // Eight connections, as under load, all of them to the first server.
  await Promise.all(Array.from({ length: 8 }, lease))

  await first.admin('SET GLOBAL read_only = 1')
  await copyDatabase(first, second)
  await unavailable(t, lease(), 'a lease')
  await unavailable(t, store.ping(), 'readiness')
  await unavailable(t, store.books.settle([settlement(usageRow('r1', key, 1), 'h1', 1)]), 'a settlement')
  t.equal((await store.keys.find(key.hash))?.key.name, key.name, 'what only reads goes on')

  proxy.target = second.port
  await store.ping()
  t.match(await lease(), { granted: 1 }, 'the first call succeeds')
  await Promise.all(Array.from({ length: 16 }, lease))
  t.match(await store.books.settle([settlement(usageRow('r1', key, 1), 'h1', 1)]), { applied: 1 })
  t.match(await store.audit(), { ok: true, charges: 1, leased: 24 })
  const [{ leased }] = (await first.admin('SELECT SUM(amount) AS leased FROM gateway.leases')) as [{ leased: string }]
  t.equal(Number(leased), 8, 'the old server has not got anything since')
})

t.test('reads that were never refused follow too, as soon as one write was', async t => {
  const { store, proxy } = await behindAnAddress(t)
  await Promise.all(Array.from({ length: 8 }, () => store.accounts.list()))
  await second.admin("UPDATE gateway.meta SET value = 4711 WHERE name = 'changes'")
  await first.admin('SET GLOBAL read_only = 1')
  proxy.target = second.port
  await store.ping()
  const seen = await Promise.all(Array.from({ length: 16 }, () => store.changes.seq()))
  t.strictSame([...new Set(seen)], [4711])
})

t.test('a connection whose session is prepared while the address moves is an old one', async t => {
  let held: (() => void)[] | null = null
  let port = first.port
  const proxy = await startTcpProxy(
    () => port,
    (_client, server) => ({
      fromClient(bytes) {
        if (held !== null && bytes.includes('SET SESSION')) held.push(() => void server.write(bytes))
        else server.write(bytes)
      },
    }),
  )
  const store = openStore(urlAt(proxy.port), { secret: 'x' })
  t.teardown(async () => {
    await store.close()
    proxy.close()
    await first.admin('SET GLOBAL read_only = 0')
  })
  await store.ping()
  await second.admin("UPDATE gateway.meta SET value = 4712 WHERE name = 'changes'")
  await first.admin('SET GLOBAL read_only = 1')
  const holding: (() => void)[] = (held = [])
  let refused = false
  const ping = store
    .ping()
    .catch(() => {})
    .finally(() => (refused = true)) // on the connection that is there
  const seen = store.changes.seq() // on a new one
  // the refused one may be tried again, on a second new connection
  await until('a session is being prepared, and the ping was refused', () => holding.length > (refused ? 0 : 1))
  port = second.port
  held = null
  for (const go of holding) go()
  t.equal(await seen, 4712, 'of the server to which the address leads now')
  await ping
})

t.test(
  'the old server is silent, its connections open: they are left with the first that was not answered',
  async t => {
    const proxy = await startRewritingProxy(first.port)
    const store = openStore(urlAt(proxy.port, '?query_ms=2000&connect_ms=2000'), { secret: 'x' })
    t.teardown(async () => {
      first.resume()
      await store.close()
      proxy.close()
    })
    await Promise.all(Array.from({ length: 8 }, () => store.accounts.list()))
    first.pause()
    proxy.target = second.port
    await unavailable(t, store.accounts.list(), 'nobody answers')
    await t.resolves(Promise.all(Array.from({ length: 16 }, () => store.accounts.list())))
  },
)

const prepared = async (server: MysqlServer): Promise<number> =>
  Number(((await server.admin("SHOW GLOBAL STATUS LIKE 'Prepared_stmt_count'")) as { Value: string }[])[0]?.Value)

t.test('batches of every size leave few statements on the server', async t => {
  const store = openStore(await first.database('sizes'), { secret: 'x' })
  t.teardown(() => store.close())
  await store.migrate()
  const { key } = await fund(store, 'demo', 1_000)
  const before = await prepared(first)
  const id = idMaker(() => 1_000)
  for (let size = 1; size <= 70; size++)
    await store.books.settle(Array.from({ length: size }, () => settlement(usageRow(id(), key, 1), 'h1', 0)))
  const more = (await prepared(first)) - before
  t.ok(more <= 20, `${more} more`)
  t.match(await store.audit(), { ok: true, charges: (70 * 71) / 2 })
})

t.test('the server can prepare no more statements', async t => {
  const url = await first.database('full')
  const open = (): Store => {
    const store = openStore(`${url}?pool=2`, { secret: 'x' })
    t.teardown(() => store.close())
    return store
  }
  const [store, other] = [open(), open()]
  await store.migrate()
  const { account, key } = await fund(store, 'demo', 1_000)
  await store.holders.register({ id: 'h1', host: 'here', beat: 0 })
  t.teardown(() => first.admin('SET GLOBAL max_prepared_stmt_count = 16382'))

  await first.admin(`SET GLOBAL max_prepared_stmt_count = ${await prepared(first)}`)
  t.match(
    await store.books.lease(accountPurse(account.id), 'h1', micro(1), micro(1), false),
    { granted: 1 },
    'a connection of ours is closed, and its statements are free',
  )
  await first.admin('SET GLOBAL max_prepared_stmt_count = 0')
  await unavailable(t, other.keys.find(key.hash), 'all belong to others')
})

t.test('what each error of the family means', async t => {
  const fail = (errno: number, change: object = {}) =>
    mapMysqlError(Object.assign(new Error('text'), { errno, code: `E${errno}`, sqlState: 'HY000', ...change }))
  const seen = new Set<number>()
  for (const [errno, cure, commit, meaning, source] of MYSQL_ERRORS) {
    t.notOk(seen.has(errno), `${errno} once`)
    seen.add(errno)
    t.ok(meaning !== '' && source !== '')
    const error = fail(errno)
    t.equal(error instanceof RunAgain, cure === 'again', `${errno} runs again`)
    t.equal(error instanceof ConnectionLost, cure === 'reconnect' || cure === 'moved', `${errno} closes the connection`)
    t.equal(error instanceof ServerMoved, cure === 'moved', `${errno} leaves the server`)
    t.equal(isUndone(error), commit === 'undone', `${errno} as the answer to a COMMIT`)
  }
  for (const errno of [8002, 8005, 8022, 8028, 9001, 9002, 9003, 9004, 9005, 9007, 4012, 6001, 6002, 6005])
    t.ok(fail(errno) instanceof RunAgain, `${errno} is retried`)
  for (const errno of [1047, 1290, 1792, 1836, 4038]) t.ok(fail(errno) instanceof ServerMoved, `${errno} moves`)
  for (const errno of [4012, 4038, 1317, 9002]) t.notOk(isUndone(fail(errno)), `${errno} leaves a COMMIT open`)

  for (const [message, Class] of [
    ['target: commerce.0.primary: vttablet: operation not allowed in state NOT_SERVING', ServerMoved],
    ['target: commerce.0.primary: primary is not serving, there may be a reparent operation', ServerMoved],
    ['vttablet: rpc error: code = Unavailable desc = connection refused', ServerMoved],
    ['vttablet: rpc error: code = Aborted desc = transaction 12: ended at', RunAgain],
    ['[try again later]: WriteConflict: startTS=1', RunAgain],
  ] as const) {
    const error = fail(1105, { message })
    t.ok(error instanceof Class, message)
    t.notOk(isUndone(error), 'nobody knows what became of the COMMIT')
  }
  t.notOk(fail(1105) instanceof StoreUnavailable, 'another 1105 is an error like others')
  t.notOk(isUndone(fail(1105)), 'but nobody knows what became of a COMMIT')
  const stopping = fail(8002, { sqlState: '08S01' })
  t.ok(stopping instanceof ConnectionLost && !isUndone(stopping), 'the same number from OceanBase ends the connection')
})
