import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { RecordBuffer } from '../../lib/ledger/records.ts'
import type { PurseId } from '../../lib/store/books/purses.ts'
import { RECORD_MARK, type Settlement } from '../../lib/store/books/settlement.ts'
import { FIELDS } from '../../lib/store/usage/rows.ts'
import type { Key } from '../../lib/terms/records.ts'
import { ROW_CLASSES, type UsageRow } from '../../lib/terms/usage-row.ts'
import { readJournal, recordOf } from '../support/journal.ts'
import { seeded } from '../support/random.ts'
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
const isCount = (field: string): boolean => ([...ROW_CLASSES, 'images', 'disputed'] as string[]).includes(field)
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

t.test('records of random settlements are those of JSON.stringify, and are read as they were written', async t => {
  const random = seeded(t)
  const text = () => random.pick(['', 'plain', '"', '\\', '\n\0', '模型', '\ud800', 'x'.repeat(300)])
  const number = () => random.pick([0, 1, 2 ** 31, 2 ** 53 - 1, random.int(0, 1e9)])
  const some = <T>(make: () => T): T[] => Array.from({ length: random.int(0, 3) }, make)
  for (let i = 0; i < 50; i++) {
    const fields = Object.entries(FIELDS).map(([field, [, { type }]]) => {
      const value = String(type).startsWith('int') ? number() : text()
      return [field, String(type).endsWith('?') && random.next() < 0.5 && !isCount(field) ? null : value]
    })
    const settlements = some(() =>
      wanted({
        row: {
          ...(Object.fromEntries(fields) as UsageRow),
          lines: some(() => ({ ...LINE, model: text(), count: number() })),
          attempts: some(() => ({ ...ATTEMPT, channel: text(), ms: number() })),
        },
        holder: text(),
        limits: some(() => ({ purse: text() as PurseId, fromLease: micro(number()) })),
      }),
    )
    const record = recordOf(settlements, STORE)
    const [, line] = /^[0-9a-f]{8} (.*)\n$/s.exec(record.toString()) as unknown as [string, string]
    t.equal(JSON.stringify(JSON.parse(line)), line)
    t.strictSame(replayed(t, record), settlements)
  }
})

t.test('a settlement that cannot be written leaves no half record', async t => {
  const records = new RecordBuffer()
  const first = Buffer.from(records.add([wanted()], STORE))
  t.throws(() => records.add([wanted(), wanted({ row: { ...ROW, lines: null as never } })], STORE), TypeError)
  t.strictSame(records.bytes, first)
  records.add([wanted()], STORE)
  t.strictSame(replayed(t, records.bytes), [wanted(), wanted()])
})
