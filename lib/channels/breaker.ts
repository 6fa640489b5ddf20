/**
 * The circuit breaker of a channel or of one of its keys: a state machine with three states.
 *   closed      Requests pass. The breaker opens when failures in a sliding window are many AND a large share, or when
 *               ten come in a row: a busy channel that dies still has a window full of old successes.
 *   open        The channel rests until a given time. Results that arrive now belong to requests sent before, and do
 *               not count, except for the requests of the last paragraph.
 *   half_open   One request at a time passes as a probe. A success closes the breaker, a failure opens it again, for
 *               twice as long each time, up to a minute.
 * When the upstream refuses our key several times without a success in between, the breaker opens for long: one refusal
 * may be about the request, several are about the key. That an upstream is too busy is no business of the breaker
 * (`rests.ts`).
 *
 * Some requests fail whoever answers them, and one account must not take a channel from all others. So failures of a
 * single account open the breaker only when no other account was answered lately. Refusals of a single account are only
 * a suspicion, which a request of our own must confirm (`lib/upstream/own-request.ts`).
 *
 * A channel that rests after failures may be asked all the same when a request has no other channel left, but only by a
 * share of such requests. So an upstream in trouble does not get all of them, and one that works again is found by the
 * first that gets through. Accounts whose requests failed could use up that share with more of them, and what the upstream
 * refuses may be their requests and not our key; so one request a second of the other accounts passes beside it.
 */
import { latest } from '../base/lru.ts'
import type { RestCause } from '../terms/channel-seen.ts'
import type { BreakerState } from '../terms/records.ts'
import { LatestTwo, SlidingCount } from '../base/sliding-count.ts'

/** The end of an attempt. `busy`: 429 or 529. `auth`: 401 or 403. `ignored`: it says nothing about the channel. */
export type AttemptOutcome = 'ok' | 'failed' | 'busy' | 'auth' | 'ignored'
/**
 * What a report means for the key. `refused`: the breaker opens because the upstream refuses the key. `suspected`: the
 * upstream refused only requests of one account, which may be the cause themselves. null: nothing.
 */
export type KeySuspicion = 'refused' | 'suspected' | null

/** Failures open the breaker when, within the window, they are at least this many and at least this share. */
const WINDOW_MS = 20_000
const FEWEST_FAILURES = 5
const SHARE = 0.5
/** The number of failures without a success in between that open the breaker too, whatever their share. */
const IN_A_ROW = 10
/** Refusals of the key without a success in between that open the breaker. */
const FEWEST_REFUSALS = 3
/** Rests begin with the first duration and double up to the longest (exponential back-off). */
const FIRST_REST_MS = 5_000
const LONGEST_REST_MS = 60_000
/** The durations of rests after refused keys. */
const FIRST_AUTH_REST_MS = 60_000
const LONGEST_AUTH_REST_MS = 600_000
/**
 * A rest is shorter by a random part of up to this share, so that many gateways do not come back at the same moment.
 */
const JITTER = 0.3
/** After this long without a result, a probe is given up and another may pass. */
const PROBE_MS = 30_000
/** Within this time, this share of the requests that want to ask a resting channel may ask it, and this many in any case. */
const ANYWAY_MS = 10_000
const ANYWAY_SHARE = 0.5
const FEWEST_ANYWAY = 10
/** Beside these, one request in this time of an account whose requests did not fail lately. */
const OTHERS_MS = 1_000
/** The most accounts whose requests failed that are known; a forgotten one counts as one of the others. */
const MOST_FAILING = 64

export class Breaker {
  readonly #random: () => number
  readonly #ok = new SlidingCount(WINDOW_MS)
  readonly #failed = new SlidingCount(WINDOW_MS)
  /** Accounts whose requests were answered. */
  readonly #answered = new LatestTwo()
  /** Accounts whose requests failed. */
  readonly #met = new LatestTwo()
  /** Accounts to which the upstream refused the key. */
  readonly #refusedTo = new LatestTwo()
  /** While the channel rests: requests that were sent there all the same. */
  readonly #anyway = new SlidingCount(ANYWAY_MS)
  /** The time at which a request of each account failed or was refused last. */
  readonly #failing = latest<number, number>(MOST_FAILING)
  /** The time at which a request of an account that is not among these was let through beside the share. */
  #othersMs = Number.NEGATIVE_INFINITY
  /** While the channel rests: requests that had no other channel left. */
  readonly #wanted = new SlidingCount(ANYWAY_MS)
  #closed = true
  #openUntilMs = 0
  /** Rests after failures since the breaker was last closed, for the back-off. */
  #rests = 0
  /** The time at which the present probe was sent; -Infinity = there is none. */
  #probedMs = Number.NEGATIVE_INFINITY
  /** The reason why the channel rests. */
  #why: RestCause = 'failed'
  /** Failures without a success in between. */
  #row = 0
  /** Refusals of the key without a success in between. */
  #refusals = 0

  constructor(random: () => number) {
    this.#random = random
  }

