/** The rows of the usage log: their columns, how they are inserted, and how they are read back. */
import { timeOfId } from '../../base/ids.ts'
import { outcomeOf } from '../../terms/outcome.ts'
import type { UsageRow } from '../../terms/records.ts'
import type { Param, Row, Statements } from '../driver.ts'
import type { BookedRow } from '../store.ts'
import { NAME_LENGTH } from '../tables.ts'
import { LINE_CLASSES, LINE_SUMS, ROW_COUNTS } from '../usage-sums.ts'
import { USAGE_LOG } from '../usage-tables.ts'
import { answerKey } from './answers.ts'
import { count, integer, integerOrNull, money, moneyOrNull, orNull, text, textOrNull } from './text.ts'

const CODE_LENGTH = 64
/** In the order of the columns; `seq` is numbered by the engine, and `booked_at_ms` stands last. */
const INSERTED = Object.keys(USAGE_LOG.columns).filter(name => name !== 'seq' && name !== 'booked_at_ms')
const INTO = `INSERT INTO usage_log (${[...INSERTED, 'booked_at_ms'].join(', ')})`
const MARKS = INSERTED.map(() => '?').join(', ')
export const USAGE_COLUMNS = Object.keys(USAGE_LOG.columns).join(', ')

/** Cuts a name to its column's length: a row that the engine refuses would be retried for ever. */
const cut = (value: string, length = NAME_LENGTH) => (value.length > length ? value.slice(0, length) : value)
const cutOrNull = (value: string | null, length = NAME_LENGTH) => (value === null ? null : cut(value, length))
const whole = (ms: number | null) => (ms === null ? null : Math.round(ms))

/** The names of a row as its columns hold them, which the sums use too. */
export const storedNames = (row: UsageRow) => ({
  model: cut(row.model),
  group: cut(row.group),
  channel: cut(row.channel),
})

/** In the order of LINE_SUMS. */
export function lineSums({ lines }: UsageRow): number[] {
  const sums = new Map<string, number>(LINE_SUMS.map(name => [name, 0]))
  for (const { class: name, count: more } of lines) {
    const sum = (LINE_CLASSES as Record<string, string>)[name]
    if (sum !== undefined) sums.set(sum, (sums.get(sum) as number) + more)
  }
  return [...sums.values()]
}

const detailOf = ({ lines, attempts }: UsageRow): string | null =>
  lines.length === 0 && attempts.length === 0 ? null : JSON.stringify({ lines, attempts })

/** In the order of INSERTED. */
export function usageValues(row: UsageRow): Param[] {
  const { model, group, channel } = storedNames(row)
  return [
    row.requestId,
    timeOfId(row.requestId),
    row.accountId,
    row.keyId,
    group,
    row.protocol,
    model,
    channel,
    row.status,
    row.end,
    outcomeOf(row),
    row.basis,
    row.charge,
    row.cost,
    row.held,
    whole(row.firstByteMs),
    Math.round(row.durationMs),
    whole(row.askedMs),
    ...ROW_COUNTS.map(name => orNull(row[name])),
    ...lineSums(row).map(orNull),
    row.priceVersion,
    row.multiplier,
    row.via,
    row.answerId === null ? null : answerKey(row.answerId),
    cutOrNull(row.upstreamKey, CODE_LENGTH),
    cutOrNull(row.upstreamId),
    cutOrNull(row.clientRequestId),
    detailOf(row),
  ]
}

/** Throws DuplicateKey when one of the requests is in the log already. */
export const insertBooked = (tx: Statements, rows: readonly (readonly [UsageRow, bookedAtMs: number])[]) =>
  tx.insert(
    { into: INTO, row: `(${MARKS}, ?)` },
    rows.map(([row, bookedAtMs]) => [...usageValues(row), bookedAtMs]),
  )

export function toBookedRow(row: Row): BookedRow {
  const { lines = [], attempts = [] } = JSON.parse(textOrNull(row, 'detail') ?? '{}') as Partial<UsageRow>
  return {
    seq: integer(row, 'seq'),
    bookedAtMs: integer(row, 'booked_at_ms'),
    requestId: text(row, 'request_id'),
    accountId: integer(row, 'account_id'),
    keyId: integer(row, 'key_id'),
    group: text(row, 'group_name'),
    protocol: text(row, 'protocol') as UsageRow['protocol'],
    model: text(row, 'model'),
    channel: text(row, 'channel'),
    status: integer(row, 'status'),
    end: text(row, 'ended') as UsageRow['end'],
    outcome: text(row, 'outcome') as BookedRow['outcome'],
    basis: text(row, 'basis') as UsageRow['basis'],
    charge: money(row, 'charge'),
    cost: moneyOrNull(row, 'cost'),
    held: moneyOrNull(row, 'held'),
    firstByteMs: integerOrNull(row, 'first_byte_ms'),
    durationMs: integer(row, 'duration_ms'),
    askedMs: integerOrNull(row, 'asked_ms'),
    input: count(row, 'input'),
    cache_read: count(row, 'cache_read'),
    cache_write_5m: count(row, 'cache_write_5m'),
    cache_write_1h: count(row, 'cache_write_1h'),
    output: count(row, 'output'),
    images: count(row, 'images'),
    priceVersion: integerOrNull(row, 'price_version'),
    multiplier: integerOrNull(row, 'multiplier'),
    via: textOrNull(row, 'via') as UsageRow['via'],
    answerId: textOrNull(row, 'answer_id'),
    upstreamKey: textOrNull(row, 'upstream_key'),
    upstreamId: textOrNull(row, 'upstream_id'),
    clientRequestId: textOrNull(row, 'client_request_id'),
    lines,
    attempts,
  }
}
