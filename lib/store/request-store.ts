/**
 * The part of the store's interface that serves the people of one account: their requests page by page, the requests that
 * were refused, the names of their keys, and the balance of which they want to be warned. Every call names the account.
 */
import type { Micro } from '../base/money.ts'
import type { Outcome } from '../terms/usage-row.ts'
import type { Act } from '../base/people.ts'
import type { Basis, End, Protocol } from '../terms/records.ts'
import type { BookedRow, Refusal } from './usage-store.ts'

/** Whose rows are meant: those of an account, or of some of its keys. */
export interface AccountKeys {
  accountId: number
  /** null = all keys of the account, deleted ones too. */
  keyIds: readonly number[] | null
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
}

/** Rows newest first. */
export interface Page<T> {
  rows: T[]
  /** Where the next page begins; null = there is none. */
  next: string | null
  /**
   * Not null: the page is not full because enough rows were looked at. All rows from this moment on (ms since 1970) have
   * been looked at.
   */
  scannedToMs: number | null
}

export interface RefusalFilter extends AccountKeys {
  model?: string
  reason?: string
  fromMs?: number
  toMs?: number
}

/** What a key is called, also a deleted one. */
export interface KeyLabel {
  id: number
  publicId: string
  name: string
  deleted: boolean
}

export interface RequestStore {
  /** Requests, one row for each. A page without account-wide filters takes one range of an index. */
  requestPage(filter: RequestFilter, paging: Paging): Promise<Page<BookedRow>>
  /** Requests with this id, with this id of the client's own, or whose answer has this id; newest first, some dozens. */
  requestsOfId(whose: AccountKeys, id: string): Promise<BookedRow[]>
  refusalPage(filter: RefusalFilter, paging: Paging): Promise<Page<Refusal>>
  /** By the ids of keys; a key of another account is not in it. */
  keyLabels(accountId: number, ids: readonly number[]): Promise<Map<number, KeyLabel>>
  /** Of all keys that a user made in an account, deleted ones too. */
  keyIdsOf(accountId: number, userId: number): Promise<number[]>
  keyLabelOf(accountId: number, publicId: string): Promise<KeyLabel | null>
  /** When the account's first entry or charge was booked; ms since 1970, to the hour. null = there is none. */
  firstBookedMs(accountId: number): Promise<number | null>
  /** The balance below which the account's people want to be warned; null = never. */
  lowBalance(accountId: number): Promise<Micro | null>
  setLowBalance(accountId: number, amount: Micro | null, act: Act): Promise<void>
}
