/**
 * Settlements of a dead process's journal. The request id in the books makes each count once, as long as its row is
 * there; what is from before the store's pruning, and not in the books, may have counted or not: nobody can say, so it is
 * set aside for people. What the store refuses by itself is found by halving, so that the others pass.
 */
import { type Settlement, type Store, StoreUnavailable } from '../store/store.ts'
import { setAside } from './aside.ts'
import type { LedgerLog } from './log.ts'

/** When the store refuses more settlements of one journal than this, the store is broken and not the journal. */
const MOST_REFUSED = 100

export interface ReplayOptions {
  store: Store
  log: LedgerLog
  /** The journal folder of the machine. */
  folder: string
}

/** Of one reading of a journal. */
export interface Replayed {
  records: number
  /** New in the books. */
  applied: number
  refused: Settlement[]
}

/**
 * Throws StoreUnavailable; the store's own error when it refuses too many; and the disk's when it cannot take what is
 * set aside.
 */
export async function replay(o: ReplayOptions, settlements: readonly Settlement[], so: Replayed): Promise<void> {
  const settled = await sent(o.store, settlements)
  if (!(settled instanceof Error)) {
    so.records += settlements.length
    so.applied += settled.applied
    for (const settlement of settled.unsure) setAside(o, settlement, 'unsure')
    for (const settlement of settled.clashing) setAside(o, settlement, 'clash')
  } else if (settlements.length > 1) {
    const half = Math.ceil(settlements.length / 2)
    await replay(o, settlements.slice(0, half), so)
    await replay(o, settlements.slice(half), so)
  } else {
    so.records++
    so.refused.push(settlements[0] as Settlement)
    if (so.refused.length > MOST_REFUSED) throw settled
  }
}

async function sent(store: Store, settlements: readonly Settlement[]) {
  try {
    return await store.settle(settlements, true)
  } catch (error) {
    if (error instanceof StoreUnavailable) throw error
    return error instanceof Error ? error : new Error(String(error))
  }
}
