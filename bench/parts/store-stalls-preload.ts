/**
 * Is loaded into a gateway before it starts, and measures the longest time that one task kept its event loop. The first
 * SIGUSR2 starts the measurement; the second one writes it as JSON to the file that STALLS_FILE names.
 */
import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks'
import { isMainThread, Worker } from 'node:worker_threads'

const file = process.env['STALLS_FILE']
if (isMainThread && file !== undefined && process.argv[1]?.endsWith('lib/cli.ts')) {
  const loop = monitorEventLoopDelay({ resolution: 1 })
  let longest: Record<string, number> = {}
  const timed = <A extends unknown[], R>(name: string, act: (...args: A) => R) =>
    function (this: unknown, ...args: A): R {
      const began = performance.now()
      try {
        return act.apply(this, args)
      } finally {
        longest[name] = Math.max(longest[name] ?? 0, performance.now() - began)
      }
    }
  // the calls with which the journal and the embedded store block this thread
  const disk = fs as unknown as Record<string, (...args: unknown[]) => unknown>
  for (const name of ['writeSync', 'ftruncateSync', 'openSync', 'unlinkSync'])
    disk[name] = timed(name, disk[name] as (...args: unknown[]) => unknown)
  syncBuiltinESMExports()
  Worker.prototype.postMessage = timed('postMessage', Worker.prototype.postMessage)
  new PerformanceObserver(list => {
    for (const { duration } of list.getEntries()) longest['gc'] = Math.max(longest['gc'] ?? 0, duration)
  }).observe({ entryTypes: ['gc'] })
  let measuring = false
  process.on('SIGUSR2', () => {
    if (measuring)
      fs.writeFileSync(file, JSON.stringify({ max: loop.max / 1e6, p99: loop.percentile(99) / 1e6, longest }))
    measuring = true
    longest = {}
    loop.enable()
    loop.reset()
  })
}
