/**
 * The main thread's side of a worker thread that owns one SQLite connection. `Thread` sends requests and matches the
 * answers, which come in the same order. `SqliteConnection` is what the driver uses: it gives each caller exclusive use of
 * the connection for a statement or a whole transaction, in the order of the calls, and starts a new thread when one
 * has ended. It is not a `WorkerThread`: a transaction belongs to the one thread that began it and must fail with it, a commit
 * without an answer has a meaning of its own, and a thread that is lost is ended at once, for the sake of its locks.
 */
import { Worker } from 'node:worker_threads'
import { THREAD_ARGUMENTS } from '../../base/worker-thread.ts'
import {
  CommitUncertain,
  DuplicateKey,
  type OnStatement,
  type Param,
  type Row,
  type RunResult,
  type Transaction,
} from '../base/driver.ts'
import { StoreUnavailable } from '../base/errors.ts'

/** `each`: the statement is run with each list of `rows`. `beside`: the work of a module, see `Driver.beside`. */
export type WorkerRequest =
  | { kind: 'query' | 'run'; sql: string; params: readonly Param[] }
  | { kind: 'each'; sql: string; rows: readonly (readonly Param[])[] }
  | { kind: 'exec'; sql: string }
  | { kind: 'beside'; op: string; work: string; args: readonly unknown[] }
  | { kind: 'close' }

export interface WorkerAnswer {
  rows?: Row[]
  changes?: number
  insertId?: number
  error?: string
  code?: number
  /** What the work of a module has come to, and how each of its statements went. */
  work?: { value?: unknown; failed?: { message: string; isUnavailable: boolean }; statements: boolean[] }
}

/** SQLite's extended result codes for a violated primary key, unique index and row id. */
const UNIQUE = new Set([1555, 2067, 2579])
/** SQLite's codes for: busy, locked, out of memory, read-only, interrupted, I/O, full, cannot open, protocol. */
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

/** Starts a worker thread for the database at `path`; tests pass another one. */
export type StartThread = (path: string) => Pick<Worker, 'on' | 'once' | 'postMessage' | 'ref' | 'unref' | 'terminate'>

const startThread: StartThread = path =>
  new Worker(new URL('./sqlite-worker.ts', import.meta.url), {
    workerData: { path },
    name: 'store',
    execArgv: THREAD_ARGUMENTS,
  })

class ThreadEnded extends StoreUnavailable {}

/**
 * One thread and the requests that it has not answered yet. A thread that has ended is never restarted: all its
 * requests fail with ThreadEnded, and `SqliteConnection` makes a new `Thread` for later ones.
 */
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

  /** Terminates the thread at once, because its locks on the database file last as long as the thread does. */
  #end(message: string): void {
    if (this.ended) return
    this.#endedBy = message
    for (const { reject } of this.#waiting.splice(0)) reject(new ThreadEnded(message))
    void this.#worker.terminate()
  }

  ask(request: WorkerRequest): Promise<WorkerAnswer> {
    if (this.#endedBy !== null) return Promise.reject(new ThreadEnded(this.#endedBy))
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ resolve, reject }) === 1) this.#worker.ref()
      this.#worker.postMessage(request)
    })
  }

  close(): Promise<void> {
    if (this.ended) return Promise.resolve()
    this.#worker.ref()
    const ended = new Promise<void>(resolve => this.#worker.once('exit', () => resolve()))
    this.#worker.postMessage({ kind: 'close' } satisfies WorkerRequest)
    return ended
  }
}

export class SqliteConnection {
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

  /** The current thread, or a new one when that has ended. */
  #thread(): Thread {
    if (this.#current === null || this.#current.ended) this.#current = new Thread(this.#path, this.#start)
    return this.#current
  }

  async #counted(thread: Thread, op: string, request: WorkerRequest) {
    try {
      const answer = await thread.ask(request)
      this.#onStatement(op, true)
      return answer
    } catch (error) {
      this.#onStatement(op, error instanceof DuplicateKey)
      throw error
    }
  }

  query(op: string, sql: string, params: readonly Param[]): Promise<Row[]> {
    return this.#exclusive(async () => (await this.#counted(this.#thread(), op, { kind: 'query', sql, params })).rows!)
  }

  /** The statement is a transaction of its own, so when the thread ends before its answer, the commit is uncertain. */
  run(op: string, sql: string, params: readonly Param[]): Promise<RunResult> {
    return this.#exclusive(async () =>
      result(await uncertain(this.#counted(this.#thread(), op, { kind: 'run', sql, params }))),
    )
  }

  /** A thread that ends before it has answered may have committed. */
  beside<T>(op: string, work: URL, args: readonly unknown[]): Promise<T> {
    return this.#exclusive(async () => {
      const answer = await uncertain(this.#thread().ask({ kind: 'beside', op, work: work.href, args }))
      const { value, failed, statements } = answer.work!
      for (const ok of statements) this.#onStatement(op, ok)
      if (failed === undefined) return value as T
      throw failed.isUnavailable ? new StoreUnavailable(failed.message) : new Error(failed.message)
    })
  }

  /** True when nobody uses the connection or waits for it. */
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

  #statements(thread: Thread, op: string): Transaction {
    return {
      query: async (sql, params) => (await this.#counted(thread, op, { kind: 'query', sql, params })).rows!,
      run: async (sql, params) => result(await this.#counted(thread, op, { kind: 'run', sql, params })),
      insert: async ({ into, row, end = '' }, rows) => {
        if (rows.length > 0)
          await this.#counted(thread, op, { kind: 'each', sql: `${into} VALUES ${row} ${end}`, rows })
      },
    }
  }

  transaction<T>(begin: string, op: string, fn: (tx: Transaction) => Promise<T>): Promise<T> {
    return this.#between(begin, thread => fn(this.#statements(thread, op)))
  }

  script(statements: readonly string[]): Promise<void> {
    return this.#between('BEGIN IMMEDIATE', async thread => {
      await thread.ask({ kind: 'exec', sql: statements.join(';\n') })
    })
  }

  /**
   * Runs `fn` between BEGIN and COMMIT. All statements go to the thread that got the BEGIN: had it ended and another
   * been started, the rest of the statements would run there outside of any transaction.
   */
  #between<T>(begin: string, fn: (thread: Thread) => Promise<T>): Promise<T> {
    return this.#exclusive(async () => {
      const thread = this.#thread()
      await thread.ask({ kind: 'exec', sql: begin })
      try {
        const value = await fn(thread)
        await uncertain(thread.ask({ kind: 'exec', sql: 'COMMIT' }))
        return value
      } catch (error) {
        // SQLite has rolled back already after some errors, and then ROLLBACK fails. The first error is the one to
        // report.
        await thread.ask({ kind: 'exec', sql: 'ROLLBACK' }).catch(() => {})
        throw error
      }
    })
  }

  close(): Promise<void> {
    return this.#exclusive(async () => this.#current?.close())
  }
}

/** When the thread ends before it has answered a commit, nobody knows whether the commit took effect. */
const uncertain = <T>(commit: Promise<T>): Promise<T> =>
  commit.catch(error => {
    throw error instanceof ThreadEnded ? new CommitUncertain(error.message, { cause: error }) : error
  })

const result = (answer: WorkerAnswer): RunResult => ({ changes: answer.changes!, insertId: answer.insertId! })
