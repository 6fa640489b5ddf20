/**
 * The thread that makes exports: it reads on a connection of its own, and hands on bytes. What it needs is loaded at the
 * low priority with which it works. `export-thread.ts` is the other side.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { lowerPriority } from '../base/thread-priority.ts'
import type { ExportAnswer, ExportRequest, ExportThreadData } from './export-thread.ts'

const port = parentPort!
const requests: ExportRequest[] = []
let take = (request: ExportRequest): void => void requests.push(request)
port.on('message', (request: ExportRequest) => take(request))

lowerPriority()
const { ExportJobs } = await import('./export-jobs.ts')
const jobs = new ExportJobs(workerData as ExportThreadData, (answer: ExportAnswer) =>
  port.postMessage(answer, answer.piece === null ? [] : [answer.piece.buffer as ArrayBuffer]),
)
take = request => jobs.take(request)
for (const request of requests) take(request)
