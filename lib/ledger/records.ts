/**
 * Records of a journal: a line each, of a checksum and, as JSON, a list of the record's version and the settlements that
 * were written together. Of a settlement only the values are written, in one order, because names would be most of the
 * bytes. A version only adds values at the end, so that a reload to newer code reads what the older code wrote.
 */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Settlement } from '../store/store.ts'
import type { UsageRow } from '../terms/records.ts'

export const SEGMENT_SUFFIX = '.log'

/** All of a row's at first, in the order in which their values are written. */
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

/** What later versions added to it, each in the order of its version, and what a record from before says of it. */
const ADDED = { answerId: null, upstreamKey: null } satisfies Partial<UsageRow>

/** One more with each addition. Records of version 0 have no version in front. */
export const RECORD_VERSION = 1

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

export function encode(settlements: readonly Settlement[]): Buffer {
  const text = JSON.stringify([RECORD_VERSION, ...settlements.map(valuesOf)])
  return Buffer.from(`${checksum(text)} ${text}\n`)
}

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/** A newer version of this program wrote it: it alone knows what its records say. */
export class NewerRecord extends Error {
  override name = 'NewerRecord'
}

/** All of a dead process's journal. `torn`: a last record was not written whole. `corrupt`: other records that cannot be read. Throws NewerRecord. */
export function readJournal(folder: string): { settlements: Settlement[]; torn: boolean; corrupt: number } {
  const settlements: Settlement[] = []
  let torn = false
  let corrupt = 0
  for (const name of readdirSync(folder).sort()) {
    if (!name.endsWith(SEGMENT_SUFFIX)) continue
    const lines = readFileSync(path.join(folder, name), 'utf8').split('\n')
    const last = lines.pop() ?? ''
    if (last !== '') torn = true
    for (const line of lines) {
      const record = decode(line)
      if (record === null) corrupt++
      else settlements.push(...record)
    }
  }
  return { settlements, torn, corrupt }
}

function decode(line: string): Settlement[] | null {
  const text = line.slice(9)
  if (line.slice(0, 8) !== checksum(text)) return null
  const record: unknown = JSON.parse(text)
  if (!Array.isArray(record)) return null
  const version = typeof record[0] === 'number' ? (record.shift() as number) : 0
  if (version > RECORD_VERSION) throw new NewerRecord(`a record of version ${version}, known up to ${RECORD_VERSION}`)
  return record.map(settlementOf)
}
