/** Helpers that build SQL texts with binds, and that read columns of a result row with their types checked. */
import { invariant } from '../../base/assert.ts'
import { type Micro, micro } from '../../base/money.ts'
import type { Param, Row } from './driver.ts'

/** The most rows or pairs in one statement. SQLite allows 32,766 placeholders in a statement and MySQL 65,535. */
const STATEMENT_ROWS = 1_000

export const binds = (count: number): string => Array(count).fill('?').join(', ')

/** The statement that inserts one row, and its values. */
export const insertStatement = (
  table: string,
  row: Readonly<Record<string, Param>>,
): [sql: string, values: Param[]] => [
  `INSERT INTO ${table} (${Object.keys(row).join(', ')}) VALUES (${binds(Object.keys(row).length)})`,
  Object.values(row),
]

/** The WHERE clause of those conditions whose value is given, all of which must hold, and the values. Empty = none is given. */
export function whereGiven(
  ...conditions: [sql: string, value: Param | undefined][]
): [clause: string, values: Param[]] {
  const given = conditions.flatMap(([sql, value]) => (value === undefined ? [] : [{ sql, value }]))
  const clause = given.length === 0 ? '' : `WHERE ${given.map(({ sql }) => sql).join(' AND ')} `
  return [clause, given.map(({ value }) => value)]
}

/** The list, its last element repeated until its length is a power of two, so that few different texts are prepared. */
export function padded<T>(list: readonly T[]): T[] {
  const result = list.slice()
  const size = 2 ** Math.ceil(Math.log2(Math.max(1, list.length)))
  while (result.length < size) result.push(list.at(-1)!)
  return result
}

export function* chunks<T>(list: readonly T[], size = STATEMENT_ROWS): Generator<T[]> {
  for (let i = 0; i < list.length; i += size) yield list.slice(i, i + size)
}

/** `CASE column WHEN ? THEN ? …` for so many pairs. The first match wins, so pairs repeated by `padded` do no harm. */
export const caseOf = (column: string, pairs: number, otherwise = '0'): string =>
  `CASE ${column} ${'WHEN ? THEN ? '.repeat(pairs)}ELSE ${otherwise} END`

/** Engines return sums as a number, a bigint or a decimal string. Throws when the value is no safe integer. */
export function integer(row: Row, column: string): number {
  const value = row[column]
  const number = typeof value === 'number' ? value : Number(value)
  invariant(value !== null && value !== '' && Number.isSafeInteger(number), `${column} is no safe integer: ${value}`)
  return number
}

/** A count whose 0 may be written as NULL, as in the log of usage. */
export const count = (row: Row, column: string): number => (row[column] === null ? 0 : integer(row, column))
export const orNull = (count: number): number | null => (count === 0 ? null : count)

export const money = (row: Row, column: string): Micro => micro(integer(row, column))
export const integerOrNull = (row: Row, column: string): number | null =>
  row[column] === null ? null : integer(row, column)
export const microOrNull = (row: Row, column: string): Micro | null =>
  row[column] === null ? null : money(row, column)
export const big = (row: Row, column: string): bigint => BigInt(row[column] as string)
export const text = (row: Row, column: string): string => String(row[column])
export const textOrNull = (row: Row, column: string): string | null => (row[column] === null ? null : text(row, column))
export const json = <T>(row: Row, column: string): T => JSON.parse(text(row, column)) as T
export const jsonOrNull = <T>(row: Row, column: string): T | null =>
  row[column] === null ? null : json<T>(row, column)
export const toJson = (value: unknown): Param => (value === null ? null : JSON.stringify(value))

type Sign = '<' | '<=' | '>' | '>='

/** The condition that two columns, of which the first counts first, stand so to a place: a range of an index over both. */
export const compared = ([first, second]: [string, string], sign: Sign, [one, two]: [Param, Param]) =>
  [`${first} ${sign[0]}= ? AND (${first} ${sign[0]} ? OR ${second} ${sign} ?)`, one, one, two] as const

/** The order of an index over these columns, or the reverse of it. */
export const inOrder = (columns: readonly string[], ascending: boolean): string =>
  `ORDER BY ${columns.map(column => (ascending ? column : `${column} DESC`)).join(', ')}`

/** The condition that a column contains the text of `pattern`, in any case of its letters. */
export const contains = (column: string): string => `LOWER(${column}) LIKE ? ESCAPE '!'`
export const pattern = (part: string): string => `%${part.toLowerCase().replace(/[!%_]/g, '!$&')}%`
