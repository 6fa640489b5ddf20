/**
 * The format of journal records, written and read. A record is a line: a CRC-32 in 8 hex digits, a space, and a JSON
 * array of the mark of the format, the id of the store, and one array per settlement of the commit group. A settlement's
 * array has only values, in a fixed order, because field names would be most of the bytes.
 *
 * The mark is a digest of that order, so it changes with every edit of it. Records with another mark are those of another
 * version of this program, and are left alone.
 */
import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Settlement } from '../store/books/settle.ts'
import { FIELDS } from '../store/usage/rows.ts'
import type { UsageRow } from '../terms/records.ts'
import { detailText, readDetail } from '../terms/usage-row.ts'
import { CORRUPT } from './dead-letters.ts'

export const SEGMENT_SUFFIX = '.log'
/** A journal is read in pieces of this size, so that reading a long one blocks the event loop only for milliseconds. */
const PIECE_BYTES = 128 * 1024
/** The longest record. A longer line without an end is counted as unreadable. */
const MOST_RECORD_BYTES = 16 * 1024 * 1024

/**
 * What the array of a settlement has, in this order, after the holder and what the leases of account and key pay: the fields
 * of its row, then `limits`, the purses of cap and budget, each followed by what its lease pays, and `detail`, the text of
 * `lines` and `attempts`.
 */
const COLUMNS = [...(Object.keys(FIELDS) as (keyof typeof FIELDS)[]), 'limits', 'detail'] as const

type Column = (typeof COLUMNS)[number]

/** The mark of the format, by which a record says that its values stand in the order of `COLUMNS`. */
export const RECORD_MARK = crc32(JSON.stringify(COLUMNS))

/** The index of the first column in a settlement's array. */
const FIRST = 3

function valuesOf({ row, holder, fromAccountLease, fromKeyLease, limits }: Settlement): unknown[] {
  const values = new Array<unknown>(FIRST + COLUMNS.length) // a list that grew would be copied several times
  values[0] = holder
  values[1] = fromAccountLease
  values[2] = fromKeyLease
  const flat = limits.length === 0 ? limits : limits.flatMap(({ purse, fromLease }) => [purse, fromLease])
  for (let i = 0; i < COLUMNS.length; i++) {
    const name = COLUMNS[i] as Column
    values[FIRST + i] = name === 'detail' ? detailText(row) : name === 'limits' ? flat : row[name]
  }
  return values
}

function settlementOf([holder, fromAccountLease, fromKeyLease, ...values]: unknown[]): Settlement {
  const read = Object.fromEntries(values.map((value, i) => [COLUMNS[i], value]))
  const { limits: flat, detail, ...row } = read
  Object.assign(row, readDetail(row as unknown as UsageRow, detail as string | null))
  const limits = []
  const pairs = flat as (string | number)[]
  for (let i = 0; i < pairs.length; i += 2) limits.push({ purse: pairs[i], fromLease: pairs[i + 1] })
  return { row, holder, fromAccountLease, fromKeyLease, limits } as unknown as Settlement
}

/** One record of a commit group. `store` is the id of the store that the settlements are for. */
export function encode(settlements: readonly Settlement[], store: number): Buffer {
  const text = JSON.stringify([RECORD_MARK, store, ...settlements.map(valuesOf)])
  const end = TEXT_FROM + Buffer.byteLength(text)
  const record = Buffer.allocUnsafe(end + 1)
  record.write(text, TEXT_FROM) // a text of checksum and record would be one more copy of both
  record.write(`${checksum(record.subarray(TEXT_FROM, end))} `, 'latin1')
  record[end] = NEWLINE
  return record
}

/** The text of a record begins here: behind the checksum and a space. */
const TEXT_FROM = 9
const NEWLINE = 10

const checksum = (text: string | Buffer): string => crc32(text).toString(16).padStart(8, '0')

/** A record has another mark or names another store, so this process must not apply or delete the journal. */
export class NotOurs extends Error {
  override name = 'NotOurs'
}

/** The size of one journal's segments in bytes; 0 when the folder does not exist. */
export function journalBytes(folder: string): number {
  const sizeOf = (file: string): number => statSync(file, { throwIfNoEntry: false })?.size ?? 0
  return segmentsOf(folder).reduce((sum, file) => sum + sizeOf(file), 0)
}

