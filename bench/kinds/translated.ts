/**
 * Measures what translation costs: the same upstream's answers to clients of its own protocol and to clients of another one, by the
 * same gateway in turns, so that only the translation differs.
 */
import type { Order } from '../load/order.ts'
import type { Probed } from '../parts/probed.ts'
import { KEY, type Subject, startUpstream } from '../parts/subjects.ts'
import { LANES, type Lane, laneBody, type TranslatedWorkload } from '../parts/translated-workloads.ts'
import { GATEWAY, NATIVE } from '../report/targets.ts'
import { type Context, loadRightly, requestsOfTurn, startProbed, stopAll } from './context.ts'

const HEADERS = { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' }

export async function measureTranslated(w: TranslatedWorkload, context: Context): Promise<void> {
  const upstream = await startUpstream(w.upstream)
  const subjects: Probed[] = []
  try {
    for (const gateway of context.gateways) subjects.push(await startProbed(gateway, upstream.port))
    for (const subject of subjects)
      for (const client of [w.upstreamProtocol, w.client]) {
        await check(subject, w, client)
        await loadRightly(translatedOrder(w, subject, client, Math.ceil(w.warmup * context.share)))
      }
    for (let turn = 0; turn < context.rounds * context.turns; turn++)
      for (const subject of subjects) {
        if (subject.name === GATEWAY) await measure(w, subject, NATIVE, w.upstreamProtocol, context)
        await measure(w, subject, subject.name, w.client, context)
      }
  } finally {
    await stopAll([...subjects, upstream])
  }
}

export const translatedOrder = (w: TranslatedWorkload, subject: Subject, client: Lane, requests: number): Order => ({
  host: '127.0.0.1',
  ports: [subject.port],
  path: LANES[client].path,
  headers: HEADERS,
  kinds: [{ body: laneBody(w, client) }],
  connections: w.connections,
  rampMs: w.rampMs ?? 0,
  requests,
})

/** Throws when the answer is not as it should be, or comes by another lane. */
async function check(subject: Subject, w: TranslatedWorkload, client: Lane): Promise<void> {
  const answer = await fetch(`http://127.0.0.1:${subject.port}${LANES[client].path}`, {
    method: 'POST',
    headers: HEADERS,
    body: laneBody(w, client),
  })
  const text = await answer.text()
  const via = client === w.upstreamProtocol ? null : w.upstreamProtocol
  const isWhole = w.stream
    ? text.endsWith(LANES[client].end) && text.split('" token"').length === w.events + 1
    : text.includes('How can I help you today?')
  if (answer.status !== 200 || answer.headers.get('x-gateway-via') !== via || !isWhole)
    throw new Error(`${subject.name} answers ${client} wrongly: ${answer.status} ${text.slice(0, 300)}`)
}

async function measure(
  w: TranslatedWorkload,
  subject: Probed,
  name: string,
  client: Lane,
  context: Context,
): Promise<void> {
  const { results } = context
  const requests = requestsOfTurn(w.requests, w.connections, context)
  if (w.stalls) await subject.watch?.()
  const before = await subject.read()
  const outcome = await loadRightly(translatedOrder(w, subject, client, requests))
  const after = await subject.read()
  const units = requests * (w.stream ? w.events : 1)
  const add = results.add.bind(results, w.name, name)
  const cpuUs = after.userUs + after.systemUs - before.userUs - before.systemUs
  add('cpuUs', cpuUs / units)
  if (after.mainThreadUs !== null && before.mainThreadUs !== null)
    add('mainThreadUs', (after.mainThreadUs - before.mainThreadUs) / units)
  if (w.stream) add('firstByteMs', outcome.firstByteP50us / 1000)
  if (after.allocatedBytes !== null && before.allocatedBytes !== null)
    add('allocatedKiB', (after.allocatedBytes - before.allocatedBytes) / units / 1024)
  if (!w.stalls) return
  add('stallMs', after.stallMs)
  add('stallCpuMs', after.stallCpuMs)
}
