/**
 * The workers of a gateway, as their primary has them: started, asked, replaced and drained. A worker that dies is replaced
 * with back-off; a crew that never came together is given up as a whole.
 */
import cluster, { type Worker } from 'node:cluster'
import { fileURLToPath } from 'node:url'
import { type Clock, systemClock } from '../base/clock.ts'
import type { Micro } from '../base/money.ts'
import type { Readiness } from '../ops/fleet.ts'
import type { PurseId } from '../store/store.ts'
import type { ChannelState } from '../terms/channel.ts'
import type { Config } from '../terms/config.ts'
import type { Logger } from '../terms/log.ts'
import type { Snapshot } from '../terms/metrics.ts'
import { type Socket, socketFor } from './listening.ts'
import { PATIENT_DRAIN_MS } from './startup.ts'

/** What the primary may ask of a worker, and what comes back. */
export interface WorkerCalls {
  snapshot: Snapshot
  held: [PurseId, Micro][]
  states: [string, ChannelState][]
  follow: null
  flush: null
  ready: Readiness
}

/** Empty: they open their own. */
export type WorkerSockets = { main?: Socket; direct?: Socket }

export type ToWorker =
  | { type: 'start'; config: Config; sockets: WorkerSockets }
  | { type: 'call'; id: number; op: keyof WorkerCalls }
  | { type: 'drain'; deadlineMs: number }
interface Exit {
  code: number | null
  signal: string | null
}

export type FromWorker =
  | { type: 'ready'; main: string; direct: string; holder: string }
  | { type: 'reply'; id: number; value: unknown }
  | { type: 'failed'; message: string }

const CALL_MS = 2_000
/**
 * Beyond its deadline a worker closes its books; one that takes longer does nothing any more. What it owes stands in its
 * journal.
 */
const GRACE_MS = 20_000
const FIRST_BACKOFF_MS = 200
const LONGEST_BACKOFF_MS = 30_000
/** A worker that lived this long was sound: the next crash starts the back-off anew. */
const SOUND_MS = 60_000

export class Crew {
  readonly members = new Set<Member>()
  draining = false
  #config: Config
  /**
   * The supervisor's, known to the workers by their descriptors in this process. The cluster closes them when the last
   * worker has.
   */
  #sockets: WorkerSockets = {}
  #backoffMs = FIRST_BACKOFF_MS
  readonly #log: Logger

  constructor(config: Config, log: Logger) {
    this.#config = config
    this.#log = log
    // each accepts for itself: what the primary had accepted and not handed over yet would be lost when the workers leave
    cluster.schedulingPolicy = cluster.SCHED_NONE
    cluster.setupPrimary({ exec: fileURLToPath(new URL('./worker.ts', import.meta.url)), args: [] })
  }

