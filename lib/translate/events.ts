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
import type { Usage } from '../protocols/words/usage.ts'
import type { JsonText, Literal } from './json/literal.ts'

const STOP_REASONS = ['end', 'length', 'sequence', 'tool', 'refusal', 'context', 'pause', 'other'] as const
/** `length`: the maximum that was asked for; `context`: that of the model; `sequence`: a stop sequence came. */
export type StopReason = (typeof STOP_REASONS)[number]

type PlainEvent = BeginEvent | OpenEvent | DeltaEvent | SealEvent | NoteEvent | CloseEvent | ThinkingEvent | End
export type AnswerEvent = PlainEvent | OtherEvent

/** What belongs to another answer than the first, where several were asked for: all but `end`, `fail` and `thinking`, which are of the whole. */
interface OtherEvent {
  type: 'other'
  answer: number
  event: PlainEvent
}

interface BeginEvent {
  type: 'begin'
  /** The upstream's names of the answer and the model; empty = not said. They are for logs: clients get names of ours. */
  id: string
  model: string
}

/** A block begins. Media and searches come whole, in this one event, and are closed like others. */
export type OpenEvent =
  | { type: 'open'; index: number; kind: 'text' | 'thought' | 'refusal' }
  | { type: 'open'; index: number; kind: 'call'; call: CallHead }
  | { type: 'open'; index: number; kind: 'media'; mime: string; base64: Literal }
  | { type: 'open'; index: number; kind: 'search'; found: WebFindings }

/** A search that the upstream made, and what it found. */
export interface WebFindings {
  /** What was searched for: at least one. */
  queries: readonly Literal[]
  sources: readonly FoundSource[]
  isFailed: boolean
  /** The upstream, as of state. */
  issuer: string
}

export interface FoundSource {
  url: Literal
  /** The title, what was read there, and when it was written; empty = not said. */
  title: Literal
  text: Literal
  age: Literal
}

/** The call as the client knows it: its tool's own name, and an id that fits every protocol. */
export interface CallHead {
  id: string
  name: string
  namespace?: string
  freeform: boolean
  opaque?: Opaque
}

/** More text, thought or arguments: a JSON literal, whole in itself. */
interface DeltaEvent {
  type: 'delta'
  index: number
  text: Literal
  /** How likely the tokens of a text were, where the upstream says it; it may say so of a text that is empty. */
  logprobs?: Logprobs
}

export interface LikelyToken {
  token: Literal
  /** The logarithm of its probability, as the number stands. */
  logprob: JsonText
  /** The token's bytes, as a list of numbers; null = it has none. */
  bytes: JsonText | null
}

/** Tokens, each with the most likely ones in its place. */
export type Logprobs = readonly (LikelyToken & { top: readonly LikelyToken[] })[]
export const NO_LOGPROBS: Logprobs = []

/** The upstream's state that belongs to the block. A thought may have nothing but that. */
interface SealEvent {
  type: 'seal'
  index: number
  opaque: Opaque
}

/** The text cites what stands at an address. Protocols without a place for it leave it out. */
interface NoteEvent {
  type: 'note'
  index: number
  citation: Citation
}

export interface Citation {
  url: Literal
  title: Literal
  /** Where in the text: whole numbers. */
  start: JsonText
  end: JsonText
  /** How these count: in characters of the block, or in characters or bytes of all texts of the answer. */
  at: 'block' | 'answer' | 'bytes'
  /** What was found there, and what of it is cited, where the upstream says so. */
  text?: Literal
  cited?: Literal
}

interface CloseEvent {
  type: 'close'
  index: number
}

/** How many of the output's tokens were thought, as the upstream says; for display, because thought costs what output costs. */
interface ThinkingEvent {
  type: 'thinking'
  tokens: number
}

/**
 * Why the answer ended. `unknown`: the upstream said it in a word that nobody knows, or not at all behind a call: whole calls are
 * then run, and an answer without them counts as cut. `isSteered`: its end was somebody's else will, which clients are not told.
 */
interface StopEvent {
  type: 'stop'
  reason: StopReason | 'unknown'
  sequence: Literal | null
  isSteered?: true
}

type End =
  | StopEvent
  /** The upstream said that this is the end. */
  | { type: 'end' }
  /** The upstream failed, or its answer cannot be read, or it ended without an end. */
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

// --- what requests and answers share

/**
 * What translation cannot carry. A loss is named to the client in a header, so its words are a fixed list: nothing that a
 * client wrote ever reaches a header. What would make another answer of the request is refused.
 */

const LOSS_WORDS = [
  'cache_control',
  'citations',
  'context_management',
  'documents',
  'effort',
  'hosted_tools',
  'image_detail',
  'include',
  'logit_bias',
  'max_output',
  'max_tool_calls',
  'message_names',
  'metadata',
  'moderation',
  'other',
  'parallel_tool_calls',
  'penalties',
  'prediction',
  'safety_settings',
  'sampling',
  'schema',
  'search_domains',
  'search_options',
  'seed',
  'server_tools',
  'service_tier',
  'stop',
  'strict',
  'system_turns',
  'temperature',
  'thinking',
  'tool_arguments',
  'tool_choice',
  'tool_grammar',
  'top_k',
  'top_p',
  'truncation',
  'verbosity',
] as const
export type LossWord = (typeof LOSS_WORDS)[number]

/**
 * The request cannot be said in the protocol. `field`: a member of the client's body, as its protocol calls it; or one of the upstream's,
 * where that protocol refuses what stands there.
 */
export class Untranslatable extends Error {
  readonly field: string

  constructor(field: string) {
    super(`${field} cannot be translated`)
    this.field = field.slice(0, 100)
  }
}

/** What was left out or changed: each name once. */
export type Losses = Set<LossWord>

