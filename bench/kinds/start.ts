/**
 * Measures the time from the start of the command to `ready` in its log, with a fresh embedded store, beside that of a Node that runs
 * nothing; then the memory of all processes of an idle gateway beside that of two idle servers of bare Node.
 */
import { spawn, spawnSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { end, keep, rssOf } from '../parts/process.ts'
import { startGateway } from '../parts/subjects.ts'
import type { Workload } from '../parts/workloads.ts'
import { BARE, EMPTY } from '../report/targets.ts'
import type { Context } from './context.ts'

type Start = Extract<Workload, { kind: 'start' }>
const NOBODY = 9
/** What is loaded after `ready` is there by then. */
const IDLE_MS = 3000
const MIB = 2 ** 20
/** JavaScript, because what removes types would be in its memory. */
const SERVER = "require('node:http').createServer().listen(0, '127.0.0.1')"

export async function measureStart(w: Start, { results, gateways }: Context): Promise<void> {
  for (let i = 0; i <= w.times; i++) {
    const beganMs = performance.now()
    spawnSync(process.execPath, ['-e', '0'])
    if (i > 0) results.add(w.name, EMPTY, 'startMs', performance.now() - beganMs)
    for (const { name, root } of gateways) {
      const gateway = await startGateway(NOBODY, root, name)
      const { readyMs } = gateway
      if (i === w.times) {
        await sleep(IDLE_MS)
        const ids = new Set([gateway.pid, gateway.supervisor])
        results.add(w.name, name, 'idleMiB', [...ids].reduce((sum, pid) => sum + rssOf(pid), 0) / MIB)
      }
      await gateway.stop()
      // the first start fills the cache of compiled code, so it is not counted
      if (i > 0) results.add(w.name, name, 'startMs', readyMs)
    }
  }
  const server = keep(spawn(process.execPath, ['-e', SERVER], { stdio: 'ignore' }))
  await sleep(IDLE_MS)
  results.add(w.name, BARE, 'idleMiB', (2 * rssOf(server.pid as number)) / MIB)
  await end(server)
}
