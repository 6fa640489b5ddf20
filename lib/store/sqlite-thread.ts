/** This side of a thread with one SQLite connection: requests in order, and the turn-taking of those who use it. */
import { Worker } from 'node:worker_threads'
import { DuplicateKey, type OnStatement, type Param, type Row, type RunResult, type Statements } from './driver.ts'
import { StoreUnavailable } from './store.ts'

export interface WorkerRequest {
  kind: 'query' | 'run' | 'exec' | 'close'
  sql: string
  params: readonly Param[]
}

export interface WorkerAnswer {
  rows?: Row[]
  changes?: number
  insertId?: number
  error?: string
  code?: number
}

const UNIQUE = new Set([1555, 2067, 2579])
/** Primary result codes for: busy, locked, out of memory, read-only, interrupted, I/O, full, cannot open, protocol. */
const UNAVAILABLE = new Set([5, 6, 7, 8, 9, 10, 13, 14, 15])

function failure(answer: WorkerAnswer): Error {
  const code = answer.code ?? 0
  if (UNIQUE.has(code)) return new DuplicateKey(answer.error)
  const message = `sqlite: ${answer.error} (${code})`
  return UNAVAILABLE.has(code & 0xff) ? new StoreUnavailable(message) : new Error(message)
}

interface Waiting {
  resolve(answer: WorkerAnswer): void
  reject(error: Error): void
}

export class Connection {
  readonly #path: string
  readonly #onStatement: OnStatement
  #worker: Worker | null = null
  #waiting: Waiting[] = []
  #turn: Promise<unknown> = Promise.resolve()
  #users = 0

  constructor(path: string, onStatement: OnStatement) {
    this.#path = path
    this.#onStatement = onStatement
  }

  /** Starts the thread ahead of the first request, while this one goes on starting. */
  warm(): void {
    this.#worker ??= this.#start()
  }

  #start(): Worker {
    const worker = new Worker(new URL('./sqlite-worker.ts', import.meta.url), { workerData: { path: this.#path } })
    worker.on('message', (answer: WorkerAnswer) => {
      const waiting = this.#waiting.shift()
      if (this.#waiting.length === 0) worker.unref()
      if (answer.error === undefined) waiting?.resolve(answer)
      else waiting?.reject(failure(answer))
    })
    worker.on('error', (error: Error) => this.#lost(`sqlite thread: ${error.message}`))
    worker.on('exit', () => this.#lost('sqlite thread ended'))
    worker.unref()
    return worker
  }

  /** The next request starts a new thread. */
  #lost(message: string): void {
    this.#worker = null
    const waiting = this.#waiting
    this.#waiting = []
    for (const { reject } of waiting) reject(new StoreUnavailable(message))
  }

  ask(kind: WorkerRequest['kind'], sql: string, params: readonly Param[]): Promise<WorkerAnswer> {
    const worker = (this.#worker ??= this.#start())
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ resolve, reject }) === 1) worker.ref()
      worker.postMessage({ kind, sql, params } satisfies WorkerRequest)
    })
  }

  async counted(op: string, kind: 'query' | 'run', sql: string, params: readonly Param[]): Promise<WorkerAnswer> {
    try {
      const answer = await this.ask(kind, sql, params)
      this.#onStatement(op, true)
      return answer
    } catch (error) {
      this.#onStatement(op, error instanceof DuplicateKey)
      throw error
    }
  }

  /** Nobody uses it or waits for it. */
  get idle(): boolean {
    return this.#users === 0
  }

  /** Runs `fn` when everyone before has finished. */
  exclusive<T>(fn: () => Promise<T>): Promise<T> {
    this.#users++
    const result = this.#turn.then(fn).finally(() => this.#users--)
    this.#turn = result.catch(() => {})
    return result
  }

  statements(op: string): Statements {
    return {
      query: async (sql, params) => (await this.counted(op, 'query', sql, params)).rows!,
      run: async (sql, params) => result(await this.counted(op, 'run', sql, params)),
    }
  }

  transaction<T>(begin: string, op: string, fn: (tx: Statements) => Promise<T>): Promise<T> {
    return this.#between(begin, () => fn(this.statements(op)))
  }

  script(statements: readonly string[]): Promise<void> {
    return this.#between('BEGIN IMMEDIATE', async () => {
      for (const sql of statements) await this.ask('exec', sql, []).catch(overlookRepeated)
    })
  }

  #between<T>(begin: string, fn: () => Promise<T>): Promise<T> {
    return this.exclusive(async () => {
      await this.ask('exec', begin, [])
      try {
        const value = await fn()
        await this.ask('exec', 'COMMIT', [])
        return value
      } catch (error) {
        // Some failures have rolled back already; what matters is the first error.
        await this.ask('exec', 'ROLLBACK', []).catch(() => {})
        throw error
      }
    })
  }

  async close(): Promise<void> {
    await this.exclusive(async () => {
      const worker = this.#worker
      if (worker === null) return
      worker.ref()
      const ended = new Promise(resolve => worker.once('exit', resolve))
      worker.postMessage({ kind: 'close', sql: '', params: [] } satisfies WorkerRequest)
      await ended
    })
  }
}

export const result = (answer: WorkerAnswer): RunResult => ({ changes: answer.changes!, insertId: answer.insertId! })

/** SQLite has no ADD COLUMN IF NOT EXISTS; a statement that fails leaves its transaction open. */
function overlookRepeated(error: Error): void {
  if (!error.message.includes('duplicate column name')) throw error
}
