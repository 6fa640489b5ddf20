/**
 * Gives back what a start has left in memory: a quarter of it, which V8 would keep for as long as little is allocated. To collect it stops the
 * process for some 30 ms, so it happens when nobody notices.
 */
import type { performance } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { Clock } from '../base/clock.ts'

/** How long the process is to have been quiet. */
const QUIET_MS = 500
/** The part of that time for which a quiet process may have worked. */
const QUIET_SHARE = 0.05

/** Collects all garbage at once, also what V8 keeps to be faster, and gives the memory back to the system. */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc')
  const collect = runInNewContext('gc') as (how: { type: 'major'; execution: 'sync'; flavor: 'last-resort' }) => void
  setFlagsFromString('--no-expose-gc')
  collect({ type: 'major', execution: 'sync', flavor: 'last-resort' })
}

interface Quiet {
  clock: Clock
  /** Requests that are not answered yet. */
  openCount: () => number
  /** How long the process has worked since its start, and the share of the time since `before`. */
  worked: typeof performance.eventLoopUtilization
  collect: () => void
}

/** Collects once, at the end of the first quiet time. */
export function collectWhenQuiet(quiet: Quiet): void {
  const { clock, openCount, worked, collect } = quiet
  const before = worked()
  clock.after(QUIET_MS, () => {
    const isQuiet = openCount() === 0 && worked(before).utilization < QUIET_SHARE
    if (isQuiet) collect()
    else collectWhenQuiet(quiet)
  })
}
