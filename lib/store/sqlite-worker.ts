/**
 * The worker thread that owns one SQLite connection. It opens the database at the first request, caches prepared
 * statements, and answers requests in the order in which they arrive. `sqlite-thread.ts` is the other side.
 */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { Param } from './driver.ts'
import type { WorkerAnswer, WorkerRequest } from './sqlite-thread.ts'

const BUSY_MS = 5_000
const RETRY_MS = 5
const SQLITE_BUSY = 5
/** The most characters that the texts of all cached statements may have: this bounds the memory of the cache. */
const CACHED_CHARACTERS = 1_000_000

const { path } = workerData as { path: string }
let open: DatabaseSync | null = null
const statements = new Map<string, StatementSync>()
let cachedCharacters = 0

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

function database(): DatabaseSync {
  if (open !== null) return open
  if (path !== ':memory:') mkdirSync(dirname(path), { recursive: true })
  const db = new DatabaseSync(path, { timeout: BUSY_MS })
  try {
    useWal(db)
    // The ledger deletes journal records after a commit, so a commit must be on the disk when it is answered. With
    // NORMAL, WAL mode would sync later.
    db.exec('PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000')
  } catch (error) {
    db.close()
    throw error
  }
  return (open = db)
}

/** The prepared statement of a text, from a least-recently-used cache. */
function statement(sql: string): StatementSync {
  const cached = statements.get(sql)
  if (cached !== undefined) {
    statements.delete(sql)
    statements.set(sql, cached)
    return cached
  }
  const prepared = database().prepare(sql)
  statements.set(sql, prepared)
  cachedCharacters += sql.length
  for (const oldest of statements.keys()) {
    if (cachedCharacters <= CACHED_CHARACTERS) break
    statements.delete(oldest)
    cachedCharacters -= oldest.length
  }
  return prepared
}

/** Numbers become bigints, because `node:sqlite` binds a JavaScript number as a floating-point value. */
const bound = (params: readonly Param[]) => params.map(value => (typeof value === 'number' ? BigInt(value) : value))

function answer(request: Exclude<WorkerRequest, { kind: 'close' }>): WorkerAnswer {
  if (request.kind === 'exec') {
    database().exec(request.sql)
    return { rows: [] }
  }
  const prepared = statement(request.sql)
  if (request.kind === 'query') return { rows: prepared.all(...bound(request.params)) }
  if (request.kind === 'each') {
    // rows go into columns of integers, which make integers of whole floating-point values; bigints would cost more
    for (const params of request.rows) prepared.run(...params)
    return {}
  }
  const { changes, lastInsertRowid } = prepared.run(...bound(request.params))
  return { changes: Number(changes), insertId: Number(lastInsertRowid) }
}

parentPort!.on('message', (request: WorkerRequest) => {
  if (request.kind === 'close') {
    open?.close()
    open = null
    parentPort!.close()
    return
  }
  let reply: WorkerAnswer
  try {
    reply = answer(request)
  } catch (error) {
    const { message, errcode } = error as Error & { errcode?: number }
    reply = { error: message, code: errcode ?? 0 }
  }
  parentPort!.postMessage(reply)
})
