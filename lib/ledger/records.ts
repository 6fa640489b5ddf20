/**
 * Records of the journal, written and read. `store/books/settlement.ts` says what a record is.
 *
 * The version of a record is its mark, `RECORD_MARK`: a digest of the names of its fields in their order, and of nothing else. A journal
 * with another mark stops the start (`wantOwnRecords`) or is left alone (`NotOurs`); one with an equal mark is applied, whatever program
 * wrote it. So a field that is to mean something else needs another name. The tables of the store have a digest of their own
 * (`store/schema.ts`), and prices the number `PRICE_FORMAT` (`store/catalogue/prices.ts`).
 */
import { closeSync, existsSync, openSync, readdirSync, readSync, statSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import { RECORD_MARK, type Settlement, settlementsIn, TEXT_FROM, writeSettlement } from '../store/books/settlement.ts'
import { JsonBytes } from '../base/json-bytes.ts'
import { CORRUPT } from './dead-letters.ts'

export const SEGMENT_SUFFIX = '.log'
/** A journal is read in pieces of this size, so that reading a long one blocks the event loop only for milliseconds. */
const PIECE_BYTES = 128 * 1024
/** The longest record. A longer line without an end is counted as unreadable. */
const MOST_RECORD_BYTES = 16 * 1024 * 1024

/** A buffer of records has room for this many bytes at first, and is used again up to the other. */
const FIRST_BYTES = 64 * 1024
const MOST_KEPT_BYTES = 1024 * 1024
const NEWLINE = 10
/** A record begins with this, until its checksum is known. */
const NO_CHECKSUM = `${' '.repeat(TEXT_FROM)}[${RECORD_MARK},`

/** Records one behind the other, as the journal and the store take them. */
export class RecordBuffer {
  readonly #json = new JsonBytes(FIRST_BYTES)
  /** The bytes of whole records. */
  #length = 0

  /** All records. They stay as they are until `clear`. */
  get bytes(): Buffer {
    return this.#json.bytes.subarray(0, this.#length)
  }

  /** Adds the record of a commit group and returns its bytes. `store` is the id of the store that the settlements are for. */
  add(settlements: readonly Settlement[], store: number): Buffer {
    const json = this.#json
    const from = (json.length = this.#length)
    json.raw(NO_CHECKSUM)
    json.value(store)
    for (const settlement of settlements) {
      json.raw(',')
      writeSettlement(settlement, json)
    }
    json.raw(']\n')
    const { bytes } = json
    bytes.write(checksum(bytes.subarray(from + TEXT_FROM, json.length - 1)), from, 'latin1')
    this.#length = json.length
    return bytes.subarray(from, this.#length)
  }

  /** Makes room for other records; false = this buffer has grown too large to be used again. */
  clear(): boolean {
    this.#length = 0
    return this.#json.bytes.length <= MOST_KEPT_BYTES
  }
}

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
    return settlementsIn(settlements)
  }
}

/** The mark, the store and the settlements of a record; null = the line is none. */
function decode(line: string): [mark: unknown, store: unknown, ...settlements: unknown[][]] | null {
  const text = line.slice(TEXT_FROM)
  if (line.slice(0, 8) !== checksum(text)) return null
  const record: unknown = JSON.parse(text)
  return Array.isArray(record) ? (record as ReturnType<typeof decode>) : null
}
