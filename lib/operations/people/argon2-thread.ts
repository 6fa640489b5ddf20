/**
 * Derives keys from passwords in a thread of its own: its priority is low, and the threads that the journal syncs with
 * stay free. The thread is started for the first password, and ends some time after the last one.
 */
import type { Argon2Parameters } from 'node:crypto'
import { Worker } from 'node:worker_threads'

const IDLE_MS = 600_000

export interface Argon2Answer {
  key?: Uint8Array
  error?: string
}

interface Waiting {
  resolve(key: Buffer): void
  reject(error: Error): void
}

/** Answers come in the order of what was asked. */
class Thread {
  readonly #worker: Worker
  readonly #waiting: Waiting[] = []
  readonly #ended: () => void
  #idle: NodeJS.Timeout | undefined

  constructor(ended: () => void) {
    this.#ended = ended
    this.#worker = new Worker(new URL('./argon2-worker.ts', import.meta.url), { execArgv: [] })
    this.#worker.on('message', ({ key, error }: Argon2Answer) => {
      const waiting = this.#waiting.shift()
      if (key === undefined) waiting?.reject(new Error(`argon2: ${error}`))
      else waiting?.resolve(Buffer.from(key))
      if (this.#waiting.length === 0) this.#rest()
    })
    this.#worker.on('error', error => this.#end(error as Error))
    this.#worker.on('exit', () => this.#end(new Error('the thread that hashes passwords has ended')))
  }

  derive(parameters: Argon2Parameters): Promise<Buffer> {
    clearTimeout(this.#idle)
    this.#worker.ref()
    return new Promise((resolve, reject) => {
      this.#waiting.push({ resolve, reject })
      this.#worker.postMessage(parameters)
    })
  }

  /** A thread that has nothing to do keeps no process alive. */
  #rest(): void {
    this.#worker.unref()
    this.#idle = setTimeout(() => {
      this.#ended()
      void this.#worker.terminate()
    }, IDLE_MS).unref()
  }

  #end(error: Error): void {
    clearTimeout(this.#idle)
    this.#ended()
    for (const { reject } of this.#waiting.splice(0)) reject(error)
  }
}

/** One in a process. */
let thread: Thread | null = null

export function derive(parameters: Argon2Parameters): Promise<Buffer> {
  if (thread === null) {
    const started: Thread = new Thread(() => {
      if (thread === started) thread = null
    })
    thread = started
  }
  return thread.derive(parameters)
}
