/**
 * Bounds how many calls an address and a user make in a minute. The bounds of an address are wide, because a whole
 * company, or thousands of people behind a carrier's address translation, may share one; those of a user are close.
 * They keep the process from being worn out by one cheap caller; tries of passwords have bounds of their own elsewhere.
 */
import type { Clock } from '../base/clock.ts'
import { latest } from '../base/lru.ts'
import { ApiError } from './errors.ts'
import type { CallLimit } from './operation.ts'

/** Calls in a minute. All of them may come at once. `page`: pages and their files, of which a browser keeps most. */
const MOST: Record<CallLimit | 'page', { ip: number; user: number }> = {
  light: { ip: 6_000, user: 1_200 },
  write: { ip: 1_200, user: 240 },
  heavy: { ip: 600, user: 120 },
  'sign-in': { ip: 300, user: 30 },
  page: { ip: 12_000, user: 12_000 },
}
const MINUTE_MS = 60_000
/** Callers that are remembered; whoever is forgotten begins with a full allowance. */
const MOST_CALLERS = 10_000

interface Allowance {
  left: number
  atMs: number
}

export class CallRates {
  readonly #clock: Clock
  readonly #allowances = latest<string, Allowance>(MOST_CALLERS)

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** Throws ApiError when an address or a user has made too many calls of this kind. */
  take(limit: CallLimit, kind: 'ip' | 'user', who: string): void {
    const waitS = this.waitS(limit, kind, who)
    if (waitS !== null) throw new ApiError('too_many_calls', [], waitS)
  }

  /** Counts a call, or says after how many seconds it may come again. */
  waitS(limit: CallLimit | 'page', kind: 'ip' | 'user', who: string): number | null {
    const most = MOST[limit][kind]
    const nowMs = this.#clock.monotonic()
    const key = `${limit} ${kind} ${who}`
    const before = this.#allowances.get(key) ?? { left: most, atMs: nowMs }
    const left = Math.min(most, before.left + ((nowMs - before.atMs) / MINUTE_MS) * most)
    const isEnough = left >= 1
    this.#allowances.set(key, { left: isEnough ? left - 1 : left, atMs: nowMs })
    return isEnough ? null : Math.ceil(((1 - left) / most) * (MINUTE_MS / 1000))
  }
}
