/** CSV files for people: UTF-8 with a byte order mark and CRLF, as spreadsheets want them, heads in the reader's language. */
import type { Language } from '../../terms/people.ts'
import { csvCell } from '../csv.ts'
import type { Words } from '../error.ts'

export const CSV_TYPE = 'text/csv; charset=utf-8'
const BOM = '\uFEFF'
const CRLF = '\r\n'

/** `foreign`: the texts are chosen by clients, upstreams or people. */
export interface Column<T> {
  name: string
  head: Words
  foreign?: true
  value: (row: T) => string | number | null
}

export type Heads = 'words' | 'machine'

const line = (cells: readonly string[]): string => cells.join(',') + CRLF

export const csvHead = <T>(columns: readonly Column<T>[], heads: Heads, language: Language): string =>
  BOM + line(columns.map(({ name, head }) => csvCell(heads === 'machine' ? name : head[language], false)))

export const csvLines = <T>(columns: readonly Column<T>[], rows: readonly T[]): string =>
  rows.map(row => line(columns.map(({ value, foreign }) => csvCell(value(row), foreign === true)))).join('')

/** The last line. A file without it has broken off. */
export const csvEnd = (rows: number): string => line([`# rows: ${rows}`])
