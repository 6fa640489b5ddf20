/**
 * `npm run bench:peers [-- NAME=URL …]`: what a request costs in our gateway with everything on, in the bare relay, in
 * nginx, and in other gateways in front of the same upstream, in one run in which all take turns. LiteLLM, Portkey and TensorZero
 * are installed at first use and started; any other gateway is started by you and named by its address, for example
 * `bifrost=http://sk-key@127.0.0.1:8080/v1/chat/completions?model=openai/beta-4.7`, with the upstream on the port that
 * `--upstream` gives.
 *
 *   --rounds N         rounds, each a load on every gateway (3)
 *   --upstream PORT    the port of the upstream, for gateways that you start yourself (any)
 *   --only NAME        of the gateways that are started only those whose name contains this; repeatable
 *
 * Gateways are warmed up as for `npm run bench`, so that compiling their code is not measured. The slower one is, the fewer
 * requests it is given, so that a round takes some seconds for each. Writes the table and
 * its picture into docs/performance.md, unless `--only` is given; what could not be measured is named there.
 */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { scriptArguments } from '../test/support/script.ts'
import { runLoad } from './load/run.ts'
import { startNginx } from './parts/nginx.ts'
import { cpuOfTree, PEERS, type Peer, runningPeer, startPeer } from './parts/peers.ts'
import { KEY, ROOT, type Subject, startBare, startGateway, startUpstream } from './parts/subjects.ts'
import { type ClosedWorkload, chatBody, SOON, WORKLOADS } from './parts/workloads.ts'
import { replaceBlock } from './report/doc-block.ts'
import { barsSvg, showPicture } from './report/picture.ts'
import { median } from './report/statistics.ts'
import { BARE, GATEWAY } from './report/targets.ts'

const { values, positionals } = scriptArguments(import.meta.filename, {
  rounds: { type: 'string', default: '3' },
  upstream: { type: 'string', default: '0' },
  only: { type: 'string' },
})

/** How long a round should take a gateway. */
const ROUND_S = 4
const LEAST_REQUESTS = 200
/** What is slow is not warmed up with as many requests as the rest, but for so long. */
const LONGEST_WARM_UP_S = 15
const SMALL = 'small JSON'
const NAMES = [SMALL, 'burst stream', '64 paced streams']
const LOADS = WORKLOADS.filter((w): w is ClosedWorkload => w.kind === 'closed' && NAMES.includes(w.name))

interface Figures {
  cpuUs: number[]
  perSecond: number[]
  p50Ms: number[]
  p99Ms: number[]
}
/** What was measured: by load, then by gateway. */
const measured = new Map<string, Map<string, Figures>>()
/** What could not be measured, and why. */
const missing = new Set<string>()

const ownPeer = (subject: Subject): Peer => ({
  name: subject.name,
  url: new URL(`http://127.0.0.1:${subject.port}/v1/chat/completions`),
  headers: { authorization: `Bearer ${KEY}` },
  model: 'beta-4.7',
  cpuUs: () => cpuOfTree(subject.pid),
  stop: () => subject.stop(),
})

/** `more`: members of the request's body. */
async function loadPeer(peer: Peer, load: ClosedWorkload, requests: number, more: object = {}) {
  const { url, headers, model } = peer
  const outcome = await runLoad({
    host: url.hostname,
    ports: [Number(url.port || 80)],
    path: url.pathname,
    headers: { ...headers, 'content-type': 'application/json' },
    kinds: [{ body: chatBody(load.bodyBytes, load.stream, more).replace('"beta-4.7"', JSON.stringify(model)) }],
    connections: load.connections,
    requests,
    rampMs: load.rampMs ?? 0,
  })
  if (outcome.failed > 0)
    throw new Error(`${peer.name}, ${load.name}: ${outcome.failed} of ${outcome.done} answers failed`)
  return outcome
}

/** Starts all gateways; what cannot be started is named in `missing`. */
async function startAll(upstreamPort: number): Promise<Peer[]> {
  const peers = [ownPeer(await startBare(upstreamPort)), ownPeer(await startGateway(upstreamPort))]
  const nginx = await startNginx(upstreamPort)
  if (nginx === null) missing.add('nginx is not installed')
  else peers.push(ownPeer(nginx))
  for (const row of PEERS.filter(({ name }) => name.includes(values.only ?? '')))
    try {
      peers.push(await startPeer(row, upstreamPort))
    } catch (error) {
      missing.add(`${row.name}: ${(error as Error).message}`)
    }
  return [...peers, ...positionals.map(runningPeer)]
}

