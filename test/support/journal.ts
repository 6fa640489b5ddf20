/** The records of a dead process's journal, from its files. */
import { JournalReader } from '../../lib/ledger/records.ts'
import type { Settlement } from '../../lib/store/books/settle.ts'

export function readJournal(
  folder: string,
  store: number,
): { settlements: Settlement[]; torn: boolean; corrupt: number } {
  const reader = new JournalReader(folder, store)
  const settlements = [...reader.pieces()].flat()
  return { settlements, torn: reader.torn, corrupt: reader.corrupt }
}
