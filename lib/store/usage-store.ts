/** The part of the store's interface that is about usage: the log of requests, its sums, and refusals. */
import type { Outcome } from '../terms/outcome.ts'
import type { Protocol, UsageRow } from '../terms/records.ts'

/** A row of the usage log as it is in the books. */
export interface BookedRow extends UsageRow {
  /** Its number in the order of booking. */
  seq: number
  /** By the store's clock; ms since 1970. */
  bookedAtMs: number
  outcome: Outcome
}

/** What rows can be filtered by beside account, key and time. */
export interface UsageTraits {
  model?: string
  group?: string
  channel?: string
  protocol?: Protocol
  outcome?: Outcome
}

export interface UsageFilter extends UsageTraits {
  accountId?: number
  keyId?: number
  requestId?: string
  /** ms since 1970, inclusive. */
  fromMs?: number
  /** ms since 1970, exclusive. */
  toMs?: number
  limit: number
  /** The last request id of the page before: only older rows follow. */
  after?: string
}

/** Who made an earlier answer. A request that refers to that answer must go to the same channel and upstream key. */
export interface AnswerMaker {
  channel: string
  /** The `fingerprint` of the channel's upstream key. */
  key: string
}

export interface UsageStore {
  /** null when the account has no usage row with this `answerId`. */
  answerMaker(accountId: number, answerId: string): Promise<AnswerMaker | null>
  /** Newest first. */
  usage(filter: UsageFilter): Promise<BookedRow[]>
  /**
   * All rows of a filter, newest first, in slices. A slice is read when the caller asks for it; between two slices nothing
   * is held in the store.
   */
  usageSlices(filter: Omit<UsageFilter, 'limit'>): AsyncGenerator<BookedRow[]>
  /** Deletes up to `limit` rows of requests before `beforeMs`, keeps their charges as sums, and returns how many. */
  pruneUsage(beforeMs: number, limit: number): Promise<number>
}
