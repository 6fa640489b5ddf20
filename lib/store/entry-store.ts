/** The part of the store's interface that is about an account's own ledger: its entries, and its charges by time of booking. */
import type { Micro } from '../base/money.ts'
import type { Act } from '../base/people.ts'

/**
 * `topup`: by an administrator; `payment`: proven by a provider; `release`: the end of a freeze; `settlement`: what an operator
 * charges of a dispute.
 */
export type EntryKind =
  | 'opening'
  | 'topup'
  | 'payment'
  | 'adjustment'
  | 'refund'
  | 'freeze'
  | 'release'
  | 'reversal'
  | 'settlement'

export interface NewEntry {
  kind: EntryKind
  /** What is added to the balance; negative when it is taken away. */
  amount: Micro
  /** Unique within the account; that of a payment in the whole store. */
  reference: string
  /** Who decided. */
  actor: string
  note: string
}

export interface Entry extends NewEntry {
  /** Its number in the order of booking. */
  seq: number
  /** By the store's clock; ms since 1970. */
  bookedAtMs: number
}

/**
 * What became of a new entry. `same`: the account has an entry of this kind, amount and reference already. `conflict`: it
 * has another one under this reference, or another account has this payment. `short`: a debit is more than `available`,
 * which is the credit without all charges and leases.
 */
export type Booked =
  | { outcome: 'created' | 'same'; entry: Entry }
  | { outcome: 'conflict' }
  | { outcome: 'short'; available: Micro }

export interface BookFilter {
  /** ms since 1970, inclusive; the beginning of an hour. */
  fromMs: number
  /** ms since 1970, exclusive; the beginning of an hour. */
  toMs: number
  /** Only entries with a smaller number. */
  beforeSeq?: number
  /** Only charges of hours before this moment; ms since 1970, the beginning of an hour. */
  chargesToMs?: number
  /** The most entries to read. */
  limit: number
}

/** A part of an account's ledger, read at one moment. */
export interface BookPage {
  /** Newest first. */
  entries: Entry[]
  /** Charges by the hour in which they were booked, newest first; `atMs` is the beginning of the hour. */
  charges: { atMs: number; charge: Micro }[]
  /** The balance after everything in the page and before it. */
  balance: Micro
}

export interface EntryStore {
  /**
   * Books an entry once. A debit (a negative amount) is booked only if that much is free: neither charged nor leased to
   * any process. A `forced` debit is always booked, and recalls the leases in the same transaction.
   */
  addEntry(accountId: number, entry: NewEntry, act: Act, forced?: boolean): Promise<Booked>
  /** A part of the ledger of an account. Charges are read for the time that the entries of the page span. */
  book(accountId: number, filter: BookFilter): Promise<BookPage>
}
