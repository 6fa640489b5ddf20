/**
 * One channel's breaker, shaped like its states.
 *   closed      asked freely; failures over a sliding window open it when they are many AND a large share, or when
 *               there were some more and nothing else: a busy channel that dies has a window full of old successes
 *   open        rests until a moment; what is heard meanwhile was sent before, and says nothing about later
 *   half_open   one request at a time probes it; success closes, anything else opens it again, for longer each time
 * An upstream that says how long to wait is taken at its word at once. One that refuses our credential several times in a
 * row, with no success between, rests long: one refusal may be about a request, several are about the key.
 *
 * One account must not take a channel from the others, and some requests fail whoever answers them. So what fails for one
 * account only opens it only where nobody else was answered lately; and refusals to one account only are a suspicion, which a
 * question of our own must confirm.
 *
 * While it rests after failures it may be asked all the same, when nothing else is left: up to a share of those who want to
 * ask, so that an upstream in trouble does not get all of them, and one that is well again is found by the first of them.
 */
import type { BreakerState } from '../terms/channel.ts'
import { LatestTwo } from './latest-two.ts'
import { SlidingCount } from './sliding.ts'

/** `busy`: 429 or 529. `auth`: 401 or 403. `ignored`: nothing was learnt about the channel. */
export type Outcome = 'ok' | 'failed' | 'busy' | 'auth' | 'ignored'
/**
 * What a report says of the credential. `refused`: the breaker opens because of it. `suspected`: the requests of one
 * account may be the cause.
 */
export type Credential = 'refused' | 'suspected' | null

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
/**
 * How many requests may go to a resting channel: within this time, this share of those that want to, and so many in any
 * case.
 */
const ANYWAY_MS = 10_000
const ANYWAY_SHARE = 0.5
const FEWEST_ANYWAY = 10

export class Breaker {
  readonly #random: () => number
  readonly #ok = new SlidingCount(WINDOW_MS)
  readonly #failed = new SlidingCount(WINDOW_MS)
  /** Of the failures, those that were a busy upstream's. */
  readonly #busy = new SlidingCount(WINDOW_MS)
  /** Accounts that were answered, that met a failure, whose requests were refused. */
  readonly #answered = new LatestTwo()
  readonly #met = new LatestTwo()
  readonly #refusedTo = new LatestTwo()
  /** Since it rests: requests that were sent all the same, and those that wanted to be. */
  readonly #anyway = new SlidingCount(ANYWAY_MS)
  readonly #wanted = new SlidingCount(ANYWAY_MS)
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

  /**
   * A request that has no other candidate wants to ask: how often that was tried in vain lately; null = it may not be
   * tried.
   */
  triedAnyway(nowMs: number): number | null {
    if (this.#closed || this.#why !== 'failed') return null
    this.#wanted.add(nowMs)
    const tried = this.#anyway.sum(nowMs)
    return tried < Math.max(FEWEST_ANYWAY, ANYWAY_SHARE * this.#wanted.sum(nowMs)) ? tried : null
  }

  /** A request goes there. True: while it rests, or as its probe. */
  admit(nowMs: number): boolean {
    if (this.#closed) return false
    if (nowMs >= this.#openUntilMs) this.#probedMs = nowMs
    this.#anyway.add(nowMs)
    return true
  }

  restsForBusy(): boolean {
    return !this.#closed && this.#why === 'busy'
  }

  restMs(nowMs: number): number {
    return this.#closed ? 0 : Math.max(0, this.#openUntilMs - nowMs)
  }

  /**
   * What came of a request of this account. `asked`: while it rested, as `admit` said. `retryAfterS`: as the upstream named
   * it.
   */
  report(outcome: Outcome, nowMs: number, account: number, asked = false, retryAfterS = 0): Credential {
    const state = this.state(nowMs)
    if (state === 'half_open') this.#probedMs = Number.NEGATIVE_INFINITY
    if (outcome === 'ignored') return null
    if (outcome === 'busy' && retryAfterS > 0) {
      this.#rest(nowMs, Math.min(LONGEST_NAMED_REST_MS, retryAfterS * 1000), 'busy')
    } else if (state === 'closed') return this.#heard(outcome, nowMs, account)
    else if (state === 'half_open') return this.#probed(outcome, nowMs, account)
    else if (asked && outcome === 'ok' && this.#why === 'failed') this.#close()
    return null
  }

  #heard(outcome: Outcome, nowMs: number, account: number): Credential {
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
    if (outcome === 'busy') this.#busy.add(nowMs)
    const failed = this.#failed.sum(nowMs)
    const many = failed >= FEWEST_FAILURES && failed >= SHARE * (failed + this.#ok.sum(nowMs))
    if ((++this.#row >= IN_A_ROW || many) && this.#concernsAll(account, nowMs))
      this.#failedAgain(nowMs, this.#busy.sum(nowMs) * 2 > failed ? 'busy' : 'failed')
    return null
  }

  /** Others met failures too, or nobody else was answered. */
  #concernsAll(account: number, nowMs: number): boolean {
    const sinceMs = nowMs - WINDOW_MS
    return this.#met.hasOther(account, sinceMs) || !this.#answered.hasOther(account, sinceMs)
  }

  #probed(outcome: Outcome, nowMs: number, account: number): Credential {
    if (outcome === 'ok') this.#close()
    else if (outcome === 'auth') return this.#refused(nowMs, account)
    else this.#failedAgain(nowMs, outcome)
    return null
  }

  #refused(nowMs: number, account: number): Credential {
    this.#refusals++
    this.#refusedTo.note(account, nowMs)
    if (this.#refusals >= FEWEST_REFUSALS) {
      if (this.#why === 'auth' || this.#refusedTo.hasOther(account, Number.NEGATIVE_INFINITY)) return this.refuse(nowMs)
      if (this.#closed) return 'suspected'
    }
    if (!this.#closed) this.#failedAgain(nowMs, 'failed')
    return null
  }

  /** It is certain that the upstream refuses the credential. */
  refuse(nowMs: number): Credential {
    const times = Math.max(0, this.#refusals - FEWEST_REFUSALS)
    this.#rest(nowMs, backOff(FIRST_AUTH_REST_MS, times, LONGEST_AUTH_REST_MS), 'auth')
    return 'refused'
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
    this.#answered.clear()
    this.#met.clear()
    this.#refusedTo.clear()
    this.#anyway.clear()
    this.#wanted.clear()
    this.#why = 'failed'
  }
}

const backOff = (firstMs: number, times: number, longestMs: number): number =>
  Math.min(longestMs, firstMs * 2 ** Math.min(times, 10))
