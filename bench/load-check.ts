/**
 * `npm run bench:load`: compares the benches' own load client (raw sockets) with autocannon, and with wrk where it is
 * installed, on small JSON: directly against the upstream (the most that load and upstream can do), against the bare relay
 * and against the gateway. The last table has what the benches tell, the gateway's CPU time ÷ the bare relay's, by client:
 * it must be the same within 10 %. The benches use their own, because it sends several bodies, looks into the
 * answers and tells of each stream's first byte.
 */
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { installPackages, PACKAGES } from '../test/clients/packages.ts'
import { loadRightly, orderFor } from './kinds/context.ts'
import { probed } from './parts/probed.ts'
import { type Subject, startBare, startGateway, startUpstream } from './parts/subjects.ts'
import { chatBody } from './parts/workloads.ts'
import { median } from './report/statistics.ts'

const REQUESTS = 20_000
const SECONDS = 3
const CONNECTIONS = 32
const ROUNDS = 3
const TICK_US = 10_000
const AUTOCANNON = path.join(PACKAGES, 'autocannon/autocannon.js')

interface Done {
  requests: number
  seconds: number
}

async function ours(subject: Subject): Promise<Done> {
  const kinds = [{ body: chatBody(200, false) }]
  const order = orderFor(subject, { kinds, connections: CONNECTIONS, requests: REQUESTS })
  const { done, seconds } = await loadRightly(order)
  return { requests: done, seconds }
}

async function autocannon(subject: Subject): Promise<Done> {
  const { headers, path: target } = orderFor(subject, { kinds: [], requests: 0 })
  const named = Object.entries(headers).flatMap(([name, value]) => ['-H', `${name}: ${value}`])
  const how = ['-j', '-n', '-c', String(CONNECTIONS), '-d', String(SECONDS), '-m', 'POST', '-b', chatBody(200, false)]
  const args = [AUTOCANNON, ...how, ...named, `http://127.0.0.1:${subject.port}${target}`]
  const run = spawnSync(process.execPath, args, { encoding: 'utf8' })
  if (run.status !== 0) throw new Error(`autocannon failed: ${run.stderr}`)
  const { '2xx': right, non2xx: wrong, errors, duration } = JSON.parse(run.stdout) as Record<string, number>
  if (right === undefined || duration === undefined || wrong !== 0 || errors !== 0)
    throw new Error(`autocannon: ${wrong} wrong answers, ${errors} errors`)
  return { requests: right, seconds: duration }
}

async function wrk(subject: Subject): Promise<Done> {
  const { headers, path: target } = orderFor(subject, { kinds: [], requests: 0 })
  const text = (value: string): string => `[==[${value}]==]`
  const script = path.join(folder, 'request.lua')
  writeFileSync(
    script,
    `wrk.method = 'POST'
wrk.body = ${text(chatBody(200, false))}
${Object.entries(headers)
  .map(([name, value]) => `wrk.headers[ ${text(name)} ] = ${text(value)}`)
  .join('\n')}
done = function(summary)
  local e = summary.errors
  print(string.format('DONE %d %d %d', summary.requests, summary.duration, e.connect + e.read + e.write + e.status + e.timeout))
end
`,
  )
  const how = ['-t', '1', '-c', String(CONNECTIONS), '-d', `${SECONDS}s`, '-s', script]
  const run = spawnSync('wrk', [...how, `http://127.0.0.1:${subject.port}${target}`], { encoding: 'utf8' })
  const [requests, durationUs, wrong] = /^DONE (\d+) (\d+) (\d+)$/m.exec(run.stdout)?.slice(1).map(Number) ?? []
  if (requests === undefined || durationUs === undefined || wrong !== 0)
    throw new Error(`wrk: ${wrong ?? 'no'} wrong answers: ${run.stderr}`)
  return { requests, seconds: durationUs / 1e6 }
}

/** The CPU time of child processes that have ended. */
function childrenUs(): number {
  const fields = readFileSync('/proc/self/stat', 'utf8').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[13]) + Number(fields[14])) * TICK_US
}

const why = installPackages()
if (why !== null) throw new Error(why)
const clients = [ours, autocannon]
if (spawnSync('wrk', ['-v']).error === undefined) clients.push(wrk)
else console.error('wrk is not installed: its rows are left out')
const folder = mkdtempSync(path.join(tmpdir(), 'bench-load-'))
/** The CPU time of a subject's request by client, round by round, in µs. */
const costs = new Map<string, number[][]>(clients.map(({ name }) => [name, []]))
const upstream = await startUpstream()
const subjects: Subject[] = [
  await probed(env => startBare(upstream.port, env)),
  await probed(env => startGateway(upstream.port, undefined, undefined, undefined, env)),
]
const straight: Subject = { ...(subjects[0] as Subject), name: 'upstream itself', port: upstream.port }
console.log('| asked | by | requests/s | CPU µs per request of the load | of the subject |')
console.log('|---|---|---|---|---|')
try {
  for (const subject of [straight, ...subjects]) {
    const rows = clients.map(client => ({ client, figures: [] as [number, number, number][] }))
    await ours(subject) // warm-up
    for (let round = 0; round < ROUNDS; round++)
      for (const { client, figures } of rows) {
        const loadUs = childrenUs()
        const before = await subject.read()
        const { requests, seconds } = await client(subject)
        const after = await subject.read()
        const subjectUs = after.userUs + after.systemUs - before.userUs - before.systemUs
        figures.push([requests / seconds, (childrenUs() - loadUs) / requests, subjectUs / requests])
      }
    for (const { client, figures } of rows) {
      const [perSecond, loadUs, subjectUs] = [0, 1, 2].map(i => median(figures.map(f => f[i] as number)))
      const cost = subject === straight ? '' : subjectUs?.toFixed(1)
      if (subject !== straight) costs.get(client.name)?.push(figures.map(f => f[2]))
      console.log(`| ${[subject.name, client.name, perSecond?.toFixed(0), loadUs?.toFixed(1), cost].join(' | ')} |`)
    }
  }
  console.log('\n| by | gateway ÷ bare relay |\n|---|---|')
  for (const [client, [bare, gateway]] of costs)
    console.log(`| ${client} | ${(median(gateway as number[]) / median(bare as number[])).toFixed(3)} |`)
} finally {
  for (const part of [...subjects, upstream]) await part.stop()
  rmSync(folder, { recursive: true, force: true })
}
