/**
 * Settlements that only people can decide about: each is a line of a file beside the journals, with the reason. Nothing is
 * lost, but their charges are not in the books, so an audit fails until the file is gone.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Settlement } from '../store/store.ts'
import type { LedgerLog } from './log.ts'

const ASIDE = '.aside'
/** A journal whose records could not all be read. */
export const CORRUPT = '.corrupt-'

const REASONS = {
  unsure: 'a settlement is older than the usage rows that are kept: it may have counted, and is set aside',
  clash: 'a settlement has the id of another request in the books: it has not counted, and is set aside',
  refused: 'the store refuses a settlement: it has not counted, and is set aside',
}

/** Of this machine: what an audit of the store cannot see. */
export interface SetAside {
  settlements: number
  /** Journals with records that cannot be read. */
  unreadable: number
}

/** Throws when the disk does not take it. The same settlement may come again: it counts once. */
export function setAside(
  { folder, log }: { folder: string; log: LedgerLog },
  settlement: Settlement,
  reason: keyof typeof REASONS,
): void {
  const { requestId, charge } = settlement.row
  const file = path.join(folder, settlement.holder + ASIDE)
  const line = `${JSON.stringify({ reason, ...settlement })}\n`
  appendFileSync(file, line, { flush: true })
  log.error({ requestId, charge, file }, REASONS[reason])
}

/** Files that have not changed are not read again. */
const counted = new Map<string, { mtimeMs: number; lines: number }>()

/** `folder`: the journal folder of the machine. */
export function countAside(folder: string): SetAside {
  const names = existsSync(folder) ? readdirSync(folder) : []
  return {
    settlements: names.reduce((sum, name) => sum + (name.endsWith(ASIDE) ? linesOf(path.join(folder, name)) : 0), 0),
    unreadable: names.filter(name => name.includes(CORRUPT)).length,
  }
}

function linesOf(file: string): number {
  const mtimeMs = statSync(file, { throwIfNoEntry: false })?.mtimeMs
  if (mtimeMs === undefined) return 0
  const before = counted.get(file)
  if (before?.mtimeMs === mtimeMs) return before.lines
  const lines = new Set(readFileSync(file, 'utf8').split('\n')).size - 1
  counted.set(file, { mtimeMs, lines })
  return lines
}
