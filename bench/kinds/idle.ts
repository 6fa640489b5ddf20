/** Measures the memory that each open and silent stream takes, without garbage, and the CPU time of a process that has nothing to do. */
import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { holdLoad } from '../load/run.ts'
import { startNginx } from '../parts/nginx.ts'
import { type Probed, probed } from '../parts/probed.ts'
import { startBare, startUpstream } from '../parts/subjects.ts'
import { chatBody, type Workload } from '../parts/workloads.ts'
import { checkAnswer } from './answer.ts'
import { type Context, loadRightly, orderFor, startProbed } from './context.ts'

type Idle = Extract<Workload, { kind: 'idle' }>
const SILENT_MS = String(3_600_000)

function enoughFiles(streams: number): void {
  const needed = streams * 2 + 200
  const limit = execFileSync('sh', ['-c', 'ulimit -n'], { encoding: 'utf8' }).trim()
  if (limit !== 'unlimited' && Number(limit) < needed)
    throw new Error(`${streams} streams need ${needed} open files, the limit is ${limit}: ulimit -n ${needed}`)
}

export async function measureIdle(w: Idle, context: Context): Promise<void> {
  const streams = Math.ceil(w.streams * context.share)
  enoughFiles(streams)
  const upstream = await startUpstream({ GAP_MS: SILENT_MS })
  const { port } = upstream
  const starts: (() => Promise<Probed | null>)[] = [
    ...(context.floors ? [() => probed(env => startBare(port, env)), () => startNginx(port)] : []),
    ...context.gateways.map(gateway => () => startProbed(gateway, port)),
  ]
  try {
    for (const start of starts) {
      const subject = await start()
      if (subject === null) continue
      try {
        const figures = await measure(w, subject, streams)
        for (const figure of ['streamKiB', 'idleCpuMs', 'silentCpuMs'] as const)
          context.results.add(w.name, subject.name, figure, figures[figure])
      } finally {
        // SIGTERM would wait for the upstream's end of streams whose client has left
        process.kill(subject.pid, 'SIGKILL')
        await subject.stop()
      }
    }
  } finally {
    await upstream.stop()
  }
}

async function measure({ warmup, rampMs, settleMs }: Idle, subject: Probed, streams: number) {
  const whole = chatBody(200, false)
  await checkAnswer(subject, whole, { status: 200, events: null })
  // a first load compiles the code, which must not count as the cost of a stream
  await loadRightly(orderFor(subject, { kinds: [{ body: whole }], connections: 100, requests: warmup }))
  const memory = async () => (await (subject.collect ?? subject.read)()).rssBytes
  const before = await memory()
  await sleep(settleMs)
  const idleCpuMs = await cpuMsPerS(subject)
  const kinds = [{ body: chatBody(200, true) }]
  const close = await holdLoad(orderFor(subject, { kinds, requests: streams, rampMs }))
  await sleep(settleMs)
  const silentCpuMs = await cpuMsPerS(subject)
  const open = await memory()
  await close()
  return { streamKiB: (open - before) / streams / 1024, idleCpuMs, silentCpuMs }
}

const WATCHED_S = 5

/** CPU time in ms of a second of the process, which is left alone meanwhile. */
async function cpuMsPerS(subject: Probed): Promise<number> {
  const usOf = async () => {
    const { userUs, systemUs } = await subject.read()
    return userUs + systemUs
  }
  const before = await usOf()
  await sleep(WATCHED_S * 1000)
  return ((await usOf()) - before) / 1000 / WATCHED_S
}
