/**
 * A thread that ticks more finely than the timers of an event loop can (1 ms): it sleeps until a little before each
 * instant and posts. Its ticks come early by about what a wake-up takes; who gets them waits for the rest.
 */
import { parentPort, workerData } from 'node:worker_threads'

export interface Beat {
  /** By process.hrtime, which all threads share. */
  beginNs: bigint
  everyMs: number
  count: number
}

const { beginNs, everyMs, count } = workerData as Beat
const EARLY_MS = 0.08
/** At higher rates a tick stands for several instants. */
const MOST_PER_S = 5000
const step = Math.max(1, Math.ceil(1000 / MOST_PER_S / everyMs))
const cell = new Int32Array(new SharedArrayBuffer(4))
for (let i = 0; i < count + step; i += step) {
  const left = Number(beginNs - process.hrtime.bigint()) / 1e6 + i * everyMs - EARLY_MS
  if (left > 0) Atomics.wait(cell, 0, 0, left)
  parentPort?.postMessage(Math.min(i, count - 1))
}
