/**
 * The main thread's side of the thread that translates large bodies, so that they do not hold up all other exchanges
 * (`thread-worker.ts`). It gets one job at a time; the others wait here, where they can be called off, and outlive a thread that
 * dies of the one before them. Accounts take turns, and when there is no more room, an account with many jobs loses its last one to
 * one that has fewer: who sends many large bodies waits behind their own.
 */
import { ThreadEnded, WorkerThread } from '../base/worker-thread.ts'
import type { Protocol } from '../terms/records.ts'
import type { AnswerEvent, ReaderOptions } from './events.ts'
import type { TranslatedRequest, AskHead, TranslationTarget } from './ask.ts'

/** A body may be read into half a million values; more than this is a fault of ours, which ends the thread and not the process. */
const MOST_HEAP_MIB = 1024
/** The most jobs that may wait. Answers have cost money already and have more room, so that requests cannot keep them out. */
const MOST_WAITING = { request: 32, answer: 64 }

/** A request of a client, to be written for an upstream. */
export interface RequestJob {
  what: 'request'
  /** In memory of its own, which goes to the thread. */
  bytes: Uint8Array<ArrayBuffer>
  protocol: Protocol
  head: AskHead
  via: Protocol
  target: TranslationTarget
}

/** A document of an upstream, to be read. */
export interface AnswerJob {
  what: 'answer'
  /** In memory of its own, which goes to the thread. */
  bytes: Uint8Array<ArrayBuffer>
  via: Protocol
  options: ReaderOptions
}

export type Job = RequestJob | AnswerJob

/** A request as it was written, with a body that can go to another thread. */
interface WrittenRequest extends Omit<TranslatedRequest, 'body' | 'target'> {
  body: Uint8Array<ArrayBuffer>
}

/** What the thread answers. */
export type Done =
  | { what: 'request'; written: WrittenRequest }
  | { what: 'answer'; events: AnswerEvent[] }
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

export class TranslationThread {
  readonly #events: ThreadEvents
  readonly #thread: WorkerThread<Job, Done>
  /** The jobs that wait, by turn, and in the order in which they came. */
  readonly #waiting: QueuedJob[] = []
  #running: QueuedJob | null = null
  /** The turn of the job that was begun last. */
  #turn = 0

  constructor(events: ThreadEvents, heapMib = MOST_HEAP_MIB) {
    this.#events = events
    const onDied = (error: Error) => events.onDied(error)
    this.#thread = new WorkerThread(new URL('./thread-worker.ts', import.meta.url), { heapMib, onDied })
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
    const own = this.#waiting.findLast(one => one.accountId === accountId) ?? this.#running
    return own?.accountId === accountId ? own.turn + 1 : this.#turn
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
    if (this.#running !== null) return
    const one = this.#waiting.shift()
    if (one === undefined) return
    this.#running = one
    this.#turn = one.turn
    void this.#result(one).then(result => {
      this.#running = null
      this.#next() // before others hear of this one
      this.#tell(one, result)
    })
  }

  async #result({ job: made }: QueuedJob): Promise<Result> {
    try {
      const job = made()
      return await this.#thread.ask(job, [job.bytes.buffer])
    } catch (error) {
      if (error instanceof ThreadEnded) return { what: 'died' }
      return { what: 'fault', message: (error as Error).stack ?? String(error) } // also: no memory for the bytes, or no thread
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
