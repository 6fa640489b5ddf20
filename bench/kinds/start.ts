/** Measures the time from the start of the command to `ready` in its log, with a fresh embedded store, beside that of a Node that runs nothing. */
import { spawnSync } from 'node:child_process'
import { startGateway } from '../parts/subjects.ts'
import type { Workload } from '../parts/workloads.ts'
import { EMPTY } from '../report/targets.ts'
import type { Context } from './context.ts'

type Start = Extract<Workload, { kind: 'start' }>
const NOBODY = 9

export async function measureStart(w: Start, { results, gateways }: Context): Promise<void> {
  for (let i = 0; i <= w.times; i++) {
    const beganMs = performance.now()
    spawnSync(process.execPath, ['-e', '0'])
    if (i > 0) results.add(w.name, EMPTY, 'startMs', performance.now() - beganMs)
    for (const { name, root } of gateways) {
      const gateway = await startGateway(NOBODY, root, name)
      const { readyMs } = gateway
      await gateway.stop()
      // the first start fills the cache of compiled code, so it is not counted
      if (i > 0) results.add(w.name, name, 'startMs', readyMs)
    }
  }
}
