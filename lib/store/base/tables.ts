/**
 * Tables as data, and the functions that make of them the CREATE statements of each engine. `schema.ts` lists
 * the tables themselves.
 */
import type { Dialect } from './driver.ts'

/**
 * `auto`: an integer key that the engine numbers. `int`: a 64-bit integer. `code`: ASCII of up to 64 characters that
 * the program chooses. `name`: text of up to 190 characters that people choose. `doc`: JSON and other long text.
 */
type Type = 'auto' | 'int' | 'code' | 'name' | 'doc'

export interface Table {
  name: string
  /** A type that ends in `?` may be NULL. */
  columns: Record<string, Type | `${Type}?`>
  key: string[]
  unique?: string[][]
  index?: string[][]
  /**
   * Indexes of the rows that have a value in the last column. Each row in an index takes time when it is inserted. Engines of
   * MySQL's family have no such indexes, so that there all rows are in them.
   */
  sparse?: string[][]
}

/** The most characters of any name that people choose. */
export const NAME_LENGTH = 190
/** The most characters of a column of the type `code`. */
export const CODE_LENGTH = 64

/**
 * Columns take the character set of their table, because some engines of MySQL's family have no ASCII character set.
 */
const MYSQL: Record<Type, string> = {
  auto: 'BIGINT',
  int: 'BIGINT',
  code: `VARCHAR(${CODE_LENGTH})`,
  name: `VARCHAR(${NAME_LENGTH})`,
  doc: 'MEDIUMTEXT',
}
const SQLITE: Record<Type, string> = { auto: 'INTEGER', int: 'INTEGER', code: 'TEXT', name: 'TEXT', doc: 'TEXT' }

export const indexName = (table: Pick<Table, 'name'>, columns: string[]) => `${table.name}_by_${columns.join('_')}`

function columnText(types: Record<Type, string>, [name, type]: [string, string]): string {
  const plain = type.replace('?', '') as Type
  return `${name} ${types[plain]}${type.endsWith('?') ? '' : ' NOT NULL'}`
}

function mysqlTable(table: Table): string[] {
  const lines = Object.entries(table.columns).map(
    column => columnText(MYSQL, column) + (column[1] === 'auto' ? ' AUTO_INCREMENT' : ''),
  )
  lines.push(`PRIMARY KEY (${table.key.join(', ')})`)
  for (const columns of table.unique ?? [])
    lines.push(`UNIQUE KEY ${indexName(table, columns)} (${columns.join(', ')})`)
  for (const columns of [...(table.index ?? []), ...(table.sparse ?? [])])
    lines.push(`KEY ${indexName(table, columns)} (${columns.join(', ')})`)
  const options = 'ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin'
  return [`CREATE TABLE IF NOT EXISTS ${table.name} (${lines.join(', ')}) ${options}`]
}

function sqliteTable(table: Table): string[] {
  const auto = Object.values(table.columns).includes('auto')
  const lines = Object.entries(table.columns).map(
    column => columnText(SQLITE, column) + (column[1] === 'auto' ? ' PRIMARY KEY AUTOINCREMENT' : ''),
  )
  if (!auto) lines.push(`PRIMARY KEY (${table.key.join(', ')})`)
  const index = (columns: string[], unique: string) =>
    `CREATE ${unique}INDEX IF NOT EXISTS ${indexName(table, columns)} ON ${table.name} (${columns.join(', ')})`
  return [
    `CREATE TABLE IF NOT EXISTS ${table.name} (${lines.join(', ')}) ${auto ? '' : 'WITHOUT ROWID'}`,
    ...(table.unique ?? []).map(columns => index(columns, 'UNIQUE ')),
    ...(table.index ?? []).map(columns => index(columns, '')),
    ...(table.sparse ?? []).map(columns => `${index(columns, '')} WHERE ${columns.at(-1)} IS NOT NULL`),
  ]
}

/** The statements that create a table and its indexes unless they exist. */
export const createTable = (table: Table, dialect: Dialect): string[] =>
  dialect.name === 'mysql' ? mysqlTable(table) : sqliteTable(table)
