/**
 * Settlements, and their one form as bytes: the records of the journal, which are also what the thread of the store is sent. A
 * settlement is encoded once, when its exchange ends.
 *
 * A record is a line: a CRC-32 in 8 hex digits, a space, and a JSON array of the mark of the format, the id of the store, and one
 * array per settlement of a commit group. A settlement's array has only values, in a fixed order, because field names would be
 * most of the bytes. The mark is a digest of that order, so it changes with every edit of it. Records with another mark are
 * those of another version of this program, and are left alone.
 */
import { crc32 } from 'node:zlib'
import type { JsonBytes } from '../../base/json-bytes.ts'
import type { Micro } from '../../base/money.ts'
import { readDetail, type UsageRow, writeDetail } from '../../terms/usage-row.ts'
import { FIELDS, type RowFields, IN_MS, lineSums, type RowToBook, toBook } from '../usage/rows.ts'
import type { PurseId } from './purses.ts'

/** The charge of one finished exchange, to be written into the books: its usage row, and which leases pay for it. */
export interface Settlement {
  row: UsageRow
  /** The process whose leases pay. */
  holder: string
  /** How much of the charge each lease pays. The rest, of an upstream that used more than was held, the purse pays. */
  fromAccountLease: Micro
  fromKeyLease: Micro
  /**
   * The other purses of the hold, which the charge counts in too: of the budget, and of the period of a cap that
   * renews. They are named because the period of a hold may be over when its charge comes.
   */
  limits: readonly { purse: PurseId; fromLease: Micro }[]
}

/** Settlements to be booked: as they are, or as the bytes of records, which have been checked. */
export type Batch = readonly Settlement[] | Uint8Array

/** The result of `store.books.settle`. Each settlement of the batch is either new or in one of the three lists. */
export interface Settled {
  /** How many were new and are in the books now. */
  applied: number
  /** Settlements that were in the books already, or came twice in the batch; they have been counted once. */
  repeated: readonly Settlement[]
  /** Not counted: the books have a different request under the same id. */
  clashing: readonly Settlement[]
  /** Not counted: usage rows of that age have been pruned, so nobody can say whether it had been counted before. */
  unsure: readonly Settlement[]
}

/** A settlement as the books take it. `index`: its place in the batch. */
export interface Booking extends RowToBook, Omit<Settlement, 'row'> {
  index: number
}

/** What a settlement's array has after its row's fields: `limits` are the purses of cap and budget, each followed by what its lease pays. */
const BESIDE = ['detail', 'lineSums', 'holder', 'fromAccountLease', 'fromKeyLease', 'limits'] as const
const COLUMNS = [...Object.keys(FIELDS), ...BESIDE]

/** The mark of the format, by which a record says that its values stand in the order of `COLUMNS`. */
export const RECORD_MARK = crc32(JSON.stringify(COLUMNS))

type Values = unknown[]

// These two functions are made from texts, once: loops over names of fields would take several times as long, for each request.

const writeFields: (row: UsageRow, into: JsonBytes) => void = new Function(
  'row',
  'into',
  Object.keys(FIELDS)
    .map(field => (IN_MS.has(field) ? `row.${field} === null ? null : Math.round(row.${field})` : `row.${field}`))
    .map(value => `into.item(${value})`)
    .join('; '),
) as typeof writeFields

const fieldsOf: (values: Values) => RowFields = new Function(
  'values',
  `return { ${Object.keys(FIELDS)
    .map((field, i) => `${field}: values[${i}]`)
    .join(', ')} }`,
) as typeof fieldsOf

const DETAIL = COLUMNS.indexOf(BESIDE[0])

function bookingOf(values: Values, index: number): Booking {
  const flat = values[DETAIL + 5] as (PurseId | Micro)[]
  const limits = []
  for (let i = 0; i < flat.length; i += 2) limits.push({ purse: flat[i] as PurseId, fromLease: flat[i + 1] as Micro })
  return {
    fields: fieldsOf(values),
    detail: values[DETAIL] as string | null,
    lineSums: values[DETAIL + 1] as number[] | null,
    holder: values[DETAIL + 2] as string,
    fromAccountLease: values[DETAIL + 3] as Micro,
    fromKeyLease: values[DETAIL + 4] as Micro,
    limits,
    index,
  }
}

function settlementOf({ fields, detail, holder, fromAccountLease, fromKeyLease, limits }: Booking): Settlement {
  const row: UsageRow = { ...fields, ...readDetail(fields, detail) }
  return { row, holder, fromAccountLease, fromKeyLease, limits }
}

const NONE: readonly number[] = []

/** Writes the array of a settlement. */
export function writeSettlement(settlement: Settlement, into: JsonBytes): void {
  const { limits, row, holder, fromAccountLease, fromKeyLease } = settlement
  into.raw('[')
  writeFields(row, into)
  const from = into.length
  if (writeDetail(row, into)) into.quoteFrom(from)
  else into.value(null)
  into.raw(',')
  const sums = lineSums(row)
  if (sums === null) into.value(null)
  else into.list(sums)
  into.raw(',')
  into.item(holder)
  into.item(fromAccountLease)
  into.item(fromKeyLease)
  into.list(limits.length === 0 ? NONE : limits.flatMap(({ purse, fromLease }) => [purse, fromLease]))
  into.raw(']')
}

/** The text of a record begins here: behind the checksum and a space. */
export const TEXT_FROM = 9

const toBooking = ({ row, ...rest }: Settlement, index: number): Booking => ({ ...toBook(row), ...rest, index })

export function bookingsOf(batch: Batch): Booking[] {
  if (!(batch instanceof Uint8Array)) return batch.map(toBooking)
  const bookings: Booking[] = []
  for (const line of Buffer.from(batch.buffer, batch.byteOffset, batch.length).toString().split('\n')) {
    if (line === '') continue
    const record = JSON.parse(line.slice(TEXT_FROM)) as [number, number, ...Values[]]
    for (let i = 2; i < record.length; i++) bookings.push(bookingOf(record[i] as Values, bookings.length))
  }
  return bookings
}

/** The settlements of some bookings of a batch; all of them where none are named. */
export const settlementsOf = (batch: Batch, bookings: readonly Booking[] = bookingsOf(batch)): Settlement[] =>
  bookings.map(booking => (batch instanceof Uint8Array ? settlementOf(booking) : (batch[booking.index] as Settlement)))

/** The settlements of a record's array, whose mark has been compared. */
export const settlementsIn = (arrays: readonly unknown[][]): Settlement[] =>
  arrays.map((values, i) => settlementOf(bookingOf(values, i)))
