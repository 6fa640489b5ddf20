/**
 * One channel's breaker, shaped like its states.
 *   closed      asked freely; failures over a sliding window open it when they are many AND a large share, or when
 *               there were some more and nothing else: a busy channel that dies has a window full of old successes
 *   open        rests until a moment; what is heard meanwhile was sent before, and says nothing about later
 *   half_open   one request at a time probes it; success closes, anything else opens it again, for longer each time
 * An upstream that says how long to wait is taken at its word at once. One that refuses our credential several times in a
 * row, with no success between, rests long: one refusal may be about a request, several are about the key.
 */
import type { BreakerState } from '../terms/records.ts'
import { SlidingCount } from './sliding.ts'

/** `busy`: 429 or 529. `auth`: 401 or 403. `ignored`: nothing was learnt about the channel. */
export type Outcome = 'ok' | 'failed' | 'busy' | 'auth' | 'ignored'

const WINDOW_MS = 20_000
const FEWEST_FAILURES = 5
const SHARE = 0.5
const IN_A_ROW = 10
const FEWEST_REFUSALS = 3
const FIRST_REST_MS = 5_000
const LONGEST_REST_MS = 60_000
const FIRST_AUTH_REST_MS = 60_000
const LONGEST_AUTH_REST_MS = 600_000
const LONGEST_NAMED_REST_MS = 600_000
/** A rest is up to this share shorter, so that many gateways do not come back in one wave. */
const JITTER = 0.3
/** A probe that never said how it ended is given up after this. */
const PROBE_MS = 30_000

export class Breaker {
  readonly #random: () => number
  readonly #ok = new SlidingCount(WINDOW_MS)
  readonly #failed = new SlidingCount(WINDOW_MS)
  /** Of the failures, those that were a busy upstream's. */
  readonly #busy = new SlidingCount(WINDOW_MS)
  #closed = true
  #openUntilMs = 0
  /** Rests since it was last closed, other than those that the upstream named. */
  #rests = 0
  #probedMs = Number.NEGATIVE_INFINITY
  #why: Outcome = 'failed'
  /** Failures, and refused credentials, with no success between. */
  #row = 0
  #refusals = 0

  constructor(random: () => number) {
    this.#random = random
  }

  state(nowMs: number): BreakerState {
    if (this.#closed) return 'closed'
    return nowMs < this.#openUntilMs ? 'open' : 'half_open'
  }

  /** Whether a request may go there; asking takes nothing. */
  mayAsk(nowMs: number): boolean {
    return this.#closed || (nowMs >= this.#openUntilMs && nowMs - this.#probedMs >= PROBE_MS)
  }

  /** A request that may go there does. */
  admit(nowMs: number): void {
    if (!this.#closed) this.#probedMs = nowMs
  }

  restsForBusy(): boolean {
    return !this.#closed && this.#why === 'busy'
  }

  restMs(nowMs: number): number {
    return this.#closed ? 0 : Math.max(0, this.#openUntilMs - nowMs)
  }

  /** `retryAfterS`: as the upstream named it. True when it rests from now on because of its credential. */
  report(outcome: Outcome, nowMs: number, retryAfterS = 0): boolean {
    const state = this.state(nowMs)
    if (state === 'half_open') this.#probedMs = Number.NEGATIVE_INFINITY
    if (outcome === 'ignored') return false
    if (outcome === 'busy' && retryAfterS > 0) {
      this.#rest(nowMs, Math.min(LONGEST_NAMED_REST_MS, retryAfterS * 1000), 'busy')
    } else if (state === 'closed') return this.#heard(outcome, nowMs)
    else if (state === 'half_open') return this.#probed(outcome, nowMs)
    return false
  }

  #heard(outcome: Outcome, nowMs: number): boolean {
    if (outcome === 'auth') return this.#refused(nowMs)
    if (outcome === 'ok') {
      this.#refusals = this.#row = 0
      this.#ok.add(nowMs)
      return false
    }
    this.#failed.add(nowMs)
    if (outcome === 'busy') this.#busy.add(nowMs)
    const failed = this.#failed.sum(nowMs)
    const many = failed >= FEWEST_FAILURES && failed >= SHARE * (failed + this.#ok.sum(nowMs))
    if (++this.#row >= IN_A_ROW || many) {
      this.#failedAgain(nowMs, this.#busy.sum(nowMs) * 2 > failed ? 'busy' : 'failed')
    }
    return false
  }

  #probed(outcome: Outcome, nowMs: number): boolean {
    if (outcome === 'ok') this.#close()
    else if (outcome === 'auth') return this.#refused(nowMs)
    else this.#failedAgain(nowMs, outcome)
    return false
  }

  #refused(nowMs: number): boolean {
    if (++this.#refusals >= FEWEST_REFUSALS) {
      this.#rest(nowMs, backOff(FIRST_AUTH_REST_MS, this.#refusals - FEWEST_REFUSALS, LONGEST_AUTH_REST_MS), 'auth')
      return true
    }
    if (!this.#closed) this.#failedAgain(nowMs, 'failed')
    return false
  }

  #failedAgain(nowMs: number, why: Outcome): void {
    const restMs = backOff(FIRST_REST_MS, this.#rests++, LONGEST_REST_MS)
    this.#rest(nowMs, restMs * (1 - JITTER * this.#random()), why)
  }

  #rest(nowMs: number, restMs: number, why: Outcome): void {
    this.#closed = false
    if (nowMs + restMs <= this.#openUntilMs) return // it rests for longer already
    this.#openUntilMs = nowMs + restMs
    this.#why = why
  }

  #close(): void {
    this.#closed = true
    this.#openUntilMs = 0
    this.#rests = 0
    this.#refusals = this.#row = 0
    this.#probedMs = Number.NEGATIVE_INFINITY
    this.#ok.clear()
    this.#failed.clear()
    this.#busy.clear()
  }
}

const backOff = (firstMs: number, times: number, longestMs: number): number =>
  Math.min(longestMs, firstMs * 2 ** Math.min(times, 10))
