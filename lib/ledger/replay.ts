/**
 * Sends the settlements of a dead process's journal to the store. This is idempotent, because the store knows by
 * request id which of them it has, as long as it keeps their usage rows. A settlement that is older than the last
 * pruning and not in the books may have been counted or not; it is set aside for people. When the store refuses a
 * batch, the batch is halved until the refused settlements are found, and the others are booked.
 */
import { type Settlement, type Store, StoreUnavailable } from '../store/store.ts'
import { setAside } from './aside.ts'
import type { LedgerLog } from './log.ts'

/** A store that refuses more settlements of one journal than this is taken to be broken itself, and the replay ends. */
const MOST_REFUSED = 100

export interface ReplayOptions {
  store: Store
  log: LedgerLog
  /** The journal folder of the machine. */
  folder: string
}

/** What one replay of a journal came to, in settlements. */
export interface Replayed {
  /** All settlements that were read. */
  records: number
  /** Settlements that were not in the books before. */
  applied: number
  /** Settlements that the store refused with an error of its own. */
  refused: Settlement[]
}

/**
 * Replays a batch and adds the result to `sum`. Throws StoreUnavailable, the store's error when it refuses more than
 * MOST_REFUSED, and errors of the disk when a settlement cannot be set aside.
 */
export async function replay(o: ReplayOptions, settlements: readonly Settlement[], sum: Replayed): Promise<void> {
  const settled = await sent(o.store, settlements)
  if (!(settled instanceof Error)) {
    sum.records += settlements.length
    sum.applied += settled.applied
    for (const settlement of settled.unsure) setAside(o, settlement, 'unsure')
    for (const settlement of settled.clashing) setAside(o, settlement, 'clash')
  } else if (settlements.length > 1) {
    const half = Math.ceil(settlements.length / 2)
    await replay(o, settlements.slice(0, half), sum)
    await replay(o, settlements.slice(half), sum)
  } else {
    sum.records++
    sum.refused.push(settlements[0] as Settlement)
    if (sum.refused.length > MOST_REFUSED) throw settled
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
