/**
 * Dead letters: settlements that the program cannot book and must not drop, so that a person has to decide. Each becomes a line of
 * the file `HOLDER.aside` in the journal folder, as JSON with the reason. Their charges are not in the books, so the
 * audit on this machine is not `ok` until somebody has dealt with the file and moved it away. docs/ledger.md says what
 * to do.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import path from 'node:path'
import type { Settlement } from '../store/books/settlement.ts'
import type { LedgerLog } from './log.ts'

const ASIDE = '.aside'
/** Part of the name of a folder that keeps a journal with unreadable records. */
export const CORRUPT = '.corrupt-'

const REASONS = {
  unsure: 'a settlement is older than the usage rows that are kept: it may have counted, and is set aside',
  clash: 'a settlement has the id of another request in the books: it has not counted, and is set aside',
  refused: 'the store refuses a settlement: it has not counted, and is set aside',
}

/** The number of dead letters in this machine's journal folder, which the audit of the store cannot see. */
export interface DeadLetters {
  settlements: number
  /** The number of journals that have records which cannot be read. */
  unreadable: number
}

/** Throws when the disk refuses the line. `countDeadLetters` counts a settlement once that is set aside twice. */
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

/** The lines of each file when it was last read, so that an unchanged file is not read again. */
const counted = new Map<string, { mtimeMs: number; lines: number }>()

/** `folder` is the journal folder of the machine. */
export function countDeadLetters(folder: string): DeadLetters {
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
