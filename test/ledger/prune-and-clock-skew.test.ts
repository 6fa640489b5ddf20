/** Retention against the journal: clocks that are wrong, what the prune mark says, and who hears of what is set aside. */
// The bug behind these rows: charges set aside for nothing.
import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import t from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { printAudit } from '../../lib/cli/store-commands.ts'
import { countDeadLetters } from '../../lib/ledger/dead-letters.ts'
import { Housekeeping } from '../../lib/process/housekeeping.ts'
import { openStore } from '../../lib/store/store.ts'
import { loadConfig } from '../../lib/config/config.ts'
import { house } from './house.ts'
import { changed, settlement, usageRow } from '../support/store.ts'
import { openOps } from '../admin/support.ts'

const HOUR = 3_600_000
const DAY = 24 * HOUR

t.test('a retention of less than a day is no setting', async t => {
  const load = (retention: string) => {
    const folder = t.testdir()
    const file = path.join(folder, 'gateway.yaml')
    writeFileSync(file, JSON.stringify({ usage_retention: retention }))
    return () => loadConfig(file, {})
  }
  t.throws(load('5m'), /usage_retention.*day/)
  t.throws(load('23h'), /usage_retention.*day/)
  for (const retention of ['0s', '24h', '90d']) t.doesNotThrow(load(retention))
})

t.test("a clock far ahead prunes by the store's time, and the mark is what really went", async t => {
  const { store, key, clock, folder, open, dead, spent } = await house(t)
  const row = (ms: number, charge: number) => usageRow(`${idAt(ms)}00000000000`, key, charge)
  const now = clock.now()
  const timed = changed(store, { now: async () => now })
  await store.books.settle([settlement(row(now - 40 * DAY, 1), 'x', 0), settlement(row(now - DAY, 2), 'x', 0)])
  await dead('p', [settlement(row(now - 2 * DAY, 4), 'p', 4), settlement(row(now, 8), 'p', 8)])
  clock.step(365 * DAY)
  const log = { info() {}, warn() {}, error() {} } as never
  const nothing = () => ({ settlements: 0, unreadable: 0 })
  await new Housekeeping({
    store: timed,
    clock,
    log,
    retentionMs: () => 30 * DAY,
    addressesMs: () => 0,
    setAside: nothing,
    pay: { byHand: 0 },
  }).run()
  t.equal((await store.usage.page({ limit: 9 })).length, 1, 'the young row stays')
  const ledger = await open({ store: timed })
  t.equal(await spent(), 15, 'and what comes late counts')
  t.same(countDeadLetters(folder), { settlements: 0, unreadable: 0 })
  await ledger.stop()
})

t.test('rows that go while a settlement is under way again: it is not charged twice', async t => {
  const { store, key } = await house(t)
  const old = settlement(usageRow(`${idAt(5 * DAY)}00000000000`, key, 10), 'p', 0)
  await store.books.settle([old])
  const [pruned, again] = await Promise.all([store.usage.prune(6 * DAY, 10), store.books.settle([old], true)])
  t.equal(pruned, 1)
  t.equal(again.applied, 0)
  t.match(await store.audit(), { ok: true, charges: 10 })
})

t.test("a clock far from the store's is not believed, and people hear of it", async t => {
  const { store, clock, open, said } = await house(t)
  let stored = clock.now()
  const ledger = await open({ store: changed(store, { now: async () => stored }) })
  t.equal(ledger.wall.now(), clock.now())
  const look = async () => {
    clock.advance(60_000)
    await store.ping()
    await new Promise(resolve => setImmediate(resolve))
  }
  clock.step(-3 * DAY)
  stored += 60_000
  await look()
  t.equal(ledger.wall.now(), stored)
  t.equal(ledger.wall.skewMs, 3 * DAY)
  t.match(said, [/clock is far/])
  await look()
  t.equal(said.length, 1, 'once')
  stored = clock.now() + 60_000
  await look()
  t.equal(ledger.wall.now(), clock.now(), 'near enough')
  t.match(said[1], /near/)
  await ledger.stop()
})

t.test('what is set aside fails the audit, by the command line and by the admin API', async t => {
  const folder = t.testdir()
  const journal = path.join(folder, 'journal')
  const file = path.join(folder, 'gateway.yaml')
  const url = `sqlite:${path.join(folder, 'a.db')}`
  writeFileSync(file, JSON.stringify({ store: url, journal }))
  const store = openStore(url, { secret: 'x' })
  await store.migrate()
  await store.close()
  t.equal((await printAudit(file, {}, false, false)).ok, true)
  mkdirSync(journal)
  writeFileSync(path.join(journal, 'p.aside'), '{"a":1}\n{"a":2}\n{"a":2}\n')
  mkdirSync(path.join(journal, 'q.corrupt-17'))
  t.same(countDeadLetters(journal), { settlements: 2, unreadable: 1 })
  const { ok, data } = await printAudit(file, {}, true, false)
  t.notOk(ok)
  t.match(JSON.parse(data), { ok: false, set_aside: 3 })
  t.match((await printAudit(file, {}, false, false)).talk.join(), /set aside.*3/)
  const ops = await openOps(t)
  ops.aside.settlements = 1
  t.match((await ops.admin('GET', '/admin/audit')).json, { ok: false, set_aside: 1, imbalance: '0.000000' })
})
