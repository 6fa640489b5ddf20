/**
 * One SQLite connection, used by the thread that makes it. It opens the database at the first request, and caches prepared
 * statements.
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import type { Param } from '../base/driver.ts'
import type { WorkerAnswer, WorkerRequest } from './sqlite-thread.ts'

/** What is a matter of the database alone. */
type DatabaseRequest = Exclude<WorkerRequest, { kind: 'close' | 'beside' }>

export const BUSY_MS = 5_000
const RETRY_MS = 5
const SQLITE_BUSY = 5
/** The most characters that the texts of all cached statements may have: this bounds the memory of the cache. */
const CACHED_CHARACTERS = 1_000_000
/** A database in memory, which all threads of the process find by its name. */
const IN_MEMORY = /^file:.*\?vfs=memdb$/

let namesInMemory = 0
/** The path of a new database in memory. It is there as long as a connection to it is open. */
export const newPathInMemory = (): string => `file:/memory-${++namesInMemory}?vfs=memdb`

/** SQLite's busy time-out does not apply to the switch to WAL, so this function retries it for the same time. */
function useWal(db: DatabaseSync): void {
  const lastMs = performance.now() + BUSY_MS
  for (;;) {
    try {
      db.exec('PRAGMA journal_mode = WAL')
      return
    } catch (error) {
      if ((error as { errcode?: number }).errcode !== SQLITE_BUSY || performance.now() > lastMs) throw error
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS)
    }
  }
}

function openAt(path: string): DatabaseSync {
  if (!IN_MEMORY.test(path)) mkdirSync(dirname(path), { recursive: true })
  const db = new DatabaseSync(path, { timeout: BUSY_MS })
  try {
    useWal(db)
    // The ledger deletes journal records after a commit, so a commit must be on the disk when it is answered. With
    // NORMAL, WAL mode would sync later.
    db.exec('PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000')
    // The ends of all indices are written again and again: the more seldom they go from the log into the database, the less is written. But
    // the commit that moves them waits for all of it, 8 MB here, and a slow disk must not look like a store that is away.
    db.exec('PRAGMA wal_autocheckpoint = 2000')
  } catch (error) {
    db.close()
    throw error
  }
  return db
}

/** Numbers become bigints, because `node:sqlite` binds a JavaScript number as a floating-point value. */
const bound = (params: readonly Param[]) => params.map(value => (typeof value === 'number' ? BigInt(value) : value))

export class SqliteDatabase {
  readonly #path: string
  readonly #statements = new Map<string, StatementSync>()
  #cachedCharacters = 0
  #open: DatabaseSync | null = null

  constructor(path: string) {
    this.#path = path
  }

  answer(request: DatabaseRequest): WorkerAnswer {
    try {
      return this.#answer(request)
    } catch (error) {
      const { message, errcode } = error as Error & { errcode?: number }
      return { error: message, code: errcode ?? 0 }
    }
  }

  close(): void {
    this.#open?.close()
    this.#open = null
  }

  #database(): DatabaseSync {
    return (this.#open ??= openAt(this.#path))
  }

  #answer(request: DatabaseRequest): WorkerAnswer {
    if (request.kind === 'exec') {
      this.#database().exec(request.sql)
      return { rows: [] }
    }
    const prepared = this.#statement(request.sql)
    if (request.kind === 'query') return { rows: prepared.all(...bound(request.params)) }
    if (request.kind === 'each') {
      // rows go into columns of integers, which make integers of whole floating-point values; bigints would cost more
      for (const params of request.rows) prepared.run(...params)
      return {}
    }
    const { changes, lastInsertRowid } = prepared.run(...bound(request.params))
    return { changes: Number(changes), insertId: Number(lastInsertRowid) }
  }

  /** The prepared statement of a text, from a least-recently-used cache. */
  #statement(sql: string): StatementSync {
    const cached = this.#statements.get(sql)
    if (cached !== undefined) {
      this.#statements.delete(sql)
      this.#statements.set(sql, cached)
      return cached
    }
    const prepared = this.#database().prepare(sql)
    this.#statements.set(sql, prepared)
    this.#cachedCharacters += sql.length
    for (const oldest of this.#statements.keys()) {
      if (this.#cachedCharacters <= CACHED_CHARACTERS) break
      this.#statements.delete(oldest)
      this.#cachedCharacters -= oldest.length
    }
    return prepared
  }
}
