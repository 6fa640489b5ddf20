/** What can be asked of the log of usage and its sums, and what is answered. Every call of people names the account. */
import type { Micro } from '../../base/money.ts'
import type { Basis, End, Outcome } from '../../terms/usage-row.ts'
import type { Protocol } from '../../protocols/names.ts'
import type { ReportedSum } from './rows.ts'

/** What rows can be filtered by beside account, key and time. */
export interface UsageTraits {
  model?: string
  group?: string
  channel?: string
  protocol?: Protocol
  outcome?: Outcome
}

/** The owner of the rows: everybody, an account or a key. */
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
  /** The times to the first byte of requests that were answered: their sum, and their number by `FIRST_BYTE_BOUNDS_MS`. */
  firstBytes?: { sumMs: number; buckets: number[] }
}

/** What is ranked by its charge. */
export interface LargestQuery extends SummaryQuery {
  by: readonly ['model' | 'key' | 'group' | 'protocol']
}

export interface Largest {
  /** Ids of keys, or names; the highest charge first. */
  values: (string | number)[]
  /** How many there are, with those that were left out. */
  count: number
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

export interface SendersQuery {
  by: 'account' | 'key'
  nowMs: number
  /** The beginning of the hours that count as the present, ms since 1970. */
  nowFromMs: number
  /** How many whole days before today are the past. */
  days: number
}

/** What an account or a key has sent lately. Charges are micro-CNY. */
export interface Sender {
  id: number
  requests: number
  charge: number
  /** On days of the past on which it sent anything, of which there were so many; null = there were none. */
  usual: { requests: number; charge: number; days: number } | null
}

/** A request of a known key that was refused before any upstream was asked. */
export interface RefusedRequest {
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
  answered: number
  /** Requests in which the upstream failed. */
  failed: number
  /** How many answers had their first byte within each bucket of FIRST_BYTE_BOUNDS_MS; the last one has no bound. */
  firstByte: readonly number[]
}

/** A day of the zone that was asked for, or a part of it. */
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

/** Absent fields do not filter. */
export interface RequestFilter extends AccountKeys {
  model?: string
  group?: string
  protocol?: Protocol
  outcome?: Outcome
  /** ms since 1970, inclusive. */
  fromMs?: number
  /** ms since 1970, exclusive. */
  toMs?: number
  /** The first digit of the status. */
  statusClass?: number
  end?: End
  basis?: Basis
  chargeFrom?: Micro
  durationFromMs?: number
}

export interface Paging {
  /** The `next` of another page. A text that no page gave means a place too, and does no harm. */
  after?: string
  limit: number
  /** The most rows that may be looked at for one page. */
  mostScanned?: number
  /** From the oldest on, and not from the newest. */
  ascending?: boolean
}

/** Rows in the order that was asked for. */
export interface Page<T> {
  rows: T[]
  /** Where the next page begins; null = there is none. */
  next: string | null
  /**
   * Not null: the page is not full because enough rows were looked at. From where it begins, all rows up to this moment (ms
   * since 1970) have been looked at.
   */
  scannedToMs: number | null
}

export interface RefusalFilter extends Pick<AccountKeys, 'keyIds'> {
  /** Absent: of all accounts. */
  accountId?: number
  address?: string
  model?: string
  reason?: string
  fromMs?: number
  toMs?: number
}

/** The owner of the rows: an account, or some of its keys. */
export interface AccountKeys {
  accountId: number
  /** null = all keys of the account, deleted ones too. */
  keyIds: readonly number[] | null
}

/** How long something may be decided. What was not is waived then. */
export const DISPUTE_DAYS = 30
export const DISPUTE_OPEN_MS = DISPUTE_DAYS * 86_400_000
