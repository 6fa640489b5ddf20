/**
 * The rows of the usage log. `FIELDS` is the one list of what a usage row keeps: the table, what is inserted and read back, and the
 * records of the journal follow from it. A new field stands in `UsageRow` (`lib/terms/usage-row.ts`) and here. Its values come from
 * `lib/exchange/relay/charge.ts`: that of a request, and in `UNCHARGED` that of an attempt which costs nobody but the operator. People
 * see it by a row of `lib/operations/usage/columns.ts`.
 */
import { CODE_LENGTH, NAME_LENGTH, type Table } from '../base/tables.ts'
import { timeOfId } from '../../base/ids.ts'
import { type Micro, ZERO } from '../../base/money.ts'
import { detailText, type Outcome, outcomeOf, readDetail, type UsageRow } from '../../terms/usage-row.ts'
import { isToolFee } from '../../protocols/words/usage.ts'
import type { Param, Row, Transaction } from '../base/driver.ts'
import { count, integer, integerOrNull, binds, money, microOrNull, orNull, text, textOrNull } from '../base/text.ts'
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
/** The count of all pieces of tools of the upstream, whatever they are: the lines tell them apart. */
const TOOL_SUM = 'tool_calls'
export const LINE_SUMS = [...Object.values(LINE_CLASSES), TOOL_SUM] as const

export const ROW_COUNTS = ['input', 'cache_read', 'cache_write_5m', 'cache_write_1h', 'output', 'images'] as const

/** The sums that a report shows; `uncosted` is what requests were charged whose cost nobody knows. They stand before those of the first byte, so that reading them skips the others. */
export const REPORTED_SUMS = ['requests', ...ROW_COUNTS, 'charge', 'cost', 'uncosted', ...LINE_SUMS] as const
export type ReportedSum = (typeof REPORTED_SUMS)[number]

/** Upper bounds of the first eleven buckets of the time to the first byte, in ms; the twelfth has no bound. */
export const FIRST_BYTE_BOUNDS_MS = [100, 200, 400, 700, 1_000, 1_500, 2_500, 5_000, 10_000, 20_000, 60_000] as const

/** Counts of which most are 0. A 0 is written as NULL, which takes next to no room, in the table and on the way to it. */
export const countColumns = (names: readonly string[]) => Object.fromEntries(names.map(name => [name, 'int?'] as const))

/** A row of the usage log as it is in the books. */
export interface BookedRow extends UsageRow {
  /** The row's number in the order of booking. */
  seq: number
  /** By the store's clock; ms since 1970. */
  bookedAtMs: number
  outcome: Outcome
}

/** Cuts a name to its column's length: a row that the engine refuses would be retried for ever. */
export const cut = (value: string, length = NAME_LENGTH) => (value.length > length ? value.slice(0, length) : value)
const cutOrNull = (value: string | null, length = NAME_LENGTH) => (value === null ? null : cut(value, length))

/** The value of the column `answer_id`: the id itself, or a digest of an id that is longer than the column. */
export const answerKey = (id: string): string =>
  id.length <= NAME_LENGTH ? id : `sha256:${createHash('sha256').update(id).digest('hex')}`

/** How a value stands in a column: the column's type, what is written, and how it is read. */
interface Encoding<T> {
  type: Table['columns'][string]
  write(value: T): Param
  read(row: Row, column: string): T
}
const same = <T extends Param>(value: T): T => value
const INT: Encoding<number> = { type: 'int', write: same, read: integer }
const INT_OR_NULL: Encoding<number | null> = { type: 'int?', write: same, read: integerOrNull }
/** A 0 is written as NULL, which takes next to no room, in the table and on the way to it. */
const COUNT: Encoding<number> = { type: 'int?', write: orNull, read: count }
const MS: Encoding<number> = { type: 'int', write: Math.round, read: integer }
const MS_OR_NULL: Encoding<number | null> = {
  type: 'int?',
  write: ms => (ms === null ? null : Math.round(ms)),
  read: integerOrNull,
}
const MONEY: Encoding<Micro> = { type: 'int', write: same, read: money }
const MONEY_OR_NULL: Encoding<Micro | null> = { type: 'int?', write: same, read: microOrNull }
const SELDOM_MONEY: Encoding<Micro> = { type: 'int?', write: orNull, read: (row, at) => microOrNull(row, at) ?? ZERO }
const NAME: Encoding<string> = { type: 'name', write: value => cut(value), read: text }
const NAME_OR_NULL: Encoding<string | null> = { type: 'name?', write: value => cutOrNull(value), read: textOrNull }
const ANSWER_ID: Encoding<string | null> = {
  type: 'name?',
  write: id => (id === null ? null : answerKey(id)),
  read: textOrNull,
}
const FINGERPRINT: Encoding<string | null> = {
  type: 'code?',
  write: value => cutOrNull(value, CODE_LENGTH),
  read: textOrNull,
}
/** A word of the program's own, of which `T` are all that there are. */
const code = <T extends string>(): Encoding<T> => ({ type: 'code', write: same, read: text as Encoding<T>['read'] })