  state(nowMs: number): BreakerState {
    if (this.#closed) return 'closed'
    return nowMs < this.#openUntilMs ? 'open' : 'half_open'
  }

  /** True when a request may pass. The question changes nothing; `admit` does. */
  mayAsk(nowMs: number): boolean {
    return this.#closed || (nowMs >= this.#openUntilMs && nowMs - this.#probedMs >= PROBE_MS)
  }

  /**
   * A request of the account without another channel wants to pass while this one rests. Returns how many such requests
   * passed lately, or null when this one may not.
   */
  triedAnyway(nowMs: number, account: number): number | null {
    if (this.#closed || (this.#why === 'hand' && nowMs < this.#openUntilMs)) return null
    if (this.#why === 'failed') this.#wanted.add(nowMs)
    const tried = this.#anyway.sum(nowMs)
    if (this.#hasShare(tried, nowMs)) return tried
    const failedMs = this.#failing.get(account) ?? Number.NEGATIVE_INFINITY
    return nowMs - failedMs < WINDOW_MS || nowMs - this.#othersMs < OTHERS_MS ? null : tried
  }

  #hasShare(tried: number, nowMs: number): boolean {
    return this.#why === 'failed' && tried < Math.max(FEWEST_ANYWAY, ANYWAY_SHARE * this.#wanted.sum(nowMs))
  }

  /** Notes that a request passes. Returns true when it does so as a probe, or while the channel rests. */
  admit(nowMs: number): boolean {
    if (this.#closed) return false
    if (!this.mayAsk(nowMs) && !this.#hasShare(this.#anyway.sum(nowMs), nowMs)) this.#othersMs = nowMs
    if (nowMs >= this.#openUntilMs) this.#probedMs = nowMs
    this.#anyway.add(nowMs)
    return true
  }

  /** ms until a request may pass as a probe; 0 = it may now. */
  restMs(nowMs: number): number {
    return this.#closed ? 0 : Math.max(0, this.#openUntilMs - nowMs)
  }

  /** Notes how a request of an account ended. `asked` is what `admit` returned for it. */
  report(outcome: AttemptOutcome, nowMs: number, account: number, asked = false): KeySuspicion {
    const state = this.state(nowMs)
    if (state === 'half_open') this.#probedMs = Number.NEGATIVE_INFINITY
    if (outcome === 'ignored' || outcome === 'busy') return null
    if (outcome !== 'ok') this.#failing.set(account, nowMs)
    if (state === 'closed') return this.#heard(outcome, nowMs, account)
    if (state === 'half_open') return this.#probed(outcome, nowMs, account)
    if (asked && outcome === 'ok') this.#close()
    return null
  }

  #heard(outcome: AttemptOutcome, nowMs: number, account: number): KeySuspicion {
    if (outcome === 'auth') return this.#refused(nowMs, account)
    if (outcome === 'ok') {
      if (this.#refusals > 0) this.#refusedTo.clear()
      this.#refusals = this.#row = 0
      this.#ok.add(nowMs)
      this.#answered.note(account, nowMs)
      return null
    }
    this.#failed.add(nowMs)
    this.#met.note(account, nowMs)
    const failed = this.#failed.sum(nowMs)
    const many = failed >= FEWEST_FAILURES && failed >= SHARE * (failed + this.#ok.sum(nowMs))
    if ((++this.#row >= IN_A_ROW || many) && this.#concernsAll(account, nowMs)) this.#failedAgain(nowMs)
    return null
  }

  /**
   * Whether failures concern the channel: requests of other accounts failed too, or nobody else was answered lately.
   */
  #concernsAll(account: number, nowMs: number): boolean {
    const sinceMs = nowMs - WINDOW_MS
    return this.#met.hasOther(account, sinceMs) || !this.#answered.hasOther(account, sinceMs)
  }

  #probed(outcome: AttemptOutcome, nowMs: number, account: number): KeySuspicion {
    if (outcome === 'ok') this.#close()
    else if (outcome === 'auth') return this.#refused(nowMs, account)
    else this.#failedAgain(nowMs)
    return null
  }

  #refused(nowMs: number, account: number): KeySuspicion {
    this.#refusals++
    this.#refusedTo.note(account, nowMs)
    if (this.#refusals >= FEWEST_REFUSALS) {
      if (this.#why === 'auth' || this.#refusedTo.hasOther(account, Number.NEGATIVE_INFINITY)) return this.refuse(nowMs)
      if (this.#closed) return 'suspected'
    }
    if (!this.#closed) this.#failedAgain(nowMs)
    return null
  }

  /** Opens the breaker because it is certain that the upstream refuses the key. */
  refuse(nowMs: number): KeySuspicion {
    const times = Math.max(0, this.#refusals - FEWEST_REFUSALS)
    this.#rest(nowMs, backOff(FIRST_AUTH_REST_MS, times, LONGEST_AUTH_REST_MS), 'auth')
    return 'refused'
  }

  /** Opens the breaker for so long because an operator wants it: no request passes before its end. */
  restByHand(nowMs: number, restMs: number): void {
    this.#openUntilMs = 0
    this.#rest(nowMs, restMs, 'hand')
  }

  /** Closes the breaker, and forgets all failures. */
  wake(): void {
    this.#close()
  }

  /** Why it is open; null = it is closed. */
  get why(): RestCause | null {
    return this.#closed ? null : this.#why
  }

  #failedAgain(nowMs: number): void {
    const restMs = backOff(FIRST_REST_MS, this.#rests++, LONGEST_REST_MS)
    this.#rest(nowMs, restMs * (1 - JITTER * this.#random()), 'failed')
  }

  #rest(nowMs: number, restMs: number, why: RestCause): void {
    this.#closed = false
    if (nowMs + restMs <= this.#openUntilMs) return // the present rest is longer
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
    this.#answered.clear()
    this.#met.clear()
    this.#failing.clear()
    this.#refusedTo.clear()
    this.#anyway.clear()
    this.#wanted.clear()
    this.#why = 'failed'
  }
}

const backOff = (firstMs: number, times: number, longestMs: number): number =>
  Math.min(longestMs, firstMs * 2 ** Math.min(times, 10))
