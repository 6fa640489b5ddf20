/** This side of a thread with one SQLite connection: requests in order, and the turn-taking of those who use it. */
import { Worker } from 'node:worker_threads'
import {
  CommitUncertain,
  DuplicateKey,
  type OnStatement,
  type Param,
  type Row,
  type RunResult,
  type Statements,
} from './driver.ts'
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

/** What is used of a thread. */
export type StartThread = (path: string) => Pick<Worker, 'on' | 'once' | 'postMessage' | 'ref' | 'unref' | 'terminate'>

const startThread: StartThread = path =>
  new Worker(new URL('./sqlite-worker.ts', import.meta.url), { workerData: { path } })

class ThreadEnded extends StoreUnavailable {}

/** One thread and what it has not answered yet. Once it has ended it answers nobody: another one has another's requests. */
class Thread {
  readonly #worker: ReturnType<StartThread>
  #waiting: Waiting[] = []
  #endedBy: string | null = null

  constructor(path: string, start: StartThread) {
    const worker = (this.#worker = start(path))
    worker.on('message', (answer: WorkerAnswer) => {
      const waiting = this.#waiting.shift()
      if (this.#waiting.length === 0) worker.unref()
      if (answer.error === undefined) waiting?.resolve(answer)
      else waiting?.reject(failure(answer))
    })
    worker.on('error', (error: Error) => this.#end(`sqlite thread: ${error.message}`))
    worker.on('exit', () => this.#end('sqlite thread ended'))
    worker.unref()
  }

  get ended(): boolean {
    return this.#endedBy !== null
  }

  /** What it has locked is free when it is gone, so it is not left to die slowly. */
  #end(message: string): void {
    if (this.ended) return
    this.#endedBy = message
    for (const { reject } of this.#waiting.splice(0)) reject(new ThreadEnded(message))
    void this.#worker.terminate()
  }

  ask(kind: WorkerRequest['kind'], sql: string, params: readonly Param[]): Promise<WorkerAnswer> {
    if (this.#endedBy !== null) return Promise.reject(new ThreadEnded(this.#endedBy))
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ resolve, reject }) === 1) this.#worker.ref()
      this.#worker.postMessage({ kind, sql, params } satisfies WorkerRequest)
    })
  }

  close(): Promise<void> {
    if (this.ended) return Promise.resolve()
    this.#worker.ref()
    const ended = new Promise<void>(resolve => this.#worker.once('exit', () => resolve()))
    this.#worker.postMessage({ kind: 'close', sql: '', params: [] } satisfies WorkerRequest)
    return ended
  }
}

export class Connection {
  readonly #path: string
  readonly #onStatement: OnStatement
  readonly #start: StartThread
  #current: Thread | null = null
  #turn: Promise<unknown> = Promise.resolve()
  #users = 0

  constructor(path: string, onStatement: OnStatement, start: StartThread = startThread) {
    this.#path = path
    this.#onStatement = onStatement
    this.#start = start
  }

  /** Starts the thread ahead of the first request, while this one goes on starting. */
  warm(): void {
    this.#thread()
  }

  /** Another one when the last has ended. */
  #thread(): Thread {
    if (this.#current === null || this.#current.ended) this.#current = new Thread(this.#path, this.#start)
    return this.#current
  }

  async #counted(thread: Thread, op: string, kind: 'query' | 'run', sql: string, params: readonly Param[]) {
    try {
      const answer = await thread.ask(kind, sql, params)
      this.#onStatement(op, true)
      return answer
    } catch (error) {
      this.#onStatement(op, error instanceof DuplicateKey)
      throw error
    }
  }

  query(op: string, sql: string, params: readonly Param[]): Promise<Row[]> {
    return this.#exclusive(async () => (await this.#counted(this.#thread(), op, 'query', sql, params)).rows!)
  }

  /** Its own transaction: an answer that is lost may be that of a commit. */
  run(op: string, sql: string, params: readonly Param[]): Promise<RunResult> {
    return this.#exclusive(async () => result(await uncertain(this.#counted(this.#thread(), op, 'run', sql, params))))
  }

  /** Nobody uses it or waits for it. */
  get idle(): boolean {
    return this.#users === 0
  }

  /** Runs `fn` when everyone before has finished. */
  #exclusive<T>(fn: () => Promise<T>): Promise<T> {
    this.#users++
    const result = this.#turn.then(fn).finally(() => this.#users--)
    this.#turn = result.catch(() => {})
    return result
  }

  #statements(thread: Thread, op: string): Statements {
    return {
      query: async (sql, params) => (await this.#counted(thread, op, 'query', sql, params)).rows!,
      run: async (sql, params) => result(await this.#counted(thread, op, 'run', sql, params)),
    }
  }

  transaction<T>(begin: string, op: string, fn: (tx: Statements) => Promise<T>): Promise<T> {
    return this.#between(begin, thread => fn(this.#statements(thread, op)))
  }

  script(statements: readonly string[]): Promise<void> {
    return this.#between('BEGIN IMMEDIATE', async thread => {
      for (const sql of statements) await thread.ask('exec', sql, []).catch(overlookRepeated)
    })
  }

  /** On one thread from begin to end: what is left of a transaction must not be done outside of it. */
  #between<T>(begin: string, fn: (thread: Thread) => Promise<T>): Promise<T> {
    return this.#exclusive(async () => {
      const thread = this.#thread()
      await thread.ask('exec', begin, [])
      try {
        const value = await fn(thread)
        await uncertain(thread.ask('exec', 'COMMIT', []))
        return value
      } catch (error) {
        // Some failures have rolled back already; what matters is the first error.
        await thread.ask('exec', 'ROLLBACK', []).catch(() => {})
        throw error
      }
    })
  }

  close(): Promise<void> {
    return this.#exclusive(async () => this.#current?.close())
  }
}

/** When the thread ends meanwhile, it was committed or it was not. */
const uncertain = <T>(commit: Promise<T>): Promise<T> =>
  commit.catch(error => {
    throw error instanceof ThreadEnded ? new CommitUncertain(error.message, { cause: error }) : error
  })

const result = (answer: WorkerAnswer): RunResult => ({ changes: answer.changes!, insertId: answer.insertId! })

/** SQLite has no ADD COLUMN IF NOT EXISTS; a statement that fails leaves its transaction open. */
function overlookRepeated(error: Error): void {
  if (!error.message.includes('duplicate column name')) throw error
}
