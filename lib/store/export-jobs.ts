/**
 * The exports of the thread that makes them: each is a module that reads and writes out, and whose text goes on as bytes,
 * a piece for each time that it is asked. All together make no more than their rate.
 */
import { type Clock, pause, systemClock } from '../base/clock.ts'
import { lowerPriority } from '../base/thread-priority.ts'
import { openReads } from './export-reads.ts'
import type { ExportWork } from './export-store.ts'
import type { ExportAnswer, ExportRequest, ExportThreadData } from './export-thread.ts'
import { type Store, StoreUnavailable } from './store.ts'

/** As much as the other thread writes to a client's connection at once. */
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
export async function* inPieces(texts: AsyncIterable<string>, isWanted: () => boolean): AsyncGenerator<Uint8Array> {
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
  pieces: Promise<AsyncGenerator<Uint8Array>>
  isWanted: boolean
  paced: boolean
}

export class ExportJobs {
  readonly #answer: (answer: ExportAnswer) => void
  readonly #store: Store
  readonly #pace: Pace
  readonly #jobs = new Map<number, Job>()
  #statements: ExportAnswer['statements'] = []

  constructor(data: ExportThreadData, answer: (answer: ExportAnswer) => void, clock = systemClock) {
    this.#answer = answer
    this.#store = openReads(data, (op, ok) => this.#statements.push([op, ok]))
    this.#pace = new Pace(data.bytesPerS, clock)
  }

  take(request: ExportRequest): void {
    const { id } = request
    if (request.kind === 'start') this.#start(id, request)
    else if (request.kind === 'more') void this.#more(id)
    else {
      const job = this.#jobs.get(id)
      this.#jobs.delete(id)
      if (job === undefined) return
      job.isWanted = false
      job.pieces.then(pieces => pieces.return(undefined)).catch(() => {}) // nobody is there to be told
    }
  }

  #start(id: number, { work, order, paced }: Extract<ExportRequest, { kind: 'start' }>): void {
    const job: Job = { isWanted: true, paced, pieces: this.#pieces(work, order, () => job.isWanted) }
    job.pieces.catch(() => {}) // is told when a piece is asked for
    this.#jobs.set(id, job)
  }

  async #pieces(work: string, order: object, isWanted: () => boolean): Promise<AsyncGenerator<Uint8Array>> {
    const { default: make } = (await import(work)) as { default: ExportWork<Store, object> }
    lowerPriority() // not before what it needs is loaded, because that is done once and somebody waits for it
    return inPieces(make(this.#store, order), isWanted)
  }

  async #more(id: number): Promise<void> {
    const job = this.#jobs.get(id)
    if (job === undefined) return
    try {
      const { done, value } = await (await job.pieces).next()
      if (!done && job.paced) await this.#pace.turn(value.length)
      this.#tell(id, job, { piece: done ? null : value })
    } catch (error) {
      const { message } = error as Error
      this.#tell(id, job, { piece: null, error: { message, isUnavailable: error instanceof StoreUnavailable } })
    }
  }

  #tell(id: number, { isWanted }: Job, rest: Pick<ExportAnswer, 'piece' | 'error'>): void {
    const statements = this.#statements
    this.#statements = []
    if (isWanted) this.#answer({ id, statements, ...rest })
  }
}
