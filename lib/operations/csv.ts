/** Cells of CSV files, which people open in spreadsheets. */
/** CSV files for people: UTF-8 with a byte order mark and CRLF, as spreadsheets want them, heads in the reader's language. */
import type { Language } from '../base/people.ts'
import type { Words } from './error.ts'

/**
 * A spreadsheet takes a text that begins so for a formula. Some take the wide forms of these characters too, and some pass
 * over blanks before them.
 */
const FORMULA = /^(?:[\t\r\n]|\s*[=+\-@＝＋－＠])/

/** `foreign`: whether the value is a text that clients, upstreams or people choose, which gets a mark if it could act. */
export function csvCell(value: unknown, foreign: boolean): string {
  const text = value === null || value === undefined ? '' : String(value)
  const safe = foreign && FORMULA.test(text) ? `'${text}` : text
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe
}

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
