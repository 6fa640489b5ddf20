/**
 * Is loaded into a Node process before its program (`--import`) and answers on a Unix socket with figures that /proc
 * does not have. It costs nothing between questions, except that `watch` checks the event loop each millisecond.
 * `collect` collects all garbage first, so that the memory it reports is in use.
 */
import { rmSync } from 'node:fs'
import net from 'node:net'
import { monitorEventLoopDelay } from 'node:perf_hooks'
import { getHeapStatistics, setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { isMainThread } from 'node:worker_threads'

export interface Reading {
  userUs: number
  systemUs: number
  /** User and system time of the main thread, which is the one that relays; null = unknown. */
  mainThreadUs: number | null
  /** Bytes allocated in the heap of the main thread since its start; null = unknown. */
  allocatedBytes: number | null
  rssBytes: number
  /** The longest delay of the event loop since `watch`; 0 without `watch` or without an event loop. */
  stallMs: number
  /** The most CPU time of the main thread between two of these checks: what of `stallMs` is its own work. */
  stallCpuMs: number
}

const RESOLUTION_MS = 1
const address = process.env['BENCH_PROBE']
if (isMainThread && address !== undefined) {
  const loop = monitorEventLoopDelay({ resolution: RESOLUTION_MS })
  const threadUs = (): number => {
    const { user, system } = process.threadCpuUsage()
    return user + system
  }
  let checkedUs = 0
  let mostUs = 0
  let isWatched = false
  const check = () => {
    const nowUs = threadUs()
    mostUs = Math.max(mostUs, nowUs - checkedUs)
    checkedUs = nowUs
  }
  const watch = () => {
    loop.enable()
    loop.reset()
    checkedUs = threadUs()
    mostUs = 0
    if (!isWatched) setInterval(check, RESOLUTION_MS).unref()
    isWatched = true
  }
  const read = (): Reading => {
    const { user, system } = process.cpuUsage()
    const heap = getHeapStatistics() as { total_allocated_bytes?: number }
    return {
      userUs: user,
      systemUs: system,
      mainThreadUs: threadUs(),
      allocatedBytes: heap.total_allocated_bytes ?? null,
      rssBytes: process.memoryUsage.rss(),
      stallMs: Math.max(0, loop.max / 1e6 - RESOLUTION_MS),
      stallCpuMs: mostUs / 1000,
    }
  }
  setFlagsFromString('--expose-gc')
  const gc = runInNewContext('gc') as (options: object) => void
  const collect = () => gc({ type: 'major', execution: 'sync', flavor: 'last-resort' })
  const server = net.createServer(socket => {
    socket.on('error', () => {})
    socket.on('data', data => {
      const order = data.toString()
      if (order === 'watch') watch()
      else if (order === 'collect') collect()
      socket.end(JSON.stringify(read()))
    })
    socket.unref()
  })
  rmSync(address, { force: true }) // a gateway's supervisor has loaded it too
  server.listen(address)
  server.unref()
}
