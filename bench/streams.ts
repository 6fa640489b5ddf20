/**
 * `npm run streams [-- --count 5000 --seconds 60]`: opens this many event streams at once on one gateway process, with
 * one event per second on each, and in the same run on the bare relay. All must complete. It prints the memory that a
 * stream takes and how late the event loop gets. Load, upstream and subjects are separate processes.
 */
import { execFileSync } from 'node:child_process'
import { scriptOptions } from '../test/support/script.ts'
import { orderFor } from './kinds/context.ts'
import type { Outcome } from './load/order.ts'
import { runLoad } from './load/run.ts'
import { type Subject, startBare, startGateway, startUpstream } from './parts/subjects.ts'
import { chatBody } from './parts/workloads.ts'

const values = scriptOptions(import.meta.filename, {
  count: { type: 'string', default: '5000' },
  seconds: { type: 'string', default: '60' },
})
const COUNT = Number(values.count)
const SECONDS = Number(values.seconds)
const WARM = 5000
const CONNECTIONS = 200
const RAMP_MS = 5000
const MOST_BYTES = 48 * 1024
const LATEST_MS = 50

interface Figures {
  name: string
  done: number
  failed: number
  idleBytes: number
  openBytes: number
  lagMs: number | null
}

function enoughFiles(): void {
  const limit = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
  if (limit !== 'unlimited' && Number(limit) < COUNT * 2 + 200)
    throw new Error(
      `${COUNT} streams need ${COUNT * 2 + 200} open files, the limit is ${limit}: ulimit -n ${COUNT * 3}`,
    )
}

/** Runs the load in its own process, so that this one can read the memory meanwhile. */
const load = (subject: Subject, count: number, stream: boolean): Promise<Outcome> =>
  runLoad(
    orderFor(subject, {
      kinds: [{ body: chatBody(200, stream) }],
      connections: stream ? count : CONNECTIONS,
      requests: count,
      // streams of real users do not all begin in the same millisecond
      ...(stream ? { rampMs: RAMP_MS } : {}),
    }),
  )

/** The longest delay of the event loop since the last reading. */
async function lag(subject: Subject): Promise<number | null> {
  if (subject.ops === null) return null
  const text = await (await fetch(`${subject.ops}/metrics`)).text()
  return Number(/^nodejs_eventloop_lag_p99_seconds (\S+)/m.exec(text)?.[1]) * 1000
}

async function measure(subject: Subject): Promise<Figures> {
  await load(subject, WARM, false) // a first load compiles the code, which must not count as the cost of a stream
  const idleBytes = subject.rssBytes()
  await lag(subject)
  let openBytes = 0
  let lagMs = 0
  let seconds = 0
  const look = setInterval(async () => {
    openBytes = Math.max(openBytes, subject.rssBytes())
    if (++seconds % 10 === 0) {
      lagMs = Math.max(lagMs, (await lag(subject)) ?? 0)
      console.error(`${subject.name}: ${seconds} s, ${(openBytes / 2 ** 20).toFixed(0)} MiB`)
    }
  }, 1000)
  const { done, failed } = await load(subject, COUNT, true)
  clearInterval(look)
  return { name: subject.name, done, failed, idleBytes, openBytes, lagMs: subject.ops === null ? null : lagMs }
}

enoughFiles()
const upstream = await startUpstream({ GAP_MS: '1000', EVENTS: String(SECONDS) })
const rows: Figures[] = []
try {
  for (const start of [startBare, startGateway]) {
    const subject = await start(upstream.port)
    try {
      rows.push(await measure(subject))
    } finally {
      await subject.stop()
    }
  }
} finally {
  await upstream.stop()
}
console.log('| subject | complete | failed | idle MiB | at most MiB | KiB per stream | event-loop lag, p99 |')
console.log('|---|---|---|---|---|---|---|')
for (const { name, done, failed, idleBytes, openBytes, lagMs } of rows) {
  const [idle, most] = [idleBytes, openBytes].map(bytes => (bytes / 2 ** 20).toFixed(0))
  const each = ((openBytes - idleBytes) / COUNT / 1024).toFixed(1)
  console.log(
    `| ${[name, done - failed, failed, idle, most, each, lagMs === null ? '' : `${lagMs.toFixed(0)} ms`].join(' | ')} |`,
  )
}
const gateway = rows.at(-1) as Figures
if (
  rows.some(row => row.done - row.failed !== COUNT) ||
  (gateway.openBytes - gateway.idleBytes) / COUNT > MOST_BYTES ||
  (gateway.lagMs ?? 0) > LATEST_MS
)
  process.exitCode = 1
