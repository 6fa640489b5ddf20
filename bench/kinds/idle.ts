/** Streams that are open and silent: what memory each takes. */
import { execFileSync } from 'node:child_process'
import { setTimeout as sleep } from 'node:timers/promises'
import { holdLoad } from '../load/run.ts'
import { startNginx } from '../parts/nginx.ts'
import { startBare, startGateway, startUpstream } from '../parts/subjects.ts'
import { chatBody, type Workload } from '../parts/workloads.ts'
import { checkAnswer } from './answer.ts'
import { type Context, loadRightly, orderFor } from './context.ts'

type Idle = Extract<Workload, { kind: 'idle' }>
const SILENT_MS = String(3_600_000)
const LOOK_MS = 100

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
  const floors = context.floors ? [startBare, startNginx] : []
  const starts = [
    ...floors.map(start => () => start(upstream.port)),
    ...context.gateways.map(
      ({ name, root }) =>
        () =>
          startGateway(upstream.port, root, name),
    ),
  ]
  try {
    for (const start of starts) {
      const subject = await start()
      if (subject === null) continue
      try {
        await checkAnswer(subject, chatBody(200, false), { status: 200, events: null })
        // code that has run before is not what a stream costs
        const warm = orderFor(subject, {
          kinds: [{ body: chatBody(200, false) }],
          connections: 100,
          requests: w.warmup,
        })
        await loadRightly(warm)
        const before = subject.rssBytes()
        const stream = orderFor(subject, {
          kinds: [{ body: chatBody(200, true) }],
          requests: streams,
          rampMs: w.rampMs,
        })
        const close = await holdLoad(stream)
        let most = subject.rssBytes()
        for (const end = performance.now() + w.settleMs; performance.now() < end; await sleep(LOOK_MS))
          most = Math.max(most, subject.rssBytes())
        context.results.add(w.name, subject.name, 'streamKiB', (most - before) / streams / 1024)
        await close()
      } finally {
        await subject.stop()
      }
    }
  } finally {
    await upstream.stop()
  }
}
