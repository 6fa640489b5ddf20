/**
 * Records of a journal: a line each, of a checksum and, as JSON, a list of the record's version, the store that it is for
 * and the settlements that were written together. Of a settlement only the values are written, in one order, because names
 * would be most of the bytes. A version only adds values at the end, so that a reload to newer code reads what the older
 * code wrote.
 */
import { closeSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Settlement } from '../store/store.ts'
import { NOT_RECORDED, type UsageRow } from '../terms/records.ts'

export const SEGMENT_SUFFIX = '.log'
/** A journal is read in pieces, so that a long one keeps nobody waiting for more than some milliseconds. */
const PIECE_BYTES = 128 * 1024
/** No record is longer: a line without an end by then is not one. */
const MOST_RECORD_BYTES = 16 * 1024 * 1024

/** The fields of a row in records of version 0, in the order in which their values are written. */
const FIRST = {
  requestId: true,
  accountId: true,
  keyId: true,
  group: true,
  protocol: true,
  model: true,
  channel: true,
  status: true,
  end: true,
  basis: true,
  input: true,
  cache_read: true,
  cache_write_5m: true,
  cache_write_1h: true,
  output: true,
  images: true,
  charge: true,
  firstByteMs: true,
  durationMs: true,
} satisfies Record<Exclude<keyof UsageRow, keyof typeof ADDED>, true>

/** The fields that later versions added, in the order of the versions, with the value that they have in older records. */
const ADDED = { answerId: null, upstreamKey: null, ...NOT_RECORDED } satisfies Partial<UsageRow>

/** Raised with each addition. Records of version 0 begin with neither version nor store. */
export const RECORD_VERSION = 2

const COLUMNS = [...Object.keys(FIRST), ...Object.keys(ADDED)] as (keyof UsageRow)[]

function valuesOf({ row, holder, fromAccountLease, fromKeyLease }: Settlement): unknown[] {
  const values: unknown[] = [holder, fromAccountLease, fromKeyLease]
  for (const name of COLUMNS) values.push(row[name])
  return values
}

function settlementOf([holder, fromAccountLease, fromKeyLease, ...ofRow]: unknown[]): Settlement {
  const row = { ...ADDED, ...Object.fromEntries(ofRow.map((value, i) => [COLUMNS[i], value])) }
  return { row, holder, fromAccountLease, fromKeyLease } as unknown as Settlement
}

/** `store`: the id of the one that they are for. */
export function encode(settlements: readonly Settlement[], store: number): Buffer {
  const text = JSON.stringify([RECORD_VERSION, store, ...settlements.map(valuesOf)])
  return Buffer.from(`${checksum(text)} ${text}\n`)
}

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/**
 * The record is of a newer version or for another store: the journal is left to the program or store that it belongs to.
 */
export class NotOurs extends Error {
  override name = 'NotOurs'
}

/** Of one journal; 0 when there is none. */
export function journalBytes(folder: string): number {
  const sizeOf = (name: string): number => statSync(path.join(folder, name), { throwIfNoEntry: false })?.size ?? 0
  try {
    return readdirSync(folder).reduce((sum, name) => sum + (name.endsWith(SEGMENT_SUFFIX) ? sizeOf(name) : 0), 0)
  } catch {
    return 0 // a file of another kind, or gone meanwhile
  }
}

/** A dead process's journal. */
export class JournalReader {
  /** A last record was not written whole. */
  torn = false
  /** Other records that cannot be read. */
  corrupt = 0
  readonly #folder: string
  readonly #store: number

  constructor(folder: string, store: number) {
    this.#folder = folder
    this.#store = store
  }

  /** Throws NotOurs at such a record. */
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
        const end = rest.lastIndexOf(10) + 1
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
  const text = line.slice(9)
  if (line.slice(0, 8) !== checksum(text)) return null
  const record: unknown = JSON.parse(text)
  return Array.isArray(record) ? record : null
}
