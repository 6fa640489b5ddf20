/**
 * `npm run bench [-- --quick] [-- --only NAME]`: the gateway with everything on beside the bare relay and nginx, in one run
 * on one machine. The figure that counts is CPU time of the subject's process per unit: it does not depend on who else
 * is busy. Subjects take turns, three rounds each; the median is shown. Correctness is checked before anything is timed.
 */
import { spawnSync } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import os from 'node:os'
import path from 'node:path'
import { parseArgs } from 'node:util'
import { KEY, ROOT, type Subject, startBare, startGateway, startNginx, startUpstream } from './parts/subjects.ts'
import { chatBody, WORKLOADS, type Workload } from './parts/workloads.ts'

const { values } = parseArgs({
  options: { quick: { type: 'boolean' }, only: { type: 'string' }, against: { type: 'string' } },
})
const ROUNDS = values.quick ? 1 : 3

interface Sample {
  userUs: number
  systemUs: number
  perSecond: number
  p50us: number
  p99us: number
  loadCpuS: number
  seconds: number
}

function load(subject: Subject, w: Workload, requests: number): Record<string, number> {
  const order = {
    host: '127.0.0.1',
    port: subject.port,
    path: '/v1/chat/completions',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body: chatBody(w.bodyBytes, w.stream),
    connections: Math.min(w.connections, requests),
    requests,
    stream: w.stream,
  }
  // a large body does not fit into argv
  const script = path.join(import.meta.dirname, 'parts/load.ts')
  const run = spawnSync(process.execPath, [script], {
    encoding: 'utf8',
    input: JSON.stringify(order),
    maxBuffer: 1 << 26,
  })
  if (run.status !== 0) throw new Error(`load on ${subject.name} failed: ${run.stderr}`)
  const result = JSON.parse(run.stdout) as Record<string, number>
  if (result['failed'] !== 0)
    throw new Error(`${subject.name}: ${result['failed']} of ${result['done']} answers were not 200`)
  return result
}

function measure(subject: Subject, w: Workload): Sample {
  const requests = values.quick ? Math.ceil(w.requests / 4) : w.requests
  const before = subject.cpu()
  const result = load(subject, w, requests)
  const after = subject.cpu()
  const units = requests * w.per
  return {
    userUs: ((after.userS - before.userS) * 1e6) / units,
    systemUs: ((after.systemS - before.systemS) * 1e6) / units,
    perSecond: result['perSecond'] as number,
    p50us: result['p50us'] as number,
    p99us: result['p99us'] as number,
    loadCpuS: result['loadCpuS'] as number,
    seconds: result['seconds'] as number,
  }
}

async function check(subject: Subject, w: Workload): Promise<void> {
  const body = chatBody(w.bodyBytes, w.stream)
  const answer = await fetch(`http://127.0.0.1:${subject.port}/v1/chat/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${KEY}`, 'content-type': 'application/json' },
    body,
  })
  const text = await answer.text()
  const right = w.stream
    ? text.endsWith('data: [DONE]\n\n') && text.split('" token"').length === 101
    : text.includes('How can I help you today?')
  if (answer.status !== 200 || !right)
    throw new Error(`${subject.name} answers ${w.name} wrongly: ${answer.status} ${text.slice(0, 300)}`)
}

const median = (numbers: number[]): number =>
  [...numbers].sort((a, b) => a - b)[Math.floor(numbers.length / 2)] as number

async function run(w: Workload): Promise<string[]> {
  const upstream = await startUpstream(w.upstream)
  const subjects = [await startBare(upstream.port), await startGateway(upstream.port)]
  if (values.against !== undefined)
    subjects.push(await startGateway(upstream.port, path.resolve(values.against), values.against))
  const nginx = await startNginx(upstream.port)
  if (nginx !== null) subjects.push(nginx)
  const samples = new Map<Subject, Sample[]>(subjects.map(s => [s, []]))
  try {
    for (const subject of subjects) {
      await check(subject, w)
      load(subject, w, w.warmup)
    }
    for (let round = 0; round < ROUNDS; round++)
      for (const subject of subjects) samples.get(subject)?.push(measure(subject, w))
  } finally {
    for (const subject of subjects) await subject.stop()
    await upstream.stop()
  }
  const cpu = (s: Sample) => s.userUs + s.systemUs
  const of = (subject: Subject, figure: (s: Sample) => number) => median((samples.get(subject) as Sample[]).map(figure))
  const floor = of(subjects[0] as Subject, cpu)
  return subjects.map(s => {
    const busy = Math.max(...(samples.get(s) as Sample[]).map(x => x.loadCpuS / x.seconds))
    const row = [
      w.name,
      s.name,
      of(s, cpu).toFixed(1),
      of(s, x => x.userUs).toFixed(1),
      of(s, x => x.systemUs).toFixed(1),
      (of(s, cpu) / floor).toFixed(2),
      of(s, x => x.perSecond).toFixed(0),
      (of(s, x => x.p50us) / 1000).toFixed(2),
      (of(s, x => x.p99us) / 1000).toFixed(2),
      `${(busy * 100).toFixed(0)} %`,
    ]
    return `| ${row.join(' | ')} |`
  })
}

const HEAD = [
  '| workload | subject | CPU µs per unit | user | system | ÷ bare | requests/s | p50 ms | p99 ms | load process busy |',
  '|---|---|---|---|---|---|---|---|---|---|',
]
const lines = [...HEAD]
console.log(HEAD.join('\n'))
for (const w of WORKLOADS.filter(w => values.only === undefined || w.name.includes(values.only))) {
  for (const line of await run(w)) {
    console.log(line)
    lines.push(line)
  }
}
const about = `Node ${process.version}, ${os.cpus().length} × ${os.cpus()[0]?.model ?? 'cpu'}, ${ROUNDS} rounds, medians.`
console.log(`\n${about}`)
const folder = path.join(ROOT, 'data')
mkdirSync(folder, { recursive: true })
writeFileSync(path.join(folder, 'bench.md'), `${lines.join('\n')}\n\n${about}\n`)
