/** One worker as its primary sees it: the messages between the two, and how it is started, asked, drained, and at last has exited. */
import type { Socket } from './listening.ts'
import type { Worker } from 'node:cluster'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import type { RestEvent } from '../channels/rests.ts'
import type { Config } from '../config/config.ts'
import type { Readiness } from '../admin/server.ts'
import type { PurseId } from '../store/books/purses.ts'
import type { BalanceSeen, ChannelOrder, ChannelSeen, ChannelTrial, TrialSeen } from '../terms/channel-seen.ts'
import type { Snapshot } from '../terms/metrics.ts'
import type { ChannelState } from '../terms/records.ts'

/**
 * What the primary may ask of a worker, and the type of the answer. `follow` and `flush` are answered when they are
 * done.
 */
export interface WorkerCalls {
  snapshot: Snapshot
  held: [PurseId, Micro][]
  states: [string, ChannelState][]
  follow: null
  flush: null
  ready: Readiness
  order: ChannelSeen | null
  try: TrialSeen | null
  balance: BalanceSeen | null
}

/** What the primary says with a question, for those that need it. */
interface WorkerQuestions {
  order: ChannelOrder
  try: ChannelTrial
  balance: Pick<ChannelTrial, 'channel' | 'key'>
}

export type SaidWith<K> = K extends keyof WorkerQuestions ? [said: WorkerQuestions[K]] : []

/**
 * What a worker may ask of the primary, and the type of the answer: what only all workers together know. `changed` and
 * `settled` are answered when all of them are that far.
 */
export interface PrimaryCalls {
  held: [PurseId, Micro][]
  holders: string[]
  states: [string, ChannelState][]
  changed: null
  settled: null
}

/** Bound sockets for the public listeners. Empty: the worker binds its own. */
export type WorkerSockets = { main?: Socket; direct?: Socket }

export interface Addresses {
  main: string
  direct: string
}

/** `rest`: what another worker has learnt of an upstream. */
export type ToWorker =
  | { type: 'start'; config: Config; sockets: WorkerSockets }
  | { type: 'call'; id: number; op: keyof WorkerCalls; said: unknown }
  | { type: 'drain'; deadlineMs: number }
  | { type: 'rest'; event: RestEvent }
  | PrimaryAnswer

/** Answers the `ask` with the same id; `ok: false` = the primary could not find it out. */
export type PrimaryAnswer = { type: 'answer'; id: number; ok: boolean; value: unknown }

/** `reply` answers the `call` with the same id. `rest` is for all other workers. `holder`: the name under which the worker holds leases in the store. */
export type FromWorker =
  | ({ type: 'ready'; holder: string } & Addresses)
  | { type: 'reply'; id: number; value: unknown }
  | { type: 'ask'; id: number; op: keyof PrimaryCalls }
  | { type: 'rest'; event: RestEvent }
  | { type: 'failed'; message: string }

const CALL_MS = 2_000
/** An upstream is waited for. */
const TRY_MS = 30_000
/**
 * After its deadline a worker still writes its journal and closes its connections. One that needs longer than this
 * hangs and is killed. Charges that it had not brought into the store are in its journal, which other processes take
 * up.
 */
const GRACE_MS = 20_000

/** Finds out what a worker asks of its primary. */
type AnswerWorker = (op: keyof PrimaryCalls) => Promise<unknown>

export interface Exit {
  code: number | null
  signal: string | null
}

export class WorkerHandle {
  readonly worker: Worker
  readonly startedMs = performance.now()
  /** Resolves with its addresses when the worker serves; rejects when it fails or ends before that. */
  readonly ready: Promise<Addresses>
  /** Resolves when the process has ended, also when it could not be started at all. Never rejects. */
  readonly exited: Promise<Exit>
  draining = false
  /** The pool started completely with this worker in it, so another takes its place when it dies. */
  replaceable = false
  /** The name under which the worker holds leases in the store; null until it is ready. */
  holder: string | null = null
  readonly #clock: Pick<Clock, 'after'>
  readonly #answer: AnswerWorker
  /** Called with what the worker has learnt of an upstream, for all others. */
  onRest: (event: RestEvent) => void = () => {}
  #calls = new Map<number, (value: unknown) => void>()
  #nextCall = 0
  #resolveReady: (at: Addresses) => void = () => {}
  #rejectReady: (error: Error) => void = () => {}

  constructor(
    worker: Worker,
    config: Config,
    sockets: WorkerSockets,
    answer: AnswerWorker,
    clock: Pick<Clock, 'after'> = systemClock,
  ) {
    this.worker = worker
    this.#answer = answer
    this.#clock = clock
    this.ready = new Promise((resolve, reject) => {
      this.#resolveReady = resolve
      this.#rejectReady = reject
    })
    this.ready.catch(() => {}) // when nobody waits for it, a failure must not count as an unhandled rejection
    this.exited = new Promise(resolve => {
      worker.once('exit', (code: number | null, signal: string | null) => resolve({ code, signal }))
      worker.on('error', error => {
        this.#rejectReady(error)
        if (worker.process.pid === undefined) resolve({ code: null, signal: null })
      })
    })
    worker.on('message', (message: FromWorker) => this.#receive(message))
    this.#send({ type: 'start', config, sockets })
  }

  #receive(message: FromWorker): void {
    if (message.type === 'ready') {
      this.holder = message.holder
      this.#resolveReady({ main: message.main, direct: message.direct })
    } else if (message.type === 'ask') this.#answerWorker(message.id, message.op)
    else if (message.type === 'rest') this.onRest(message.event)
    else if (message.type === 'failed') this.#rejectReady(new Error(message.message))
    else {
      this.#calls.get(message.id)?.(message.value)
      this.#calls.delete(message.id)
    }
  }

  #answerWorker(id: number, op: keyof PrimaryCalls): void {
    this.#answer(op).then(
      value => this.#send({ type: 'answer', id, ok: true, value }),
      () => this.#send({ type: 'answer', id, ok: false, value: null }),
    )
  }

  #send(message: ToWorker): void {
    if (this.worker.isConnected()) this.worker.send(message)
  }

  /** The worker's answer; undefined when it has ended or does not answer in time. */
  call<K extends keyof WorkerCalls>(op: K, ...[said]: SaidWith<K>): Promise<WorkerCalls[K] | undefined> {
    return new Promise(resolve => {
      const id = this.#nextCall++
      const timer = setTimeout(
        () => this.#calls.get(id)?.(undefined),
        op === 'try' || op === 'balance' ? TRY_MS : CALL_MS,
      )
      this.#calls.set(id, value => {
        clearTimeout(timer)
        this.#calls.delete(id)
        resolve(value as WorkerCalls[K] | undefined)
      })
      if (this.worker.isConnected()) this.#send({ type: 'call', id, op, said })
      else this.#calls.get(id)?.(undefined)
    })
  }

  /** What another worker has learnt of an upstream. */
  tellRest(event: RestEvent): void {
    this.#send({ type: 'rest', event })
  }

  /** The worker takes no new connections, and ends when its last answer has, at the latest after `deadlineMs`. */
  drain(deadlineMs: number): void {
    this.draining = true
    this.#send({ type: 'drain', deadlineMs })
    const cancel = this.#clock.after(deadlineMs + GRACE_MS, () => void this.worker.process.kill('SIGKILL'))
    void this.exited.then(cancel)
  }

  /** The process has ended: whoever waits for it to be ready, or for an answer, waits no longer. */
  giveUp(): void {
    this.#rejectReady(new Error('the worker ended before it was ready'))
    for (const answer of this.#calls.values()) answer(undefined)
  }
}
