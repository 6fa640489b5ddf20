/** What a worker thread does with its SQLite connection, done in the thread that asks: where nothing waits for a slow disk. */
import { EventEmitter } from 'node:events'
import { SqliteDatabase } from './sqlite-database.ts'
import type { StartThread, WorkerRequest } from './sqlite-thread.ts'

/** Between two answers the thread hears what it is told. */
class SameThread extends EventEmitter {
  readonly #database: SqliteDatabase

  constructor(path: string) {
    super()
    this.#database = new SqliteDatabase(path)
  }

  postMessage(request: WorkerRequest): void {
    if (request.kind === 'close') {
      this.#database.close()
      setImmediate(() => this.emit('exit'))
      return
    }
    const answer = this.#database.answer(request)
    setImmediate(() => this.emit('message', answer))
  }

  ref(): void {}
  unref(): void {}
  async terminate(): Promise<number> {
    this.#database.close()
    return 0
  }
}

export const startSameThread = ((path: string) => new SameThread(path)) as unknown as StartThread
