/** Gives all leases of a process back, in steps with a pause between them in which others reach the store. */
import { type Clock, pause } from '../base/clock.ts'
import type { Store } from '../store/store.ts'

const PAUSE_MS = 10

interface BurialOptions {
  store: Store
  clock: Clock
}

/** `beat`: see `Store.bury`. False when `stopped` said so before the end. */
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