/**
 * State of an upstream that only the upstream understands: the signature of a thought, encrypted reasoning. `opaque.ts`
 * puts it into an envelope that passes through the client's own protocol.
 */
export interface Opaque {
  /** The upstream that gave it: `issuerOf(protocol, upstream's model)`. */
  issuer: string
  /**
   * What it belongs to: a thought that has text (`signed`), a thought without any (`hidden`), the call that follows
   * (`call`), or the text before it (`text`). What a search has found (`found`) is no secret of the upstream, and text for all.
   */
  of: 'signed' | 'hidden' | 'call' | 'text' | 'found'
  value: Literal
  /** The id of the item, where the upstream names it. */
  id?: string
}

export interface ToolName {
  name: string
  namespace?: string
  freeform: boolean
}

/** Upstream's name → the client's, where they differ or the tool is not an ordinary one. Plain data, which can go to another thread. */
export type RenamedTools = ReadonlyMap<string, ToolName>

/** What goes wrong at an upstream, in words of no protocol. */
/**
 * The kinds of failure that clients tell apart. `context`: the prompt is longer than the model takes, which clients answer
 * by a shorter one.
 */
export type FailureKind =
  | 'invalid'
  | 'context'
  | 'not_found'
  | 'too_large'
  | 'timeout'
  | 'rate'
  | 'quota'
  | 'overloaded'
  | 'server'

export interface Failure {
  kind: FailureKind
  /** The status of HTTP that the client is told. */
  status: number
  /** The upstream's own text. */
  message: string
  /** The upstream did what it was asked, so its channel is not to blame: a request can cause such an answer, as often as a client likes. */
  isCaused?: true
}

/** The answer cannot be read, which the client is told as a fault of the upstream. */
export const unreadable = (message: string): Failure => ({ kind: 'server', status: 502, message })

/** The model wrote what cannot be told, or more than is kept. */
export const untellable = (message: string): Failure => ({ ...unreadable(message), isCaused: true })

export interface WrittenError {
  status: number
  /** A document, in ASCII. */
  body: string
}

// --- readers and writers

export interface ReaderOptions {
  /** The answer is an event stream; otherwise it is one document. */
  events: boolean
  /** `issuerOf(protocol, upstream's model)`, for state that comes in the answer. */
  issuer: string
  /** The client's names of the tools that the upstream calls otherwise. */
  renamed: RenamedTools
  /** The id of the exchange, for ids of calls that have none. */
  requestId: string
  /** The client asked for a search, and this is what it wants to know; absent = it did not. */
  query?: Literal
  /** A stream of texts that comes to its end without a reason is whole; otherwise it was cut. */
  isLenient: boolean
  /** The number of answers that were asked for; absent = one. */
  answers?: number
}

/** Reading a longer document takes some milliseconds, in which all other exchanges would wait. */
export const LARGE_DOCUMENT = 512 * 1024

/** Reads one answer. Chunks may be cut anywhere. Never throws. */
export interface AnswerReader {
  push(chunk: Buffer): readonly AnswerEvent[]
  /** No more bytes will come. What is then not at its end is a failure. */
  end(): readonly AnswerEvent[]
  /**
   * Gives away what came of a document above `LARGE_DOCUMENT`, in memory that can go to the thread that reads it; null = it is a stream, or is
   * read here. Neither `push` nor `end` may follow.
   */
  takeDocument(): Uint8Array<ArrayBuffer>[] | null
  /** Reads what another reader of the same answer gave away, in the place of `push` and `end`. */
  readDocument(parts: readonly Uint8Array[]): readonly AnswerEvent[]
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
  /** The id of the exchange, of which ids in the answer are made. */
  requestId: string
  /** When the answer began, in seconds of the clock. */
  createdS: number
  /** Estimated tokens of input, for protocols that tell them before they are known. */
  inputEstimate: number
  /** A stream tells its usage only when the client asked for it (chat). */
  tellsUsage: boolean
  /** What stands in the place of the usage, which is not known where another thread writes the answer; absent = it is known. */
  usageMark?: JsonText
  /** The client's request, where the protocol repeats parts of it in its answer (responses). `query`: as of readers. */
  ask: { repeated?: Readonly<Record<string, JsonText>>; query?: Literal; answers?: number }
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
  finish(usage: Usage): string
  /** The money ended: what is open is closed, and the answer ends as one that reached its maximum. */
  stopByLength(usage: Usage): string
  /** The answer breaks off: the protocol's own error event. Nothing may follow. A document has no place for it. */
  breakOff(failure: Failure): string
  /** Keeps a silent stream alive; fits wherever the writer stands. */
  readonly keepAlive: string
  /** The usage in the words of the protocol. */
  usageText(usage: Usage, thinking: number): JsonText
  /** How many tokens were thought, as the upstream says. */
  readonly thinking: number
  /** Tokens of output that the client has been sent, as estimated from their text. */
  readonly counted: number
  /** The events cannot be told in this protocol. The caller treats it as a failure of the upstream. null = all is well. */
  readonly failure: Failure | null
  /** How many bytes it holds in memory now. */
  readonly held: number
  /** What of the answer has no place in the protocol: of documents, when they are finished. Absent: a stream, whose head is gone by then. */
  readonly losses?: ReadonlySet<LossWord>
}

/** An answer that another thread has written, but for its usage. Plain data. */
export interface WrittenAnswer {
  /** What the client gets, with free room behind it for the usage. */
  bytes: Uint8Array<ArrayBuffer>
  /** How much of it can be told before the charge is settled. */
  told: number
  /** Where the usage belongs; -1 = it is not told. */
  usageAt: number
  /** Without the usage and the room for it. */
  length: number
  thinking: number
  hasContent: boolean
  failure: Failure | null
  losses: ReadonlySet<LossWord> | undefined
}