/** A record begins with its checksum, and the mark of its format where it has one. */
const BEGINNING = /^[0-9a-f]{8} \[(?:(\d+),)?/
const BEGINNING_BYTES = 32

/**
 * Throws an Error that says what to do when a journal in the machine's folder begins with a record of another version of
 * this program: its charges would come into no books. A file without a record says nothing.
 */
export function wantOwnRecords(folder: string): void {
  for (const name of existsSync(folder) ? readdirSync(folder) : [])
    for (const file of name.includes(CORRUPT) ? [] : segmentsOf(path.join(folder, name))) {
      const beginning = BEGINNING.exec(beginningOf(file))
      if (beginning !== null && beginning[1] !== String(RECORD_MARK))
        throw new Error(
          `journal: ${path.dirname(file)} was written by another version of this program and cannot be applied by this ` +
            'one. Nothing was changed in it. Start the version that wrote it, which books its charges, or move it away',
        )
    }
}

/** The files of one journal; none when the folder does not exist. */
function segmentsOf(folder: string): string[] {
  try {
    return readdirSync(folder).flatMap(name => (name.endsWith(SEGMENT_SUFFIX) ? [path.join(folder, name)] : []))
  } catch {
    return [] // not a folder, or deleted meanwhile
  }
}

function beginningOf(file: string): string {
  let fd: number
  try {
    fd = openSync(file, 'r')
  } catch {
    return '' // applied and deleted meanwhile
  }
  try {
    const bytes = Buffer.alloc(BEGINNING_BYTES)
    return bytes.toString('latin1', 0, readSync(fd, bytes))
  } finally {
    closeSync(fd)
  }
}

/** Reads the journal of a dead process. */
export class JournalReader {
  /** True when a segment ends in half a record, as after a crash or on a full disk. */
  torn = false
  /** The number of other records that cannot be read. */
  corrupt = 0
  readonly #folder: string
  readonly #store: number

  constructor(folder: string, store: number) {
    this.#folder = folder
    this.#store = store
  }

  /** The settlements, some records at a time, in the order in which they were written. Throws NotOurs. */
  *pieces(): Generator<Settlement[]> {
    for (const name of readdirSync(this.#folder).sort())
      if (name.endsWith(SEGMENT_SUFFIX)) yield* this.#segment(path.join(this.#folder, name))
  }

  *#segment(file: string): Generator<Settlement[]> {
    const fd = openSync(file, 'r')
    try {
      const piece = Buffer.allocUnsafe(PIECE_BYTES)
      let rest = Buffer.alloc(0)
      for (let bytes = readSync(fd, piece); bytes > 0; bytes = readSync(fd, piece)) {
        rest = Buffer.concat([rest, piece.subarray(0, bytes)])
        const end = rest.lastIndexOf(NEWLINE) + 1
        if (end === 0 && rest.length < MOST_RECORD_BYTES) continue
        const lines = rest.toString('utf8', 0, end === 0 ? rest.length : end).split('\n')
        if (end > 0) lines.pop()
        rest = rest.subarray(end === 0 ? rest.length : end)
        yield lines.flatMap(line => this.#read(line))
      }
      if (rest.length > 0) this.torn = true
    } finally {
      closeSync(fd)
    }
  }

  #read(line: string): Settlement[] {
    const record = decode(line)
    if (record === null) {
      this.corrupt++
      return []
    }
    const [mark, store, ...settlements] = record
    if (mark !== RECORD_MARK) throw new NotOurs('its records were written by another version of this program')
    if (store !== this.#store) throw new NotOurs(`it is for the store ${store}, this one is ${this.#store}`)
    return settlements.map(settlementOf)
  }
}

/** The mark, the store and the settlements of a record; null = the line is none. */
function decode(line: string): [mark: unknown, store: unknown, ...settlements: unknown[][]] | null {
  const text = line.slice(TEXT_FROM)
  if (line.slice(0, 8) !== checksum(text)) return null
  const record: unknown = JSON.parse(text)
  return Array.isArray(record) ? (record as ReturnType<typeof decode>) : null
}
