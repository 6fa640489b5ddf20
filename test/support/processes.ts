/** Finds the processes of a gateway in /proc. */
import { readFileSync } from 'node:fs'

/** The children of a process; none when the process has ended. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8')

/** The serving child of a `bin/gateway serve`: its newest one. With several workers, this is the primary. */
export const servingOf = (pid: number): number =>
  childrenOf(pid).findLast(child => commandOf(child).includes('lib/cli.ts')) ?? pid
