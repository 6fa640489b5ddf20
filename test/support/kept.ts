/** Waits until a commit group of the journal is on the disk. */
import type { CommitGroup } from '../../lib/ledger/ledger.ts'

export const kept = (group: CommitGroup): Promise<void> => new Promise(resolve => group.whenKept(resolve))
