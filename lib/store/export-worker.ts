/**
 * The thread that makes exports: it reads on a connection of its own, and hands on bytes. `export-thread.ts` is the other
 * side.
 */
import { parentPort, workerData } from 'node:worker_threads'
import { ExportJobs } from './export-jobs.ts'
import type { ExportAnswer, ExportRequest, ExportThreadData } from './export-thread.ts'

const port = parentPort!
const jobs = new ExportJobs(workerData as ExportThreadData, (answer: ExportAnswer) =>
  port.postMessage(answer, answer.piece === null ? [] : [answer.piece.buffer as ArrayBuffer]),
)
port.on('message', (request: ExportRequest) => jobs.take(request))
