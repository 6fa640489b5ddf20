/** A thread in which large bodies are translated, one after the other. `thread.ts` is the other side. */
import { serve } from '../base/worker-thread.ts'
import { Untranslatable } from './events.ts'
import { translated } from './table.ts'
import type { AnswerJob, Done, Job, RequestJob } from './thread.ts'
import { translateRequest, writeWhole } from './table.ts'

function writeRequest({ bytes, protocol, head, via, target }: RequestJob): Done {
  let isRead = false
  try {
    const ask = translated(protocol).readRequest(Buffer.from(bytes.buffer), head)
    bytes.buffer.transfer(0) // memory that is not given back makes the engine collect everything after every few bodies
    isRead = true
    const { body, target: _, ...rest } = translateRequest(ask, via, target)
    return { what: 'request', written: { ...rest, body: owned(body) } }
  } catch (error) {
    if (error instanceof Untranslatable) return { what: 'unfit', field: error.field, isRead }
    throw error
  }
}

const writeAnswer = ({ parts, ...how }: AnswerJob): Done => ({ what: 'answer', written: writeWhole(parts, how) })

/** Bytes that can go to another thread: small buffers stand in memory that they share. */
const owned = (bytes: Buffer): Uint8Array<ArrayBuffer> =>
  bytes.byteLength === bytes.buffer.byteLength ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)

serve(
  (job: Job) => (job.what === 'request' ? writeRequest(job) : writeAnswer(job)),
  done => {
    if (done.what === 'unfit') return []
    return [done.what === 'request' ? done.written.body.buffer : done.written.bytes.buffer]
  },
)
