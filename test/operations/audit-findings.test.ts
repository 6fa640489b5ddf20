/** The audit at three in the morning: which account, which equation, what was expected, what was found, and what mends it. */
import { DatabaseSync } from 'node:sqlite'
import t from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { readAudit } from '../../lib/operations/billing/audit.ts'
import { type AuditEquation, EQUATIONS } from '../../lib/store/audit.ts'
import { openStore } from '../../lib/store/store.ts'
import { fund, settlement, usageRow } from '../support/store.ts'

const NOTHING_ASIDE = { settlements: 0, unreadable: 0, journals: 0 }
const REBUILD = /^gateway rollups rebuild$/
const RESTORE = /^no command: .* restore the latest copy/

/** What somebody wrote into the store, what takes it back, and the equation that it breaks, with both its sides. */
const BROKEN: readonly (readonly [
  equation: AuditEquation,
  write: string,
  back: string,
  expected: string,
  found: string,
  mend: RegExp,
])[] = [
  [
    'entries',
    "UPDATE purses SET credit = credit + 7 WHERE id = 'a1'",
    "UPDATE purses SET credit = credit - 7 WHERE id = 'a1'",
    '0.001000',
    '0.001007',
    RESTORE,
  ],
  [
    'charges',
    'UPDATE accounts SET archived = archived + 5 WHERE id = 1',
    'UPDATE accounts SET archived = archived - 5 WHERE id = 1',
    '0.000105',
    '0.000100',
    RESTORE,
  ],
  [
    'keys',
    "UPDATE purses SET promised = promised - 3 WHERE id = 'k1'",
    "UPDATE purses SET promised = promised + 3 WHERE id = 'k1'",
    '0.000100',
    '0.000097',
    RESTORE,
  ],
  ...(
    [
      ['sums_by_hour', 1],
      ['sums_by_day', 2],
      ['sums_by_key_day', 7],
      ['sums_by_account_hour', 5],
      ['sums_by_account_day', 6],
    ] as const
  ).map(
    ([equation, grain]) =>
      [
        equation,
        `UPDATE usage_sums SET charge = charge + 9 WHERE grain = ${grain}`,
        `UPDATE usage_sums SET charge = charge - 9 WHERE grain = ${grain}`,
        '0.000100',
        '0.000109',
        REBUILD,
      ] as const,
  ),
  [
    'sums_by_day_of_all',
    'UPDATE usage_sums SET charge = charge + 9 WHERE grain = 3',
    'UPDATE usage_sums SET charge = charge - 9 WHERE grain = 3',
    '0.000100',
    '0.000109',
    REBUILD,
  ],
  [
    'charged_hours',
    'UPDATE charged_hours SET charge = 40',
    'UPDATE charged_hours SET charge = 100',
    '0.000100',
    '0.000040',
    RESTORE,
  ],
  [
    'leases_below_zero',
    "INSERT INTO leases (purse_id, holder, amount, held, ticket) VALUES ('a1', 'here', -4, 0, 0)",
    'DELETE FROM leases',
    '0.000000',
    '-0.000004',
    /restart the gateways/,
  ],
  [
    'leases_of_nobody',
    "INSERT INTO leases (purse_id, holder, amount, held, ticket) VALUES ('a1', 'gone', 4, 0, 0)",
    'DELETE FROM leases',
    '0.000000',
    '0.000004',
    RESTORE,
  ],
  [
    'limits',
    "INSERT INTO purses (id, credit, promised) VALUES ('b1.d1', 5, 120)",
    "DELETE FROM purses WHERE id = 'b1.d1'",
    '0.000000',
    '0.000020',
    RESTORE,
  ],
  [
    'payments',
    "INSERT INTO entries (account_id, kind, reference, payment, amount, booked_at_ms, actor, note) VALUES (1, 'payment', 'bsc:1', 'bsc:1', 1, 1, '', '')",
    "DELETE FROM entries WHERE kind = 'payment'",
    '0.000000',
    '0.000002',
    /gateway orders exceptions/,
  ],
]

t.test('each equation of the books that somebody breaks is named with its account and both sides', async t => {
  const folder = t.testdir()
  const store = openStore(`sqlite:${folder}/books.db`, { secret: 'x' })
  t.teardown(() => store.close())
  await store.migrate()
  const { key } = await fund(store, '新客户', 1_000)
  await store.holders.register({ id: 'here', host: 'h', beat: 0 })
  await store.books.settle([settlement(usageRow(`${idAt(1_790_000_000_000)}node0000001`, key, 100), 'here', 0)])
  const audit = async () =>
    (await readAudit({ store, fleet: { settled: async () => {} }, setAside: () => NOTHING_ASIDE })).row
  t.match(await audit(), { ok: true, broken: 0, findings: [] })
  const hand = new DatabaseSync(`${folder}/books.db`)
  t.teardown(() => hand.close())
  t.strictSame(new Set(BROKEN.map(([equation]) => equation)), new Set(EQUATIONS), 'every equation has its row')
  for (const [equation, write, back, expected, found, mend] of BROKEN) {
    hand.exec(write)
    const row = await audit()
    const finding = row.findings.find(one => one.equation === equation)
    const account = equation === 'sums_by_day_of_all' ? null : '新客户'
    t.match(finding, { account, expected, found, mend, says: /\w/ }, equation)
    t.equal(row.ok, false)
    hand.exec(back)
    t.match(await audit(), { ok: true, findings: [] }, `${equation}: mended`)
  }
})

t.test('rollups rebuild mends what the audit says that it mends', async t => {
  const folder = t.testdir()
  const store = openStore(`sqlite:${folder}/books.db`, { secret: 'x' })
  t.teardown(() => store.close())
  await store.migrate()
  const { key } = await fund(store, 'acme', 1_000)
  await store.holders.register({ id: 'here', host: 'h', beat: 0 })
  await store.books.settle([settlement(usageRow(`${idAt(1_790_000_000_000)}node0000001`, key, 100), 'here', 0)])
  const hand = new DatabaseSync(`${folder}/books.db`)
  hand.exec('UPDATE usage_sums SET charge = charge + grain')
  hand.close()
  const audit = async () =>
    (await readAudit({ store, fleet: { settled: async () => {} }, setAside: () => NOTHING_ASIDE })).row
  t.strictSame(new Set((await audit()).findings.map(({ mend }) => mend)), new Set(['gateway rollups rebuild']))
  await store.usage.rebuildSums()
  t.match(await audit(), { ok: true, findings: [] })
})
