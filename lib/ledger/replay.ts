/**
 * Settlements whose first sending is long over: of a dead process's journal, or sent again after a failure. The request
 * id in the books makes each count once, as long as its row is there; rows that are too old are pruned. So what is from
 * before the store's pruning, and not in the books, may have counted or not: nobody can say. It is not applied, but set
 * aside in a file next to the journals, for people, and logged as an error.
 */
import { appendFileSync } from 'node:fs'
import path from 'node:path'
import { timeOfId } from '../base/ids.ts'
import type { Settlement, Store } from '../store/store.ts'
import type { LedgerLog } from './log.ts'

/** Rows a little younger than the pruning may be pruned while this is on its way. */
const SLACK_MS = 3_600_000
export const ASIDE = '.aside'

export interface ReplayOptions {
  store: Store
  log: LedgerLog
  /** The journal folder of the machine. */
  folder: string
}

/** Returns how many were new. Throws what the store throws, or when the disk takes no note of what is set aside. */
export async function replay(o: ReplayOptions, settlements: readonly Settlement[]): Promise<number> {
  const before = (await o.store.prunedBefore()) + SLACK_MS
  const young = settlements.filter(({ row }) => timeOfId(row.requestId) >= before)
  if (young.length < settlements.length)
    await judgeOld(
      o,
      settlements.filter(s => !young.includes(s)),
    )
  return young.length === 0 ? 0 : o.store.settle(young)
}

async function judgeOld({ store, log, folder }: ReplayOptions, old: readonly Settlement[]): Promise<void> {
  for (const settlement of old) {
    const { requestId, charge } = settlement.row
    if ((await store.usage({ requestId, limit: 1 })).length > 0) continue
    const file = path.join(folder, settlement.holder + ASIDE)
    appendFileSync(file, `${JSON.stringify(settlement)}\n`)
    log.error(
      { requestId, charge, file },
      'a settlement is older than the usage rows that are kept: it may have counted, and is set aside',
    )
  }
}
