/** Inserts of many rows for MySQL, as statements that its servers take and that can be kept prepared. */
import type mysql from 'mysql2/promise'
import { invariant } from '../../base/assert.ts'
import type { ManyRows, Param } from '../base/driver.ts'

/** A longer statement is not kept prepared: it seldom comes again and takes much of the server's memory. */
export const KEPT_STATEMENT_CHARACTERS = 20_000
/** Servers refuse a statement whose packet is too large (`max_allowed_packet`): the smallest default is 1 MiB. */
const STATEMENT_BYTES = 768 * 1024
/** The most bytes that a UTF-16 unit of a text has in UTF-8. */
const UTF8_BYTES = 3

/**
 * Cuts an INSERT of many rows into statements. Each number of rows is an SQL text of its own, and servers bound the
 * number of prepared statements, so only texts of as many rows as fit, and of powers of two, are kept prepared.
 */
export function* statementsOf({ into, row, end = '' }: ManyRows, rows: readonly (readonly Param[])[]) {
  const most = 2 ** Math.floor(Math.log2((KEPT_STATEMENT_CHARACTERS - into.length - end.length) / (row.length + 2)))
  for (const some of pieces(rows, most)) {
    const sql = `${into} VALUES ${Array(some.length).fill(row).join(', ')} ${end}`
    yield { sql, params: some.flat(), rare: (some.length & (some.length - 1)) !== 0 }
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

/**
 * The values of inserted rows, whose numbers are sent as floating-point numbers: the client library needs a fifth of the time for
 * those. They go into columns of integers, and a safe integer is the same number in both forms.
 */
export function inserted(params: readonly Param[]): mysql.ExecuteValues[] {
  for (const value of params)
    if (typeof value === 'number') invariant(Number.isSafeInteger(value), `no safe integer: ${value}`)
  return params as mysql.ExecuteValues[]
}
