/** Which columns the inserts of a batch name: those of which a row has a value, in texts that seldom change. */
import t, { type Test } from 'tap'
import { idAt } from '../../lib/base/ids.ts'
import { micro } from '../../lib/base/money.ts'
import type { ManyRows, Param, Transaction } from '../../lib/store/base/driver.ts'
import { dialect } from '../../lib/store/engines/sqlite.ts'
import { INSERTED_COLUMNS, insertBooked, type RowToBook, toBook, usageValues } from '../../lib/store/usage/rows.ts'
import { raiseSums, sumsOf, USAGE_SUMS } from '../../lib/store/usage/sums.ts'
import { rowCounts, type UsageRow } from '../../lib/terms/usage-row.ts'
import { noUsage } from '../../lib/protocols/words/usage.ts'
import type { Key } from '../../lib/terms/records.ts'
import { type Random, seeded } from '../support/random.ts'
import { receiptLine, usageRow } from '../support/store.ts'

const KEY = { id: 1, accountId: 1 } as Key
const FROM_MS = Date.UTC(2026, 2, 1)
const BOOKED_AT_MS = FROM_MS + 5

type Values = Record<string, Param>
interface Inserted {
  text: string
  rows: Values[]
}

/** What `work` inserts. */
async function inserted(work: (tx: Transaction) => Promise<void>): Promise<Inserted> {
  const all: Inserted[] = []
  const insert = async ({ into, row, end }: ManyRows, rows: readonly (readonly Param[])[]) => {
    const text = `${into} ${end ?? ''}`
    const columns = into.slice(into.indexOf('(') + 1, -1).split(', ')
    const lengths = new Set([row.split('?').length - 1, ...rows.map(values => values.length)])
    if (lengths.size !== 1 || !lengths.has(columns.length)) throw new Error(`${text}: not as many values as columns`)
    all.push({
      text,
      rows: rows.map(values => Object.fromEntries(columns.map((column, i) => [column, values[i] as Param]))),
    })
  }
  await work({ insert } as unknown as Transaction)
  if (all.length !== 1) throw new Error(`${all.length} inserts`)
  return all[0] as Inserted
}

const whole = (columns: string, values: readonly Param[]): Values =>
  Object.fromEntries(columns.split(', ').map((column, i) => [column, values[i] as Param]))
const valued = (row: Values): Values => Object.fromEntries(Object.entries(row).filter(([, value]) => value !== null))

let ids = 0
const plain = (change: Partial<UsageRow> = {}): UsageRow =>
  usageRow(`${idAt(FROM_MS)}node00${String(ids++).padStart(5, '0')}`, KEY, 3, { ...rowCounts(noUsage()), ...change })

/** Each has a value where `plain` has none, or another one. */
const CHANGES: readonly Partial<UsageRow>[] = [
  { input: 1, output: 2 },
  { cache_read: 7 },
  { cache_write_5m: 7, cache_write_1h: 8 },
  { images: 1 },
  { firstByteMs: null },
  { firstByteMs: 20_000.4 },
  { answerId: 'answer' },
  { upstreamKey: 'fingerprint', upstreamId: 'upstream' },
  { priceVersion: 1, multiplier: 1_000_000, held: micro(9) },
  { disputed: micro(2) },
  { cost: micro(0) },
  { askedMs: 1 },
  { clientRequestId: 'client' },
  { via: 'chat' },
  { hiddenRatio: 3 },
  { lines: [receiptLine('input_audio', 4), receiptLine('web_search', 2)] },
]

const randomRow = (random: Random): UsageRow =>
  plain(Object.assign({}, ...CHANGES.filter(() => random.int(0, 9) === 0)) as Partial<UsageRow>)

const SUMS = Object.keys(USAGE_SUMS.columns).join(', ')

async function check(t: Test, batch: readonly RowToBook[]): Promise<{ rows: string; sums: string }> {
  const rows = await inserted(tx => insertBooked(tx, batch, BOOKED_AT_MS))
  t.same(
    rows.rows.map(valued),
    batch.map(row => valued(whole(INSERTED_COLUMNS, usageValues(row, BOOKED_AT_MS)))),
    'no value of a row is left out',
  )
  const raised = sumsOf(batch)
  const sums = await inserted(tx => raiseSums(tx, dialect, raised))
  t.same(
    sums.rows.map(valued),
    raised.map(values => valued(whole(SUMS, values))),
    'no sum is left out',
  )
  return { rows: rows.text, sums: sums.text }
}

t.test('a batch names the columns of which a row has a value', async t => {
  await check(t, [toBook(plain({ firstByteMs: null, charge: micro(0) }))])
  for (const change of CHANGES) await check(t, [toBook(plain()), toBook(plain(change))])
  t.notMatch((await check(t, [toBook(plain())])).rows, /\bseq\b/, 'the engine numbers the rows')
})

t.test('a column that no row has had for a while is named no longer', async t => {
  const tools = [toBook(plain({ lines: [receiptLine('web_search', 2)], via: 'chat' }))]
  const there = await check(t, tools)
  for (const text of [there.rows, there.sums]) t.match(text, /\bsearches\b/)
  t.match(there.rows, /\bvia\b/)
  for (let i = 0; i < 1_001; i++) await check(t, [toBook(plain())])
  const later = await check(t, [toBook(plain())])
  for (const text of [later.rows, later.sums]) t.notMatch(text, /searches|via/)
})

t.test('mixed traffic hardly changes the texts, which engines keep prepared', async t => {
  const random = seeded(t)
  const changes = { rows: 0, sums: 0 }
  let last = { rows: '', sums: '' }
  for (let i = 0; i < 1_000; i++) {
    const texts = await check(
      t,
      Array.from({ length: random.int(1, 3) }, () => toBook(randomRow(random))),
    )
    for (const kind of ['rows', 'sums'] as const) if (texts[kind] !== last[kind]) changes[kind]++
    last = texts
  }
  for (const count of Object.values(changes)) t.ok(count <= 2 * (CHANGES.length + 1), `${count} changes`)
})
