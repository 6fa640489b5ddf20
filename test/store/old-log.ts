/**
 * A store of schema 5, whose usage log was the table `usage_rows`, becomes one of today: its rows are all there, its books
 * are true, and its usage is summed, however often the migration breaks off and however many migrate at once.
 */
import type { NewUrl } from '../support/databases.ts'
import type { Test } from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import type { Driver, Param } from '../../lib/store/driver.ts'
import { migrate } from '../../lib/store/migrations.ts'
import { openMysql } from '../../lib/store/mysql.ts'
import { openStore } from '../../lib/store/open.ts'
import { openSqlite } from '../../lib/store/sqlite.ts'
import { accountPurse } from '../../lib/store/store.ts'
import { NOT_RECORDED } from '../../lib/terms/records.ts'
import { settlement, usageRow } from '../support/store.ts'

const SCHEMA = 5
/** More than are copied in one transaction. */
const ROWS = 2_500
const PRUNED = 1_000
const HOUR_MS = 3_600_000
const OLD_COLUMNS =
  'request_id, account_id, key_id, group_name, protocol, model, channel, status, ended, basis, charge, ' +
  'first_byte_ms, duration_ms, input, cache_read, cache_write_5m, cache_write_1h, output, images, answer_id, upstream_key'

export const openDriver = (url: string): Driver =>
  url.startsWith('sqlite:')
    ? openSqlite(url, () => {})
    : openMysql(
        url,
        () => {},
        () => {},
      )

const idOf = (i: number): string => `${idAt(HOUR_MS * 100 + i * 10_000)}node0000000`

/** One account and one key, which were charged 1 for each row, and before that what is pruned by now. */
async function fill(driver: Driver): Promise<void> {
  await migrate(driver, SCHEMA)
  const run = (sql: string, params: Param[] = []) => driver.run('fill', sql, params)
  await run(
    'INSERT INTO accounts (id, name, status, allowed_groups, archived) ' +
      `VALUES (1, 'old', 'active', '["default"]', ${PRUNED}), (2, 'idle', 'active', '[]', 0)`,
  )
  await run(
    'INSERT INTO api_keys (id, account_id, name, hash, hint, group_name, status, deleted) ' +
      "VALUES (1, 1, 'k', 'h', 'sk', 'default', 'enabled', 0)",
  )
  const spent = PRUNED + ROWS
  await run(
    `INSERT INTO purses (id, credit, promised) VALUES ('a1', 9000, ${spent}), ('a2', 0, 0), ('k1', NULL, ${spent})`,
  )
  await run(
    "INSERT INTO topups (account_id, reference, amount, at_ms) VALUES (1, 'opening', 8000, 0), (1, 'more', 1000, 7)",
  )
  for (let from = 0; from < ROWS; from += 500) {
    const row =
      "(?, 1, 1, 'default', 'responses', 'm', 'one', 200, 'completed', 'reported', 1, 12, 34, 1, 2, 3, 4, 5, 6, ?, 'u')"
    const values = Array.from({ length: 500 }, () => row).join(', ')
    const params = Array.from({ length: 500 }, (_, i) => [idOf(from + i), `answer-${from + i}`]).flat()
    await run(`INSERT INTO usage_rows (${OLD_COLUMNS}) VALUES ${values}`, params)
  }
}

/** Breaks off before its transaction number `at`. */
const breaking = (driver: Driver, at: number): Driver => {
  let count = 0
  return {
    dialect: driver.dialect,
    query: (...args) => driver.query(...args),
    run: (...args) => driver.run(...args),
    snapshot: (...args) => driver.snapshot(...args),
    prove: () => driver.prove(),
    script: statements => driver.script(statements),
    close: () => driver.close(),
    transaction: (op, fn) => {
      if (++count === at) throw new Error('broken off')
      return driver.transaction(op, fn)
    },
  }
}

export async function oldLog(t: Test, newUrl: NewUrl): Promise<void> {
  const url = await newUrl()
  const [driver, other] = [openDriver(url), openDriver(url)]
  const store = openStore(url, { secret: 'x' })
  t.teardown(() => Promise.all([driver.close(), other.close(), store.close()]))
  await fill(driver)
  await t.rejects(migrate(breaking(driver, 1)), /broken off/)
  await t.rejects(migrate(breaking(driver, 2)), /broken off/)
  const late = driver.run('old', `INSERT INTO usage_rows (${OLD_COLUMNS}) SELECT * FROM usage_rows`, [])
  await t.rejects(late, 'an older gateway has nowhere to write')
  await Promise.all([migrate(driver), migrate(other), store.migrate()])
  await store.migrate()

  t.match(await store.audit(), { ok: true, imbalance: 0, charges: PRUNED + ROWS, credits: 9_000 })
  const { entries, charges, balance } = await store.book(1, { fromMs: 0, toMs: 1e13, limit: 9 })
  t.match(entries, [
    { kind: 'topup', reference: 'more', amount: 1_000, bookedAtMs: 7 },
    { kind: 'opening', reference: 'opening', amount: 8_000, bookedAtMs: 0 },
  ])
  t.equal(balance, 9_000 - PRUNED - ROWS)
  t.strictSame(charges.at(-1), { atMs: 0, charge: PRUNED }, 'what was pruned counts at the moment of pruning')
  t.match(charges.at(-2), { atMs: HOUR_MS * 100, charge: 360 }, 'a row every ten seconds')
  const rows = (await Array.fromAsync(store.usageSlices({}))).flat()
  t.strictSame(
    rows.map(row => row.requestId),
    Array.from({ length: ROWS }, (_, i) => idOf(ROWS - 1 - i)),
    'every row, once',
  )
  const [newest] = rows
  t.match(newest, { ...NOT_RECORDED, charge: 1, cache_write_1h: 4, answerId: `answer-${ROWS - 1}`, outcome: 'ok' })
  t.equal(newest!.bookedAtMs, HOUR_MS * 100 + (ROWS - 1) * 10_000 + 34)
  t.strictSame(await store.answerMaker(1, 'answer-7'), { channel: 'one', key: 'u' })

  await store.register({ id: 'h', host: 'here', beat: 0 })
  const key = (await store.key(1))!
  const again = settlement(usageRow(idOf(3), key, 1), 'h', 0)
  t.match(await store.settle([again]), { applied: 0, repeated: [again] }, 'a row of before counts once')
  await store.settle([settlement(usageRow(idOf(ROWS), key, 5), 'h', 0)])
  t.equal(await store.pruneUsage(HOUR_MS * 102, 1_000), 720)
  t.match(await store.audit(), { ok: true, charges: PRUNED + ROWS + 5 })
  t.equal((await store.purses([accountPurse(1)]))[0]?.spent, PRUNED + ROWS + 5)
}
