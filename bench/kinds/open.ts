/**
 * Measures latency in an open loop: requests are sent at fixed instants, whatever is still unanswered, and latency
 * counts from these.
 */
import { startNginx } from '../parts/nginx.ts'
import { type Probed, probed } from '../parts/probed.ts'
import { startBare, startUpstream } from '../parts/subjects.ts'
import { chatBody, type Workload } from '../parts/workloads.ts'
import { checkAnswer } from './answer.ts'
import { type Context, loadRightly, orderFor, startGateways, stopAll } from './context.ts'

type Open = Extract<Workload, { kind: 'open' }>
const CONNECTIONS = 32
const NGINX_WARMUP = 2000

export async function measureOpen(w: Open, context: Context): Promise<void> {
  const { results, rounds, share, floors, rate } = context
  const upstream = await startUpstream()
  const subjects: Probed[] = []
  const kinds = [{ body: chatBody(200, false) }]
  try {
    if (floors) subjects.push(await probed(env => startBare(upstream.port, env)))
    const nginx = floors ? await startNginx(upstream.port) : null
    if (nginx !== null) subjects.push(nginx)
    subjects.push(...(await startGateways(context, upstream.port)))
    for (const subject of subjects) {
      await checkAnswer(subject, chatBody(200, false), { status: 200, events: null })
      const warmup = subject === nginx ? NGINX_WARMUP : w.warmup
      await loadRightly(
        orderFor(subject, { kinds, connections: CONNECTIONS, requests: Math.ceil(warmup * context.share) }),
      )
    }
    for (let round = 0; round < rounds; round++)
      for (const subject of subjects) {
        const requests = Math.ceil(w.requests * share) + w.warm
        const outcome = await loadRightly(
          orderFor(subject, { mode: 'open', kinds, requests, warm: w.warm, rate: rate ?? w.rate }),
        )
        const add = results.add.bind(results, w.name, subject.name)
        add('openP50Ms', outcome.p50us / 1000)
        add('openP99Ms', outcome.p99us / 1000)
        add('openP999Ms', outcome.p999us / 1000)
        add('openFirstByteMs', outcome.firstByteP50us / 1000)
        add('loadLateMs', outcome.lateP99us / 1000)
      }
  } finally {
    await stopAll([...subjects, upstream])
  }
}
