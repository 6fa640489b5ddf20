/** Counts the statements to the store under a steady rate of requests on one account. */
import { statements } from '../parts/ops.ts'
import { startUpstream } from '../parts/subjects.ts'
import { chatBody, type Workload } from '../parts/workloads.ts'
import { checkAnswer } from './answer.ts'
import { type Context, loadRightly, orderFor, startGateways, stopAll } from './context.ts'

const WARM_S = 5

type Steady = Extract<Workload, { kind: 'steady' }>

export async function measureSteady(w: Steady, context: Context): Promise<void> {
  const upstream = await startUpstream()
  const gateways = await startGateways(context, upstream.port)
  const body = chatBody(200, false)
  const load = (gateway: (typeof gateways)[number], seconds: number) =>
    loadRightly(orderFor(gateway, { mode: 'open', kinds: [{ body }], requests: w.rate * seconds, rate: w.rate }))
  try {
    for (const gateway of gateways) {
      await checkAnswer(gateway, body, { status: 200, events: null })
      await load(gateway, WARM_S) // leases and windows follow the flow then
      const before = await statements(gateway)
      const { done } = await load(gateway, Math.ceil(w.seconds * context.share))
      context.results.add(w.name, gateway.name, 'statements', ((await statements(gateway)) - before) / done)
    }
  } finally {
    await stopAll([...gateways, upstream])
  }
}
