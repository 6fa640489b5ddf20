/**
 * The tables of usage.
 *
 * `usage_log` has one row for each request that reached an upstream. Its key `seq` is numbered by the engine in the order
 * in which rows are booked, so new rows go to the end of the table; the request id is a unique index, which makes every
 * request count once. Three short indexes serve the pages of the log: by time of arrival alone, by account and by key.
 * The one by account also holds the charge, which is all that the audit sums. Other filters find their rows by the sums.
 * Two more find a request by the id of its answer, and by the id that the client gave it.
 *
 * `usage_sums` adds the rows up, for each hour and for each day, by everything that usage is filtered and grouped by,
 * for each hour and day of an account without its keys and channels, for each day of a key and nothing else, and for each
 * day of all accounts together. It is raised in the transaction that inserts the rows, and keeps the sums of rows that are pruned. See `sql/sums.ts`.
 *
 * `disputes` has a row for each request of which its upstream reported more than the request can have caused. Rows outlive those
 * of the log, and change once, when somebody decides what becomes of it.
 *
 * `refusals` are requests of known keys that reached no upstream. They are no part of the books.
 */
import type { Table } from './tables.ts'
import { FIRST_BYTE_BOUNDS_MS, LINE_SUMS, REPORTED_SUMS, ROW_COUNTS } from './usage-sums.ts'

const ints = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, 'int'] as const))
/** Counts of which most are 0. A 0 is written as NULL, which takes next to no room, in the table and on the way to it. */
const counts = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, 'int?'] as const))

export const USAGE_LOG: Table = {
  name: 'usage_log',
  columns: {
    seq: 'auto',
    request_id: 'code',
    // When the request arrived, as its id says, and when it was booked, by the store's clock; ms since 1970.
    at_ms: 'int',
    booked_at_ms: 'int',
    account_id: 'int',
    key_id: 'int',
    group_name: 'name',
    protocol: 'code',
    model: 'name',
    channel: 'name',
    status: 'int',
    ended: 'code',
    outcome: 'code',
    basis: 'code',
    charge: 'int',
    cost: 'int?',
    disputed: 'int?',
    held: 'int?',
    first_byte_ms: 'int?',
    duration_ms: 'int',
    asked_ms: 'int?',
    ...counts(ROW_COUNTS),
    // Summed, but shown only by the lines of the receipt.
    ...counts(LINE_SUMS),
    price_version: 'int?',
    multiplier: 'int?',
    via: 'code?',
    // In thousandths.
    hidden_ratio: 'int?',
    answer_id: 'name?',
    upstream_key: 'code?',
    upstream_id: 'name?',
    client_request_id: 'name?',
    // The lines of the receipt and the attempts, as JSON.
    detail: 'doc?',
  },
  key: ['seq'],
  unique: [['request_id']],
  index: [
    ['at_ms'],
    ['account_id', 'at_ms', 'seq', 'charge'],
    ['key_id', 'at_ms'],
    ['account_id', 'answer_id'],
    ['account_id', 'client_request_id'],
  ],
}

/**
 * An hour or a day of one key; a day of all accounts together, whose `account_id` and `key_id` are 0; an hour of a model in
 * a group over all accounts, channels and protocols, which says how the model fares and has no money in it (see
 * `sql/model-hours.ts`); an hour or a day of one account, whose `key_id` is 0 and whose channel is empty, because an account
 * may have thousands of keys; and a day of one key over all that it was used for, with every name but the outcome empty,
 * which is what thousands of keys are compared by.
 */
export const GRAIN = { hour: 1, day: 2, dayOfAll: 3, hourOfModel: 4, accountHour: 5, accountDay: 6, keyDay: 7 } as const

/**
 * The order in which sums are raised. All gateways have the same one, so that two transactions never wait for each other.
 * Those over all accounts are what all gateways raise at once, so they come last.
 */
export const RAISED = [
  GRAIN.hour,
  GRAIN.day,
  GRAIN.keyDay,
  GRAIN.accountHour,
  GRAIN.accountDay,
  GRAIN.dayOfAll,
  GRAIN.hourOfModel,
] as const

/** Outcomes that say something of a model: the others are the client's doing, or no request. */
export const TELLING_OUTCOMES = ['ok', 'upstream'] as const

/** What sums are kept by. The order is that of the key. */
export const SUM_KEY = [
  // What the sums are of, see GRAIN.
  'grain',
  // The hour, or the first hour of the day, counted from 1970 in UTC.
  'hour_no',
  'account_id',
  'key_id',
  'model',
  'group_name',
  'channel',
  'protocol',
  'outcome',
] as const

export const FIRST_BYTE_BUCKETS = [...FIRST_BYTE_BOUNDS_MS.map((_, i) => `first_byte_${i}`), 'first_byte_11'] as const

export const SUM_COLUMNS: readonly string[] = [...REPORTED_SUMS, 'first_byte_ms', ...FIRST_BYTE_BUCKETS]

export const USAGE_SUMS: Table = {
  name: 'usage_sums',
  columns: {
    ...ints(['grain', 'hour_no', 'account_id', 'key_id']),
    model: 'name',
    group_name: 'name',
    channel: 'name',
    protocol: 'code',
    outcome: 'code',
    ...counts(SUM_COLUMNS),
  },
  key: [...SUM_KEY],
}

export const DISPUTES: Table = {
  name: 'disputes',
  // state: open, charged or waived. charged: what an entry of the account took of the amount.
  columns: {
    request_id: 'code',
    account_id: 'int',
    channel: 'name',
    amount: 'int',
    state: 'code',
    charged: 'int?',
  },
  key: ['request_id'],
  index: [['state', 'request_id']],
}

export const REFUSALS: Table = {
  name: 'refusals',
  // minute: since 1970. slot: 0 to 9, so that the key itself bounds how many there are of one key and reason in a minute.
  columns: {
    minute: 'int',
    key_id: 'int',
    reason: 'code',
    slot: 'int',
    request_id: 'code',
    at_ms: 'int',
    account_id: 'int',
    model: 'name',
    status: 'int',
    address: 'code',
  },
  key: ['minute', 'key_id', 'reason', 'slot'],
  unique: [['request_id']],
  index: [['account_id', 'at_ms', 'request_id']],
}
