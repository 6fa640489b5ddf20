/** Records of journals: read from the files of one, and made. */
import { JournalReader, RecordBuffer } from '../../lib/ledger/records.ts'
import type { Settlement } from '../../lib/store/books/settlement.ts'

export function readJournal(
  folder: string,
  store: number,
): { settlements: Settlement[]; torn: boolean; corrupt: number } {
  const reader = new JournalReader(folder, store)
  const settlements = [...reader.pieces()].flat()
  return { settlements, torn: reader.torn, corrupt: reader.corrupt }
}

/** One record, as the journal has it. `store` is the id of the store that it is for. */
export const recordOf = (settlements: readonly Settlement[], store: number): Buffer =>
  new RecordBuffer().add(settlements, store)
