/** Files of the usage log on every engine: the thread makes what the same work makes of the store itself, byte for byte. */

import type { Test } from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import exportWork, { type ExportOrder } from '../../lib/operations/usage/export-work.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import type { NewUrl } from '../support/databases.ts'
import { seeded } from '../support/random.ts'
import { fund, newKey, SETUP, settlement, usageRow } from '../support/store.ts'

const WORK = new URL('../../lib/operations/usage/export-work.ts', import.meta.url)
/** More than the rows of a slice of either file. */
const ROWS = 2_300
const FROM_MS = Date.UTC(2026, 0, 1)

async function fill(t: Test, store: Store): Promise<{ accountId: number; keyIds: number[] }> {
  const random = seeded(t)
  await store.holders.register({ id: 'h', host: 'here', beat: 0 })
  const [{ account, key }, other] = [await fund(store, '=acme', 1e9), await fund(store, '他人', 1e9)]
  const second = await store.keys.create(newKey(account.id, { name: '"second", 键', hash: 'ab'.repeat(32) }), SETUP)
  const rows = Array.from({ length: ROWS }, (_, n) =>
    usageRow(
      `${idAt(FROM_MS + random.int(0, 86_400_000))}n0de00${String(n).padStart(5, '0')}`,
      random.pick([key, second, other.key]),
      n,
      {
        model: random.pick(['m1', '=m2', '模型😀']),
        status: random.pick([200, 502]),
        cost: random.pick([null, micro(3)]),
        clientRequestId: random.pick([null, '-1', 'a,"b"']),
        attempts: random.pick([[], [{ channel: 'one', status: 502, error: 'cut', ms: 5 }]]),
      },
    ),
  )
  for (let at = 0; at < ROWS; at += 500)
    await store.books.settle(rows.slice(at, at + 500).map(row => settlement(row, 'h', 0)))
  return { accountId: account.id, keyIds: [second.id] }
}

export async function exportSuite(t: Test, newUrl: NewUrl): Promise<void> {
  const ops: string[] = []
  const store = openStore(await newUrl(t), { secret: 'x', onStatement: op => ops.push(op) })
  t.teardown(() => store.close())
  const { accountId, keyIds } = await fill(t, store)
  const formats = ['csv', 'jsonl'] as const
  const own = (filter: object, ascending = false) =>
    formats.map((format): ExportOrder => {
      const whose = { accountId, keyIds: null, ...filter }
      return { scope: 'account', format, filter: whose, ascending, heads: 'words', language: 'zh' }
    })
  const all = (filter: object | null) => formats.map((format): ExportOrder => ({ scope: 'everybody', format, filter }))
  const orders = [
    ...[
      ...own({}),
      ...own({}, true),
      ...own({ keyIds }),
      ...own({ model: '=m2', statusClass: 5 }),
      ...own({ model: 'unused' }),
    ],
    ...[...all({}), ...all({ accountId }), ...all({ model: '=m2' }), ...all({ accountId: 999 }), ...all(null)],
  ]
  for (const order of orders) {
    const want = (await Array.fromAsync(exportWork(store, order))).join('')
    ops.length = 0
    const pieces = await Array.fromAsync(store.export(WORK, order))
    t.ok(Buffer.concat(pieces).equals(Buffer.from(want)), JSON.stringify(order))
    const statement = order.scope === 'account' ? 'requestPage' : 'usageSlices'
    t.equal(ops.includes(statement), order.filter !== null, 'statements are counted')
  }
  const [everything] = all({})
  const rows = (await Array.fromAsync(exportWork(store, everything!))).join('').split('\n').length
  t.equal(rows, ROWS + 3, 'a head, the rows, their number')

  const lines = async (order: ExportOrder | undefined) =>
    (await Array.fromAsync(exportWork(store, order!))).join('').trimEnd().split('\n').slice(0, -1)
  const idsOf = (rows: string[]) => rows.map(row => (JSON.parse(row) as { request_id: string }).request_id)
  const [, ofAccount] = all({ accountId })
  const [, everybody] = all({})
  const [, people] = own({})
  const seen = await lines(people)
  t.strictSame(idsOf(seen), idsOf(await lines(ofAccount)), 'the scope of an account has its rows, and no others')
  t.ok(seen.length < (await lines(everybody)).length)
  t.notMatch(seen.join(), /"(account|channel|cost|margin|upstream_id|via)":/, 'and no column of operators')
}
