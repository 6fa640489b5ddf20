/**
 * What a text protocol brings to be translated: a reader and a writer of requests, and the same of answers. A protocol is
 * a folder with one object of this type; a pair of protocols is never written down, so that a further protocol is a
 * further folder.
 */
import type { Usage } from '../protocols/words/usage.ts'
import type { Ask, CacheLife, Effort, Losses, LossWord } from './ask.ts'
import type { AnswerEvent } from './events.ts'
import type { Failure } from './failure.ts'
import type { ClientNames, ToolNames } from './names.ts'

export interface Translated {
  /**
   * Reads a client's request. `head` has what stands elsewhere than in the body in some protocols. Throws `Untranslatable`
   * when the body has something that no other protocol can say.
   */
  readAsk(body: Buffer, head: AskHead): Ask
  /**
   * Writes an ask for an upstream: the same bytes for the same ask and target, because prompt caches live by that. Throws
   * `Untranslatable` when this protocol, or the target, cannot say something that matters.
   */
  writeAsk(ask: Ask, target: Target): Written
  /** One reader for each answer of an upstream. */
  answerReader(options: ReaderOptions): AnswerReader
  /** One writer for each answer to a client. */
  answerWriter(options: WriterOptions): AnswerWriter
  /** An error that an upstream answered in the place of an answer (`readFailure`), for a client of this protocol. */
  writeError(failure: Failure): WrittenError
}

export interface WrittenError {
  status: number
  /** A document, in ASCII. */
  body: string
}

export interface AskHead {
  model: string
  stream: boolean
  /** `ManyValues` is thrown when the body has more, which would take long. */
  mostValues?: number
}

/** What is known of the model at the upstream, and of how the upstream wants to be asked. */
export interface Target {
  /** The upstream's name of the model. */
  model: string
  /** The most tokens of output that the model gives; null = not known. */
  maxOutput: number | null
  /** How the model takes it that it shall think; `none`: not at all. */
  thinking: 'none' | 'effort' | 'adaptive' | 'budget' | 'level'
  /** The efforts that it knows; empty: all. */
  efforts: readonly Effort[]
  /** Whether thinking can be switched off. */
  thinkingOff: boolean
  /** Whether temperature and top-p may be set: both, one of them, or none. */
  sampling: 'all' | 'one' | 'none'
  /** Messages: system turns may stand in the middle of a conversation. */
  systemTurns: boolean
  /** Messages: caches are asked for also where the client's request does not. */
  cacheMarks: 'asked' | 'auto'
  /** Chat: the name of the maximum. */
  maxOutputMember: 'max_tokens' | 'max_completion_tokens'
  /** Chat: the member in which a model's thoughts are sent back to it; null = they are not. */
  thoughtMember: 'reasoning_content' | 'reasoning' | null
  /** Chat: system messages may stand only at the beginning. */
  systemFirst: boolean
  /** Chat: keys of prompt caches are known. */
  cacheKeys: boolean
  /** Chat: `top_k` is known. */
  topK: boolean
  /** Chat: what calls are called. */
  toolIds: 'any' | 'alnum9'
  /** Whether the model may be told which tool to call. */
  toolChoice: 'any' | 'auto'
}

/** A target of which nothing is known but its name. */
export const plainTarget = (model: string): Target => ({
  model,
  maxOutput: null,
  thinking: 'effort',
  efforts: [],
  thinkingOff: true,
  sampling: 'all',
  systemTurns: false,
  cacheMarks: 'asked',
  maxOutputMember: 'max_tokens',
  thoughtMember: null,
  systemFirst: false,
  cacheKeys: false,
  topK: false,
  toolIds: 'any',
  toolChoice: 'any',
})

/** A request for an upstream. */
export interface Written {
  /** Latin-1: each character is one byte of the body. */
  body: string
  /** Losses of the reader and of the writer. */
  losses: Losses
  /** The maximum that was written, which the hold must cover; null = none was. */
  maxOutput: number | null
  /** The life of the cache entries that were asked for; null = none were. */
  cache: CacheLife | null
  /** What the upstream calls the client's tools. */
  names: ToolNames
}

export interface ReaderOptions {
  /** The answer is an event stream; otherwise it is one document. */
  events: boolean
  /** `issuerOf(protocol, upstream's model)`, for state that comes in the answer. */
  issuer: string
  names: ClientNames
  /** Of the exchange, for ids of calls that have none. */
  requestId: string
}

/** Reads one answer. Chunks may be cut anywhere. Never throws. */
export interface AnswerReader {
  push(chunk: Buffer): readonly AnswerEvent[]
  /** No more bytes will come. What is then not at its end is a failure. */
  end(): readonly AnswerEvent[]
  /** Gives away what came of a document, for a thread that reads it; null = it is a stream. Neither `push` nor `end` may follow. */
  takeDocument(): Buffer<ArrayBuffer> | null
  /** How many bytes it holds in memory now. */
  readonly held: number
}

export interface WriterOptions {
  /** The client gets an event stream; otherwise one document. */
  events: boolean
  /** The client gets what would be events as the elements of one JSON array, as they come (generate-content). */
  array: boolean
  /** The model as the client called it. */
  model: string
  /** Of the exchange: ids in the answer are made of it. */
  requestId: string
  /** When the answer began, in seconds of the clock. */
  createdS: number
  /** Estimated tokens of input, for protocols that tell them before they are known. */
  inputEstimate: number
  /** A stream tells its usage only when the client asked for it (chat). */
  tellsUsage: boolean
  /** The client's request, where the protocol repeats parts of it in its answer (responses). */
  ask: Pick<Ask, 'repeated'>
}

/**
 * Writes one answer. What it returns are whole events, as Latin-1: each character is one byte. The end is held back until
 * the charge is settled: `write` keeps `stop` and `end` to itself, and `finish` writes them with the usage that was charged.
 * Of a document nothing is written before `finish`.
 */
export interface AnswerWriter {
  /** Empty: the event has no bytes of its own, or they come later. */
  write(event: AnswerEvent): string
  /** The rest of the answer, when its `end` has been written. */
  finish(usage: ShownUsage): string
  /** The money ended: what is open is closed, and the answer ends as one that reached its maximum. */
  stopByLength(usage: ShownUsage): string
  /** The answer breaks off: the protocol's own error event. Nothing may follow. A document has no place for it. */
  breakOff(failure: Failure): string
  /** Keeps a silent stream alive; fits wherever the writer stands. */
  readonly keepAlive: string
  /** Tokens of output that the client has been sent, as estimated from their text. */
  readonly counted: number
  /** The events cannot be told in this protocol. The caller treats it as a failure of the upstream. null = all is well. */
  readonly failure: Failure | null
  /** How many bytes it holds in memory now. */
  readonly held: number
  /** What of the answer has no place in the protocol: of documents, when they are finished. Absent: a stream, whose head is gone by then. */
  readonly losses?: ReadonlySet<LossWord>
}

/** The usage that was settled. */
export type ShownUsage = Usage
