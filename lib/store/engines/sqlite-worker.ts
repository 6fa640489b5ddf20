/**
 * The worker thread that owns one SQLite connection. It answers requests in the order in which they arrive.
 * `sqlite-thread.ts` is the other side.
 */
import os from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { BesideEngine } from '../base/driver.ts'
import { StoreUnavailable } from '../base/errors.ts'
import { SqliteDatabase } from './sqlite-database.ts'
import type { WorkerAnswer, WorkerRequest } from './sqlite-thread.ts'

const port = parentPort!
const { path } = workerData as { path: string }
const database = new SqliteDatabase(path)

/**
 * Settlements come hundreds at a time and take this thread for milliseconds. Where cores are few, the event loop would wait for one meanwhile,
 * and requests with it, so this thread gives way: on a core that the two share it still has a quarter of the time, and needs less.
 */
const NICER_BY = 5

try {
  // only on Linux is a priority that of the calling thread, and not of the whole process
  if (process.platform === 'linux')
    os.setPriority(Math.min(os.constants.priority.PRIORITY_LOW, os.getPriority() + NICER_BY))
} catch {
  // the system forbids it, and all threads are alike
}

/** What a module needs is loaded with it: most threads only answer statements, and start sooner without. */
const load = (work: string) =>
  Promise.all([import(work) as Promise<{ beside: BesideEngine }>, import('./sqlite.ts'), import('./sqlite-thread.ts')])
/** By address, because an import of what is loaded takes time, too. */
const loaded = new Map<string, Awaited<ReturnType<typeof load>>>()

async function work({ work, args }: Extract<WorkerRequest, { kind: 'beside' }>): Promise<WorkerAnswer> {
  const statements: boolean[] = []
  try {
    const modules = loaded.get(work) ?? (await load(work))
    loaded.set(work, modules)
    const [{ beside }, { dialect, inSameThread }, { SqliteConnection }] = modules
    const connection = new SqliteConnection(path, (_, ok) => statements.push(ok), inSameThread(database))
    const here: Parameters<BesideEngine>[0] = {
      dialect,
      transaction: (op, fn) => connection.transaction('BEGIN IMMEDIATE', op, fn),
    }
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
