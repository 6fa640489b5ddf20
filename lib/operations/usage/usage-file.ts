/**
 * Makes the file of the usage log, in the thread of exports: reads rows with the names of their accounts, and writes them
 * out. The last line says how many rows there were: a file that broke off has none.
 */
import { latest } from '../../base/lru.ts'
import type { Store } from '../../store/store.ts'
import type { UsageFilter } from '../../store/usage/queries.ts'
import type { BookedRow } from '../../store/usage/rows.ts'
import { type CsvColumn, CsvTable, FOR_PROGRAMS } from '../csv.ts'
import { shownReceipt } from './usage-shown.ts'

const NAMES_KEPT = 10_000

type Reads = Pick<Store, 'accounts' | 'usage'>

/** Plain data, for another thread. `filter`: null = of an account that does not exist. */
export interface UsageOrder {
  format: ExportFormat
  filter: Omit<UsageFilter, 'limit'> | null
}

export type ExportFormat = 'csv' | 'jsonl'
type Shown = ReturnType<typeof shownReceipt>

/** In the order of the file. Lists do not fit into a table: the other format has them. */
const CSV_COLUMNS = [
  'request_id',
  'at',
  'booked_at',
  'account',
  'key',
  'group',
  'protocol',
  'via',
  'model',
  'channel',
  'status',
  'end',
  'outcome',
  'basis',
  'input',
  'cache_read',
  'cache_write_5m',
  'cache_write_1h',
  'output',
  'pieces',
  'charge',
  'disputed',
  'cost',
  'margin',
  'held',
  'hidden_ratio',
  'multiplier',
  'price_version',
  'asked_ms',
  'first_byte_ms',
  'duration_ms',
  'upstream_id',
  'answer_id',
  'client_request_id',
] as const satisfies (keyof Shown)[]
/** Columns whose texts are chosen by clients, upstreams and people. */
const FOREIGN = new Set<keyof Shown>([
  'account',
  'group',
  'model',
  'channel',
  'upstream_id',
  'answer_id',
  'client_request_id',
])

const TABLE = new CsvTable(
  CSV_COLUMNS.map(
    (name): CsvColumn<Shown> => ({
      name,
      value: row => row[name],
      ...(FOREIGN.has(name) ? { foreign: true } : {}),
    }),
  ),
  FOR_PROGRAMS,
)

async function* slices(store: Reads, filter: Omit<UsageFilter, 'limit'>): AsyncGenerator<Shown[]> {
  const names = latest<number, string>(NAMES_KEPT)
  const nameOf = async ({ accountId }: BookedRow) => {
    const name = names.get(accountId) ?? (await store.accounts.byId(accountId))?.name
    if (name !== undefined) names.set(accountId, name)
    return name
  }
  for await (const rows of store.usage.slices(filter)) {
    const shown: Shown[] = []
    for (const row of rows) shown.push(shownReceipt(row, await nameOf(row)))
    yield shown
  }
}

export default async function* (store: Reads, { format, filter }: UsageOrder): AsyncGenerator<string> {
  let rows = 0
  if (format === 'csv') yield TABLE.head()
  for await (const slice of filter === null ? [] : slices(store, filter)) {
    rows += slice.length
    yield format === 'csv' ? TABLE.lines(slice) : slice.map(row => `${JSON.stringify(row)}\n`).join('')
  }
  yield format === 'csv' ? TABLE.end(rows) : `${JSON.stringify({ count: rows })}\n`
}
