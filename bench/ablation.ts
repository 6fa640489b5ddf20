/**
 * `npm run bench:ablation [-- --rounds N --requests N]`: what each duty costs for a small JSON request. Gateways that lack one
 * duty each, the whole gateway and the bare relay take turns in front of one upstream; the difference to the whole gateway is
 * what the duty costs. The parts do not add up to the whole, because a duty that is left out leaves less for the others to do.
 * Then the system calls of the whole gateway and of the bare relay are counted, where `strace` is installed.
 *
 *   --rounds N     rounds, each a load on every gateway (5)
 *   --requests N   requests of a round (10000)
 *
 * Writes the table and its picture into docs/performance.md, unless an option is given.
 */
import { spawn } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import path from 'node:path'
import { scriptOptions } from '../test/support/script.ts'
import { loadRightly, orderFor, stopAll } from './kinds/context.ts'
import { ABLATIONS, type Ablation, leavingOut } from './parts/ablations.ts'
import { ROOT, type Subject, startBare, startGateway, startUpstream } from './parts/subjects.ts'
import { readThreads } from './parts/threads.ts'
import { chatBody } from './parts/workloads.ts'
import { replaceBlock } from './report/doc-block.ts'
import { barsSvg, showPicture } from './report/picture.ts'
import { median } from './report/statistics.ts'
import { BARE, GATEWAY } from './report/targets.ts'

const ROUNDS = '5'
const REQUESTS = '10000'
const values = scriptOptions(import.meta.filename, {
  rounds: { type: 'string', default: ROUNDS },
  requests: { type: 'string', default: REQUESTS },
})
const requests = Number(values.requests)
const CONNECTIONS = 32
/** Requests before anything is measured: as many rounds' worth, until the code is compiled. */
const WARM_ROUNDS = 3
const TRACED = 4000

const load = (subject: Subject, count: number) =>
  loadRightly(orderFor(subject, { kinds: [{ body: chatBody(200, false) }], connections: CONNECTIONS, requests: count }))

/** One figure of a round, in µs per request but for `switches`, which are a number. */
interface Round {
  main: number
  store: number
  rest: number
  all: number
  switches: number
}

async function measure(subject: Subject): Promise<Round> {
  const before = readThreads(subject.pid)
  await load(subject, requests)
  const after = readThreads(subject.pid)
  const of = (name: string): number => ((after.cpuUs.get(name) ?? 0) - (before.cpuUs.get(name) ?? 0)) / requests
  const all = [...after.cpuUs.keys()].reduce((sum, name) => sum + of(name), 0)
  const [main, store] = [of('main'), of('store')]
  return { main, store, rest: all - main - store, all, switches: (after.switches - before.switches) / requests }
}

/** The system calls of one request by name, the most frequent first; null without strace. */
async function systemCalls(subject: Subject): Promise<[name: string, perRequest: number][] | null> {
  const trace = spawn('strace', ['-c', '-f', '-U', 'calls,name', '-p', String(subject.pid)], {
    stdio: ['ignore', 'ignore', 'pipe'],
  })
  let text = ''
  trace.stderr.on('data', data => {
    text += data
  })
  const ended = new Promise<boolean>(resolve => {
    trace.once('error', () => resolve(false))
    trace.once('close', () => resolve(true))
  })
  await new Promise(resolve => setTimeout(resolve, 1000))
  if (trace.exitCode !== null || trace.pid === undefined) return null
  await load(subject, TRACED)
  trace.kill('SIGINT')
  if (!(await ended)) return null
  const rows = [...text.matchAll(/^\s*(\d+) (\w+)\s*$/gm)].map(([, calls, name]): [string, number] => [
    name as string,
    Number(calls) / TRACED,
  ])
  return rows.filter(([name]) => name !== 'total')
}

const upstream = await startUpstream()
const subjects: Subject[] = []
const rounds = new Map<string, Round[]>()
const calls = new Map<string, [string, number][]>()
try {
  subjects.push(await startBare(upstream.port), await startGateway(upstream.port))
  for (const { name } of ABLATIONS) subjects.push(await startGateway(upstream.port, ROOT, name, {}, leavingOut(name)))
  for (const subject of subjects) {
    console.error(`${subject.name} is warmed up …`)
    await load(subject, requests * WARM_ROUNDS)
  }
  for (let round = 0; round < Number(values.rounds); round++) {
    console.error(`round ${round + 1} of ${values.rounds} …`)
    for (const subject of subjects)
      rounds.set(subject.name, [...(rounds.get(subject.name) ?? []), await measure(subject)])
  }
  for (const subject of subjects.slice(0, 2)) {
    const counted = await systemCalls(subject)
    if (counted !== null) calls.set(subject.name, counted)
  }
} finally {
  await stopAll([...subjects, upstream])
}