/**
 * Loads a gateway with what `npm run bench` warms the same workload up with, more and more at a time, as it compiles its
 * code; the number of requests that it answers in a round, 0 where it fails.
 */
async function warm(peer: Peer, load: ClosedWorkload): Promise<number> {
  const beganMs = performance.now()
  const more = load.hot === undefined ? {} : JSON.parse(`{${SOON}}`)
  try {
    let done = 0
    while (done < (load.hot ?? load.warmup) && performance.now() - beganMs < LONGEST_WARM_UP_S * 1000)
      done += (await loadPeer(peer, load, done + LEAST_REQUESTS, more)).done
    const { perSecond } = await loadPeer(peer, load, LEAST_REQUESTS)
    return Math.max(LEAST_REQUESTS, Math.ceil(perSecond * ROUND_S))
  } catch (error) {
    missing.add((error as Error).message)
    return 0
  }
}

async function measure(load: ClosedWorkload): Promise<void> {
  const upstream = await startUpstream({ ...load.upstream, PORT: values.upstream })
  const figures = new Map<string, Figures>()
  measured.set(load.name, figures)
  const peers = await startAll(upstream.port)
  try {
    const counts = new Map<Peer, number>()
    for (const peer of peers) counts.set(peer, await warm(peer, load))
    for (let round = 0; round < Number(values.rounds); round++)
      for (const [peer, requests] of counts) {
        if (requests === 0) continue
        const of = figures.get(peer.name) ?? { cpuUs: [], perSecond: [], p50Ms: [], p99Ms: [] }
        figures.set(peer.name, of)
        const before = peer.cpuUs()
        const outcome = await loadPeer(peer, load, requests)
        const after = peer.cpuUs()
        if (before !== null && after !== null) of.cpuUs.push((after - before) / requests / load.per)
        of.perSecond.push(outcome.perSecond)
        of.p50Ms.push(outcome.p50us / 1000)
        of.p99Ms.push(outcome.p99us / 1000)
      }
  } finally {
    for (const peer of peers) await peer.stop()
    await upstream.stop()
  }
}

const shown = (numbers: readonly number[], digits: number): string =>
  numbers.length === 0 ? '' : median(numbers).toFixed(digits)

function tableLines(): string[] {
  const rows = LOADS.flatMap(({ name, unit, stream }) => {
    const figures = measured.get(name) ?? new Map<string, Figures>()
    const ours = figures.get(GATEWAY)?.cpuUs ?? []
    return [...figures].map(([peer, { cpuUs, perSecond, p50Ms, p99Ms }]) => {
      const ratios = cpuUs.map((us, round) => us / (ours[round] as number))
      const cells = [name, unit, peer, shown(cpuUs, 1), shown(ratios, 2), stream ? '' : shown(perSecond, 0)]
      return [...cells, ...(stream ? ['', ''] : [shown(p50Ms, 2), shown(p99Ms, 2)])]
    })
  })
  const head = ['load', 'unit', 'gateway', 'CPU µs per unit', '÷ ours', 'requests/s', 'p50 ms', 'p99 ms']
  return [head, head.map(() => '---'), ...rows].map(cells => `| ${cells.join(' | ')} |`)
}

for (const load of LOADS) {
  console.error(`${load.name} …`)
  await measure(load)
}
const notes = [...missing].map(text => `Not measured: ${text}.`)
const about = `Node ${process.version}, ${values.rounds} rounds, medians, ${new Date().toISOString().slice(0, 10)}. p50 and p99 at saturation.`
const legend = PEERS.map(({ name, does }) => `${name}: ${does}.`)
const text = `${tableLines().join('\n')}\n\n${[about, ...legend, ...notes].join('\n')}\n`
console.log(text)
mkdirSync(path.join(ROOT, 'data'), { recursive: true })
writeFileSync(path.join(ROOT, 'data/peers.md'), text)
const isWhole = values.only === undefined
if (isWhole) {
  const document = path.join(ROOT, 'docs/performance.md')
  writeFileSync(document, replaceBlock(readFileSync(document, 'utf8'), 'peers', text))
  const names: Record<string, string> = { [GATEWAY]: 'this gateway, everything on', [BARE]: 'bare Node relay' }
  const bars = [...(measured.get(SMALL) ?? [])]
    .filter(([, { cpuUs }]) => cpuUs.length > 0)
    .map(([name, { cpuUs }]) => ({ label: names[name] ?? name, parts: [{ name: '', value: median(cpuUs) }] }))
  const title = 'CPU time of a small request, µs (logarithmic)'
  const picture = barsSvg(title, bars, { isLogarithmic: true })
  showPicture(ROOT, 'cost-of-a-request', picture, title, ['docs/performance.md', 'README.md'])
}
