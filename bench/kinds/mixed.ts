/**
 * Measures a mixture like that of a normal day: two gateways on one MySQL, whole answers, streams, and clients that
 * leave. Requests come at fixed instants, so that both revisions of a comparison do the same work.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { startMariadb } from '../../test/support/mariadb.ts'
import type { Kind } from '../load/order.ts'
import { audit, statements } from '../parts/ops.ts'
import type { Probed } from '../parts/probed.ts'
import { startUpstream } from '../parts/subjects.ts'
import { chatBody, type Workload } from '../parts/workloads.ts'
import { checkAnswer } from './answer.ts'
import { type Context, loadRightly, orderFor, startProbed, stopAll } from './context.ts'

type Mixed = Extract<Workload, { kind: 'mixed' }>

const GATEWAYS = 2
const EVENTS = 20
/** The time between two events of a stream. Clients that leave do so while a stream runs. */
const GAP_MS = 5
const KINDS: Kind[] = [
  { body: chatBody(200, false), share: 60 },
  { body: chatBody(20_000, false), share: 5, timed: false },
  { body: chatBody(2000, true), share: 30, timed: false },
  { body: chatBody(2000, true), share: 5, timed: false, leaveMs: 40 },
]
const WARM_S = 5
/** The time after which everything that was answered is in the books. */
const SETTLE_MS = 1500

export async function measureMixed(w: Mixed, context: Context): Promise<void> {
  const mariadb = await startMariadb()
  const upstream = await startUpstream({ EVENTS: String(EVENTS), GAP_MS: String(GAP_MS) })
  const pairs: Probed[][] = []
  try {
    for (const [i, gateway] of context.gateways.entries()) {
      const store = await mariadb.database(`bench_${i}`)
      const pair: Probed[] = []
      pairs.push(pair)
      while (pair.length < GATEWAYS) pair.push(await startProbed(gateway, upstream.port, { store }))
      for (const gateway of pair) {
        await checkAnswer(gateway, chatBody(200, false), { status: 200, events: null })
        await checkAnswer(gateway, chatBody(200, true), { status: 200, events: EVENTS })
      }
      await load(w, pair, WARM_S)
    }
    for (let round = 0; round < context.rounds; round++) for (const pair of pairs) await measure(w, pair, context)
    await sleep(SETTLE_MS)
    for (const [gateway] of pairs) await audit(gateway as Probed)
  } finally {
    await stopAll([...pairs.flat(), upstream])
    await mariadb.stop()
  }
}

const load = (w: Mixed, pair: Probed[], seconds: number) =>
  loadRightly(
    orderFor(pair[0] as Probed, {
      mode: 'open',
      ports: pair.map(gateway => gateway.port),
      kinds: KINDS,
      requests: w.rate * seconds,
      rate: w.rate,
    }),
  )

async function measure(w: Mixed, pair: Probed[], { results, share }: Context): Promise<void> {
  const costs = async () => {
    const sums = { userUs: 0, systemUs: 0, statements: 0 }
    for (const gateway of pair) {
      const { userUs, systemUs } = await gateway.read()
      sums.userUs += userUs
      sums.systemUs += systemUs
      sums.statements += await statements(gateway)
    }
    return sums
  }
  const before = await costs()
  const outcome = await load(w, pair, Math.ceil(w.seconds * share))
  const after = await costs()
  const add = results.add.bind(results, w.name, (pair[0] as Probed).name)
  const userUs = (after.userUs - before.userUs) / outcome.done
  const systemUs = (after.systemUs - before.systemUs) / outcome.done
  add('cpuUs', userUs + systemUs)
  add('userUs', userUs)
  add('systemUs', systemUs)
  add('wholeP50Ms', outcome.p50us / 1000)
  add('wholeP99Ms', outcome.p99us / 1000)
  add('statements', (after.statements - before.statements) / outcome.done)
  add('loadCores', outcome.loadCpuS / outcome.seconds)
}
