/**
 * The format of journal records, written and read. A record is a line: a CRC-32 in 8 hex digits, a space, and a JSON
 * array of the format's version, the id of the store, and one array per settlement of the commit group. A settlement's
 * array has only values, in a fixed order, because field names would be most of the bytes.
 *
 * A new version may only add values at the end, so that newer code can read what older code wrote. Older code leaves
 * the records of newer code alone.
 */
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Settlement } from '../store/store.ts'
import { NOT_RECORDED, type UsageRow } from '../terms/records.ts'
import { detailText, readDetail } from '../terms/row-detail.ts'

export const SEGMENT_SUFFIX = '.log'
/** A journal is read in pieces of this size, so that reading a long one blocks the event loop only for milliseconds. */
const PIECE_BYTES = 128 * 1024
/** The longest record. A longer line without an end is counted as unreadable. */
const MOST_RECORD_BYTES = 16 * 1024 * 1024

/**
 * What the array of a settlement has, in this order: after the holder and what the leases of account and key pay, the
 * fields of its row, and (`limits`) the purses of cap and budget, each followed by what its lease pays. Each version
 * added the values of its list. The order is part of the format, so a new field begins the list of a new version. Since
 * version 4 `detail` is the text of `lines` and `attempts`, in whose places there is 0.
 */
export const COLUMNS = [
  [
    'requestId',
    'accountId',
    'keyId',
    'group',
    'protocol',
    'model',
    'channel',
    'status',
    'end',
    'basis',
    'input',
    'cache_read',
    'cache_write_5m',
    'cache_write_1h',
    'output',
    'images',
    'charge',
    'firstByteMs',
    'durationMs',
  ],
  ['answerId', 'upstreamKey'],
  [
    'priceVersion',
    'multiplier',
    'lines',
    'held',
    'cost',
    'askedMs',
    'attempts',
    'upstreamId',
    'clientRequestId',
    'via',
  ],
  ['limits'],
  ['detail'],
] as const

/** The version of the format. Records of version 0 have neither version nor store. */
export const RECORD_VERSION = COLUMNS.length - 1

type Column = (typeof COLUMNS)[number][number]
const ORDER: readonly Column[] = COLUMNS.flat()
const EVERY_FIELD_IS_WRITTEN: Exclude<keyof UsageRow | 'limits' | 'detail', Column> extends never ? true : false = true
/** The values of fields that the version of a record did not have. */
const DEFAULTS = EVERY_FIELD_IS_WRITTEN && {
  answerId: null,
  upstreamKey: null,
  ...NOT_RECORDED,
  limits: [],
  detail: null,
}

/** The index of the first column in a settlement's array. */
const FIRST = 3

function valuesOf({ row, holder, fromAccountLease, fromKeyLease, limits }: Settlement): unknown[] {
  const values = new Array<unknown>(FIRST + ORDER.length) // a list that grew would be copied several times
  values[0] = holder
  values[1] = fromAccountLease
  values[2] = fromKeyLease
  const flat = limits.length === 0 ? limits : limits.flatMap(({ purse, fromLease }) => [purse, fromLease])
  for (let i = 0; i < ORDER.length; i++) {
    const name = ORDER[i] as Column
    values[FIRST + i] =
      name === 'detail'
        ? detailText(row)
        : name === 'limits'
          ? flat
          : name === 'lines' || name === 'attempts'
            ? 0
            : row[name]
  }
  return values
}

function settlementOf([holder, fromAccountLease, fromKeyLease, ...more]: unknown[]): Settlement {
  const read = Object.fromEntries(more.map((value, i) => [ORDER[i], value]))
  const { limits: flat, detail, ...row } = { ...DEFAULTS, ...read }
  if (row.lines === 0) Object.assign(row, readDetail(row as unknown as UsageRow, detail))
  const limits = []
  for (let i = 0; i < flat.length; i += 2) limits.push({ purse: flat[i], fromLease: flat[i + 1] })
  return { row, holder, fromAccountLease, fromKeyLease, limits } as unknown as Settlement
}

/** One record of a commit group. `store` is the id of the store that the settlements are for. */
export function encode(settlements: readonly Settlement[], store: number): Buffer {
  const text = JSON.stringify([RECORD_VERSION, store, ...settlements.map(valuesOf)])
  const end = TEXT_FROM + Buffer.byteLength(text)
  const record = Buffer.allocUnsafe(end + 1)
  record.write(text, TEXT_FROM) // a text of checksum and record would be one more copy of both
  record.write(`${checksum(record.subarray(TEXT_FROM, end))} `, 'latin1')
  record[end] = NEWLINE
  return record
}

/** Where the text of a record begins: behind the checksum and a space. */
const TEXT_FROM = 9
const NEWLINE = 10

const checksum = (text: string | Buffer): string => crc32(text).toString(16).padStart(8, '0')

/** A record has a newer version or names another store, so this process must not apply or delete the journal. */
export class NotOurs extends Error {
  override name = 'NotOurs'
}

/** The size of one journal's segments in bytes; 0 when the folder does not exist. */
export function journalBytes(folder: string): number {
  const sizeOf = (name: string): number => statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0
  try {
    return readdirSync(folder).reduce((sum, name) => sum + (name.endsWith(SEGMENT_SUFFIX) ? sizeOf(name) : 0), 0)
  } catch {
    return 0 // not a folder, or deleted meanwhile
  }
}

/** Reads the journal of a dead process. */
export class JournalReader {
  /** True when a segment ends in half a record, as after a crash or on a full disk. */
  torn = false
  /** How many other records cannot be read. */
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
    const version = typeof record[0] === 'number' ? record.shift() : 0
    if (version > RECORD_VERSION) throw new NotOurs(`its records have version ${version}, known is ${RECORD_VERSION}`)
    const store = version === 0 ? this.#store : record.shift()
    if (store !== this.#store) throw new NotOurs(`it is for the store ${store}, this one is ${this.#store}`)
    return record.map(settlementOf)
  }
}

// biome-ignore lint/suspicious/noExplicitAny: what a version says is known to its reader
function decode(line: string): any[] | null {
  const text = line.slice(TEXT_FROM)
  if (line.slice(0, 8) !== checksum(text)) return null
  const record: unknown = JSON.parse(text)
  return Array.isArray(record) ? record : null
}
