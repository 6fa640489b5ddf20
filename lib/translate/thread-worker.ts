/** A thread in which large bodies are translated, one after the other. `thread.ts` is the other side. */
import { serve } from '../base/worker-thread.ts'
import { Untranslatable } from './events.ts'
import type { AnswerJob, Done, Job, RequestJob } from './thread.ts'
import { readRequest, translateRequest, writeWhole } from './table.ts'

function writeRequest({ bytes, longStrings, protocol, head, via, target }: RequestJob): Done {
  let isRead = false
  try {
    const ask = readRequest(protocol, [Buffer.from(bytes.buffer)], longStrings, head)
    isRead = true
    const { body, target: _, ...rest } = translateRequest(ask, via, target)
    return { what: 'request', written: { ...rest, body: joined(body, rest.bytes) } }
  } catch (error) {
    if (error instanceof Untranslatable) return { what: 'unfit', field: error.field, isRead }
    throw error
  } finally {
    bytes.buffer.transfer(0) // memory that is not given back makes the engine collect everything after every few bodies
  }
}

const writeAnswer = ({ parts, ...how }: AnswerJob): Done => ({ what: 'answer', written: writeWhole(parts, how) })

/** In memory of their own, which can go to another thread. */
function joined(pieces: readonly Buffer[], length: number): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(length)
  let at = 0
  for (const piece of pieces) {
    bytes.set(piece, at)
    at += piece.length
  }
  return bytes
}

serve(
  (job: Job) => (job.what === 'request' ? writeRequest(job) : writeAnswer(job)),
  done => {
    if (done.what === 'unfit') return []
    return [done.what === 'request' ? done.written.body.buffer : done.written.bytes.buffer]
  },
)
