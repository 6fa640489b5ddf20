/** The thread in which large bodies are translated, one after the other. `thread.ts` is the other side. */
import { parentPort } from 'node:worker_threads'
import { type Job, moved, work } from './jobs.ts'

parentPort?.on('message', (job: Job) => {
  const done = work(job)
  parentPort?.postMessage(done, moved(done))
})
