/** Waits until a condition is true, so that no test sleeps for a guessed time. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Far longer than anything takes: it only ends a test that waits in vain, and a busy machine is no failure. */
const MOST_MS = 60_000

/** What comes soon is seen soon; what takes longer is asked for less often, because asking takes the processor from what is waited for. */
const OFTEN = 20
const LATER_MS = 10

export const turn = (): Promise<void> => new Promise(resolve => setTimeout(resolve, 1))

export async function until(what: string, holds: () => unknown): Promise<void> {
  const end = performance.now() + MOST_MS
  for (let asked = 1; !(await holds()); asked++) {
    if (performance.now() > end) throw new Error(`waited in vain: ${what}`)
    await (asked < OFTEN ? turn() : sleep(LATER_MS))
  }
}
