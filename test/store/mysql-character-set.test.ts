/**
 * Short codes stood in columns of the character set `ascii`, which OceanBase does not know: no store could be made
 * there. Tables have one character set.
 */
// The bug behind these rows: a character set that engines lack.
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { openStore } from '../../lib/store/store.ts'
import { accountPurse } from '../../lib/store/books/purses.ts'
import { startMariadb } from '../support/mariadb.ts'
import { startRewritingProxy } from '../support/rewriting-proxy.ts'
import { fund, settlement, usageRow } from '../support/store.ts'

const server = await startMariadb()
t.teardown(() => server.stop())

const characterSets = async (database: string) =>
  (
    (await server.admin(
      `SELECT DISTINCT character_set_name AS name FROM information_schema.columns WHERE table_schema = '${database}' AND character_set_name IS NOT NULL ORDER BY 1`,
    )) as { name: string }[]
  ).map(({ name }) => name)

/** One account through all that the books do. */
async function flow(t: Test, url: string): Promise<void> {
  const store = openStore(url, { secret: 'x' })
  t.teardown(() => store.close())
  await store.migrate()
  await store.migrate()
  const { account, key } = await fund(store, 'demo', 1_000)
  await store.holders.register({ id: 'h1', host: 'here', beat: 0 })
  await store.books.lease(accountPurse(account.id), 'h1', micro(30), micro(30), false)
  const batch = [settlement(usageRow('r1', key, 10), 'h1', 10), settlement(usageRow('r2', key, 7), 'h1', 0)]
  t.match(await store.books.settle(batch), { applied: 2 })
  t.match(await store.books.settle(batch), { applied: 0 }, 'once')
  t.equal((await store.keys.find(key.hash))?.account.name, 'demo')
  t.strictSame(
    (await store.usage.page({ limit: 10, accountId: account.id })).map(row => row.requestId),
    ['r2', 'r1'],
  )
  await store.holders.bury('h1')
  t.match(await store.audit(), { ok: true, charges: 17, leased: 0, credits: 1_000 })
}

t.test('a new store', async t => {
  await flow(t, await server.database('made_today'))
  t.strictSame(await characterSets('made_today'), ['utf8mb4'])
})

t.test('a setting that only tunes, and that the engine does not know, is said once', async t => {
  const url = await server.database('untuned')
  const setting = 'innodb_lock_wait_timeout'
  const proxy = await startRewritingProxy(server.port, { texts: [[setting, setting.replace('innodb', 'nobody')]] })
  const warnings: string[] = []
  const store = openStore(url.replace(/:\d+\//, `:${proxy.port}/`), { secret: 'x', onWarning: w => warnings.push(w) })
  t.teardown(async () => {
    await store.close()
    proxy.close()
  })
  await store.migrate()
  await Promise.all(Array.from({ length: 8 }, () => store.accounts.list()))
  t.equal(warnings.length, 1)
  t.match(
    warnings[0],
    /^the store goes on without a setting: SET SESSION innodb_lock_wait_timeout = 5: .*Unknown system variable/,
  )
})
