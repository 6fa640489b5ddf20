/** What the threads of a process did, from /proc: CPU time by the kind of thread, and context switches. */
import { readdirSync, readFileSync } from 'node:fs'

export interface Threads {
  /** CPU time in µs (ticks of 10 ms) by the name of the thread. */
  cpuUs: Map<string, number>
  /** How often a thread stopped running, because it waited or because another one was given its core. */
  switches: number
}

const TICK_US = 10_000

/** The first thread is called `main`; the others have the names that Node, V8 and libuv give them. */
export function readThreads(pid: number): Threads {
  const cpuUs = new Map<string, number>()
  let switches = 0
  for (const task of readdirSync(`/proc/${pid}/task`)) {
    const folder = `/proc/${pid}/task/${task}`
    try {
      const stat = readFileSync(`${folder}/stat`, 'utf8')
      const name = Number(task) === pid ? 'main' : stat.slice(stat.indexOf('(') + 1, stat.lastIndexOf(')'))
      const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
      cpuUs.set(name, (cpuUs.get(name) ?? 0) + (Number(fields[11]) + Number(fields[12])) * TICK_US)
      for (const [, count] of readFileSync(`${folder}/status`, 'utf8').matchAll(/ctxt_switches:\s+(\d+)/g))
        switches += Number(count)
    } catch {
      // the thread has ended meanwhile
    }
  }
  return { cpuUs, switches }
}
