/**
 * The main thread's side of the thread that makes exports. It is started for the first export and ends some time after the
 * last one. Finished bytes are handed over without a copy, and only when they are asked for.
 */
import { Worker } from 'node:worker_threads'
import type { OnStatement } from './driver.ts'
import type { Pieces } from './export-store.ts'
import { NODE_OPTIONS } from './sqlite-thread.ts'
import { StoreUnavailable } from './store.ts'

export interface ExportThreadData {
  address: string
  /** That of the store. */
  zone: string
  /** What all exports together may make in a second. */
  bytesPerS: number
}

export type ExportRequest =
  | { kind: 'start'; id: number; work: string; order: object; paced: boolean }
  | { kind: 'more' | 'stop'; id: number }

export interface ExportAnswer {
  id: number
  /** null = the export is complete. */
  piece: Uint8Array | null
  /** Why the export broke off. */
  error?: { message: string; isUnavailable: boolean }
  /** The statements since the last answer. */
  statements: [op: string, ok: boolean][]
}

/** Longer than somebody who reads reports rests between two of them. */
const IDLE_MS = 600_000
const CLOSED = 'the store is closed'
const DONE = { done: true, value: undefined } as const

export class ExportThread {
  readonly #data: ExportThreadData
  readonly #onStatement: OnStatement
  readonly #exports = new Map<number, Export>()
  #worker: Worker | null = null
  #idle: NodeJS.Timeout | undefined
  #lastId = 0
  #isClosed = false

  constructor(data: ExportThreadData, onStatement: OnStatement) {
    this.#data = data
    this.#onStatement = onStatement
  }

  make(work: URL, order: object, paced: boolean): Pieces {
    const id = ++this.#lastId
    return new Export({
      start: one => {
        if (this.#isClosed) return one.fail(new StoreUnavailable(CLOSED))
        clearTimeout(this.#idle)
        this.#exports.set(id, one)
        this.#send({ kind: 'start', id, work: work.href, order, paced })
      },
      more: () => this.#send({ kind: 'more', id }),
      end: () => this.#end(id),
    })
  }

  /** For good. Exports that are under way break off. */
  async close(): Promise<void> {
    this.#isClosed = true
    await this.#stop()
  }

  async #stop(): Promise<void> {
    const worker = this.#worker
    this.#lose(new StoreUnavailable(CLOSED))
    await worker?.terminate()
  }

  #send(request: ExportRequest): void {
    const worker = (this.#worker ??= this.#start())
    worker.ref()
    worker.postMessage(request)
  }

  #start(): Worker {
    const worker = new Worker(new URL('./export-worker.ts', import.meta.url), {
      workerData: this.#data,
      execArgv: NODE_OPTIONS,
    })
    const lost = (why: string) => {
      if (this.#worker === worker) this.#lose(new StoreUnavailable(why))
    }
    worker.on('message', (answer: ExportAnswer) => this.#take(answer))
    worker.on('error', (error: Error) => lost(`the thread of exports: ${error.message}`))
    worker.on('exit', () => lost('the thread of exports ended'))
    return worker
  }

  #take({ id, piece, error, statements }: ExportAnswer): void {
    for (const [op, ok] of statements) this.#onStatement(op, ok)
    const one = this.#exports.get(id)
    if (error === undefined) one?.take(piece)
    else one?.fail(error.isUnavailable ? new StoreUnavailable(error.message) : new Error(error.message))
  }

  #end(id: number): void {
    if (!this.#exports.delete(id) || this.#worker === null) return
    this.#worker.postMessage({ kind: 'stop', id } satisfies ExportRequest)
    if (this.#exports.size > 0) return
    this.#worker.unref()
    this.#idle = setTimeout(() => void this.#stop(), IDLE_MS).unref()
  }

  /** The thread is gone, or goes. */
  #lose(error: Error): void {
    clearTimeout(this.#idle)
    this.#worker = null
    for (const one of this.#exports.values()) one.fail(error)
  }
}

interface Side {
  start(one: Export): void
  more(): void
  end(): void
}

class Export implements Pieces {
  readonly ended: Promise<void>
  readonly #side: Side
  readonly #setEnded: () => void
  #waiting: PromiseWithResolvers<IteratorResult<Uint8Array, undefined>> | null = null
  #state: 'new' | 'open' | 'ended' = 'new'
  #failure: Error | null = null

  constructor(side: Side) {
    this.#side = side
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    this.#setEnded = resolve
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#state === 'new') {
      this.#state = 'open'
      this.#side.start(this)
    }
    if (this.#failure !== null) return Promise.reject(this.#failure)
    if (this.#state === 'ended') return Promise.resolve(DONE)
    this.#waiting = Promise.withResolvers()
    this.#side.more()
    return this.#waiting.promise
  }

  return(): Promise<typeof DONE> {
    this.take(null)
    return Promise.resolve(DONE)
  }

  take(piece: Uint8Array | null): void {
    const waiting = this.#waiting
    this.#waiting = null
    if (piece === null) this.#end()
    waiting?.resolve(piece === null ? DONE : { done: false, value: piece })
  }

  /** When no piece is awaited, whoever asks for the next one is told. */
  fail(error: Error): void {
    const waiting = this.#waiting
    this.#waiting = null
    this.#failure = error
    this.#end()
    waiting?.reject(error)
  }

  #end(): void {
    this.#state = 'ended'
    this.#side.end()
    this.#setEnded()
  }
}
