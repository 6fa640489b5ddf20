/** The messages between the primary of a gateway with several workers and each worker. */
import type { Micro } from '../base/money.ts'
import type { RestEvent } from '../channels/rests.ts'
import type { Readiness } from '../ops/server.ts'
import type { PurseId } from '../store/books/purses.ts'
import type { ChannelState } from '../terms/records.ts'
import type { Config } from '../config/config.ts'
import type { Snapshot } from '../terms/metrics.ts'
import type { Socket } from './listening.ts'

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
}

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
  | { type: 'call'; id: number; op: keyof WorkerCalls }
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
