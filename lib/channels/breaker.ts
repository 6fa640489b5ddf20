/**
 * One channel's breaker, shaped like its states.
 *   closed      asked freely; failures are counted over a sliding window and open it when they are many AND a large share
 *   open        rests until a moment; a longer rest each time it opens again without having recovered
 *   half-open   one request at a time probes it; success closes, failure opens
 * An upstream that says how long to wait is taken at its word at once.
 */
export type State = 'closed' | 'open' | 'half_open'
export type Outcome = 'ok' | 'failed' | 'busy' | 'auth' | 'ignored'

const WINDOW_MS = 20_000
const SLICES = 10
const FEWEST_FAILURES = 5
const SHARE = 0.5
const FEWEST_REFUSALS = 3
const FIRST_REST_MS = 5_000
const LONGEST_REST_MS = 60_000
const AUTH_REST_MS = 60_000
const LONGEST_AUTH_REST_MS = 600_000
const LONGEST_NAMED_REST_MS = 600_000
/** A probe whose request never said how it ended is given up after this. */
const PROBE_MS = 30_000

export class Breaker {
  readonly #random: () => number
  readonly #ok = new Float64Array(SLICES)
  readonly #failed = new Float64Array(SLICES)
  #slice = 0
  #openUntilMs = 0
  /** 0 = closed, else how often it opened since it was last closed. */
  #opened = 0
  #probedMs = Number.NEGATIVE_INFINITY
  #busy = false
  /** Refused credentials in a row. */
  #refusals = 0

  constructor(random: () => number) {
    this.#random = random
  }

  state(nowMs: number): State {
    if (this.#opened === 0) return 'closed'
    return nowMs < this.#openUntilMs ? 'open' : 'half_open'
  }

  /** Whether a request may go there; asking takes nothing. */
  mayAsk(nowMs: number): boolean {
    const state = this.state(nowMs)
    return state === 'closed' || (state === 'half_open' && nowMs - this.#probedMs > PROBE_MS)
  }

  /** A request goes there; false when another has just taken the probe. */
  admit(nowMs: number): boolean {
    if (!this.mayAsk(nowMs)) return false
    if (this.#opened > 0) this.#probedMs = nowMs
    return true
  }

  /** Opened because the upstream said it is busy. */
  restsForBusy(nowMs: number): boolean {
    return this.#busy && this.state(nowMs) !== 'closed'
  }

  restMs(nowMs: number): number {
    return this.#opened === 0 ? 0 : Math.max(0, this.#openUntilMs - nowMs)
  }

  /** `retryAfterS`: as the upstream named it. */
  report(outcome: Outcome, nowMs: number, retryAfterS?: number): void {
    const probing = this.#opened > 0
    if (probing) this.#probedMs = Number.NEGATIVE_INFINITY
    if (outcome === 'ok') this.#succeeded(nowMs, probing)
    else if (outcome === 'auth') this.#refused(nowMs)
    else if (outcome === 'busy' && retryAfterS !== undefined && retryAfterS > 0) {
      this.#open(nowMs, Math.min(LONGEST_NAMED_REST_MS, retryAfterS * 1000), true)
    } else if (outcome !== 'ignored') this.#failedOnce(nowMs, probing, outcome === 'busy')
  }

  #succeeded(nowMs: number, probing: boolean): void {
    if (probing && nowMs < this.#openUntilMs) return // sent before it opened: it says nothing about now
    if (probing) this.#reset()
    this.#refusals = 0
    this.#ok[this.#turn(nowMs)]! += 1
  }

  /** One 401 or 403 may be about the request; several in a row are about the key, and will not mend themselves soon. */
  #refused(nowMs: number): void {
    if (++this.#refusals < FEWEST_REFUSALS) return
    this.#open(nowMs, backOff(AUTH_REST_MS, this.#opened, LONGEST_AUTH_REST_MS), false)
  }

  #failedOnce(nowMs: number, probing: boolean, busy: boolean): void {
    if (probing) {
      if (nowMs >= this.#openUntilMs) this.#open(nowMs, this.#restMs(), busy)
      return
    }
    this.#failed[this.#turn(nowMs)]! += 1
    const failed = sum(this.#failed)
    if (failed >= FEWEST_FAILURES && failed >= SHARE * (failed + sum(this.#ok))) this.#open(nowMs, this.#restMs(), busy)
  }

  /** With jitter, so that many gateways do not come back in one wave. */
  #restMs(): number {
    return backOff(FIRST_REST_MS, this.#opened, LONGEST_REST_MS) * (0.8 + 0.4 * this.#random())
  }

  #open(nowMs: number, restMs: number, busy: boolean): void {
    this.#opened++
    this.#openUntilMs = Math.max(this.#openUntilMs, nowMs + restMs)
    this.#busy = busy
  }

  #reset(): void {
    this.#opened = 0
    this.#openUntilMs = 0
    this.#busy = false
    this.#ok.fill(0)
    this.#failed.fill(0)
  }

  #turn(nowMs: number): number {
    const now = Math.floor(nowMs / (WINDOW_MS / SLICES))
    const passed = Math.min(SLICES, now - this.#slice)
    for (let i = 1; i <= passed; i++)
      this.#ok[(this.#slice + i) % SLICES] = this.#failed[(this.#slice + i) % SLICES] = 0
    this.#slice = now
    return now % SLICES
  }
}

const backOff = (firstMs: number, times: number, longestMs: number): number =>
  Math.min(longestMs, firstMs * 2 ** Math.min(times, 10))
const sum = (slices: Float64Array): number => slices.reduce((a, b) => a + b, 0)
