/** Records of a journal: one line each, a checksum and the settlement as JSON. */
import { readdirSync, readFileSync } from 'node:fs'
import path from 'node:path'
import { crc32 } from 'node:zlib'
import type { Settlement } from '../store/store.ts'

export const SEGMENT_SUFFIX = '.log'

export function encode(settlement: Settlement): Buffer {
  const text = JSON.stringify(settlement)
  return Buffer.from(`${checksum(text)} ${text}\n`)
}

const checksum = (text: string): string => crc32(text).toString(16).padStart(8, '0')

/** All records of a dead process's journal. `torn`: a last record was not written whole. `corrupt`: others that cannot be read. */
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
      const settlement = decode(line)
      if (settlement === null) corrupt++
      else settlements.push(settlement)
    }
  }
  return { settlements, torn, corrupt }
}

function decode(line: string): Settlement | null {
  const text = line.slice(9)
  return line.slice(0, 8) === checksum(text) ? (JSON.parse(text) as Settlement) : null
}
