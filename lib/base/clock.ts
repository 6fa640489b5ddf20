/**
 * Time and timers, as an interface that everything else is given. The real one is `systemClock`; tests inject one that
 * they set, so that they never sleep.
 */
export interface Clock {
  /** Wall-clock time in ms since 1970, for people, expiry dates and usage rows. It may jump when the clock is set. */
  now(): number
  /** ms since an arbitrary start, for every interval and time-out. It never jumps. */
  monotonic(): number
  /** Runs `fn` once after `ms`; calling the returned function cancels it. The timer does not keep the process alive. */
  after(ms: number, fn: () => void): () => void
  /** Runs `fn` once at the end of this turn of the event loop, when all that has just arrived is handled. */
  soon(fn: () => void): void
}

export const SECOND_MS = 1_000
export const MINUTE_MS = 60 * SECOND_MS
export const HOUR_MS = 60 * MINUTE_MS
export const DAY_MS = 24 * HOUR_MS

/** A time in ms since 1970 as answers and logs show it. */
export const iso = (ms: number): string => new Date(ms).toISOString()
export const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms))

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
