/**
 * Work in a thread of its own, so that what takes long holds up nothing else: both sides of one thread. The thread is started for the
 * first request and ends some time after the last one. Requests are numbered, because a worker may answer them in any order.
 * When the thread dies, what it was asked fails with `ThreadEnded`, and the next request starts another one. A thread that nobody uses
 * keeps no process alive. Who may ask how much at once is for the caller to say: every user has other rules for whom to refuse.
 * A pool from a package would bring its own queue on top of those, and stop a job by ending the thread.
 */
import { readlinkSync } from 'node:fs'
import os from 'node:os'
import { isMainThread, parentPort, type Transferable, Worker } from 'node:worker_threads'

const IDLE_MS = 600_000

/** The options of Node for a thread: not those of the process, because each thread would load anew what that preloads. */
export const THREAD_ARGUMENTS = ['--disable-warning=ExperimentalWarning']

/** The thread ended before it had answered. Its `cause` says why. */
export class ThreadEnded extends Error {
  override name = 'ThreadEnded'
}

interface ThreadOptions {
  /** Plain data that the worker finds as `workerData`. */
  data?: unknown
  /** The most memory for objects. A thread that needs more dies. */
  heapMib?: number
  /** Hears that the thread has died, before those hear of it who wait for answers. */
  onDied?(error: Error): void
}

interface Question<Q> {
  id: number
  request: Q
}

interface Reply<A> {
  id: number
  answer?: A
  error?: { message: string; stack: string | undefined }
}

/** The side of the thread that asks. */
export class WorkerThread<Q, A> {
  readonly #module: URL
  readonly #options: ThreadOptions
  readonly #asked = new Map<number, PromiseWithResolvers<A>>()
  #worker: Worker | null = null
  #lastId = 0
  #users = 0
  #idle: NodeJS.Timeout | undefined
  #isClosed = false

  /** `module` calls `serve`. */
  constructor(module: URL, options: ThreadOptions = {}) {
    this.#module = module
    this.#options = options
  }

  /** Rejects with what the worker threw, with `ThreadEnded`, or with why the request could not be sent. */
  ask(request: Q, transfer: Transferable[] = []): Promise<A> {
    if (this.#isClosed) return Promise.reject(new ThreadEnded('the thread is closed'))
    this.retain()
    try {
      const id = ++this.#lastId
      this.#worker ??= this.#start()
      this.#worker.postMessage({ id, request } satisfies Question<Q>, transfer)
      const asked = Promise.withResolvers<A>()
      this.#asked.set(id, asked)
      return asked.promise
    } catch (error) {
      this.release()
      return Promise.reject(error)
    }
  }

  /** Keeps the thread with all that it remembers, also while it is asked nothing, until `release` is called as often. */
  retain(): void {
    this.#users++
    clearTimeout(this.#idle)
    this.#worker?.ref()
  }

  release(): void {
    if (--this.#users > 0 || this.#worker === null) return
    this.#worker.unref()
    this.#idle = setTimeout(() => void this.#stop(), IDLE_MS).unref()
  }

  /** Ends the thread in the middle of its work, which fails with `ThreadEnded`. The next request starts another one. */
  end(): void {
    void this.#worker?.terminate()
  }

  /** Ends the thread for good. What it was asked fails. */
  async close(): Promise<void> {
    this.#isClosed = true
    const stopped = this.#stop()
    this.#fail(new ThreadEnded('the thread is closed'))
    await stopped
  }

  #start(): Worker {
    const { data, heapMib } = this.#options
    const worker = new Worker(this.#module, {
      workerData: data,
      execArgv: THREAD_ARGUMENTS,
      ...(heapMib === undefined ? {} : { resourceLimits: { maxOldGenerationSizeMb: heapMib } }),
    })
    const died = (error: Error) => {
      if (this.#worker !== worker) return
      this.#worker = null
      clearTimeout(this.#idle)
      this.#options.onDied?.(error)
      this.#fail(new ThreadEnded(error.message, { cause: error }))
    }
    worker.on('message', (reply: Reply<A>) => this.#take(reply))
    worker.on('error', error => died(error as Error))
    worker.on('exit', () => died(new Error('the thread has ended')))
    return worker
  }

  #take({ id, answer, error }: Reply<A>): void {
    const asked = this.#asked.get(id)
    if (asked === undefined) return
    this.#asked.delete(id)
    this.release()
    if (error === undefined) asked.resolve(answer as A)
    else asked.reject(Object.assign(new Error(error.message), { stack: error.stack }))
  }

  async #stop(): Promise<void> {
    const worker = this.#worker
    clearTimeout(this.#idle)
    this.#worker = null
    await worker?.terminate()
  }

  #fail(error: ThreadEnded): void {
    const asked = [...this.#asked.values()]
    this.#asked.clear()
    for (const { reject } of asked) {
      this.release()
      reject(error)
    }
  }
}

/**
 * The worker's side: is called once by its module, and does nothing where that is imported by the main thread. `moved`: the memory
 * that goes to the asking side and is not copied.
 */
export function serve<Q, A>(
  answerTo: (request: Q) => A | Promise<A>,
  moved: (answer: A) => Transferable[] = () => [],
): void {
  if (isMainThread || parentPort === null) return
  const port = parentPort
  port.on('message', async ({ id, request }: Question<Q>) => {
    try {
      const answer = await answerTo(request)
      port.postMessage({ id, answer } satisfies Reply<A>, moved(answer))
    } catch (thrown) {
      const { message, stack } = thrown instanceof Error ? thrown : new Error(String(thrown))
      port.postMessage({ id, error: { message, stack } } satisfies Reply<A>)
    }
  })
}

/**
 * Is called in a worker: the processor goes to the thread that relays requests first; not so far that a busy machine would never come
 * to this one. Only Linux has priorities of single threads; elsewhere nothing happens.
 */
export function lowerPriority(): void {
  if (isMainThread) return
  try {
    const thread = Number(readlinkSync('/proc/thread-self').split('/').at(-1)) // a link to PID/task/TID
    const { PRIORITY_BELOW_NORMAL, PRIORITY_LOW } = os.constants.priority
    os.setPriority(thread, Math.min(os.getPriority(process.pid) + PRIORITY_BELOW_NORMAL, PRIORITY_LOW))
  } catch {
    // another system, or one that forbids it: the thread works with the priority that it has
  }
}
