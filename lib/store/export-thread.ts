/**
 * The main thread's side of the thread that makes exports (`export-worker.ts`). Finished bytes are handed over without a copy, and
 * only when they are asked for.
 */
import { WorkerThread } from '../base/worker-thread.ts'
import type { OnStatement } from './base/driver.ts'
import { StoreUnavailable } from './base/errors.ts'

/**
 * The default export of a module that makes a file or a report. `store`: of which only reads work. `order`: plain data. An empty text is given where much has been read and nothing found, so
 * that an export which has ended is given up there.
 */
export type ExportWork<S, T> = (store: S, order: T) => AsyncIterable<string>

/** The bytes of a file. A piece is made when it is asked for; at most one slice of rows is in memory. */
export interface Pieces extends AsyncIterableIterator<Uint8Array> {
  /** Ends the export at once, also while a piece is awaited. */
  return(): Promise<IteratorReturnResult<undefined>>
  /** Resolves when the export has ended, however it did. */
  readonly ended: Promise<void>
}

export interface ExportThreadData {
  address: string
  zone: string
  /** What all exports together may make in a second. */
  bytesPerS: number
}

/** The next piece of an export is asked for, which the first such request begins; or the export is called off. */
export type ExportRequest =
  | { kind: 'more'; id: number; begins: { work: string; order: object; paced: boolean } | null }
  | { kind: 'stop'; id: number }

export interface ExportAnswer {
  /** null = the export is complete. */
  piece: Uint8Array<ArrayBuffer> | null
  /** Why the export broke off. */
  error?: { message: string; isUnavailable: boolean }
  /** The statements since the last answer. */
  statements: [op: string, ok: boolean][]
}

const CLOSED = 'the store is closed'
const DONE = { done: true, value: undefined } as const

export class ExportThread {
  readonly #thread: WorkerThread<ExportRequest, ExportAnswer>
  readonly #onStatement: OnStatement
  readonly #open = new Set<Export>()
  #lastId = 0
  #isClosed = false

  constructor(data: ExportThreadData, onStatement: OnStatement) {
    this.#onStatement = onStatement
    this.#thread = new WorkerThread(new URL('./export-worker.ts', import.meta.url), {
      data,
      onDied: error => this.#break(`the thread of exports: ${error.message}`),
    })
  }

  make(work: URL, order: object, paced: boolean): Pieces {
    return new Export(this, ++this.#lastId, { work: work.href, order, paced })
  }

  /** For good. Exports that are under way break off. */
  async close(): Promise<void> {
    this.#isClosed = true
    this.#break(CLOSED)
    await this.#thread.close()
  }

  /** The thread has ended, or is about to: nothing has to be called off in it. */
  #break(why: string): void {
    const open = [...this.#open]
    this.#open.clear()
    for (const one of open) {
      this.#thread.release()
      one.fail(new StoreUnavailable(why))
    }
  }

  /** Throws StoreUnavailable once the store is closed. */
  begin(one: Export): void {
    if (this.#isClosed) throw new StoreUnavailable(CLOSED)
    this.#open.add(one)
    this.#thread.retain()
  }

  async ask(request: ExportRequest): Promise<ExportAnswer> {
    const answer = await this.#thread.ask(request)
    for (const [op, ok] of answer.statements) this.#onStatement(op, ok)
    return answer
  }

  end(one: Export, id: number): void {
    if (!this.#open.delete(one)) return
    this.ask({ kind: 'stop', id }).catch(() => {}) // the thread has ended, and the export with it
    this.#thread.release()
  }
}

class Export implements Pieces {
  readonly ended: Promise<void>
  readonly #thread: ExportThread
  readonly #id: number
  readonly #setEnded: () => void
  #begins: { work: string; order: object; paced: boolean } | null
  #waiting: PromiseWithResolvers<IteratorResult<Uint8Array, undefined>> | null = null
  #isEnded = false
  #failure: Error | null = null

  constructor(thread: ExportThread, id: number, begins: { work: string; order: object; paced: boolean }) {
    this.#thread = thread
    this.#id = id
    this.#begins = begins
    const { promise, resolve } = Promise.withResolvers<void>()
    this.ended = promise
    this.#setEnded = resolve
  }

  [Symbol.asyncIterator](): this {
    return this
  }

  next(): Promise<IteratorResult<Uint8Array, undefined>> {
    if (this.#failure !== null) return Promise.reject(this.#failure)
    if (this.#isEnded) return Promise.resolve(DONE)
    const waiting = (this.#waiting = Promise.withResolvers())
    void this.#more()
    return waiting.promise
  }

  async #more(): Promise<void> {
    const begins = this.#begins
    this.#begins = null
    try {
      if (begins !== null) this.#thread.begin(this)
      const { piece, error } = await this.#thread.ask({ kind: 'more', id: this.#id, begins })
      if (error === undefined) this.#take(piece)
      else this.fail(error.isUnavailable ? new StoreUnavailable(error.message) : new Error(error.message))
    } catch (error) {
      this.fail(error as Error)
    }
  }

  return(): Promise<typeof DONE> {
    this.#take(null)
    return Promise.resolve(DONE)
  }

  #take(piece: Uint8Array | null): void {
    const waiting = this.#waiting
    this.#waiting = null
    if (piece === null) this.#end()
    waiting?.resolve(piece === null ? DONE : { done: false, value: piece })
  }

  /** When no piece is awaited, whoever asks for the next one is told. */
  fail(error: Error): void {
    if (this.#isEnded) return
    const waiting = this.#waiting
    this.#waiting = null
    this.#failure = error
    this.#end()
    waiting?.reject(error)
  }

  #end(): void {
    this.#isEnded = true
    this.#thread.end(this, this.#id)
    this.#setEnded()
  }
}
