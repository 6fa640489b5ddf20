/**
 * The driver for SQLite. A database on a disk runs in worker threads, so that a slow disk never stalls the event loop. One
 * connection does all writes and short reads, one transaction after the other. Snapshots use two more connections,
 * which in WAL mode read while the first one writes; there are two so that a page of usage need not wait for an audit.
 * Several processes may use one database file: SQLite's own locks keep their writes apart.
 */
import { EventEmitter } from 'node:events'
import { BUSY_MS, SqliteDatabase, newPathInMemory } from './sqlite-database.ts'
import { SqliteConnection, type StartThread, type WorkerRequest } from './sqlite-thread.ts'
import { statSync } from 'node:fs'
import { resolve } from 'node:path'
import { invariant } from '../../base/assert.ts'
import {
  type Dialect,
  type Driver,
  type OnStatement,
  PING,
  PING_PARAMS,
  type Param,
  type ReadingDriver,
  type Row,
  type RunResult,
  type Transaction,
} from '../base/driver.ts'

/** A database that is used in the thread that asks. Between two answers the thread hears what it is told. */
class SameThread extends EventEmitter {
  readonly #database: SqliteDatabase

  constructor(database: SqliteDatabase) {
    super()
    this.#database = database
  }

  postMessage(request: WorkerRequest): void {
    invariant(request.kind !== 'beside', 'there is no other thread')
    if (request.kind === 'close') {
      this.#database.close()
      setImmediate(() => this.emit('exit'))
      return
    }
    const answer = this.#database.answer(request)
    setImmediate(() => this.emit('message', answer))
  }

  ref(): void {}
  unref(): void {}
  async terminate(): Promise<number> {
    this.#database.close()
    return 0
  }
}

/** Starts no thread: statements run in the one that asks, on `database` where it has one. */
export const inSameThread = (database?: SqliteDatabase): StartThread =>
  ((path: string) => new SameThread(database ?? new SqliteDatabase(path))) as unknown as StartThread

export const dialect: Dialect = {
  name: 'sqlite',
  ignore: 'OR IGNORE',
  now: null,
  using: index => `INDEXED BY ${index}`,
  overwrite: (key, columns) =>
    `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${columns.map(c => `${c} = excluded.${c}`).join(', ')}`,
  raise: (key, columns) =>
    `ON CONFLICT (${key.join(', ')}) DO UPDATE SET ${columns.map(c => `${c} = COALESCE(${c}, 0) + COALESCE(excluded.${c}, 0)`).join(', ')}`,
  nowMs: "CAST(unixepoch('subsec') * 1000 AS INTEGER)",
}

class SqliteDriver implements Driver {
  readonly dialect = dialect
  readonly timeoutMs = BUSY_MS
  /** By this another thread of the process opens the same database. */
  readonly address: string
  readonly beside: Driver['beside']
  readonly #log: string
  readonly #writer: SqliteConnection
  readonly #readers: SqliteConnection[]

  /**
   * `path`: null = in memory. A database in memory waits for no disk, so it is used in this thread, and has no WAL, so that
   * its readers would hold up its writer. `isWaitedFor`: the process has nothing else to do, so that one connection in this thread will do.
   */
  constructor(path: string | null, onStatement: OnStatement, isWaitedFor: boolean) {
    const at = path ?? newPathInMemory()
    this.address = `sqlite:${at}`
    this.#log = `${at}-wal`
    const isHere = path === null || isWaitedFor
    this.#writer = new SqliteConnection(at, onStatement, isHere ? inSameThread() : undefined)
    this.beside = isHere ? null : (op, work, args) => this.#writer.beside(op, work, args)
    this.#writer.warm()
    const reader = () => new SqliteConnection(at, onStatement)
    this.#readers = isHere ? [this.#writer] : [reader(), reader()]
  }

  /** Every commit is written into the file of the log. */
  writtenMs(): number | null {
    return statSync(this.#log, { throwIfNoEntry: false })?.mtimeMs ?? null
  }

  query(op: string, sql: string, params: readonly Param[]): Promise<Row[]> {
    return this.#writer.query(op, sql, params)
  }

  async ping(): Promise<void> {
    await this.#writer.run('ping', PING, PING_PARAMS)
  }

  run(op: string, sql: string, params: readonly Param[]): Promise<RunResult> {
    return this.#writer.run(op, sql, params)
  }

  transaction<T>(op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#writer.transaction('BEGIN IMMEDIATE', op, fn)
  }

  snapshot<T>(op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> {
    const reader = this.#readers.find(reader => reader.idle) ?? (this.#readers[0] as SqliteConnection)
    return reader.transaction('BEGIN', op, fn)
  }

  /** There is nothing to test: this engine is built into Node, so its version and guarantees are known. */
  async prove(): Promise<void> {}

  script(statements: readonly string[]): Promise<void> {
    return this.#writer.script(statements)
  }

  async close(): Promise<void> {
    await this.#writer.close()
    for (const reader of this.#readers) if (reader !== this.#writer) await reader.close()
  }
}

/** `url` is `sqlite:PATH`, whose folder is created when it is missing, or `sqlite::memory:`. */
export function openSqlite(url: string, onStatement: OnStatement, isWaitedFor = false): Driver & { address: string } {
  const path = url.slice('sqlite:'.length)
  if (path === '') throw new Error(`store: expected sqlite:PATH, found ${JSON.stringify(url)}`)
  return new SqliteDriver(path === ':memory:' ? null : resolve(path), onStatement, isWaitedFor)
}

/** `address`: that of another driver. */
export function openSqliteHere(address: string, onStatement: OnStatement): ReadingDriver {
  const connection = new SqliteConnection(address.slice('sqlite:'.length), onStatement, inSameThread())
  return {
    dialect,
    query: (op, sql, params) => connection.query(op, sql, params),
    snapshot: (op, fn) => connection.transaction('BEGIN', op, fn),
  }
}
