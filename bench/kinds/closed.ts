/**
 * Measures subjects in turns under a closed loop, over several rounds: CPU per unit, requests per second, bytes
 * allocated.
 */
import type { Order } from '../load/order.ts'
import { startNginx } from '../parts/nginx.ts'
import { statements } from '../parts/ops.ts'
import { readThreads } from '../parts/threads.ts'
import { type Probed, probed } from '../parts/probed.ts'
import { type Subject, startBare, startUpstream } from '../parts/subjects.ts'
import { SOON, type ClosedWorkload, chatBody } from '../parts/workloads.ts'
import { checkAnswer } from './answer.ts'
import { type Context, loadRightly, orderFor, requestsOfTurn, startGateways, startProbed, stopAll } from './context.ts'

const FEW_KEYS = 2000
const NGINX_WARMUP = 2000
/** The events of a stream when the workload does not say how many. */
const EVENTS = 100

export async function measureClosed(w: ClosedWorkload, context: Context): Promise<void> {
  const upstream = await startUpstream(w.upstream ?? {})
  const subjects: Probed[] = []
  try {
    if (context.floors) subjects.push(await probed(env => startBare(w.upstream === null ? null : upstream.port, env)))
    const nginx = context.floors && w.upstream !== null ? await startNginx(upstream.port) : null
    if (nginx !== null) subjects.push(nginx)
    if (w.previous && context.previous !== null) subjects.push(await startProbed(context.previous, upstream.port))
    subjects.push(...(await startGateways(context, upstream.port)))
    const status = w.upstream === null ? 401 : 200
    const events = w.stream ? Number(w.upstream?.EVENTS ?? EVENTS) : null
    for (const subject of subjects) {
      await checkAnswer(subject, chatBody(w.bodyBytes, w.stream), { status, events })
      if (w.hot !== undefined && subject !== nginx) await heat(w, subject, Math.ceil(w.hot * context.share))
      // nginx is compiled ahead, so it needs little warm-up
      const warmup = subject === nginx ? Math.min(w.warmup, NGINX_WARMUP) : w.warmup
      await loadRightly(closedOrder(w, subject, Math.ceil(warmup * context.share)))
    }
    for (let turn = 0; turn < context.rounds * context.turns; turn++)
      for (const subject of subjects) await measure(w, subject, context)
  } finally {
    await stopAll([...subjects, upstream])
  }
}

/** Counts up, so that no two runs invent the same keys. */
let seeds = 0

export function closedOrder(w: ClosedWorkload, subject: Subject, requests: number): Order {
  const { inventedKeys, rampMs = 0 } = w
  const count = inventedKeys === 'new' ? requests : Math.min(requests, FEW_KEYS)
  return orderFor(subject, {
    kinds: [{ body: chatBody(w.bodyBytes, w.stream) }],
    connections: w.connections,
    requests,
    rampMs,
    status: w.upstream === null ? 401 : 200,
    ...(inventedKeys === undefined ? {} : { inventedKeys: { seed: inventedKeys === 'few' ? 0 : ++seeds, count } }),
  })
}

/** Streams at a time by which events come one by one: with more of them several would wait for the process together. */
const HEAT_CONNECTIONS = 32

/** A process that serves few requests for a second each would be measured while its code is not compiled. */
const heat = (w: ClosedWorkload, subject: Subject, requests: number) =>
  loadRightly({
    ...closedOrder(w, subject, requests),
    kinds: [{ body: chatBody(w.bodyBytes, w.stream, JSON.parse(`{${SOON}}`)) }],
    connections: HEAT_CONNECTIONS,
    rampMs: 0,
  })

async function measure(w: ClosedWorkload, subject: Probed, context: Context): Promise<void> {
  const { results } = context
  const requests = requestsOfTurn(w.requests, w.connections, context)
  const asked = w.inventedKeys !== undefined && subject.ops !== null
  const lookUps = asked ? await statements(subject, 'findKey') : 0
  if (w.stalls) await subject.watch?.()
  const storeBefore = storeThreadUs(subject)
  const before = await subject.read()
  const outcome = await loadRightly(closedOrder(w, subject, requests))
  const after = await subject.read()
  const units = requests * w.per
  const userUs = after.userUs - before.userUs
  const systemUs = after.systemUs - before.systemUs
  const add = results.add.bind(results, w.name, subject.name)
  add('cpuUs', (userUs + systemUs) / units)
  add('userUs', userUs / units)
  add('systemUs', systemUs / units)
  if (after.mainThreadUs !== null && before.mainThreadUs !== null)
    add('mainThreadUs', (after.mainThreadUs - before.mainThreadUs) / units)
  if (storeBefore !== null) add('storeThreadUs', ((storeThreadUs(subject) as number) - storeBefore) / units)
  if (w.unit !== 'event') {
    add('perSecond', outcome.perSecond)
    add('perCore', (requests * 1e6) / (userUs + systemUs))
  }
  if (w.stream) add('firstByteMs', outcome.firstByteP50us / 1000)
  if (after.allocatedBytes !== null && before.allocatedBytes !== null)
    add('allocatedKiB', (after.allocatedBytes - before.allocatedBytes) / units / 1024)
  if (w.stalls && subject.watch !== undefined) add('stallMs', after.stallMs)
  if (asked) add('lookUps', ((await statements(subject, 'findKey')) - lookUps) / requests)
  add('cores', (userUs + systemUs) / 1e6 / outcome.seconds)
  add('loadCores', outcome.loadCpuS / outcome.seconds)
}

/** The CPU time of the thread in which SQLite runs; null = there is none. */
const storeThreadUs = ({ pid }: Probed): number | null => readThreads(pid).cpuUs.get('store') ?? null
