/**
 * The tables of an account's own ledger.
 *
 * `entries` has a row for everything that is paid into an account or taken out of it by a decision: opening balances,
 * top-ups, payments, adjustments, refunds. Rows are only ever inserted. The key `seq` numbers them in the order in which
 * they are booked. Charges of requests are no entries.
 *
 * `charged_hours` has the sum of the charges of an account for each hour in which some were booked. Statements show them
 * by days, and days of every time zone with whole hours are made of such hours. The sums outlive the rows of the usage
 * log, which may be pruned.
 */
import type { Table } from './tables.ts'

export const ENTRIES: Table = {
  name: 'entries',
  columns: {
    seq: 'auto',
    account_id: 'int',
    kind: 'code',
    reference: 'name',
    // The reference of a payment, which counts once in the whole store; null for the other kinds.
    payment: 'name?',
    // What is added to the balance; negative when it is taken away.
    amount: 'int',
    // By the store's clock; ms since 1970. It never falls from one entry of an account to the next.
    booked_at_ms: 'int',
    actor: 'name',
    note: 'doc',
  },
  key: ['seq'],
  unique: [['account_id', 'reference'], ['payment']],
  index: [['account_id', 'booked_at_ms', 'seq', 'amount']],
}

export const CHARGED_HOURS: Table = {
  name: 'charged_hours',
  // hour_no: counted from 1970 in UTC, by the store's clock at the moment of booking.
  columns: { account_id: 'int', hour_no: 'int', charge: 'int' },
  key: ['account_id', 'hour_no'],
}
