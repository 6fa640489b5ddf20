/**
 * The main thread's side of the thread that translates large bodies, so that they do not hold up all other exchanges. It is started
 * for the first one and ends some time after the last one. It gets one job at a time; the others wait here, where they can be
 * called off, and outlive a thread that dies of the one before them. Accounts take turns, and when there is no more room, an account
 * with many jobs loses its last one to one that has fewer: who sends many large bodies waits behind their own.
 */
import { Worker } from 'node:worker_threads'
import type { Done, Job } from './jobs.ts'

const IDLE_MS = 600_000
/** A body may be read into half a million values; more than this is a fault of ours, which ends the thread and not the process. */
const MOST_HEAP_MIB = 1024
/** So many jobs may wait. Answers have cost money already and have more room, so that requests cannot keep them out. */
const MOST_WAITING = { request: 32, answer: 64 }

/** `unfit`, `fault`: as in `Done`. `full`: too many wait. `died`: the thread ended with it. */
export type Result = Done | { what: 'full' | 'died' }
export type Outcome = 'done' | 'unfit' | 'fault' | 'full' | 'died' | 'left'

export interface ThreadEvents {
  /** A job is over. `left`: it was called off. */
  onOver(what: Job['what'], outcome: Outcome): void
  onDied(error: Error): void
}

interface Waiting {
  accountId: number
  /** Jobs of a lower turn are done first. Each job of an account is a turn behind the one before it. */
  turn: number
  what: Job['what']
  /** Its bytes are put together only when the thread takes it. */
  job: () => Job
  done: (result: Result) => void
}

export class TranslationThread {
  readonly #events: ThreadEvents
  readonly #heapMib: number
  /** By turn, and in the order in which they came. */
  readonly #waiting: Waiting[] = []
  #running: Waiting | null = null
  /** Of the job that was begun last. */
  #turn = 0
  #worker: Worker | null = null
  #idle: NodeJS.Timeout | undefined

  constructor(events: ThreadEvents, heapMib = MOST_HEAP_MIB) {
    this.#events = events
    this.#heapMib = heapMib
  }

  /** `done` is called once, later, unless the job is called off before. */
  run(accountId: number, what: Job['what'], job: () => Job, done: (result: Result) => void): { cancel(): void } {
    const one: Waiting = { accountId, turn: this.#turnOf(accountId), what, job, done }
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
  #makesRoom({ what, turn }: Waiting): boolean {
    const at = this.#waiting.findLastIndex(one => one.turn > turn && (what === 'answer' || one.what === 'request'))
    if (at < 0) return false
    for (const one of this.#waiting.splice(at, 1)) this.#refuse(one)
    return true
  }

  #refuse(one: Waiting): void {
    queueMicrotask(() => this.#tell(one, { what: 'full' }))
  }

  #cancel(one: Waiting): void {
    if (one.done === nobody) return
    one.done = nobody
    this.#events.onOver(one.what, 'left')
    const at = this.#waiting.indexOf(one)
    if (at >= 0) this.#waiting.splice(at, 1)
  }

  #next(): void {
    if (this.#running !== null) return
    const one = this.#waiting.shift()
    if (one === undefined) {
      this.#rest()
      return
    }
    clearTimeout(this.#idle)
    this.#running = one
    this.#turn = one.turn
    try {
      const worker = (this.#worker ??= this.#start())
      worker.ref()
      const job = one.job()
      worker.postMessage(job, [job.bytes.buffer])
    } catch (error) {
      // no memory for the bytes, or no thread
      queueMicrotask(() => this.#end({ what: 'fault', message: String(error) }))
    }
  }

  #start(): Worker {
    const worker = new Worker(new URL('./worker.ts', import.meta.url), {
      execArgv: [],
      resourceLimits: { maxOldGenerationSizeMb: this.#heapMib },
    })
    const died = (error: Error) => {
      if (this.#worker !== worker) return
      this.#worker = null
      this.#events.onDied(error)
      this.#end({ what: 'died' })
    }
    worker.on('message', (done: Done) => this.#end(done))
    worker.on('error', error => died(error as Error))
    worker.on('exit', () => died(new Error('the thread that translates has ended')))
    return worker
  }

  #end(result: Result): void {
    const one = this.#running
    this.#running = null
    this.#next() // before others hear of this one
    if (one !== null) this.#tell(one, result)
  }

  #tell(one: Waiting, result: Result): void {
    const { done } = one
    if (done === nobody) return
    one.done = nobody
    this.#events.onOver(one.what, result.what === 'request' || result.what === 'answer' ? 'done' : result.what)
    done(result)
  }

  /** A thread that has nothing to do keeps no process alive. */
  #rest(): void {
    const worker = this.#worker
    if (worker === null) return
    worker.unref()
    clearTimeout(this.#idle)
    this.#idle = setTimeout(() => {
      this.#worker = null
      void worker.terminate()
    }, IDLE_MS).unref()
  }
}

const nobody = (): void => {}
