/** Processes of a gateway, as /proc has them. */
import { readFileSync } from 'node:fs'

/** None when it is gone. */
export function childrenOf(pid: number): number[] {
  try {
    return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').filter(Boolean).map(Number)
  } catch {
    return []
  }
}

const commandOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8')

/** Of `bin/gateway serve`: the one that serves, the last of them, which has the workers where there are several. */
export const servingOf = (pid: number): number =>
  childrenOf(pid).findLast(child => commandOf(child).includes('lib/cli.ts')) ?? pid
