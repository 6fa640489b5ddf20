/**
 * An answer as no protocol writes it: small events, in the order in which they come. A protocol's answer reader makes
 * them of the upstream's bytes, whether these are a stream or one document, and another protocol's answer writer makes
 * the client's bytes of them. There is no usage in them: the upstream's meter counts, and the writer is told the numbers
 * at the end.
 *
 * What every reader promises: `begin` comes first and once. A block is opened once, its index is one more than that of the
 * block opened before it, and it is opened only when something of it has come. Several calls may be open at the same time,
 * and beside them one text, thought or refusal. A block gets no deltas behind its `seal` and nothing
 * behind its `close`. Every block is closed before `stop`; `stop` comes once, and `end` behind it. `fail` may come at any
 * time, and nothing follows it.
 */
import { type FinishingProtocol, finishOf } from '../protocols/words/finish-words.ts'
import type { Opaque } from './ask.ts'
import type { Failure } from './failure.ts'
import type { Literal, Source } from './json/literal.ts'

export const STOP_REASONS = [
  'end',
  'length',
  'sequence',
  'tool',
  'refusal',
  'context',
  'pause',
  'malformed',
  'other',
] as const
/** `length`: the maximum that was asked for; `context`: that of the model; `sequence`: a stop sequence came. */
export type StopReason = (typeof STOP_REASONS)[number]

/** What a protocol's own word means. `unknown`: of one that nobody knows. */
export function reasonOf(protocol: FinishingProtocol, word: string, unknown: StopReason = 'other'): StopReason {
  const finish = finishOf(protocol, word) ?? unknown
  return finish === 'failed' ? 'other' : finish
}

export type AnswerEvent = BeginEvent | OpenEvent | DeltaEvent | SealEvent | NoteEvent | CloseEvent | ThinkingEvent | End

export interface BeginEvent {
  type: 'begin'
  /** As the upstream calls the answer, and the model; empty = not said. For logs: clients get names of ours. */
  id: string
  model: string
}

/** A block begins. Media come whole, in this one event, and are closed like others. */
export type OpenEvent =
  | { type: 'open'; index: number; kind: 'text' | 'thought' | 'refusal' }
  | { type: 'open'; index: number; kind: 'call'; call: CallHead }
  | { type: 'open'; index: number; kind: 'media'; mime: string; base64: Literal }

/** The call as the client knows it: its tool's own name, and an id that fits every protocol. */
export interface CallHead {
  id: string
  name: string
  namespace?: string
  freeform: boolean
  opaque?: Opaque
}

/** More text, thought or arguments: a JSON literal, whole in itself. */
export interface DeltaEvent {
  type: 'delta'
  index: number
  text: Literal
}

/** The upstream's state that belongs to the block. A thought may have nothing but that. */
export interface SealEvent {
  type: 'seal'
  index: number
  opaque: Opaque
}

/** The text cites what stands at an address. Protocols without a place for it leave it out. */
export interface NoteEvent {
  type: 'note'
  index: number
  citation: Citation
}

/** `start` and `end`: where in the text, in characters. */
export interface Citation {
  url: Literal
  title: Literal
  start: Source
  end: Source
}

export interface CloseEvent {
  type: 'close'
  index: number
}

/** How many of the output's tokens were thought, as the upstream says; for display, because thought costs what output costs. */
export interface ThinkingEvent {
  type: 'thinking'
  tokens: number
}

export type End =
  | { type: 'stop'; reason: StopReason; sequence: Literal | null }
  /** The upstream said that this is the end. */
  | { type: 'end' }
  /** It failed, or its answer cannot be read, or it ended without an end. */
  | { type: 'fail'; failure: Failure }

/** The answer is not all that the model had to say, so that its last call may be half a call, and none must be run. */
export const isCut = (reason: StopReason): boolean =>
  reason === 'length' || reason === 'context' || reason === 'refusal'

/**
 * The reason that goes with the blocks: clients run tools if and only if they are told that there are calls. An answer
 * that was cut or refused keeps that reason, because its calls must not be run.
 */
export function reasonFor(reason: StopReason, sawCall: boolean): StopReason {
  if (isCut(reason)) return reason
  if (sawCall) return 'tool'
  return reason === 'tool' ? 'end' : reason
}
