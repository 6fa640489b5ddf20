/** A debit that somebody chose: it takes only what no process has charged or leased. */
import { pause } from '../base/clock.ts'
import { accountPurse, type Purse } from '../store/store.ts'
import type { OperationDeps } from './deps.ts'

/** How often, and at what interval, it is tried again while processes give back what they leased and do not need. */
const RECALL_TRIES = 12
const RECALL_WAIT_MS = 120

/** Tries it; when too little is free, the processes give back what they leased and do not need, and it is tried again. */
export async function debit<B extends { outcome: string }>(
  { store, clock, fleet }: OperationDeps,
  accountId: number,
  attempt: () => Promise<B>,
): Promise<B> {
  const purse = accountPurse(accountId)
  let booked = await attempt()
  for (let tries = 0; booked.outcome === 'short' && tries < RECALL_TRIES; tries++) {
    if (tries === 0) {
      await store.recall(purse)
      await fleet.changed().catch(() => {}) // the processes find the recall in the store all the same
    }
    const { leased } = (await store.purses([purse]))[0] as Purse
    if (leased > 0) await pause(clock, RECALL_WAIT_MS)
    booked = await attempt()
    if (leased <= 0) break
  }
  return booked
}
