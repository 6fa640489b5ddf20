/**
 * Time, injected everywhere so that tests never sleep.
 * `now` is wall time in ms since 1970: for people, expiry dates and usage rows; it may step.
 * `monotonic` is ms since an arbitrary start: for every interval and time-out; it never steps.
 */
export interface Clock {
  now(): number
  monotonic(): number
  /** Runs `fn` once after `ms`. The returned function cancels. Does not keep the process alive. */
  after(ms: number, fn: () => void): () => void
  /** Runs `fn` once at the end of this turn of the event loop: after whatever else has just arrived. */
  soon(fn: () => void): void
}

/** Resolves after `ms`. */
export const pause = (clock: Clock, ms: number): Promise<void> => new Promise(resolve => clock.after(ms, resolve))

export const systemClock: Clock = {
  now: () => Date.now(),
  monotonic: () => performance.now(),
  after(ms, fn) {
    const timer = setTimeout(fn, ms)
    timer.unref()
    return () => clearTimeout(timer)
  },
  soon: fn => void setImmediate(fn),
}
