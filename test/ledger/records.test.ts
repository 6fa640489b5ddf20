import { mkdirSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import t, { type Test } from 'tap'
import { micro } from '../../lib/base/money.ts'
import { COLUMNS, encode, RECORD_VERSION } from '../../lib/ledger/records.ts'
import type { Settlement } from '../../lib/store/store.ts'
import type { Key } from '../../lib/terms/records.ts'
import { readJournal } from '../support/journal.ts'
import { settlement, usageRow } from '../support/store.ts'

const STORE = 4711
/** What journals of these versions have on disks: nobody may change an order that was released. */
const RELEASED = [
  'requestId accountId keyId group protocol model channel status end basis input cache_read cache_write_5m ' +
    'cache_write_1h output images charge firstByteMs durationMs',
  'answerId upstreamKey',
  'priceVersion multiplier lines held cost askedMs attempts upstreamId clientRequestId via',
  'limits',
  'detail',
]

t.test('the order of the values of each version', async t => {
  t.equal(RECORD_VERSION, RELEASED.length - 1)
  t.strictSame(
    COLUMNS.map(names => names.join(' ')),
    RELEASED,
  )
})

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
const FIRST = ['h', 20, 10, 'r1', 1, 2, 'default', 'chat', 'beta-4.7', 'one', 200, 'completed', 'reported']
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
const USED = [1, 2, 3, 4, 5, 6, 30, 12, 34]
const wanted = (change: Partial<Settlement> = {}) => ({ ...settlement(ROW, 'h', 20, 10), ...change })

for (const [version, record, want] of [
  [0, [[...FIRST, ...USED]], wanted()],
  [
    1,
    [1, STORE, [...FIRST, ...USED, 'resp_1', 'key 1']],
    wanted({ row: { ...ROW, answerId: 'resp_1', upstreamKey: 'key 1' } }),
  ],
  [
    2,
    [2, STORE, [...FIRST, ...USED, null, null, 7, 500_000, [], 40, 9, 1.5, [], 'up_1', 'mine', 'chat']],
    wanted({
      row: {
        ...ROW,
        priceVersion: 7,
        multiplier: 500_000,
        held: micro(40),
        cost: micro(9),
        askedMs: 1.5,
        upstreamId: 'up_1',
        clientRequestId: 'mine',
        via: 'chat',
      },
    }),
  ],
  [
    3,
    [
      3,
      STORE,
      [...FIRST, ...USED, null, null, 7, null, [LINE], null, null, null, [ATTEMPT], null, null, null, ['b1', 4]],
    ],
    wanted({
      row: { ...ROW, priceVersion: 7, lines: [LINE], attempts: [ATTEMPT] },
      limits: [{ purse: 'b1', fromLease: micro(4) }],
    }),
  ],
  [
    4,
    [
      4,
      STORE,
      [
        ...[...FIRST, ...USED, null, null, 7, null, 0, null, null, null, 0, null, null, null, []],
        '[[["input",3,9],["output",1,2,"m",7,2000,1500000,"flex"]],[[7],[5,"two",502,"status"]]]',
      ],
    ],
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
] as [number, unknown[], Settlement][])
  t.test(`a record of version ${version}`, async t => t.strictSame(replayed(t, record), [want]))

t.test('a record of today', async t => {
  const limits = [
    { purse: 'k2.d495600', fromLease: micro(30) },
    { purse: 'b1', fromLease: micro(0) },
  ] as const
  const both = [wanted({ limits }), wanted()]
  t.strictSame(replayed(t, encode(both, STORE)), both)
})
