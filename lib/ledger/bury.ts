/**
 * Buries a process: gives all its leases back to their purses by repeated calls of `Store.bury`. Each call is a small
 * transaction; a pause after it lets other transactions run.
 */
import { type Clock, pause } from '../base/clock.ts'
import type { Store } from '../store/store.ts'

const PAUSE_MS = 10

interface BurialOptions {
  store: Store
  clock: Clock
}

/**
 * For `beat` see `Store.bury`. Returns false when `stopped` ended it early; then somebody has to bury the rest later.
 */
export async function buryWhole(
  { store, clock }: BurialOptions,
  holder: string,
  beat?: number,
  stopped = () => false,
): Promise<boolean> {
  while (!(await store.bury(holder, beat))) {
    await pause(clock, PAUSE_MS)
    if (stopped()) return false
  }
  return true
}
