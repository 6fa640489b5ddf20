/**
 * A SQLite driver for a thread that only reads, and that may wait for the disk: its one connection is used in the thread
 * itself, so that rows are not copied from one thread to another.
 */
import { EventEmitter } from 'node:events'
import type { OnStatement, ReadingDriver } from './driver.ts'
import { dialect } from './sqlite.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { Connection, type StartThread, type WorkerRequest } from './sqlite-thread.ts'

/** Does in this thread what a worker thread does. Between two answers the thread hears what it is told. */
class Here extends EventEmitter {
  readonly #database: SqliteDatabase

  constructor(path: string) {
    super()
    this.#database = new SqliteDatabase(path)
  }

  /** Nobody closes it: it ends with the thread. */
  postMessage(request: Exclude<WorkerRequest, { kind: 'close' }>): void {
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

const startHere = ((path: string) => new Here(path)) as unknown as StartThread

/** `address`: that of another driver. */
export function openSqliteHere(address: string, onStatement: OnStatement): ReadingDriver {
  const connection = new Connection(address.slice('sqlite:'.length), onStatement, startHere)
  return {
    dialect,
    query: (op, sql, params) => connection.query(op, sql, params),
    snapshot: (op, fn) => connection.transaction('BEGIN', op, fn),
  }
}
