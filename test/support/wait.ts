/** Waits until a condition is true, so that no test sleeps for a guessed time. */
import { setTimeout as sleep } from 'node:timers/promises'

/** Far longer than anything takes: it only ends a test that waits in vain, and a busy machine is no failure. */
const MOST_MS = 180_000
/** Longer than between what a test books and what it asks for. */
const MINUTE_MS = 60_000

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

/** The day of the books, once it lasts for another minute: what is booked meanwhile belongs to it. */
export async function lastingDay(): Promise<string> {
  const dayIn = (ms: number) => new Date(Date.now() + 8 * 3_600_000 + ms).toISOString().slice(0, 10)
  while (dayIn(0) !== dayIn(MINUTE_MS)) await sleep(1_000)
  return dayIn(0)
}

/** The same for the month. */
export const lastingMonth = async (): Promise<string> => (await lastingDay()).slice(0, 7)
