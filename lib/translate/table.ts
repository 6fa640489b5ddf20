/**
 * The protocols that can be translated into each other, a row each, and what is done by them with a request or an answer as a whole.
 * A pair of protocols is never written down, so that a further protocol is a further folder and a further row. A large body is read and
 * written by these functions, too, in another thread (`thread.ts`).
 */
import { randomUUID } from 'node:crypto'
import type { BodyRule, RuleScan } from '../protocols/requests/edits.ts'
import type { Facts } from '../protocols/requests/facts.ts'
import type { Protocol } from '../protocols/names.ts'
import { protocolRow } from '../protocols/table.ts'
import { noUsage } from '../protocols/words/usage.ts'
import type { Ask, AskHead, TranslatedRequest, TranslationTarget, Written } from './ask.ts'
import {
  type AnswerReader,
  type AnswerWriter,
  type Failure,
  type LossWord,
  type ReaderOptions,
  Untranslatable,
  type WriterOptions,
  type WrittenAnswer,
  type WrittenError,
} from './events.ts'
import { isThird, NO_STATE } from './generate/members.ts'
import type { JsonText } from './json/literal.ts'
import { MOST_LEFT_BYTES, ShortBody } from './json/short-body.ts'
import { writeOpenaiError } from './openai.ts'
import type { StatePlace } from './opaque.ts'
import { messagesAnswerReader } from './messages/answer-reader.ts'
import { messagesAnswerWriter, writeMessagesError } from './messages/answer-writer.ts'
import { readMessagesRequest } from './messages/request-reader.ts'
import { writeMessagesRequest } from './messages/request-writer.ts'
import { chatAnswerReader } from './chat/answer-reader.ts'
import { chatAnswerWriter } from './chat/answer-writer.ts'
import { readChatRequest } from './chat/request-reader.ts'
import { writeChatRequest } from './chat/request-writer.ts'
import { converseAnswerReader } from './converse/answer-reader.ts'
import { writeConverseRequest } from './converse/request-writer.ts'
import { goesOn } from './converse/thinking.ts'
import { responsesAnswerReader } from './responses/answer-reader.ts'
import { responsesAnswerWriter } from './responses/answer-writer.ts'
import { queryOf, SEARCH_ID } from './search.ts'
import { readResponsesRequest } from './responses/request-reader.ts'
import { writeResponsesRequest } from './responses/request-writer.ts'
import { generateAnswerReader } from './generate/answer-reader.ts'
import { generateAnswerWriter, writeGenerateError } from './generate/answer-writer.ts'
import { readGenerateRequest } from './generate/request-reader.ts'
import { writeGenerateRequest } from './generate/request-writer.ts'

export { ManyValues } from './json/short-body.ts'

/** What a protocol of text brings for its upstreams: a writer of requests, and a reader of answers. */
interface TranslatedUpstream {
  /**
   * Writes an ask for an upstream: the same bytes for the same ask and target, because prompt caches live by that. Throws
   * `Untranslatable` when this protocol, or the target, cannot say something that matters.
   */
  writeRequest(ask: Ask, target: TranslationTarget): Written
  /** Whether a model goes on where a conversation ends with the beginning of its answer; absent = none does, but at some kinds of provider. */
  goesOn?(model: string): boolean
  answerReader(options: ReaderOptions): AnswerReader
}

/** What it brings where clients speak it too: beside these a reader of requests, and a writer of answers. */
export interface Translated extends TranslatedUpstream {
  /**
   * Reads a client's request. `head` has what stands elsewhere than in the body in some protocols. Throws `Untranslatable`
   * when the body has something that no other protocol can say.
   */
  readRequest(body: Buffer | ShortBody, head: AskHead): Ask
  answerWriter(options: WriterOptions): AnswerWriter
  /** An error that an upstream answered in the place of an answer (`readFailure`), for a client of this protocol. */
  writeError(failure: Failure): WrittenError
  /** The other protocols in the order in which an upstream is asked for its clients: what loses least comes first. */
  via: readonly Protocol[]
  /** Where its clients keep state of upstreams. */
  state: readonly StatePlace[]
}

const AT_CALLS = { beside: ['functionCall', 'function_call'], word: NO_STATE, when: isThird }
const BLOCKS = { what: 'messages/*/content/*', around: 'messages/*' }

