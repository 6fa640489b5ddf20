/**
 * The main thread's side of the threads that translate large bodies, so that they do not hold up all other exchanges
 * (`thread-worker.ts`). Each gets one job at a time; the others wait here, where they can be called off, and outlive a thread that
 * dies of the one before them. Accounts take turns, and when there is no more room, an account with many jobs loses its last one to
 * one that has fewer: who sends many large bodies waits behind their own.
 */
import { availableParallelism } from 'node:os'
import { ThreadEnded, WorkerThread } from '../base/worker-thread.ts'
import type { Protocol } from '../protocols/names.ts'
import type { ReaderOptions, WriterOptions, WrittenAnswer } from './events.ts'
import type { TranslatedRequest, AskHead, TranslationTarget } from './ask.ts'

/** A body may be read into half a million values; more than this is a fault of ours, which ends the thread and not the process. */
const MOST_HEAP_MIB = 1024
/** The largest body takes a second or two where nothing else runs; what takes so long is a fault of ours as well. */
const LONGEST_MS = 60_000
/** The most jobs that may wait. Answers have cost money already and have more room, so that requests cannot keep them out. */
const MOST_WAITING = { request: 32, answer: 64 }
const MOST_THREADS = 4

/** The processors that the processes of the gateway leave free are shared among them; with none left, each has one thread all the same. */
export function threadsFor(processes: number, processors = availableParallelism()): number {
  return Math.max(1, Math.min(MOST_THREADS, Math.floor((processors - processes) / processes)))
}

/** A request of a client, to be written for an upstream. */
export interface RequestJob {
  what: 'request'
  /** In memory of its own, which goes to the thread. */
  bytes: Uint8Array<ArrayBuffer>
  /** Where its long strings stand. */
  longStrings: readonly number[]
  protocol: Protocol
  head: AskHead
  via: Protocol
  target: TranslationTarget
}

/** A document of an upstream, to be written for a client. */
export interface AnswerJob {
  what: 'answer'
  /** In memory of its own, which goes to the thread. */
  parts: Uint8Array<ArrayBuffer>[]
  via: Protocol
  options: ReaderOptions
  to: Protocol
  writer: WriterOptions
}

export type Job = RequestJob | AnswerJob

/** A request as it was written, with a body that can go to another thread. */
interface WrittenRequest extends Omit<TranslatedRequest, 'body' | 'target'> {
  body: Uint8Array<ArrayBuffer>
}

export type Done =
  | { what: 'request'; written: WrittenRequest }
  | { what: 'answer'; written: WrittenAnswer }
  /** What `Untranslatable` names. `isRead`: the body was read, and another target may take what this one does not. */
  | { what: 'unfit'; field: string; isRead: boolean }

/** `fault`: it is one of ours. `full`: too many wait. `died`: the thread ended with it. */
export type Result = Done | { what: 'fault'; message: string } | { what: 'full' | 'died' }

interface ThreadEvents {
  /** A job is over. `left`: it was called off. */
  onOver(what: Job['what'], outcome: 'done' | 'unfit' | 'fault' | 'full' | 'died' | 'left'): void
  onDied(error: Error): void
}

interface QueuedJob {
  accountId: number
  /** Jobs of a lower turn are done first. Each job of an account is a turn behind the one before it. */
  turn: number
  what: Job['what']
  /** Puts the job's bytes together, which is done only when the thread takes it. */
  job: () => Job
  done: (result: Result) => void
}

type Thread = WorkerThread<Job, Done>

export class TranslationThreads {
  readonly #events: ThreadEvents
  readonly #longestMs: number
  /** The threads that have nothing to do. Each is started when it first has. */
  readonly #free: Thread[]
  /** The jobs that wait, by turn, and in the order in which they came. */
  readonly #waiting: QueuedJob[] = []
  readonly #running = new Set<QueuedJob>()
  /** The turn of the job that was begun last. */
  #turn = 0

  constructor(events: ThreadEvents, { threads = 1, heapMib = MOST_HEAP_MIB, longestMs = LONGEST_MS } = {}) {
    this.#events = events
    this.#longestMs = longestMs
    const onDied = (error: Error) => events.onDied(error)
    const module = new URL('./thread-worker.ts', import.meta.url)
    this.#free = Array.from({ length: threads }, () => new WorkerThread(module, { heapMib, onDied }))
  }

  /** `done` is called once, later, unless the job is called off before. */
  run(accountId: number, what: Job['what'], job: () => Job, done: (result: Result) => void): { cancel(): void } {
    const one: QueuedJob = { accountId, turn: this.#turnOf(accountId), what, job, done }
    if (this.#waiting.length < MOST_WAITING[what] || this.#makesRoom(one)) {
      const behind = this.#waiting.findLastIndex(({ turn }) => turn <= one.turn)
      this.#waiting.splice(behind + 1, 0, one)
      this.#next()
    } else this.#refuse(one)
    return { cancel: () => this.#cancel(one) }
  }

  #turnOf(accountId: number): number {
    const own = [...this.#running, ...this.#waiting].findLast(one => one.accountId === accountId)
    return own === undefined ? this.#turn : own.turn + 1
  }

  /** Takes the place of the last job that would be done later. Requests never take the place of answers. */
  #makesRoom({ what, turn }: QueuedJob): boolean {
    const at = this.#waiting.findLastIndex(one => one.turn > turn && (what === 'answer' || one.what === 'request'))
    if (at < 0) return false
    for (const one of this.#waiting.splice(at, 1)) this.#refuse(one)
    return true
  }

  #refuse(one: QueuedJob): void {
    queueMicrotask(() => this.#tell(one, { what: 'full' }))
  }

  #cancel(one: QueuedJob): void {
    if (one.done === nobody) return
    one.done = nobody
    this.#events.onOver(one.what, 'left')
    const at = this.#waiting.indexOf(one)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  #next(): void {
    const thread = this.#waiting.length > 0 ? this.#free.pop() : undefined
    if (thread === undefined) return
    const one = this.#waiting.shift() as QueuedJob
    this.#running.add(one)
    this.#turn = one.turn
    void this.#result(thread, one).then(result => {
      this.#running.delete(one)
      this.#free.push(thread)
      this.#next() // before others hear of this one
      this.#tell(one, result)
    })
  }

  async #result(thread: Thread, { job: made }: QueuedJob): Promise<Result> {
    const limit = setTimeout(() => thread.end(), this.#longestMs)
    try {
      const job = made()
      const parts = job.what === 'request' ? [job.bytes] : job.parts
      return await thread.ask(
        job,
        parts.map(({ buffer }) => buffer),
      )
    } catch (error) {
      if (error instanceof ThreadEnded) return { what: 'died' }
      return { what: 'fault', message: (error as Error).stack ?? String(error) } // also: no memory for the bytes, or no thread
    } finally {
      clearTimeout(limit)
    }
  }

  #tell(one: QueuedJob, result: Result): void {
    const { done } = one
    if (done === nobody) return
    one.done = nobody
    this.#events.onOver(one.what, result.what === 'request' || result.what === 'answer' ? 'done' : result.what)
    done(result)
  }
}

const nobody = (): void => {}
