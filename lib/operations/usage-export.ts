/**
 * Exports of the usage log as text, in pieces of some hundred rows. The last line says how many rows there were: an export
 * that broke off has none.
 */
import { csvCell } from './csv.ts'
import type { shownReceipt } from './usage-shown.ts'

export type ExportFormat = 'csv' | 'jsonl'
export const EXPORT_TYPES: Record<ExportFormat, string> = {
  csv: 'text/csv; charset=utf-8',
  jsonl: 'application/x-ndjson; charset=utf-8',
}

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
  'cost',
  'margin',
  'held',
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

const csvLine = (row: Shown): string => `${CSV_COLUMNS.map(name => csvCell(row[name], FOREIGN.has(name))).join(',')}\n`

const FORMATS: Record<ExportFormat, { head: string; line: (row: Shown) => string; end: (rows: number) => string }> = {
  csv: { head: `${CSV_COLUMNS.join(',')}\n`, line: csvLine, end: rows => `# rows: ${rows}\n` },
  jsonl: { head: '', line: row => `${JSON.stringify(row)}\n`, end: rows => `${JSON.stringify({ count: rows })}\n` },
}

export async function* exportText(format: ExportFormat, slices: AsyncIterable<Shown[]>): AsyncGenerator<string> {
  const { head, line, end } = FORMATS[format]
  let rows = 0
  if (head !== '') yield head
  for await (const slice of slices) {
    rows += slice.length
    if (slice.length > 0) yield slice.map(line).join('')
  }
  yield end(rows)
}
