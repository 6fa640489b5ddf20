/** The rows of the usage log: their columns, how they are inserted, and how they are read back. */
import { NAME_LENGTH, type Table } from '../base/tables.ts'
import { timeOfId } from '../../base/ids.ts'
import { ZERO } from '../../base/money.ts'
import { detailText, type Outcome, outcomeOf, readDetail } from '../../terms/usage-row.ts'
import { type UsageRow, isToolFee } from '../../terms/records.ts'
import type { Param, Row, Transaction } from '../base/driver.ts'
import { count, integer, integerOrNull, marks, money, microOrNull, orNull, text, textOrNull } from '../base/text.ts'
import { createHash } from 'node:crypto'

/** Counts that only the lines of a receipt tell apart, by the class of the line. */
const LINE_CLASSES = {
  input_audio: 'input_audio',
  input_image: 'input_image',
  cache_read_audio: 'cache_read_audio',
  cache_read_image: 'cache_read_image',
  output_audio: 'output_audio',
  output_image: 'output_image',
  web_search: 'searches',
  second: 'seconds',
  character: 'characters',
} as const
/** Of tools of the upstream all pieces are one count, whatever they are: the lines tell them apart. */
const TOOL_SUM = 'tool_calls'
export const LINE_SUMS = [...Object.values(LINE_CLASSES), TOOL_SUM] as const

/** Counts of a row. */
export const ROW_COUNTS = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'images'] as const

/** The sums that a report shows. They stand before those of the first byte, so that reading them skips the others. */
export const REPORTED_SUMS = ['requests', ...ROW_COUNTS, 'charge', 'cost', ...LINE_SUMS] as const
export type ReportedSum = (typeof REPORTED_SUMS)[number]

/** Upper bounds of the first eleven buckets of the time to the first byte, in ms; the twelfth has no bound. */
export const FIRST_BYTE_BOUNDS_MS = [100, 200, 400, 700, 1_000, 1_500, 2_500, 5_000, 10_000, 20_000, 60_000] as const

/** Counts of which most are 0. A 0 is written as NULL, which takes next to no room, in the table and on the way to it. */
export const countColumns = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, 'int?'] as const))

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
    ...countColumns(ROW_COUNTS),
    // Summed, but shown only by the lines of the receipt.
    ...countColumns(LINE_SUMS),
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

const CODE_LENGTH = 64
/** In the order of the columns, but `booked_at_ms` stands last; `seq` is numbered by the engine. */
const INSERTED = [
  ...Object.keys(USAGE_LOG.columns).filter(name => name !== 'seq' && name !== 'booked_at_ms'),
  'booked_at_ms',
]
const INTO = `INSERT INTO usage_log (${INSERTED.join(', ')})`
const MARKS = marks(INSERTED.length)
export const USAGE_COLUMNS = Object.keys(USAGE_LOG.columns).join(', ')

/** A row of the usage log as it is in the books. */
export interface BookedRow extends UsageRow {
  /** Its number in the order of booking. */
  seq: number
  /** By the store's clock; ms since 1970. */
  bookedAtMs: number
  outcome: Outcome
}

/** Cuts a name to its column's length: a row that the engine refuses would be retried for ever. */
export const cut = (value: string, length = NAME_LENGTH) => (value.length > length ? value.slice(0, length) : value)
const cutOrNull = (value: string | null, length = NAME_LENGTH) => (value === null ? null : cut(value, length))
const whole = (ms: number | null) => (ms === null ? null : Math.round(ms))

/** The place of each class of lines in LINE_SUMS. */
const PLACES: ReadonlyMap<string, number> = new Map(
  Object.entries(LINE_CLASSES).map(([name, sum]) => [name, LINE_SUMS.indexOf(sum)]),
)
const TOOL_PLACE = LINE_SUMS.indexOf(TOOL_SUM)
const NO_LINES: readonly number[] = LINE_SUMS.map(() => 0)

/** In the order of LINE_SUMS. */
export function lineSums({ lines }: UsageRow): readonly number[] {
  let sums = NO_LINES
  for (const { class: name, count: more } of lines) {
    const place = PLACES.get(name) ?? (isToolFee(name) ? TOOL_PLACE : undefined)
    if (place === undefined) continue
    if (sums === NO_LINES) sums = NO_LINES.slice()
    ;(sums as number[])[place]! += more
  }
  return sums
}

