/**
 * The thread that makes exports. Each export is a module that reads the store on connections of this
 * thread, and writes out; its text goes on as bytes, a piece for each time that it is asked. All together make no more than their
 * rate. `export-thread.ts` is the other side.
 */
import { workerData } from 'node:worker_threads'
import { type Clock, pause, systemClock } from '../base/clock.ts'
import { lowerPriority, serve } from '../base/worker-thread.ts'
import type { Driver, OnStatement, ReadingDriver } from './base/driver.ts'
import type { ExportWork, ExportAnswer, ExportRequest, ExportThreadData } from './export-thread.ts'
import { openMysqlToRead } from './engines/mysql.ts'
import { Sealer } from './catalogue/sealer.ts'
import { openSqliteHere } from './engines/sqlite.ts'
import { Store } from './store.ts'
import { StoreUnavailable } from './base/errors.ts'

/** The size of a piece: what the other thread writes to a client's connection at once. */
export const PIECE_BYTES = 64 * 1024

/** Spreads bytes over time. What was not used is not saved up. */
export class Pace {
  readonly #bytesPerMs: number
  readonly #clock: Clock
  #freeAtMs = Number.NEGATIVE_INFINITY

  constructor(bytesPerS: number, clock: Clock) {
    this.#bytesPerMs = bytesPerS / 1000
    this.#clock = clock
  }

  /** Resolves when it is the turn of so many bytes. */
  async turn(bytes: number): Promise<void> {
    const nowMs = this.#clock.monotonic()
    const atMs = Math.max(nowMs, this.#freeAtMs)
    this.#freeAtMs = atMs + bytes / this.#bytesPerMs
    if (atMs > nowMs) await pause(this.#clock, atMs - nowMs)
  }
}

/** Texts as pieces of bytes of a bounded size, each in memory of its own. `isWanted` is asked before each text. */
export async function* inPieces(
  texts: AsyncIterable<string>,
  isWanted: () => boolean,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  const encoder = new TextEncoder()
  for await (const text of texts) {
    if (!isWanted()) return
    if (text === '') continue
    const bytes = encoder.encode(text)
    if (bytes.length <= PIECE_BYTES) yield bytes
    else for (let at = 0; at < bytes.length; at += PIECE_BYTES) yield bytes.slice(at, at + PIECE_BYTES)
  }
}

interface Job {
  pieces: Promise<AsyncGenerator<Uint8Array<ArrayBuffer>>>
  isWanted: boolean
  paced: boolean
}

export class ExportJobs {
  readonly #store: Store
  readonly #pace: Pace
  readonly #jobs = new Map<number, Job>()
  #statements: ExportAnswer['statements'] = []

  constructor(data: ExportThreadData, clock = systemClock) {
    this.#store = openReads(data, (op, ok) => this.#statements.push([op, ok]))
    this.#pace = new Pace(data.bytesPerS, clock)
  }

  async answer(request: ExportRequest): Promise<ExportAnswer> {
    const { id } = request
    if (request.kind === 'stop') this.#stop(id)
    else {
      if (request.begins !== null) this.#begin(id, request.begins)
      const job = this.#jobs.get(id)
      if (job !== undefined) return this.#more(job)
    }
    return this.#answer({ piece: null })
  }

  #begin(id: number, { work, order, paced }: { work: string; order: object; paced: boolean }): void {
    const job: Job = { isWanted: true, paced, pieces: this.#pieces(work, order, () => job.isWanted) }
    this.#jobs.set(id, job)
  }

  async #pieces(
    work: string,
    order: object,
    isWanted: () => boolean,
  ): Promise<AsyncGenerator<Uint8Array<ArrayBuffer>>> {
    const { default: make } = (await import(work)) as { default: ExportWork<Store, object> }
    lowerPriority() // not before what it needs is loaded, because that is done once and somebody waits for it
    return inPieces(make(this.#store, order), isWanted)
  }

  async #more({ pieces, paced }: Job): Promise<ExportAnswer> {
    try {
      const { done, value } = await (await pieces).next()
      if (!done && paced) await this.#pace.turn(value.length)
      return this.#answer({ piece: done ? null : value })
    } catch (error) {
      const { message } = error as Error
      return this.#answer({ piece: null, error: { message, isUnavailable: error instanceof StoreUnavailable } })
    }
  }

  #stop(id: number): void {
    const job = this.#jobs.get(id)
    this.#jobs.delete(id)
    if (job === undefined) return
    job.isWanted = false
    job.pieces.then(pieces => pieces.return(undefined)).catch(() => {}) // nobody is there to be told
  }

  #answer(rest: Pick<ExportAnswer, 'piece' | 'error'>): ExportAnswer {
    const statements = this.#statements
    this.#statements = []
    return { ...rest, statements }
  }
}

const refuse = async (): Promise<never> => {
  throw new Error('the thread of exports does not write')
}

const onlyReading = (driver: ReadingDriver): Driver => ({
  dialect: driver.dialect,
  timeoutMs: 0,
  beside: null,
  query: (op, sql, params) => driver.query(op, sql, params),
  snapshot: (op, fn) => driver.snapshot(op, fn),
  ping: refuse,
  run: refuse,
  transaction: refuse,
  prove: refuse,
  script: refuse,
  close: refuse,
})

/** The store with connections of this thread, of which only the reads work. What is sealed stays so: the thread does not have the secret. */
function openReads({ address, zone }: ExportThreadData, onStatement: OnStatement): Store {
  const isFile = address.startsWith('sqlite:')
  const driver = isFile ? openSqliteHere(address, onStatement) : openMysqlToRead(address, onStatement)
  return new Store(onlyReading(driver), new Sealer(''), () => {}, { zone })
}

let jobs: ExportJobs | null = null

serve(
  (request: ExportRequest) => (jobs ??= new ExportJobs(workerData as ExportThreadData)).answer(request),
  ({ piece }) => (piece === null ? [] : [piece.buffer]),
)