const whole = rounds.get(GATEWAY) as Round[]
const figure = (name: string, of: keyof Round): number => median((rounds.get(name) as Round[]).map(round => round[of]))
/** What the duty costs: the median over the rounds of the difference between the whole gateway and the one without the duty. */
function cost({ name, isTwice = false }: Ablation, of: keyof Round): number {
  const sign = isTwice ? -1 : 1
  return median((rounds.get(name) as Round[]).map((round, i) => sign * ((whole[i] as Round)[of] - round[of])))
}

function tableLines(): string[] {
  const cells = (name: string, numbers: number[]): string =>
    `| ${[name, ...numbers.map(n => n.toFixed(1))].join(' | ')} |`
  const keys: (keyof Round)[] = ['all', 'main', 'store', 'rest', 'switches']
  return [
    '| | CPU µs per request | main thread | store thread | other threads | context switches |',
    '|---|---|---|---|---|---|',
    ...[BARE, GATEWAY].map(name =>
      cells(
        name,
        keys.map(of => figure(name, of)),
      ),
    ),
    ...ABLATIONS.map(duty =>
      cells(
        `of it: ${duty.name}`,
        keys.map(of => cost(duty, of)),
      ),
    ),
  ]
}

function callLines(): string[] {
  const [bare, ours] = [calls.get(BARE), calls.get(GATEWAY)]
  if (bare === undefined || ours === undefined)
    return ['System calls were not counted: strace is not installed, or may not attach.']
  const LEAST = 0.01
  const names = [...new Set([...ours, ...bare].filter(([, count]) => count >= LEAST).map(([name]) => name))]
  const count = (of: [string, number][], name: string): number => of.find(([one]) => one === name)?.[1] ?? 0
  const sum = (of: [string, number][]): number => of.reduce((total, [, one]) => total + one, 0)
  return [
    '| system calls per request | bare | gateway |',
    '|---|---|---|',
    ...names.map(name => `| ${name} | ${count(bare, name).toFixed(2)} | ${count(ours, name).toFixed(2)} |`),
    `| all | ${sum(bare).toFixed(2)} | ${sum(ours).toFixed(2)} |`,
  ]
}

const about = `Node ${process.version}, ${values.rounds} rounds of ${requests} requests, ${CONNECTIONS} connections, medians, ${new Date().toISOString().slice(0, 10)}.`
const text = [...tableLines(), '', ...callLines(), '', about].join('\n')
console.log(text)
mkdirSync(path.join(ROOT, 'data'), { recursive: true })
writeFileSync(path.join(ROOT, 'data/ablation.md'), text)
if (values.rounds === ROUNDS && values.requests === REQUESTS) {
  const document = path.join(ROOT, 'docs/performance.md')
  writeFileSync(document, replaceBlock(readFileSync(document, 'utf8'), 'ablation', text))
  const alone = (duty: Ablation): number =>
    ABLATIONS.filter(({ name }) => duty.includes?.includes(name)).reduce(
      (left, part) => left - cost(part, 'all'),
      cost(duty, 'all'),
    )
  const parts = ABLATIONS.map(duty => ({
    name: duty.includes === undefined ? duty.name : 'record',
    value: Math.max(0, alone(duty)),
  }))
  const known = parts.reduce((sum, { value }) => sum + value, 0)
  const rest = Math.max(0, figure(GATEWAY, 'all') - figure(BARE, 'all') - known)
  const floor = { name: 'bare relay', value: figure(BARE, 'all') }
  const bars = [
    { label: 'bare relay', parts: [floor] },
    { label: 'gateway, everything on', parts: [floor, ...parts, { name: 'everything else', value: rest }] },
  ]
  const title = 'CPU time of a small request by duty, µs'
  showPicture(ROOT, 'cost-by-duty', barsSvg(title, bars), title, ['docs/performance.md'])
}
