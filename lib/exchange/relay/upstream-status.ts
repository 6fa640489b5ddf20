/** What an attempt's outcome says about its upstream, and about whom to ask next. */
import type { Attempt } from '../../upstream/attempt.ts'
import { BadRequest } from '../../upstream/http1-request.ts'

/** Retried on the next candidate while nothing was relayed: the client did nothing wrong. */
export const retryable = (status: number): boolean =>
  status === 401 || status === 403 || status === 408 || status === 429 || status >= 500

/** As the upstream names it, in seconds or as a date; undefined: it does not. */
export function retryAfterS({ headers }: Attempt, nowMs: number): number | undefined {
  const named = headers['retry-after']
  if (typeof named !== 'string') return undefined
  const seconds = /^\s*\d/.test(named) ? Number(named) : (Date.parse(named) - nowMs) / 1000
  return Number.isFinite(seconds) ? Math.max(0, seconds) : undefined
}

export const saysBusy = (status: number): boolean => status === 429 || status === 529
export const refusesKey = (status: number): boolean => status === 401 || status === 403

/** What this machine has no more of. */
const SPENT_HERE = new Set(['EMFILE', 'ENFILE', 'ENOBUFS', 'ENOMEM', 'EADDRNOTAVAIL'])

/** What cannot be sent, or for which there is no socket here, says nothing of its upstream. */
export const isOurs = (error: Error): boolean =>
  error instanceof BadRequest || SPENT_HERE.has((error as NodeJS.ErrnoException).code ?? '')
