/** Which settlements of a batch are in the books already, came twice, or are so old that nobody can say. */
import { timeOfId } from '../../base/ids.ts'
import type { Statements } from '../driver.ts'
import type { Settlement } from '../types.ts'
import { prunedBefore } from './prune.ts'
import { chunks, integerOrNull, marks, padded, text } from './text.ts'

/** Settlements whose request id is in the books: `repeated` with the same content, `clashing` with another. */
export interface Known {
  repeated: Settlement[]
  clashing: Settlement[]
}

/** The columns by which two different requests with one id are told apart. An output of 0 stands in its column as NULL. */
const COMPARED = ['account_id', 'key_id', 'charge', 'duration_ms', 'output'] as const
const contentOf = ({ row }: Settlement): string =>
  [row.accountId, row.keyId, row.charge, Math.round(row.durationMs), row.output].join(' ')

/** The compared content of those of the batch that are in the books, by request id. */
export async function present(tx: Statements, batch: readonly Settlement[]): Promise<Map<string, string>> {
  const content = new Map<string, string>()
  for (const some of chunks(batch)) {
    const asked = padded(some.map(({ row }) => row.requestId))
    const sql = `SELECT request_id, ${COMPARED.join(', ')} FROM usage_log WHERE request_id IN (${marks(asked.length)})`
    for (const row of await tx.query(sql, asked))
      content.set(text(row, 'request_id'), COMPARED.map(column => integerOrNull(row, column) ?? 0).join(' '))
  }
  return content
}

/** Returns the settlements whose id is not in `there`, and adds the others to one of the lists of `known`. */
export function unknown(batch: readonly Settlement[], there: ReadonlyMap<string, string>, known: Known): Settlement[] {
  return batch.filter(settlement => {
    const content = there.get(settlement.row.requestId)
    if (content === undefined) return true
    known[content === contentOf(settlement) ? 'repeated' : 'clashing'].push(settlement)
    return false
  })
}

/** The batch without repetitions, in the order of request ids; a second settlement with the same id goes to `known`. */
export function distinct(batch: readonly Settlement[], known: Known): Settlement[] {
  let first: Settlement | undefined
  return batch
    .toSorted((a, b) => (a.row.requestId < b.row.requestId ? -1 : 1))
    .filter(settlement => {
      if (first?.row.requestId !== settlement.row.requestId) {
        first = settlement
        return true
      }
      unknown([settlement], new Map([[first.row.requestId, contentOf(first)]]), known)
      return false
    })
}

/**
 * The settlements that are older than the last pruning and not in the books: their rows may have been there and
 * deleted.
 */
export async function unsureOf(tx: Statements, batch: readonly Settlement[]): Promise<Settlement[]> {
  const before = await prunedBefore(tx)
  const old = batch.filter(({ row }) => timeOfId(row.requestId) < before)
  if (old.length === 0) return old
  const there = await present(tx, old)
  return old.filter(({ row }) => !there.has(row.requestId))
}
