/**
 * Whether the store answers, as one process knows it: the circuit breaker in front of everything for which a request
 * waits. A call that stays silent or fails begins a probe, of which one at a time is under way. What the probe finds
 * holds for all callers: while the store is away nobody asks it again for a request, and only the probe goes on asking.
 *
 * A caller that gives up does not end its call. What it brings late is the business of whoever made the call.
 */
import type { Clock } from '../base/clock.ts'
import type { Store } from './store.ts'
import { StoreUnavailable } from './base/errors.ts'

/** A request waits no longer than this for one call of the store. */
export const ANSWER_MS = 1_000
/** A call that is silent for so long begins a probe … */
const DOUBT_MS = 300
/** … and a probe that is silent for so long finds the store away, when the caller gives up too. */
const PROBE_MS = ANSWER_MS - DOUBT_MS
/** The steps in which a wait is taken; see `whenLate`. */
const STEP_MS = 100
/** Between two probes. */
const PAUSE_MS = 500

/** `slow`: it answers, and too late for a request that waits. `readonly`: it takes no writes. `away`: it does not answer. */
export type StoreState = 'ok' | 'slow' | 'readonly' | 'away'

interface StoreHealthOptions {
  store: Pick<Store, 'ping'>
  clock: Clock
}

export class StoreHealth {
  readonly #o: StoreHealthOptions
  readonly #listeners: (() => void)[] = []
  state: StoreState = 'ok'
  /** The probe under way: resolves when it has found something, or was silent for PROBE_MS. Never rejects. */
  #probe: Promise<void> | null = null
  #cancelNext: () => void = () => {}
  #stopped = false
  /** Watches a call that somebody waits for. It is made once, because each of them needs it. */
  readonly #watched = (passedMs: number): void => {
    if (passedMs === DOUBT_MS) this.doubt()
  }

  constructor(options: StoreHealthOptions) {
    this.#o = options
  }

  /** `listener` is called each time when the store answers again as it should. */
  onBack(listener: () => void): void {
    this.#listeners.push(listener)
  }

  /** Probes no more. */
  stop(): void {
    this.#stopped = true
    this.#cancelNext()
  }

  /**
   * The answer of a call that only reads, and for which a request waits. Rejects with StoreUnavailable at once while the
   * store is slow or away, and after ANSWER_MS without an answer.
   */
  ask<T>(call: () => Promise<T>): Promise<T> {
    if (this.state === 'slow' || this.state === 'away')
      return Promise.reject(new StoreUnavailable(`the store is ${this.state}`))
    return this.#inTime(call(), this.#watched)
  }

  /** The answer of work that waits for a turn too: rejects with StoreUnavailable after ANSWER_MS, and the work goes on. */
  within<T>(work: Promise<T>): Promise<T> {
    return this.#inTime(work, null)
  }

  /** `onStep`: of a call of the store, which is watched. */
  #inTime<T>(work: Promise<T>, onStep: ((passedMs: number) => void) | null): Promise<T> {
    return new Promise((resolve, reject) => {
      const late = () => reject(new StoreUnavailable(`the store did not answer in ${ANSWER_MS} ms`))
      const inTime = whenLate(this.#o.clock, ANSWER_MS, late, onStep)
      work.then(
        answer => {
          inTime()
          resolve(answer)
        },
        error => {
          inTime()
          if (onStep !== null && error instanceof StoreUnavailable) this.doubt()
          reject(error)
        },
      )
    })
  }

  /** Calls `fn` when a request has waited for ANSWER_MS, unless the returned function was called. */
  deadline(fn: () => void): () => void {
    return whenLate(this.#o.clock, ANSWER_MS, fn)
  }

  /** The answer of a call for which nobody waits longer than he wants to. When it is silent or fails, the store is probed. */
  watch<T>(call: Promise<T>): Promise<T> {
    const answered = this.#o.clock.after(DOUBT_MS, () => this.doubt())
    call.then(answered, error => {
      answered()
      if (error instanceof StoreUnavailable) this.doubt()
    })
    return call
  }

  /** Whether leases may be renewed: whoever waits for a lease needs a store that is `ok`. */
  get takesWrites(): boolean {
    return this.state === 'ok' || this.state === 'slow'
  }

  /** Begins a probe, unless one is under way. */
  doubt(): void {
    if (this.#probe === null && this.state === 'ok') void this.check()
  }

  /** Finds out whether the store answers. It takes at most PROBE_MS, and is shared by all that ask in that time. */
  async check(): Promise<StoreState> {
    this.#probe ??= this.#begin()
    await this.#probe
    return this.state
  }

  #begin(): Promise<void> {
    const { store, clock } = this.#o
    const { promise, resolve } = Promise.withResolvers<void>()
    let isLate = false
    this.#cancelNext()
    const silent = () => {
      isLate = true
      if (this.state === 'ok') this.state = 'away'
      resolve()
    }
    const cancel = whenLate(clock, PROBE_MS, silent)
    const end = (state: StoreState) => {
      cancel()
      this.#probe = null
      this.#found(state)
      resolve()
    }
    store.ping().then(
      () => end(isLate ? 'slow' : 'ok'),
      error => end(error instanceof StoreUnavailable && error.readsOnly ? 'readonly' : 'away'),
    )
    return promise
  }

  /** A probe whose answer came late is repeated at once: one slow write, which all waited for, is soon over. */
  #found(state: StoreState): void {
    const before = this.state
    this.state = state
    if (state === 'ok' && before !== 'ok') for (const listener of this.#listeners) listener()
    if (state === 'ok' || this.#stopped) return
    const pauseMs = state === 'slow' && before !== 'slow' ? 0 : PAUSE_MS
    this.#cancelNext = this.#o.clock.after(pauseMs, () => void this.check())
  }
}

/**
 * Calls `fn` after `ms`, unless the returned function was called. Time in which this process did not run hardly counts,
 * because answers that came meanwhile could not be read: the time is taken in steps, and a step is over at its first sight,
 * however late that is. What has arrived by the end is handled first. `onStep` is called after each step, with the time that it ends.
 */
export function whenLate(
  clock: Clock,
  ms: number,
  fn: () => void,
  onStep: ((passedMs: number) => void) | null = null,
): () => void {
  let isOver = false
  let passedMs = 0
  const step = () => {
    const stepMs = Math.min(STEP_MS, ms - passedMs)
    return clock.after(stepMs, () => {
      passedMs += stepMs
      onStep?.(passedMs)
      if (passedMs < ms) cancel = step()
      else
        clock.soon(() => {
          if (!isOver) fn()
        })
    })
  }
  let cancel = step()
  return () => {
    isOver = true
    cancel()
  }
}
