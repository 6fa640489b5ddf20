/** The thread that owns one SQLite connection. Answers requests in the order they came. */
import { mkdirSync } from 'node:fs'
import { dirname } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { parentPort, workerData } from 'node:worker_threads'
import type { WorkerAnswer, WorkerRequest } from './sqlite-thread.ts'

const BUSY_MS = 5_000
const RETRY_MS = 5
const SQLITE_BUSY = 5
/** Bounds the memory of cached statements by the length of their texts. */
const CACHED_CHARACTERS = 1_000_000

const { path } = workerData as { path: string }
let open: DatabaseSync | null = null
const statements = new Map<string, StatementSync>()
let cachedCharacters = 0

/** Switching to WAL does not wait for other processes as everything else does, so it is tried for as long here. */
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
    // The journal is emptied on the word of a commit, so a commit must be on the disk: NORMAL would leave it to a later sync.
    db.exec('PRAGMA synchronous = FULL; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16000')
  } catch (error) {
    db.close()
    throw error
  }
  return (open = db)
}

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

/** A JavaScript number would be bound as a floating-point number. */
const bound = (params: WorkerRequest['params']) =>
  params.map(value => (typeof value === 'number' ? BigInt(value) : value))

function answer(request: WorkerRequest): WorkerAnswer {
  if (request.kind === 'exec') {
    database().exec(request.sql)
    return { rows: [] }
  }
  const prepared = statement(request.sql)
  if (request.kind === 'query') return { rows: prepared.all(...bound(request.params)) }
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