const ROWS: Partial<Readonly<Record<Protocol, Translated>>> = {
  messages: {
    readRequest: readMessagesRequest,
    writeRequest: writeMessagesRequest,
    goesOn: () => true,
    answerReader: messagesAnswerReader,
    answerWriter: messagesAnswerWriter,
    writeError: writeMessagesError,
    via: ['converse', 'responses', 'generate', 'chat'],
    state: [
      { ...BLOCKS, state: 'signature' },
      { ...BLOCKS, state: 'data' },
      { ...BLOCKS, state: 'id', starts: SEARCH_ID },
      { ...BLOCKS, state: 'tool_use_id', starts: SEARCH_ID },
      { what: `${BLOCKS.what}/citations/*`, state: 'encrypted_index' },
    ],
  },
  chat: {
    readRequest: readChatRequest,
    writeRequest: writeChatRequest,
    answerReader: chatAnswerReader,
    answerWriter: chatAnswerWriter,
    writeError: writeOpenaiError,
    via: ['responses', 'messages', 'converse', 'generate'],
    state: [
      { what: 'messages/*/reasoning_details/*', state: 'data' },
      { what: 'messages/*/tool_calls/*/extra_content', state: 'google/thought_signature' },
    ],
  },
  responses: {
    readRequest: readResponsesRequest,
    writeRequest: writeResponsesRequest,
    answerReader: responsesAnswerReader,
    answerWriter: responsesAnswerWriter,
    writeError: writeOpenaiError,
    via: ['messages', 'converse', 'chat', 'generate'],
    state: [{ what: 'input/*', state: 'encrypted_content' }],
  },
  generate: {
    readRequest: readGenerateRequest,
    writeRequest: writeGenerateRequest,
    answerReader: generateAnswerReader,
    answerWriter: generateAnswerWriter,
    writeError: writeGenerateError,
    via: ['messages', 'converse', 'responses', 'chat'],
    // only the state goes: the part has a text or a call, too
    state: [
      { what: 'contents/*/parts/*/thoughtSignature', state: '', instead: AT_CALLS },
      { what: 'contents/*/parts/*/thought_signature', state: '', instead: AT_CALLS },
    ],
  },
}

/** The protocols that only upstreams speak. */
const OF_UPSTREAMS: Partial<Readonly<Record<Protocol, TranslatedUpstream>>> = {
  converse: { writeRequest: writeConverseRequest, goesOn, answerReader: converseAnswerReader },
}

/** The protocols whose clients are served by translation. */
export const TRANSLATED = Object.keys(ROWS) as readonly Protocol[]

/** undefined = the protocol is not translated. */
export const translatedRow = (protocol: Protocol): Translated | undefined => ROWS[protocol]

/** The row of a protocol whose clients are served by translation. */
export const translated = (protocol: Protocol): Translated => ROWS[protocol] as Translated

/** The row of a protocol in which upstreams are asked by translation. */
export const translatedUpstream = (protocol: Protocol): TranslatedUpstream =>
  (ROWS[protocol] ?? OF_UPSTREAMS[protocol]) as TranslatedUpstream

// --- a request

/** Why a request is not translated: a member of the client's body cannot be said, or the process has no memory for another body. */
export type NotTranslated = { field: string } | 'memory'

interface Cancellable {
  cancel(): void
}

/** An exchange's request as it is said to upstreams that speak other protocols. It is data, like the record of the exchange. */
export class RequestTranslations {
  readonly made = new Map<TranslationTarget, TranslatedRequest | NotTranslated>()
  /** The client's request; null = it was not read, or by another thread. */
  ask: Ask | NotTranslated | null = null
  /** The memory for reading it has been taken. */
  hasMemory = false
  /** Another thread has to read it. */
  isHeavy: boolean
  /** Another thread is translating it. */
  making: Cancellable | null = null
  /** No attempt will need a translation any more. */
  dropped = false
  /** Why the first candidate that translates cannot be asked; null = all that were looked at can. */
  refused: NotTranslated | null = null
  /** The losses that a head named which went out before any upstream answered; null = there was no such head. */
  named: ReadonlySet<LossWord> | null = null

  constructor(isHeavy: boolean) {
    this.isHeavy = isHeavy
  }

  /** No attempt needs the bodies any more. */
  drop(): void {
    this.dropped = true
    this.making?.cancel()
    this.making = null
    this.ask = null
    for (const one of this.made.values()) if (one !== 'memory' && 'body' in one) one.body = []
  }
}

