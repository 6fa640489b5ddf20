/**
 * A SQLite driver for a thread that only reads, and that may wait for the disk: its one connection is used in the thread
 * itself, so that rows are not copied from one thread to another.
 */
import type { OnStatement, ReadingDriver } from './driver.ts'
import { dialect } from './sqlite.ts'
import { startSameThread } from './sqlite-same-thread.ts'
import { Connection } from './sqlite-thread.ts'

/** `address`: that of another driver. */
export function openSqliteHere(address: string, onStatement: OnStatement): ReadingDriver {
  const connection = new Connection(address.slice('sqlite:'.length), onStatement, startSameThread)
  return {
    dialect,
    query: (op, sql, params) => connection.query(op, sql, params),
    snapshot: (op, fn) => connection.transaction('BEGIN', op, fn),
  }
}
