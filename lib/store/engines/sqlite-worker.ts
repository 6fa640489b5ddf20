/**
 * The worker thread that owns one SQLite connection. It answers requests in the order in which they arrive.
 * `sqlite-thread.ts` is the other side.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { SqliteDatabase } from './sqlite-database.ts'
import type { WorkerRequest } from './sqlite-thread.ts'

const port = parentPort!
const database = new SqliteDatabase((workerData as { path: string }).path)

port.on('message', (request: WorkerRequest) => {
  if (request.kind !== 'close') return port.postMessage(database.answer(request))
  database.close()
  port.close()
})