/**
 * In the order of INSERTED. This is one literal because it is made for each request: a list that grew would be copied, and
 * one with holes is slow to send to another thread.
 */
export function usageValues(row: UsageRow, bookedAtMs: number): Param[] {
  const sums = lineSums(row)
  const sum = (place: number) => orNull(sums[place] as number)
  return [
    row.requestId,
    timeOfId(row.requestId),
    row.accountId,
    row.keyId,
    cut(row.group),
    row.protocol,
    cut(row.model),
    cut(row.channel),
    row.status,
    row.end,
    outcomeOf(row),
    row.basis,
    row.charge,
    row.cost,
    orNull(row.disputed),
    row.held,
    whole(row.firstByteMs),
    Math.round(row.durationMs),
    whole(row.askedMs),
    orNull(row.input),
    orNull(row.cache_read),
    orNull(row.cache_write_5m),
    orNull(row.cache_write_1h),
    orNull(row.output),
    orNull(row.images),
    sum(0),
    sum(1),
    sum(2),
    sum(3),
    sum(4),
    sum(5),
    sum(6),
    sum(7),
    sum(8),
    sum(9),
    row.priceVersion,
    row.multiplier,
    row.via,
    row.hiddenRatio,
    row.answerId === null ? null : answerKey(row.answerId),
    cutOrNull(row.upstreamKey, CODE_LENGTH),
    cutOrNull(row.upstreamId),
    cutOrNull(row.clientRequestId),
    detailText(row),
    bookedAtMs,
  ]
}

/** Throws DuplicateKey when one of the requests is in the log already. */
export const insertBooked = (tx: Transaction, rows: readonly UsageRow[], bookedAtMs: (row: UsageRow) => number) =>
  tx.insert(
    { into: INTO, row: `(${MARKS})` },
    rows.map(row => usageValues(row, bookedAtMs(row))),
  )

export function toBookedRow(row: Row): BookedRow {
  const asked = {
    model: text(row, 'model'),
    priceVersion: integerOrNull(row, 'price_version'),
    channel: text(row, 'channel'),
    status: integer(row, 'status'),
  }
  return {
    ...asked,
    ...readDetail(asked, textOrNull(row, 'detail')),
    seq: integer(row, 'seq'),
    bookedAtMs: integer(row, 'booked_at_ms'),
    requestId: text(row, 'request_id'),
    accountId: integer(row, 'account_id'),
    keyId: integer(row, 'key_id'),
    group: text(row, 'group_name'),
    protocol: text(row, 'protocol') as UsageRow['protocol'],
    end: text(row, 'ended') as UsageRow['end'],
    outcome: text(row, 'outcome') as BookedRow['outcome'],
    basis: text(row, 'basis') as UsageRow['basis'],
    charge: money(row, 'charge'),
    cost: microOrNull(row, 'cost'),
    disputed: microOrNull(row, 'disputed') ?? ZERO,
    held: microOrNull(row, 'held'),
    firstByteMs: integerOrNull(row, 'first_byte_ms'),
    durationMs: integer(row, 'duration_ms'),
    askedMs: integerOrNull(row, 'asked_ms'),
    input: count(row, 'input'),
    cache_read: count(row, 'cache_read'),
    cache_write_5m: count(row, 'cache_write_5m'),
    cache_write_1h: count(row, 'cache_write_1h'),
    output: count(row, 'output'),
    images: count(row, 'images'),
    multiplier: integerOrNull(row, 'multiplier'),
    via: textOrNull(row, 'via') as UsageRow['via'],
    hiddenRatio: integerOrNull(row, 'hidden_ratio'),
    answerId: textOrNull(row, 'answer_id'),
    upstreamKey: textOrNull(row, 'upstream_key'),
    upstreamId: textOrNull(row, 'upstream_id'),
    clientRequestId: textOrNull(row, 'client_request_id'),
  }
}

/** The value of the column `answer_id`: the id itself, or a digest of an id that is longer than the column. */
export const answerKey = (id: string): string =>
  id.length <= NAME_LENGTH ? id : `sha256:${createHash('sha256').update(id).digest('hex')}`