/** What of a row has columns of its own. Its lines and attempts stand in `detail` as one text. */
type Field = Exclude<keyof UsageRow, 'lines' | 'attempts'>
export type RowFields = Pick<UsageRow, Field>
/** Every field of a usage row with its column, in the order of the journal and of the table. */
export const FIELDS: { readonly [F in Field]: readonly [column: string, encoding: Encoding<UsageRow[F]>] } = {
  requestId: ['request_id', code()],
  accountId: ['account_id', INT],
  keyId: ['key_id', INT],
  group: ['group_name', NAME],
  protocol: ['protocol', code()],
  model: ['model', NAME],
  channel: ['channel', NAME],
  status: ['status', INT],
  end: ['ended', code()],
  basis: ['basis', code()],
  input: ['input', COUNT],
  cache_read: ['cache_read', COUNT],
  cache_write_5m: ['cache_write_5m', COUNT],
  cache_write_1h: ['cache_write_1h', COUNT],
  output: ['output', COUNT],
  images: ['images', COUNT],
  charge: ['charge', MONEY],
  firstByteMs: ['first_byte_ms', MS_OR_NULL],
  durationMs: ['duration_ms', MS],
  answerId: ['answer_id', ANSWER_ID],
  upstreamKey: ['upstream_key', FINGERPRINT],
  priceVersion: ['price_version', INT_OR_NULL],
  multiplier: ['multiplier', INT_OR_NULL],
  held: ['held', MONEY_OR_NULL],
  disputed: ['disputed', SELDOM_MONEY],
  cost: ['cost', MONEY_OR_NULL],
  askedMs: ['asked_ms', MS_OR_NULL],
  upstreamId: ['upstream_id', NAME_OR_NULL],
  clientRequestId: ['client_request_id', NAME_OR_NULL],
  via: ['via', { type: 'code?', write: same, read: textOrNull as Encoding<UsageRow['via']>['read'] }],
  hiddenRatio: ['hidden_ratio', INT_OR_NULL],
}

/** Times are kept in whole milliseconds, in the journal too. */
export const IN_MS: ReadonlySet<string> = new Set(
  Object.entries(FIELDS).flatMap(([field, [, encoding]]) =>
    encoding === MS || encoding === MS_OR_NULL ? [field] : [],
  ),
)

type AnyField = [field: Field, column: string, encoding: Encoding<unknown>]
const EACH = Object.entries(FIELDS).map(
  ([field, [column, encoding]]) => [field, column, encoding] as unknown as AnyField,
)

export const USAGE_LOG: Table = {
  name: 'usage_log',
  columns: {
    seq: 'auto',
    // When the request arrived, as its id says, and when it was booked, by the store's clock; ms since 1970.
    at_ms: 'int',
    booked_at_ms: 'int',
    outcome: 'code',
    ...Object.fromEntries(EACH.map(([, column, { type }]) => [column, type] as const)),
    // Summed, but shown only by the lines of the receipt.
    ...countColumns(LINE_SUMS),
    // The lines of the receipt and the attempts, as JSON.
    detail: 'doc?',
  },
  key: ['seq'],
  unique: [['request_id']],
  index: [['at_ms'], ['account_id', 'at_ms', 'seq', 'charge'], ['key_id', 'at_ms']],
  sparse: [
    ['account_id', 'answer_id'],
    ['account_id', 'client_request_id'],
  ],
}
export const USAGE_COLUMNS = Object.keys(USAGE_LOG.columns).join(', ')

/** The place of each class of lines in LINE_SUMS. */
const PLACES: ReadonlyMap<string, number> = new Map(
  Object.entries(LINE_CLASSES).map(([name, sum]) => [name, LINE_SUMS.indexOf(sum)]),
)
const TOOL_PLACE = LINE_SUMS.indexOf(TOOL_SUM)

/** In the order of LINE_SUMS; null = each is 0. */
export function lineSums({ lines }: UsageRow): readonly number[] | null {
  let sums: number[] | null = null
  for (const { class: name, count: more } of lines) {
    const place = PLACES.get(name) ?? (isToolFee(name) ? TOOL_PLACE : undefined)
    if (place === undefined || more === 0) continue
    sums ??= LINE_SUMS.map(() => 0)
    sums[place]! += more
  }
  return sums
}

/**
 * A row on its way into the books: the fields that have columns of their own, and what its lines and attempts come to. The lines
 * themselves are no longer needed then.
 */
