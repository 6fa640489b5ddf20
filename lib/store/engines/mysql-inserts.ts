/** Inserts of many rows for MySQL, as statements that its servers take and that can be kept prepared. */
import type mysql from 'mysql2/promise'
import { invariant } from '../../base/assert.ts'
import type { ManyRows, Param, Row } from '../base/driver.ts'
import { isDead } from './mysql-errors.ts'

/** A longer statement is not kept prepared: it seldom comes again and takes much of the server's memory. */
export const KEPT_STATEMENT_CHARACTERS = 20_000
/** Servers refuse a statement whose packet is too large (`max_allowed_packet`): the smallest default is 1 MiB. */
const STATEMENT_BYTES = 768 * 1024
/** The most bytes that a UTF-16 unit of a text has in UTF-8. */
const UTF8_BYTES = 3

/** A statement that inserts rows. `rare`: it need not be kept prepared. */
interface Insert {
  sql: string
  params: mysql.ExecuteValues[]
  rare: boolean
}

/** The statements of an INSERT of many rows. `asJson`: see `takesJson`. */
export function statementsOf(many: ManyRows, rows: readonly (readonly Param[])[], asJson: boolean): Iterable<Insert> {
  for (const row of rows)
    for (const value of row)
      if (typeof value === 'number') invariant(Number.isSafeInteger(value), `no safe integer: ${value}`)
  return asJson ? rowsAsJson(many, rows) : rowsAsLists(many, rows)
}

/** A table of `columns` columns of text, made of JSON: of a list of rows. Text becomes the same number in a column of integers. */
function tableOf(columns: number): string {
  const column = (_: unknown, i: number) => `v${i} MEDIUMTEXT PATH '$[${i}]' ERROR ON ERROR`
  return `JSON_TABLE(?, '$[*]' COLUMNS (${Array.from({ length: columns }, column).join(', ')})) AS rows_to_insert`
}

/**
 * An INSERT of many rows whose values are one text, which the server takes apart: the client library takes several times as long
 * for each parameter as the engine of JavaScript for each value of such a text.
 */
function* rowsAsJson({ into, row, end = '' }: ManyRows, rows: readonly (readonly Param[])[]): Generator<Insert> {
  if (rows.length === 0) return
  let column = 0
  const values = row.slice(1, -1).replaceAll('?', () => `v${column++}`)
  const sql = `${into} SELECT ${values} FROM ${tableOf(column)} ${end}`
  for (const text of textsOf(sound(rows))) yield { sql, params: [text], rare: false }
}

/** A row with all kinds of values. */
const SAMPLE = [Number.MAX_SAFE_INTEGER, null, '', '"\\\n\u0000é\u{1f600}']

/** Whether the engine makes of rows in JSON what they are. Some lack JSON_TABLE, and some make the text `null` of a null. */
export async function takesJson(execute: (sql: string, params: string[]) => Promise<unknown>): Promise<boolean> {
  try {
    const [[row]] = (await execute(`SELECT * FROM ${tableOf(SAMPLE.length)}`, [JSON.stringify([SAMPLE])])) as [Row[]]
    return SAMPLE.every((value, i) => (value === null ? null : String(value)) === row?.[`v${i}`])
  } catch (error) {
    if (isDead(error)) throw error
    return false
  }
}

/** The rows as lists in JSON, of which each has at most STATEMENT_BYTES, unless it has a single row. */
function* textsOf(rows: readonly (readonly Param[])[]): Generator<string> {
  const text = JSON.stringify(rows)
  if (rows.length === 1 || Buffer.byteLength(text) <= STATEMENT_BYTES) return yield text
  const half = Math.ceil(rows.length / 2)
  yield* textsOf(rows.slice(0, half))
  yield* textsOf(rows.slice(half))
}

/** The rows without halves of characters, which are no JSON to a server. */
const sound = (rows: readonly (readonly Param[])[]) =>
  rows.every(isSound)
    ? rows
    : rows.map(row => row.map(value => (typeof value === 'string' ? value.toWellFormed() : value)))

const isSound = (row: readonly Param[]) => row.every(value => typeof value !== 'string' || value.isWellFormed())

/**
 * The same for an engine without JSON_TABLE, with a parameter for each value: numbers are sent as floating-point numbers, for which the
 * client library needs a fifth of the time, and a safe integer is the same number in both forms. Each number of rows is an SQL text of its own, and servers bound the
 * number of prepared statements, so only texts of as many rows as fit, and of powers of two, are kept prepared.
 */
function* rowsAsLists({ into, row, end = '' }: ManyRows, rows: readonly (readonly Param[])[]): Generator<Insert> {
  const most = 2 ** Math.floor(Math.log2((KEPT_STATEMENT_CHARACTERS - into.length - end.length) / (row.length + 2)))
  for (const some of pieces(rows, most)) {
    const sql = `${into} VALUES ${Array(some.length).fill(row).join(', ')} ${end}`
    yield { sql, params: some.flat() as mysql.ExecuteValues[], rare: (some.length & (some.length - 1)) !== 0 }
  }
}

/** The rows in lists of at most `most`, whose texts together have at most STATEMENT_BYTES, unless one row alone has more. */
function* pieces(rows: readonly (readonly Param[])[], most: number) {
  let from = 0
  let bytes = 0
  for (let i = 0; i < rows.length; i++) {
    const more = bytesOf(rows[i]!)
    if (i > from && (i - from === most || bytes + more > STATEMENT_BYTES)) {
      yield rows.slice(from, i)
      from = i
      bytes = 0
    }
    bytes += more
  }
  if (from < rows.length) yield rows.slice(from)
}

/** What the texts of a row take at most; what else it has is bounded by the number of rows. */
function bytesOf(row: readonly Param[]): number {
  let bytes = 0
  for (const value of row) if (typeof value === 'string') bytes += value.length * UTF8_BYTES
  return bytes
}
