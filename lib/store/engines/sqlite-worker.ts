/**
 * The worker thread that owns one SQLite connection. It answers requests in the order in which they arrive.
 * `sqlite-thread.ts` is the other side.
 */
import { parentPort, workerData } from 'node:worker_threads'
import type { BesideEngine } from '../base/driver.ts'
import { StoreUnavailable } from '../base/errors.ts'
import { dialect, inSameThread } from './sqlite.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import { SqliteConnection, type WorkerAnswer, type WorkerRequest } from './sqlite-thread.ts'

const port = parentPort!
const { path } = workerData as { path: string }
const database = new SqliteDatabase(path)

/** How the statements of the work went that is under way. */
let statements: boolean[] = []
const connection = new SqliteConnection(path, (_, ok) => statements.push(ok), inSameThread(database))
const here: Parameters<BesideEngine>[0] = {
  dialect,
  transaction: (op, fn) => connection.transaction('BEGIN IMMEDIATE', op, fn),
}

async function work({ work, args }: Extract<WorkerRequest, { kind: 'beside' }>): Promise<WorkerAnswer> {
  statements = []
  try {
    const { beside } = (await import(work)) as { beside: BesideEngine }
    return { work: { value: await beside(here, ...args), statements } }
  } catch (error) {
    const { message } = error as Error
    return { work: { failed: { message, isUnavailable: error instanceof StoreUnavailable }, statements } }
  }
}

port.on('message', (request: WorkerRequest) => {
  if (request.kind === 'beside') return void work(request).then(answer => port.postMessage(answer))
  if (request.kind !== 'close') return port.postMessage(database.answer(request))
  database.close()
  port.close()
})
