import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { RECORD_MARK, type Settlement } from '../../lib/store/books/settlement.ts'
import type { Key } from '../../lib/terms/records.ts'
import { readJournal, recordOf } from '../support/journal.ts'
import { settlement, usageRow } from '../support/store.ts'

const STORE = 4711
function replayed(t: Test, record: unknown[] | Buffer): Settlement[] {
  const folder = path.join(t.testdir(), 'j')
  mkdirSync(folder)
  const text = JSON.stringify(record)
  const line = Buffer.isBuffer(record) ? record : `${crc32(text).toString(16).padStart(8, '0')} ${text}\n`
  writeFileSync(path.join(folder, '00000001.log'), line)
  const { settlements, corrupt, torn } = readJournal(folder, STORE)
  t.strictSame([corrupt, torn], [0, false])
  return settlements
}

const KEY = { id: 2, accountId: 1 } as Key
const ROW = usageRow('r1', KEY, 30)
const LINE = {
  model: 'beta-4.7',
  priceVersion: 7,
  list: 'base',
  tier: 1_000_000,
  tierName: null,
  class: 'input',
  count: 3,
  price: 9,
} as const
const ATTEMPT = { channel: 'one', status: 200, error: null, ms: 7 }
const wanted = (change: Partial<Settlement> = {}) => ({ ...settlement(ROW, 'h', 20, 10), ...change })

for (const [what, settlements] of [
  ['a row with what every row has', [wanted()]],
  [
    'what the answer and the request say of themselves',
    [
      wanted({
        row: {
          ...ROW,
          answerId: 'resp_1',
          upstreamKey: 'key 1',
          multiplier: 500_000,
          held: micro(40),
          cost: micro(9),
          askedMs: 2,
          upstreamId: 'up_1',
          clientRequestId: 'mine',
          via: 'chat',
        },
      }),
    ],
  ],
  [
    'lines and attempts',
    [
      wanted({
        row: {
          ...ROW,
          priceVersion: 7,
          lines: [
            LINE,
            { ...LINE, model: 'm', list: 2000, tier: 1_500_000, tierName: 'flex', class: 'output', count: 1, price: 2 },
          ],
          attempts: [ATTEMPT, { channel: 'two', status: 502, error: 'status', ms: 5 }],
        },
      }),
    ],
  ],
  [
    'purses of cap and budget, and several settlements',
    [
      wanted({
        limits: [
          { purse: 'k2.d495600', fromLease: micro(30) },
          { purse: 'b1', fromLease: micro(0) },
        ],
      }),
      wanted(),
    ],
  ],
] as [string, Settlement[]][])
  t.test(`a record is read as it was written: ${what}`, async t =>
    t.strictSame(replayed(t, recordOf(settlements, STORE)), settlements),
  )

t.test('a record without the mark of this format, or with another one, is refused', async t => {
  for (const record of [[[...'abc']], [4, STORE, ['h', 1, 1]], [RECORD_MARK + 1, STORE, []]])
    t.throws(() => replayed(t, record), { name: 'NotOurs', message: /another version/ }, JSON.stringify(record))
  t.throws(() => replayed(t, [RECORD_MARK, STORE + 1]), { name: 'NotOurs', message: /for the store 4712/ })
})