  /** Starts as many as the config says; resolves with their addresses when all are ready. */
  async fill(): Promise<{ main: string; direct: string }> {
    await this.#takeSockets()
    const members = Array.from({ length: this.#config.workers }, () => this.#start())
    const addresses = await Promise.all(members.map(member => member.ready))
    if (members.some(member => !this.members.has(member))) throw new Error('a worker ended while the others started')
    for (const member of members) member.kept = true
    return addresses[0] as { main: string; direct: string }
  }

  async #takeSockets(): Promise<void> {
    if ([...this.members].some(member => member.holder !== null)) return
    const { main, direct } = this.#config.listen
    const sockets = await Promise.all([socketFor('main', main), socketFor('direct', direct)])
    if (sockets[0] !== null && sockets[1] !== null)
      this.#sockets = { main: { fd: sockets[0].fd }, direct: { fd: sockets[1].fd } }
  }

  #start(): Member {
    const member = new Member(cluster.fork(), this.#config, this.#sockets)
    this.members.add(member)
    void member.exited.then(exit => this.#exited(member, exit))
    return member
  }

  async #restart(): Promise<void> {
    if (this.draining) return
    await this.#takeSockets()
    if (this.draining) return
    const member = this.#start()
    member.kept = true
    member.ready.catch(error => this.#log.error({ err: error }, 'a worker did not start'))
  }

  #exited(member: Member, { code, signal }: Exit): void {
    this.members.delete(member)
    member.gone()
    if (!member.kept || member.draining || this.draining) return
    this.#log.error({ worker: member.worker.id, code, signal }, 'a worker died: starting another')
    if (performance.now() - member.startedMs > SOUND_MS) this.#backoffMs = FIRST_BACKOFF_MS
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

  /** New workers with the new config join; once they serve, the old ones take nothing new and end when they are idle. */
  async replace(config: Config): Promise<void> {
    const old = [...this.members]
    const before = this.#config
    this.#config = config
    try {
      await this.fill()
    } catch (error) {
      this.#config = before
      for (const member of this.members) if (!old.includes(member)) member.drain(0)
      throw error
    }
    for (const member of old) member.drain(PATIENT_DRAIN_MS)
  }

  /** Asked again, the earlier deadline holds. */
  async drain(deadlineMs: number): Promise<void> {
    this.draining = true
    const exits = [...this.members].map(member => member.exited)
    for (const member of this.members) member.drain(deadlineMs)
    await Promise.all(exits)
  }

  /**
   * The first that says it can serve: one that hangs keeps nobody waiting. Else what another says; undefined: none says
   * anything.
   */
  async firstReady(): Promise<Readiness | undefined> {
    const answers = [...this.members].map(member => member.call('ready'))
    const isReady = (answer: Readiness | undefined) => (answer?.ready ? answer : Promise.reject(new Error('not ready')))
    try {
      return await Promise.any(answers.map(answer => answer.then(isReady)))
    } catch {
      return (await Promise.all(answers)).find(isThere)
    }
  }

  ask<K extends keyof WorkerCalls>(op: K): Promise<WorkerCalls[K][]> {
    return Promise.all([...this.members].map(member => member.call(op))).then(all => all.filter(isThere))
  }
}

const isThere = <T>(value: T | undefined): value is T => value !== undefined

export class Member {
  readonly worker: Worker
  readonly startedMs = performance.now()
  readonly ready: Promise<{ main: string; direct: string }>
  /** Also where it could not be started at all. */
  readonly exited: Promise<Exit>
  draining = false
  /** It belongs to the crew: when it dies, another takes its place. One of a crew that never came together does not. */
  kept = false
  /** Under which its leases stand in the store; known once it is ready. */
  holder: string | null = null
  readonly #clock: Pick<Clock, 'after'>
  #calls = new Map<number, (value: unknown) => void>()
  #nextCall = 0
  #started: (at: { main: string; direct: string }) => void = () => {}
  #failed: (error: Error) => void = () => {}

  constructor(worker: Worker, config: Config, sockets: WorkerSockets, clock: Pick<Clock, 'after'> = systemClock) {
    this.worker = worker
    this.#clock = clock
    this.ready = new Promise((resolve, reject) => {
      this.#started = resolve
      this.#failed = reject
    })
    this.ready.catch(() => {}) // those that wait for it hear of a failure; without them it is no unhandled rejection
    this.exited = new Promise(resolve => {
      worker.once('exit', (code: number | null, signal: string | null) => resolve({ code, signal }))
      worker.on('error', error => {
        this.#failed(error)
        if (worker.process.pid === undefined) resolve({ code: null, signal: null })
      })
    })
    worker.on('message', (message: FromWorker) => this.#hear(message))
    this.#say({ type: 'start', config, sockets })
  }

  #hear(message: FromWorker): void {
    if (message.type === 'ready') {
      this.holder = message.holder
      this.#started({ main: message.main, direct: message.direct })
    } else if (message.type === 'failed') this.#failed(new Error(message.message))
    else {
      this.#calls.get(message.id)?.(message.value)
      this.#calls.delete(message.id)
    }
  }

  #say(message: ToWorker): void {
    if (this.worker.isConnected()) this.worker.send(message)
  }

  /** undefined when the worker is gone or does not answer in time. */
  call<K extends keyof WorkerCalls>(op: K): Promise<WorkerCalls[K] | undefined> {
    return new Promise(resolve => {
      const id = this.#nextCall++
      const timer = setTimeout(() => this.#calls.get(id)?.(undefined), CALL_MS)
      this.#calls.set(id, value => {
        clearTimeout(timer)
        this.#calls.delete(id)
        resolve(value as WorkerCalls[K] | undefined)
      })
      if (this.worker.isConnected()) this.#say({ type: 'call', id, op })
      else this.#calls.get(id)?.(undefined)
    })
  }

  drain(deadlineMs: number): void {
    this.draining = true
    this.#say({ type: 'drain', deadlineMs })
    const cancel = this.#clock.after(deadlineMs + GRACE_MS, () => void this.worker.process.kill('SIGKILL'))
    void this.exited.then(cancel)
  }

  gone(): void {
    this.#failed(new Error('the worker ended before it was ready'))
    for (const answer of this.#calls.values()) answer(undefined)
  }
}
