/**
 * What the gateway itself says inside an answer, in the words of the protocol that the client speaks: an error, and the stop of an
 * answer for which there is no more money. Such words stand only between two events.
 */
import type { ProtocolRow } from '../../protocols/protocol.ts'
import type { Failure } from '../../translate/events.ts'
import type { Exchange } from '../record/exchange.ts'
import type { Services } from '../record/services.ts'
import type { Answer } from './answer.ts'
import { promptOf } from './used.ts'

/** What the client has ends between two events. */
export const isBetweenEvents = ({ reading }: Answer): boolean => reading?.boundary ?? true

/** `status` and `text` say what failed; `failure`: as an upstream of another protocol reported it, null = it did not. */
export function errorWords(
  x: Exchange,
  row: ProtocolRow,
  answer: Answer,
  { status, text, failure }: { status: number; text: string; failure: Failure | null },
): Buffer {
  const message = `${text} (request id: ${x.id})`
  const { translation = null } = answer.reading ?? {}
  return translation === null
    ? behindLastEvent(answer, row.words.error(status, message))
    : Buffer.from(translation.breakOff({ kind: failure?.kind ?? 'server', status, message }), 'latin1')
}

/** The protocol's own way to say that an answer is as long as it may be. */
export function lengthStopWords(x: Exchange, { clock }: Services, row: ProtocolRow, answer: Answer): Buffer {
  const { reading } = answer
  if (reading?.translation && x.usage !== null) return Buffer.from(reading.translation.stopByLength(x.usage), 'latin1')
  const createdS = Math.floor(clock.now() / 1000)
  const unknown = { model: x.model, answerId: x.id, createdS, ...promptOf(x), openBlock: null }
  const state = { ...unknown, ...reading?.meter.lengthStopState(), output: reading?.growth?.delivered ?? 0 }
  return behindLastEvent(answer, row.words.lengthStop(state))
}

/** Behind the blank line that ends an event which is not whole. */
const behindLastEvent = (answer: Answer, words: string): Buffer =>
  Buffer.from((isBetweenEvents(answer) ? '' : '\n\n') + words)
