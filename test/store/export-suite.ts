/** Files of the usage log on every engine: the thread makes what the same work makes of the store itself, byte for byte. */

import type { Test } from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import requestsFile, { type RequestsOrder } from '../../lib/operations/usage/requests-file.ts'
import usageFile, { type UsageOrder } from '../../lib/operations/usage/usage-file.ts'
import { openStore, type Store } from '../../lib/store/store.ts'
import type { ExportWork } from '../../lib/store/export-thread.ts'
import type { NewUrl } from '../support/databases.ts'
import { seeded } from '../support/random.ts'
import { fund, newKey, SETUP, settlement, usageRow } from '../support/store.ts'

const OPERATIONS = new URL('../../lib/operations/', import.meta.url)
const WORKS: [path: string, work: ExportWork<Store, never>][] = [
  ['usage/requests-file.ts', requestsFile],
  ['usage/usage-file.ts', usageFile],
]
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
  const own = (filter: object) =>
    formats.map(
      (format): RequestsOrder => ({
        format,
        filter: { accountId, keyIds: null, ...filter },
        heads: 'words',
        language: 'zh',
      }),
    )
  const all = (filter: object | null) => formats.map((format): UsageOrder => ({ format, filter }))
  const orders: object[][] = [
    [...own({}), ...own({ keyIds }), ...own({ model: '=m2', statusClass: 5 }), ...own({ model: 'unused' })],
    [...all({}), ...all({ accountId }), ...all({ model: '=m2' }), ...all({ accountId: 999 }), ...all(null)],
  ]
  for (const [i, [path, work]] of WORKS.entries())
    for (const order of orders[i]!) {
      const want = (await Array.fromAsync(work(store, order as never))).join('')
      ops.length = 0
      const pieces = await Array.fromAsync(store.export(new URL(path, OPERATIONS), order))
      t.ok(Buffer.concat(pieces).equals(Buffer.from(want)), JSON.stringify(order))
      t.equal(
        ops.includes(i === 0 ? 'requestPage' : 'usageSlices'),
        (order as UsageOrder).filter !== null,
        'statements are counted',
      )
    }
  const [everything] = all({})
  const rows = (await Array.fromAsync(usageFile(store, everything!))).join('').split('\n').length
  t.equal(rows, ROWS + 3, 'a head, the rows, their number')
}
