/**
 * How a request ended, in one of three words, for statistics: `ok`, `client` (the client left, or sent a request that the
 * upstream refused), `upstream` (the upstream failed). The word follows from the usage row alone.
 */
import type { UsageRow } from './records.ts'

export const OUTCOMES = ['ok', 'client', 'upstream'] as const
export type Outcome = (typeof OUTCOMES)[number]

/** Refusals of an upstream that a better request would not have avoided: it was slow, or had too much to do. */
const NOT_THE_CLIENTS = new Set([408, 429])

export function outcomeOf({ end, status }: Pick<UsageRow, 'end' | 'status'>): Outcome {
  if (end === 'client_gone') return 'client'
  if (status >= 400 && status < 500 && !NOT_THE_CLIENTS.has(status)) return 'client'
  return end === 'completed' && status < 400 ? 'ok' : 'upstream'
}
