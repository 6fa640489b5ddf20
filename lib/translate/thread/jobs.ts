/** What the thread of translation is asked and what it answers, as plain data, and how it is done. */
import type { Protocol } from '../../terms/records.ts'
import type { AnswerEvent } from '../events.ts'
import type { Lane } from '../lane.ts'
import { Untranslatable } from '../loss.ts'
import { clientNames, type RenamedTools } from '../names.ts'
import type { AskHead, ReaderOptions, Target } from '../protocol.ts'
import { translated } from '../table.ts'
import { laneFor, readDocument } from '../whole.ts'

/** A request of a client, to be written for an upstream. */
export interface RequestJob {
  what: 'request'
  /** In memory of its own, which goes to the thread. */
  bytes: Uint8Array<ArrayBuffer>
  protocol: Protocol
  head: AskHead
  via: Protocol
  target: Target
}

/** A document of an upstream, to be read. */
export interface AnswerJob {
  what: 'answer'
  /** As above. */
  bytes: Uint8Array<ArrayBuffer>
  via: Protocol
  options: Omit<ReaderOptions, 'names'>
  renamed: RenamedTools
}

export type Job = RequestJob | AnswerJob

export interface WrittenLane extends Omit<Lane, 'body' | 'target'> {
  body: Uint8Array<ArrayBuffer>
}

export type Done =
  | { what: 'request'; lane: WrittenLane }
  | { what: 'answer'; events: AnswerEvent[] }
  /** What `Untranslatable` names. `isRead`: the body was read, and another target may take what this one does not. */
  | { what: 'unfit'; field: string; isRead: boolean }
  /** A fault of ours. */
  | { what: 'fault'; message: string }

export function work(job: Job): Done {
  try {
    return job.what === 'request' ? writeRequest(job) : readAnswer(job)
  } catch (error) {
    return { what: 'fault', message: (error as Error).stack ?? String(error) }
  }
}

function writeRequest({ bytes, protocol, head, via, target }: RequestJob): Done {
  let isRead = false
  try {
    const ask = translated(protocol).readAsk(Buffer.from(bytes.buffer), head)
    isRead = true
    const { body, target: _, ...rest } = laneFor(ask, via, target)
    return { what: 'request', lane: { ...rest, body: owned(body) } }
  } catch (error) {
    if (error instanceof Untranslatable) return { what: 'unfit', field: error.field, isRead }
    throw error
  }
}

function readAnswer({ bytes, via, options, renamed }: AnswerJob): Done {
  return {
    what: 'answer',
    events: readDocument(Buffer.from(bytes.buffer), via, { ...options, names: clientNames(renamed) }),
  }
}

/** Bytes that can go to another thread: small buffers stand in memory that they share. */
const owned = (bytes: Buffer): Uint8Array<ArrayBuffer> =>
  bytes.byteLength === bytes.buffer.byteLength ? (bytes as Uint8Array<ArrayBuffer>) : new Uint8Array(bytes)

/** What of an answer is handed over and not copied. */
export const moved = (done: Done): ArrayBuffer[] => (done.what === 'request' ? [done.lane.body.buffer] : [])
