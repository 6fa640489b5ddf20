/** A debit that somebody chose applies only to money that is free: what gateways have leased is called back first. */
import { pause } from '../base/clock.ts'
import type { OperationDeps } from '../operations/deps.ts'
import type { PurseId } from '../store/store.ts'

const TRIES = 12
const WAIT_MS = 120

/** Tries a debit; while it is `short`, leases of the purse are called back and it is tried again. */
export async function afterRecall<T extends { outcome: string }>(
  { store, clock, fleet }: Pick<OperationDeps, 'store' | 'clock' | 'fleet'>,
  purse: PurseId,
  debit: () => Promise<T>,
): Promise<T> {
  let done = await debit()
  for (let tries = 0; done.outcome === 'short' && tries < TRIES; tries++) {
    if (tries === 0) {
      await store.recall(purse)
      await fleet.changed().catch(() => {}) // the processes find the recall in the store all the same
    }
    const [{ leased } = { leased: 0 }] = await store.purses([purse])
    if (leased > 0) await pause(clock, WAIT_MS)
    done = await debit()
    if (leased <= 0) break
  }
  return done
}
