/** How the commands about usage lay out their tables. Exports and `--json` have what does not fit in here. */
import { type Column, table } from './table.ts'

type Row = Readonly<Record<string, unknown>>

const NONE = '-'
const NUMBERS = new Set('key status requests errors input cache_read output pieces charge cost'.split(' '))
const columnsOf = (names: readonly string[]): Column[] =>
  names.map(name => ({ name: name.replace('_', ' '), ...(NUMBERS.has(name) ? { right: true } : {}) }))
const cells = (rows: readonly Row[], names: readonly string[]): string[][] =>
  rows.map(row => names.map(name => String(row[name] ?? NONE)))

const ROW = 'request_id at account key model channel status outcome input cache_read output pieces charge cost'.split(
  ' ',
)
const TOTALS = 'requests errors input cache_read output pieces charge cost'.split(' ')

export const rowsTable = (rows: readonly Row[], terminal: boolean): string =>
  table(columnsOf(ROW), cells(rows, ROW), terminal)

/** `by` names the first columns. */
export function totalsTable(rows: readonly Row[], by: readonly string[], terminal: boolean): string {
  const names = [...by, ...TOTALS]
  return table(columnsOf(names), cells(rows, names), terminal)
}