export interface RowToBook {
  fields: RowFields
  /** Lines and attempts as one text, see `detailText`. */
  detail: string | null
  /** In the order of LINE_SUMS; null = each is 0. */
  lineSums: readonly number[] | null
}

export const toBook = (row: UsageRow): RowToBook => ({ fields: row, detail: detailText(row), lineSums: lineSums(row) })

/** Which of some bits are set in a batch, or were in one of the last: so what depends on them seldom changes. */
export class SetLately {
  static readonly #BATCHES = 500
  #bits = 0
  #before = 0
  #left = SetLately.#BATCHES

  /** Adds the bits of a batch. */
  with(bits: number): number {
    if (this.#left-- === 0) {
      this.#before = this.#bits
      this.#bits = 0
      this.#left = SetLately.#BATCHES
    }
    this.#bits |= bits
    return this.#bits | this.#before
  }
}

const isSeldom = ([, , { type }]: AnyField) => type.endsWith('?')
const ID = EACH.filter(([field]) => field === 'requestId')
const ALWAYS = EACH.filter(field => !isSeldom(field) && field !== ID[0])
const SELDOM = EACH.filter(isSeldom)
const WITH_LINE_SUMS = 1 << SELDOM.length
const ALL = 2 * WITH_LINE_SUMS - 1
const NO_SUMS: readonly number[] = LINE_SUMS.map(() => 0)

// These functions are made from texts, once: loops over names of fields take several times as long, and this is done for each request.

/** The bits of what a row has a value of: of the fields of SELDOM, and of the sums of its lines. */
const bitsOf = new Function(
  'row',
  `const f = row.fields; return ${SELDOM.map(([field, , { write }], i) => `(f.${field} === ${write === orNull ? 0 : null} ? 0 : ${1 << i})`).join(' | ')} | (row.lineSums === null ? 0 : ${WITH_LINE_SUMS})`,
) as (row: RowToBook) => number

/**
 * How rows are inserted that have values of these bits alone: the text, and what of a row goes into it; `seq` is numbered by the engine.
 * Short values come first: a server reads a row up to each of its values.
 */
function formOf(bits: number) {
  const fields = [...ALWAYS, ...SELDOM.filter((_, i) => (bits & (1 << i)) !== 0)]
  const numbers = fields.filter(([, , { type }]) => type.startsWith('int'))
  const ordered = [...numbers, ...fields.filter(field => !numbers.includes(field)), ...ID]
  const sums = (bits & WITH_LINE_SUMS) === 0 ? [] : LINE_SUMS
  const columns = [...sums, ...ordered.map(([, column]) => column), 'outcome', 'at_ms', 'booked_at_ms', 'detail']
  const values = [
    ...sums.map((_, i) => `orNull(sums[${i}])`),
    ...ordered.map(([field, , { write }], i) => (write === same ? `f.${field}` : `write[${i}](f.${field})`)),
  ]
  const binder = new Function(
    ...['write', 'NO_SUMS', 'orNull', 'atOf', 'outcomeOf'],
    `return (row, bookedAtMs) => { const f = row.fields, sums = row.lineSums ?? NO_SUMS; return [${values.join(', ')}, outcomeOf(f), atOf(f.requestId), bookedAtMs, row.detail] }`,
  )
  return {
    bits,
    columns: columns.join(', '),
    insert: { into: `INSERT INTO usage_log (${columns.join(', ')})`, row: `(${binds(columns.length)})` },
    values: binder(
      ordered.map(([, , { write }]) => write),
      ...[NO_SUMS, orNull, timeOfId, outcomeOf],
    ) as (row: RowToBook, bookedAtMs: number) => Param[],
  }
}

/** All that a row may have, see `formOf`. */
export const { columns: INSERTED_COLUMNS, values: usageValues } = formOf(ALL)

const lately = new SetLately()
let form = formOf(0)

/**
 * Throws DuplicateKey when one of the requests is in the log already. Only columns of which a row has a value are named, or had one
 * lately, because the engine and the way to it take time for each value, also for NULL; and engines keep the text prepared.
 */
export function insertBooked(tx: Transaction, rows: readonly RowToBook[], bookedAtMs: number): Promise<void> {
  const bits = lately.with(rows.reduce((all, row) => all | bitsOf(row), 0))
  if (bits !== form.bits) form = formOf(bits)
  const { insert, values } = form
  return tx.insert(
    insert,
    rows.map(row => values(row, bookedAtMs)),
  )
}

export function toBookedRow(row: Row): BookedRow {
  const fields = Object.fromEntries(EACH.map(([field, column, { read }]) => [field, read(row, column)]))
  const read = fields as unknown as UsageRow
  return {
    ...read,
    ...readDetail(read, textOrNull(row, 'detail')),
    seq: integer(row, 'seq'),
    bookedAtMs: integer(row, 'booked_at_ms'),
    outcome: text(row, 'outcome') as Outcome,
  }
}
