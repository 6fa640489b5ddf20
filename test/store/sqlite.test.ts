import { mkdtempSync, rmSync, statSync, utimesSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import { CHARGED_HOURS, USAGE_SUMS } from '../../lib/store/usage/sums.ts'
import { openStore } from '../../lib/store/store.ts'
import { StoreUnavailable } from '../../lib/store/base/errors.ts'
import { REFUSALS } from '../../lib/store/usage/refusals.ts'
import { USAGE_LOG } from '../../lib/store/usage/rows.ts'
import { filesIn } from '../support/databases.ts'
import { fund, memoryStore, settlement, SETUP, usageRow } from '../support/store.ts'
import { storeSuite } from './suite.ts'

let count = 0
// not in a folder of the checkout, whose disk each commit would wait for
const folder = mkdtempSync(join(tmpdir(), 'gateway-sqlite-'))
t.teardown(() => rmSync(folder, { recursive: true, force: true }))
const newFile = () => join(folder, `${count++}`, 'deep', 'gateway.db')

t.test('every store', async t => storeSuite(t, filesIn(join(folder, 'suite'))))

t.test('in memory', async t => {
  const store = await memoryStore()
  await fund(store, 'demo', 5)
  t.match(await store.audit(), { ok: true, accounts: 1, credits: 5 })
  await store.close()
})

t.test('statements are counted, with what became of them', async t => {
  const seen: string[] = []
  const file = newFile()
  const store = openStore(`sqlite:${file}`, { secret: 'x', onStatement: (op, ok) => seen.push(`${op} ${ok}`) })
  await t.rejects(store.accounts.list(), /no such table/)
  t.strictSame(seen, ['account false'])
  await store.migrate()
  seen.length = 0
  t.equal(await store.keys.find('unknown'), null)
  t.strictSame(seen, ['findKey true'])
  await store.close()
})

// words that people search for: poll, idle CPU, wakeups
t.test('what has changed is asked of the engine only when somebody has written, and nothing is missed', async t => {
  const seen: string[] = []
  const file = newFile()
  const store = openStore(`sqlite:${file}`, { secret: 'x', onStatement: op => seen.push(op) })
  await store.migrate()
  const other = openStore(`sqlite:${file}`, { secret: 'x' })
  let seq = await store.changes.seq()
  let agesMs = 0
  /** What has been written looks as if that had been a while ago. */
  const age = () => utimesSync(`${file}-wal`, new Date(), new Date(Date.now() - 60_000 + ++agesMs))
  const follow = async () => {
    seen.length = 0
    const changes = await store.changes.since(seq)
    seq = changes?.at(-1)?.seq ?? seq
    return { found: changes?.map(({ kind }) => kind), asked: seen.length }
  }
  const write = () => fund(other, `account ${seen.length} ${seq}`, 5)
  t.strictSame(
    [await follow(), await follow()],
    Array(2).fill({ found: [], asked: 1 }),
    'written just now: another may follow',
  )
  age()
  t.strictSame(
    [await follow(), await follow(), await follow()].map(({ asked }) => asked),
    [1, 0, 0],
  )
  await write()
  const { found, asked } = await follow()
  t.ok(found!.length > 0, 'what another process writes is found at once')
  t.equal(asked, 1)
  age()
  t.strictSame(
    [await follow(), await follow()],
    [1, 0].map(asked => ({ found: [], asked })),
  )
  new DatabaseSync(file).exec('PRAGMA wal_checkpoint(TRUNCATE)')
  await write()
  t.ok((await follow()).found!.length > 0, 'also when the log has begun anew')
  age()
  await follow()
  const before = statSync(`${file}-wal`).mtime
  await write()
  utimesSync(`${file}-wal`, before, before)
  const late: unknown[] = []
  for (let round = 0; round < 6; round++) late.push(...(await follow()).found!)
  t.ok(
    late.length > 0,
    'a commit for which the disk took long is seen after its last write, and is found within six rounds',
  )
  await other.close()
  await store.close()
})

t.test('what is broken shows', async t => {
  const file = newFile()
  const store = openStore(`sqlite:${file}`, { secret: 'x' })
  await store.migrate()
  const people = [await fund(store, 'one', 100), await fund(store, 'two', 100), await fund(store, 'three', 100)]
  const [one, two, three] = people.map(({ account }) => account.id) as [number, number, number]
  const db = new DatabaseSync(file)
  for (const [sql, imbalance, broken] of [
    [`UPDATE purses SET credit = credit + 3 WHERE id = 'a${one}'`, 3, [one]],
    [`UPDATE purses SET promised = promised + 5 WHERE id = 'a${two}'`, 8, [one, two]],
    [`INSERT INTO leases VALUES ('a${three}', 'h', -2, 0, '')`, 12, [one, two, three]],
    [`UPDATE purses SET promised = promised + 1 WHERE id = 'k${people[0]!.key.id}'`, 13, [one, two, three]],
    [`DELETE FROM leases`, 9, [one, two]],
    [`INSERT INTO leases VALUES ('a${three}', 'gone', 4, 0, '')`, 17, [one, two, three]],
  ] as const) {
    db.exec(sql)
    t.match(await store.audit(), { ok: false, imbalance, broken }, sql)
  }
  db.close()
  await store.close()
})

t.test('what is inserted by the row is whole numbers, also where it is added to what is there', async t => {
  const file = newFile()
  const store = openStore(`sqlite:${file}`, { secret: 'x' })
  await store.migrate()
  const { key } = await fund(store, 'demo', 2 ** 50)
  await store.holders.register({ id: 'h', host: 'here', beat: 0 })
  for (const n of [1, 2]) {
    const row = usageRow(`${idAt(1e12)}n0de01${n}0000`, key, 2 ** 49 - n, { cost: micro(2 ** 51 + n), held: micro(7) })
    await store.books.settle([settlement(row, 'h', 0)], false)
  }
  const refusal = {
    requestId: 'r',
    atMs: 1,
    accountId: 1,
    keyId: 1,
    model: 'm',
    reason: 'quota',
    status: 403,
    address: '::1',
  }
  await store.refusals.record([refusal])
  await store.close()
  const db = new DatabaseSync(file)
  for (const table of [USAGE_LOG, USAGE_SUMS, CHARGED_HOURS, REFUSALS])
    for (const [column, type] of Object.entries(table.columns)) {
      if (!/^(auto|int)/.test(type)) continue
      const found = db.prepare(`SELECT DISTINCT typeof(${column}) AS type FROM ${table.name}`).all()
      t.ok(
        found.length > 0 && found.every(({ type }) => type === 'integer' || type === 'null'),
        `${table.name}.${column}`,
      )
    }
  const sum = db.prepare(
    'SELECT CAST(charge AS TEXT) AS charge, CAST(cost AS TEXT) AS cost FROM usage_sums WHERE grain = 1',
  )
  t.match(sum.get(), { charge: String(2n ** 50n - 3n), cost: String(2n ** 52n + 3n) })
  db.close()
})

t.test('a store of another version of the program is refused and left untouched', async t => {
  const file = newFile()
  const store = openStore(`sqlite:${file}`, { secret: 'x' })
  await store.migrate()
  const db = new DatabaseSync(file)
  db.exec("UPDATE meta SET value = 99 WHERE name = 'schema'")
  db.exec('DROP TABLE usage_sums')
  db.close()
  await t.rejects(store.migrate(), /^store: it was made by another version .* Nothing was changed in it/)
  await t.rejects(store.wantSchema(), /another version/)
  await store.close()
  const after = new DatabaseSync(file, { readOnly: true })
  t.equal(after.prepare("SELECT name FROM sqlite_master WHERE name = 'usage_sums'").get(), undefined)
  after.close()
})

t.test('a file that cannot be is an unavailable store', async t => {
  const file = newFile()
  const store = openStore(`sqlite:${file}`, { secret: 'x' })
  await store.migrate()
  const beneath = openStore(`sqlite:${file}/no/folder.db`, { secret: 'x' })
  await t.rejects(beneath.ping())
  const folderItself = openStore(`sqlite:${folder}`, { secret: 'x' })
  await t.rejects(folderItself.ping(), StoreUnavailable)
  await Promise.all([store.close(), beneath.close(), folderItself.close()])
})

t.test('URLs of no store', async t => {
  for (const url of ['postgres://u:hidden@h/d', 'gateway.db', 'sqlite:']) {
    t.throws(() => openStore(url, { secret: 'x' }), /store: expected sqlite:PATH/, url)
  }
  t.throws(() => openStore('postgres://u:hidden@h/d', { secret: 'x' }), /found another scheme$/)
})

t.test('the row of a deleted key says from where it could be used', async t => {
  const file = newFile()
  const store = openStore(`sqlite:${file}`, { secret: 'x' })
  await store.migrate()
  const { key } = await fund(store, 'demo', 0)
  await store.keys.update(key.id, { allowIps: ['192.0.2.0/24'], models: ['m'] }, SETUP)
  await store.keys.delete(key.id, SETUP)
  await store.close()
  const db = new DatabaseSync(file)
  const row = db.prepare('SELECT allow_ips, models FROM api_keys').get()
  db.close()
  t.match(row, { allow_ips: '["192.0.2.0/24"]', models: '[]' })
})

t.test('a report of more than a column takes', async t => {
  const file = newFile()
  const store = openStore(`sqlite:${file}`, { secret: 'x' })
  await store.migrate()
  const { key } = await fund(store, 'demo', 5)
  await store.books.settle([settlement(usageRow(`${idAt(Date.UTC(2026, 0, 5))}node0000001`, key, 1), 'h', 0)])
  const db = new DatabaseSync(file)
  db.exec(`UPDATE usage_sums SET cost = ${2n ** 62n}`)
  const names = Object.keys(USAGE_SUMS.columns)
  const nextDay = names.map(name => (name === 'hour_no' ? 'hour_no + 24' : name))
  db.exec(`INSERT INTO usage_sums (${names.join(', ')}) SELECT ${nextDay.join(', ')} FROM usage_sums`)
  db.close()
  t.match(await store.usage.summary({ by: [], zone: 'UTC' }), [{ cost: Number.MAX_SAFE_INTEGER }])
  await store.close()
})
