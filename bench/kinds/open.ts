/**
 * Measures latency in an open loop: requests are sent at fixed instants, whatever is still unanswered, and latency
 * counts from these.
 */
import type { Probed } from '../parts/probed.ts'
import { type ClosedWorkload, chatBody } from '../parts/workloads.ts'
import { GATEWAY } from '../report/targets.ts'
import { type Context, loadRightly, orderFor } from './context.ts'

export async function measureLatency(
  w: ClosedWorkload,
  { requests, warm }: { requests: number; warm: number },
  subjects: Probed[],
  { results, rounds, share, rate: given }: Context,
): Promise<void> {
  const rate = given ?? Math.round((results.median(w.name, GATEWAY, 'perSecond') as number) / 2)
  for (let round = 0; round < rounds; round++)
    for (const subject of subjects) {
      const outcome = await loadRightly(
        orderFor(subject, {
          mode: 'open',
          kinds: [{ body: chatBody(w.bodyBytes, w.stream) }],
          requests: Math.ceil(requests * share) + warm,
          warm,
          rate,
        }),
      )
      const add = results.add.bind(results, w.name, subject.name)
      add('openP50Ms', outcome.p50us / 1000)
      add('openP99Ms', outcome.p99us / 1000)
      add('openP999Ms', outcome.p999us / 1000)
      add('openFirstByteMs', outcome.firstByteP50us / 1000)
      add('loadLateMs', outcome.lateP99us / 1000)
    }
}
