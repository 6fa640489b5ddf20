/**
 * SQLite in a worker thread, so that no disk ever stalls the event loop. One connection writes, and everything that
 * uses it takes turns; long reads have threads with connections of their own, which WAL lets read while the first one
 * writes: two, so that a page need not wait for an audit. Several processes may share the file.
 */
import { resolve } from 'node:path'
import type { Dialect, Driver, OnStatement, Param, Row, RunResult, Statements } from './driver.ts'
import { Connection } from './sqlite-thread.ts'

const dialect: Dialect = {
  name: 'sqlite',
  ignore: 'OR IGNORE',
  now: null,
  using: index => `INDEXED BY ${index}`,
  overwrite: (key, columns) =>
    `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${columns.map(c => `${c} = excluded.${c}`).join(', ')}`,
}

class SqliteDriver implements Driver {
  readonly dialect = dialect
  readonly #writer: Connection
  readonly #readers: Connection[]

  constructor(path: string, onStatement: OnStatement) {
    this.#writer = new Connection(path, onStatement)
    this.#writer.warm()
    // A database in memory belongs to its one connection.
    const memory = path === ':memory:'
    this.#readers = memory ? [this.#writer] : [new Connection(path, onStatement), new Connection(path, onStatement)]
  }

  query(op: string, sql: string, params: readonly Param[]): Promise<Row[]> {
    return this.#writer.query(op, sql, params)
  }

  run(op: string, sql: string, params: readonly Param[]): Promise<RunResult> {
    return this.#writer.run(op, sql, params)
  }

  transaction<T>(op: string, fn: (tx: Statements) => Promise<T>): Promise<T> {
    return this.#writer.transaction('BEGIN IMMEDIATE', op, fn)
  }

  snapshot<T>(op: string, fn: (tx: Statements) => Promise<T>): Promise<T> {
    const reader = this.#readers.find(reader => reader.idle) ?? (this.#readers[0] as Connection)
    return reader.transaction('BEGIN', op, fn)
  }

  /** This engine comes with the program, and all that is written goes through one connection. */
  async prove(): Promise<void> {}

  script(statements: readonly string[]): Promise<void> {
    return this.#writer.script(statements)
  }

  async close(): Promise<void> {
    await this.#writer.close()
    for (const reader of this.#readers) if (reader !== this.#writer) await reader.close()
  }
}

/** `sqlite:PATH` (its folder is made), or `sqlite::memory:`. */
export function openSqlite(url: string, onStatement: OnStatement): Driver {
  const path = url.slice('sqlite:'.length)
  if (path === '') throw new Error(`store: expected sqlite:PATH, found ${JSON.stringify(url)}`)
  return new SqliteDriver(path === ':memory:' ? path : resolve(path), onStatement)
}
