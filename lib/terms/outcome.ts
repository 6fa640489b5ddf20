/**
 * How a request ended, in one word, for statistics: `ok`, `client` (the client left, or sent a request that the upstream
 * refused), `upstream` (the upstream failed). `attempt` is said of a row that is no request of a client, but an attempt of
 * one: it was not charged, and has what the upstream takes for it. The word follows from the usage row alone.
 */
import { isAttemptId } from '../base/ids.ts'
import type { UsageRow } from './records.ts'

export const OUTCOMES = ['ok', 'client', 'upstream', 'attempt'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Refusals of an upstream that a better request would not have avoided: it was slow, or had too much to do. */
const NOT_THE_CLIENTS = new Set([408, 429])

export function outcomeOf({ requestId, end, status }: Pick<UsageRow, 'requestId' | 'end' | 'status'>): Outcome {
  if (isAttemptId(requestId)) return 'attempt'
  if (end === 'client_gone') return 'client'
  if (status >= 400 && status < 500 && !NOT_THE_CLIENTS.has(status)) return 'client'
  return end === 'completed' && status < 400 ? 'ok' : 'upstream'
}
