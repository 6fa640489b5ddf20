/** The part of the store's interface that is about usage: the log of requests, its sums, and refusals. */
import type { Micro } from '../base/money.ts'
import type { Outcome } from '../terms/usage-row.ts'
import type { Protocol, UsageRow } from '../terms/records.ts'
import type { ReportedSum } from './usage-sums.ts'

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

/** Whose rows are meant. */
export interface UsageOwner {
  accountId?: number
  keyId?: number
  /** `without`: only the rows of requests, one for each, and not those of attempts that have rows of their own. */
  attempts?: (typeof WITH_ATTEMPTS)[number]
}
export const WITH_ATTEMPTS = ['with', 'without'] as const

export interface UsageFilter extends UsageTraits, UsageOwner {
  requestId?: string
  /** ms since 1970, inclusive. */
  fromMs?: number
  /** ms since 1970, exclusive. */
  toMs?: number
  limit: number
  /** The last request id of the page before: only older rows follow. */
  after?: string
  /** Only rows of which something is disputed, and nothing is decided. */
  disputed?: 'open'
}

/** Who made an earlier answer. A request that refers to that answer must go to the same channel and upstream key. */
export interface AnswerMaker {
  channel: string
  /** The `fingerprint` of the channel's upstream key. */
  key: string
}

export const SUMMARY_BY = ['day', 'hour', 'model', 'key', 'account', 'group', 'channel', 'protocol'] as const
export type SummaryBy = (typeof SUMMARY_BY)[number]

/** Periods are of whole hours: the first hour that `fromMs` is in, and the last one that `toMs` cuts, count whole. */
export interface SummaryQuery extends UsageTraits, UsageOwner {
  /** Only this row; it is read from the log. */
  requestId?: string
  /** In the order of the report; `day` or `hour` or neither. */
  by: readonly SummaryBy[]
  /** Where days begin: an IANA name. */
  zone: string
  fromMs?: number
  toMs?: number
  /** Only what is in these lists. */
  keyIds?: readonly number[]
  models?: readonly string[]
  groups?: readonly string[]
  /** Only charges and numbers of requests, which is much less to read: the other sums are 0. */
  brief?: true
  /** Whether the rows say how long first bytes took; not together with `requestId`. */
  firstBytes?: true
}

export interface SummaryRow extends Record<ReportedSum, number> {
  /** In the order of `SummaryQuery.by`. `day`: YYYY-MM-DD; `hour`: its begin in ms; `key`, `account`: their ids. */
  by: readonly (string | number)[]
  /** How many hours the zone was ahead of UTC. */
  offset: number
  /** Requests whose outcome was `upstream`. */
  errors: number
  /** Of the requests that were answered: the sum of the times, and their number by `FIRST_BYTE_BOUNDS_MS`. */
  firstBytes?: { sumMs: number; buckets: number[] }
}

/** A report that cannot be made: too long, too large, or of a zone without whole hours. `expected` is for people. */
export class SummaryRefused extends Error {
  override name = 'SummaryRefused'
  readonly what: 'zone' | 'rows' | 'period'

  constructor(what: SummaryRefused['what'], expected: string) {
    super(`expected ${expected}`)
    this.what = what
  }
}

/** A request of a known key that was refused before any upstream was asked. */
export interface Refusal {
  requestId: string
  atMs: number
  accountId: number
  keyId: number
  model: string
  /** The name of the error. */
  reason: string
  status: number
  address: string
}

/** How a model fared in a group. Requests that clients broke off, or that were refused for their fault, do not count. */
export interface ModelFigures {
  group: string
  model: string
  /** Requests that were answered. */
  answered: number
  /** Requests in which the upstream failed. */
  failed: number
  /** How many answers had their first byte within each bucket of FIRST_BYTE_BOUNDS_MS; the last one has no bound. */
  firstByte: readonly number[]
}

/** Days begin at midnight of UTC+8. */
export interface ModelDay extends Pick<ModelFigures, 'model' | 'answered' | 'failed'> {
  /** YYYY-MM-DD */
  day: string
}

export interface ModelHour extends Pick<ModelFigures, 'model' | 'answered' | 'failed'> {
  /** When the hour began; ms since 1970. */
  atMs: number
}

/** Hours in which at least `least` requests, and `percent` of those that count, failed. */
export interface FailingQuery {
  fromMs: number
  least: number
  percent: number
  limit: number
}

export interface UsageStore {
  /** null when the account has no usage row with this `answerId`, or the answer cannot be continued. */
  answerMaker(accountId: number, answerId: string): Promise<AnswerMaker | null>
  /** Newest first. */
  usage(filter: UsageFilter): Promise<BookedRow[]>
  /** The attempts of a request that have rows of their own, in the order in which they were given up. */
  attemptsOf(requestId: string): Promise<BookedRow[]>
  /**
   * All rows of a filter, newest first, in slices. A slice is read when the caller asks for it; between two slices nothing
   * is held in the store.
   */
  usageSlices(filter: Omit<UsageFilter, 'limit'>): AsyncGenerator<BookedRow[]>
  /** Totals of usage, in the order of `by`. Throws SummaryRefused. */
  summary(query: SummaryQuery): Promise<SummaryRow[]>
  /** How all models fared since the beginning of an hour. */
  modelFigures(fromMs: number): Promise<ModelFigures[]>
  /** How the models of a group fared, day by day from the day of `fromMs` on, oldest first. */
  modelDays(group: string, fromMs: number): Promise<ModelDay[]>
  /** Hours in which models of a group failed, newest first. */
  failingHours(group: string, query: FailingQuery): Promise<ModelHour[]>
  /** Puts sums right that are not what the rows come to, and returns how many were wrong. */
  rebuildSums(): Promise<number>
  /** Keeps refusals: of each key and reason at most ten in a minute. */
  recordRefusals(batch: readonly Refusal[]): Promise<void>
  refusal(requestId: string): Promise<Refusal | null>
  /** Deletes about `limit` refusals of before `beforeMs`, and returns how many. */
  pruneRefusals(beforeMs: number, limit: number): Promise<number>
  /** Rows of requests before this moment, in ms since 1970, may have been deleted. */
  prunedBefore(): Promise<number>
  /** What `pruneUsage` would delete in all. */
  prunable(beforeMs: number): Promise<{ rows: number; charge: Micro }>
  /** Deletes up to `limit` rows of requests before `beforeMs`, keeps their charges as sums, and returns how many. */
  pruneUsage(beforeMs: number, limit: number): Promise<number>
}
