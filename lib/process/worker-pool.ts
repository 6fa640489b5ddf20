/**
 * The workers of a gateway, seen from their primary. The pool starts as many as the config says, asks all of them,
 * replaces them on a reload, and drains them at the end. A worker that dies is replaced, after a delay that grows with
 * every crash. When the workers of a start or a reload do not all become ready, the whole start or reload fails.
 */
import cluster from 'node:cluster'
import { fileURLToPath } from 'node:url'
import type { ServingProcesses } from '../operations/deps.ts'
import type { Readiness } from '../admin/server.ts'
import type { Config } from '../config/config.ts'
import type { Logger } from '../base/log.ts'
import { socketFor } from './listening.ts'
import { PATIENT_DRAIN_MS } from './signals.ts'
import {
  type Exit,
  WorkerHandle,
  type Addresses,
  type PrimaryCalls,
  type SaidWith,
  type WorkerCalls,
  type WorkerSockets,
} from './worker-handle.ts'

const FIRST_BACKOFF_MS = 200
const LONGEST_BACKOFF_MS = 30_000
/** A worker that lived this long did not crash because of how it was started: the back-off begins anew. */
const SOUND_MS = 60_000

export class WorkerPool {
  readonly workers = new Set<WorkerHandle>()
  draining = false
  /** What workers are told of all workers together; null = nothing yet. */
  fleet: ServingProcesses | null = null
  #config: Config
  /**
   * The sockets that the supervisor holds, as descriptors of this process; workers get them from here. The cluster
   * module closes them when the last worker has closed its listeners.
   */
  #sockets: WorkerSockets = {}
  #backoffMs = FIRST_BACKOFF_MS
  readonly #log: Logger

  constructor(config: Config, log: Logger) {
    this.#config = config
    this.#log = log
    // With SCHED_NONE every worker accepts for itself. With round robin the primary accepts for all of them, and a connection
    // that it has not handed over yet is lost when the workers leave.
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ exec: fileURLToPath(new URL('./worker.ts', import.meta.url)), args: [] })
  }

  /** Starts as many workers as the config says; resolves with their addresses when all are ready. */
  async fill(): Promise<Addresses> {
    return ((await this.#startAll(this.#config))[0] as WorkerHandle).ready
  }

  async #startAll(config: Config): Promise<WorkerHandle[]> {
    await this.#takeSockets()
    const started = Array.from({ length: config.workers }, () => this.#start(config))
    await Promise.all(started.map(worker => worker.ready))
    if (started.some(worker => !this.workers.has(worker))) throw new Error('a worker ended while the others started')
    for (const worker of started) worker.replaceable = true
    return started
  }

  async #takeSockets(): Promise<void> {
    if ([...this.workers].some(worker => worker.holder !== null)) return // the sockets are open in a worker that serves
    const { main, direct } = this.#config.listen
    const sockets = await Promise.all([socketFor('main', main), socketFor('direct', direct)])
    if (sockets[0] !== null && sockets[1] !== null)
      this.#sockets = { main: { fd: sockets[0].fd }, direct: { fd: sockets[1].fd } }
  }

  #start(config: Config): WorkerHandle {
    const worker = new WorkerHandle(cluster.fork(), config, this.#sockets, op => this.#answer(op))
    worker.onRest = event => {
      for (const other of this.workers) if (other !== worker) other.tellRest(event)
    }
    this.workers.add(worker)
    void worker.exited.then(exit => this.#exited(worker, exit))
    return worker
  }

  async #answer(op: keyof PrimaryCalls): Promise<unknown> {
    if (this.fleet === null) throw new Error('the primary is not ready')
    return ANSWERS[op](this.fleet)
  }

  async #restart(): Promise<void> {
    if (this.draining) return
    await this.#takeSockets()
    const serving = [...this.workers].filter(worker => worker.replaceable && !worker.draining)
    // a reload that has succeeded meanwhile has started enough
    if (this.draining || serving.length >= this.#config.workers) return
    const worker = this.#start(this.#config)
    worker.replaceable = true
    worker.ready.catch(error => this.#log.error({ err: error }, 'a worker did not start'))
  }

  #exited(worker: WorkerHandle, { code, signal }: Exit): void {
    this.workers.delete(worker)
    worker.giveUp()
    if (!worker.replaceable || worker.draining || this.draining) return
    this.#log.error({ worker: worker.worker.id, code, signal }, 'a worker died: starting another')
    if (performance.now() - worker.startedMs > SOUND_MS) this.#backoffMs = FIRST_BACKOFF_MS
    this.#restartLater()
  }

  #restartLater(): void {
    setTimeout(() => {
      this.#restart().catch(error => {
        this.#log.error({ err: error }, 'a worker could not be started')
        this.#restartLater()
      })
    }, this.#backoffMs)
    this.#backoffMs = Math.min(LONGEST_BACKOFF_MS, this.#backoffMs * 2)
  }

  /**
   * Starts workers with the new config. When all of them serve, the others are drained, also one that meanwhile took the place of one
   * that died.
   */
  async replace(config: Config): Promise<void> {
    try {
      const started = await this.#startAll(config)
      this.#config = config
      for (const worker of this.workers) if (!started.includes(worker)) worker.drain(PATIENT_DRAIN_MS)
    } catch (error) {
      for (const worker of this.workers) if (!worker.replaceable) worker.drain(0)
      throw error
    }
  }

  /** Resolves when all workers have ended. When it is called again, the earlier deadline holds. */
  async drain(deadlineMs: number): Promise<void> {
    this.draining = true
    const exits = [...this.workers].map(worker => worker.exited)
    for (const worker of this.workers) worker.drain(deadlineMs)
    await Promise.all(exits)
  }

  /**
   * The readiness of the first worker that says it is ready, so that a worker that hangs keeps nobody waiting. When
   * none is ready: what one of them says; undefined when none answers.
   */
  async firstReady(): Promise<Readiness | undefined> {
    const answers = [...this.workers].map(worker => worker.call('ready'))
    const isReady = (answer: Readiness | undefined) => (answer?.ready ? answer : Promise.reject(new Error('not ready')))
    try {
      return await Promise.any(answers.map(answer => answer.then(isReady)))
    } catch {
      return (await Promise.all(answers)).find(isAnswer)
    }
  }

  /** The answers of all workers that answer in time. */
  ask<K extends keyof WorkerCalls>(op: K, ...said: SaidWith<K>): Promise<WorkerCalls[K][]> {
    return Promise.all([...this.workers].map(worker => worker.call(op, ...said))).then(all => all.filter(isAnswer))
  }
}

const done = () => null

const ANSWERS: { [K in keyof PrimaryCalls]: (fleet: ServingProcesses) => Promise<PrimaryCalls[K]> } = {
  held: async fleet => [...(await fleet.held())],
  holders: fleet => fleet.holders(),
  states: async fleet => [...(await fleet.channelStates())],
  changed: fleet => fleet.changed().then(done),
  settled: fleet => fleet.settled().then(done),
}

const isAnswer = <T>(value: T | undefined): value is T => value !== undefined
