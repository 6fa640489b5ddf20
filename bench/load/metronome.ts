/**
 * A thread that ticks more precisely than the timers of an event loop, which have steps of 1 ms. It sleeps until a
 * little before each instant, and then posts a message. A tick comes early by about the time of a wake-up; the receiver
 * waits for the rest.
 */
import { parentPort, workerData } from 'node:worker_threads'

export interface Beat {
  /** The first instant, by process.hrtime, which is the same in all threads. */
  beginNs: bigint
  everyMs: number
  count: number
}

const { beginNs, everyMs, count } = workerData as Beat
const EARLY_MS = 0.08
/** The most ticks per second; at higher rates one tick stands for several instants. */
const MOST_PER_S = 5000
const step = Math.max(1, Math.ceil(1000 / MOST_PER_S / everyMs))
const cell = new Int32Array(new SharedArrayBuffer(4))
for (let i = 0; i < count + step; i += step) {
  const left = Number(beginNs - process.hrtime.bigint()) / 1e6 + i * everyMs - EARLY_MS
  if (left > 0) Atomics.wait(cell, 0, 0, left)
  parentPort?.postMessage(Math.min(i, count - 1))
}
