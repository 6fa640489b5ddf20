/**
 * Rows of attempts that nobody is charged for, and that their upstream takes money for all the same: an answer that was taken
 * back and another one given in its place, and an attempt that was closed because the one beside it was faster. They have a
 * cost and nothing else, so that margins are right. The answer that counts has the row of the request.
 */
import type { KeyEntry } from '../../access/keys.ts'
import { attemptId } from '../../base/ids.ts'
import { ZERO } from '../../base/money.ts'
import type { Tariff } from '../../pricing/tariff.ts'
import { type AttemptNote, noUsage, type Protocol, rowCounts, type UsageRow } from '../../terms/records.ts'
import type { Attempt } from '../../upstream/attempt.ts'
import type { Exchange } from '../record/exchange.ts'
import { clientIdOf, upstreamIdOf } from '../record/request.ts'
import type { Reading } from './reading.ts'
import { costOfUncharged } from './settle.ts'

/** An attempt that is over, and whose answer does not count. */
export interface GivenUp {
  attempt: Attempt
  note: AttemptNote
  /** `taken back`: its answer proved to be none. `lost`: the other one of two was faster. */
  why: 'taken back' | 'lost'
}

const NO_COUNTS = rowCounts(noUsage())

/** `nth`: of the rows of this exchange, from 1. null = the attempt cost nothing, or nobody knows how much. */
export function attemptRow(x: Exchange, { attempt, note, why }: GivenUp, reading: Reading | null, nth: number) {
  // the upstream of one that lost may take money for the question, unless it has not got or has refused it
  const isAsked = attempt.status === 0 ? attempt.sent : attempt.status < 300
  if (!isAsked) return null
  const { candidate } = attempt.claim
  const ended = why === 'lost' ? ({ how: 'left', reading: null } as const) : ({ how: 'broken', reading } as const)
  const cost = costOfUncharged(x, { ...ended, delivered: null, hidden: null, channel: candidate.channel.name })
  if (cost === null || cost === ZERO) return null
  const { account, key } = x.entry as KeyEntry
  const { priceVersion, multiplier } = x.tariff as Tariff
  const row: UsageRow = {
    requestId: attemptId(x.id, nth),
    accountId: account.id,
    keyId: key.id,
    group: key.group,
    protocol: x.protocol as Protocol,
    model: x.model,
    channel: candidate.channel.name,
    status: attempt.status,
    end: why === 'lost' ? 'upstream_cut' : 'upstream_error',
    basis: 'none',
    ...NO_COUNTS,
    charge: ZERO,
    firstByteMs: null,
    durationMs: note.ms,
    answerId: null,
    upstreamKey: null,
    priceVersion,
    multiplier,
    lines: [],
    held: null,
    disputed: ZERO,
    cost,
    askedMs: Math.max(0, Math.round(attempt.startedMs - x.startedMs)),
    attempts: [note],
    upstreamId: upstreamIdOf(attempt),
    clientRequestId: clientIdOf(x),
    via: candidate.lane?.via ?? null,
    hiddenRatio: null,
  }
  return row
}
