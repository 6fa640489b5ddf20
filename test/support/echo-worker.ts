/** A worker for tests: answers what it is told to. */
import { workerData } from 'node:worker_threads'
import { serve } from '../../lib/base/worker-thread.ts'

export interface Asked {
  answer?: string
  /** The answer comes so many turns of the event loop later. */
  turns?: number
  throws?: string
  ends?: boolean
}

serve(async ({ answer = '', turns = 0, throws, ends }: Asked) => {
  for (let n = 0; n < turns; n++) await new Promise(resolve => setImmediate(resolve))
  if (throws !== undefined) throw new RangeError(throws)
  if (ends) process.exit(1)
  return `${workerData} ${answer}`
})