/** What was found in a large body before it went to an upstream. It is data, like the record of the exchange. */
export class FoundInBody {
  /** By the body, which is the client's own for `null`. */
  readonly rules = new Map<TranslatedRequest | null, Map<BodyRule, RuleScan>>()
  /** null = it was not looked for. */
  hasEnvelope: boolean | null = null
}

const JSON_TYPE = 'application/json'

/** Reads a client's request. `longStrings`: as the facts of the body say. */
export function readRequest(
  protocol: Protocol,
  parts: readonly Buffer[],
  longStrings: readonly number[],
  head: AskHead,
): Ask {
  return translated(protocol).readRequest(new ShortBody(parts, longStrings, head.mostBytes), head)
}

/** The most bytes that are to be looked into of a body whose long strings are only moved. */
export function shortBytes(bodyBytes: number, longStrings: readonly number[]): number {
  const longBytes = longStrings.reduce((sum, offset, n) => sum + (n % 2 === 0 ? -offset : offset), 0)
  return bodyBytes - longBytes + (longStrings.length / 2) * MOST_LEFT_BYTES
}

/**
 * Throws `Untranslatable`, also for what no client of the upstream's own protocol may ask for: an address, say, that is a web page in one
 * protocol may be a file of another account in the other.
 */
export function translateRequest(ask: Ask, via: Protocol, target: TranslationTarget): TranslatedRequest {
  const { body: text, renamed, losses } = translatedUpstream(via).writeRequest(ask, target)
  const pieces = ask.short?.pieces(text) ?? [{ bytes: Buffer.from(text, 'latin1'), isMiddle: false }]
  const scan = protocolRow(via).body.scan(JSON_TYPE)
  for (const { bytes, isMiddle } of pieces) {
    if (isMiddle && scan.pass !== undefined) scan.pass(bytes)
    else scan.feed(bytes)
  }
  const facts = scan.end() as Facts
  if (facts.invalid !== null) throw new Untranslatable(facts.invalid)
  const { stream, repeated } = ask
  return {
    via,
    target,
    ask: {
      stream,
      ...(repeated === undefined ? {} : { repeated }),
      ...(ask.search === null ? {} : { query: queryOf(ask) }),
      ...(ask.many === null ? {} : { answers: ask.many.count }),
    },
    body: pieces.map(({ bytes }) => bytes),
    bytes: pieces.reduce((sum, { bytes }) => sum + bytes.length, 0),
    facts,
    renamed,
    losses,
  }
}

// --- an answer that another thread reads and writes

/** More than any usage takes. */
const ROOM_FOR_USAGE = 2048

/** A document of an upstream as its client gets it, but for the usage, which nobody knows before the charge is settled. */
export function writeWhole(
  parts: readonly Uint8Array[],
  { via, options, to, writer: plain }: { via: Protocol; options: ReaderOptions; to: Protocol; writer: WriterOptions },
): WrittenAnswer {
  const reader = translatedUpstream(via).answerReader(options)
  const usageMark = `"${randomUUID()}"`
  const writer = translated(to).answerWriter({ ...plain, usageMark })
  let told = ''
  let hasContent = false
  let failure: Failure | null = null
  for (const event of reader.readDocument(parts)) {
    if (event.type === 'fail') failure = event.failure
    else told += writer.write(event)
    hasContent ||= !['begin', 'thinking', 'fail'].includes(event.type)
    failure ??= writer.failure
    if (failure !== null) break
  }
  const text = failure === null ? told + writer.finish(noUsage()) : ''
  const at = text.lastIndexOf(usageMark)
  const length = text.length - (at < 0 ? 0 : usageMark.length)
  const bytes = Buffer.from(new ArrayBuffer(length + ROOM_FOR_USAGE))
  if (at < 0) bytes.write(text, 'latin1')
  else {
    bytes.write(text.slice(0, at), 'latin1')
    bytes.write(text.slice(at + usageMark.length), at, 'latin1')
  }
  const { thinking, losses } = writer
  return { bytes, told: told.length, usageAt: at, length, thinking, hasContent, failure, losses }
}

/** The end of such an answer, with its usage as the client's protocol says it. */
export function withUsage({ bytes, told, usageAt, length }: WrittenAnswer, usage: JsonText): Buffer {
  const whole = Buffer.from(bytes.buffer)
  if (usageAt < 0) return whole.subarray(told, length)
  whole.copyWithin(usageAt + usage.length, usageAt, length)
  whole.write(usage, usageAt, 'latin1')
  return whole.subarray(told, length + usage.length)
}
