/**
 * Answers for clients of generate-content: events, the elements of one array, or one document. Calls are told whole here, and what is
 * behind one waits for it, so that parts come in the order of the answer.
 */
import { outputOf, type Usage } from '../../protocols/words/usage.ts'
import {
  type AnswerOptions,
  bytesIn,
  type CollectedBlock,
  DocumentOfObjects,
  type OpenBlock,
  OrderedWriter,
  type Piece,
  sizeOfFound,
  sizeOfNote,
  writerOfAll,
  type WriterOfMany,
} from '../answer-writer.ts'
import type {
  AnswerWriter,
  CallHead,
  Citation,
  Failure,
  FailureKind,
  Logprobs,
  Opaque,
  StopReason,
  WebFindings,
  WriterOptions,
  WrittenError,
} from '../events.ts'
import {
  array,
  EMPTY_TEXT,
  flat,
  type JsonText,
  type Literal,
  literal,
  object,
  oneLine,
  unquote,
} from '../json/literal.ts'
import { objectIn } from '../json/tree.ts'
import { Average, logprobsResult } from '../logprobs.ts'
import { seal64 } from '../opaque.ts'
import { EMPTY_STATE } from './members.ts'

const PARTS = '"parts":['

class GenerateStream extends OrderedWriter implements WriterOfMany {
  readonly #own: AnswerOptions
  readonly #grounding = new Grounding()
  /** What stands around the part, where one is all that a chunk tells. */
  readonly #before: string
  readonly #behind: string
  readonly #average = new Average()
  /** A call has been told. */
  #called = false
  readonly #frame: { isBegun: boolean }

  constructor(options: AnswerOptions) {
    super(options, { tellsCallsWhole: true })
    this.#own = options
    this.#frame = options.frame ?? { isBegun: false }
    const chunk = responseOf(options, [])
    const at = chunk.indexOf(PARTS) + PARTS.length
    this.#before = flat(chunk.slice(0, at))
    this.#behind = flat(chunk.slice(at))
  }

  override breakOff(failure: Failure): string {
    return this.#framed(writeGenerateError(failure).body)
  }

  override usageText(usage: Usage, thinking: number): JsonText {
    return usageOf(usage, thinking)
  }

  protected end(usage: Usage, reason: StopReason): string {
    const blocks = this.closeAll()
    const grounding = this.#grounding.metadata((start, end) => this.between(start, end))
    const end = { reason, usage: this.usage(usage), grounding, average: this.#average.text }
    const last = this.#framed(responseOf(this.#own, [textPart(EMPTY_TEXT, false)], end))
    return blocks + (this.options.array && this.#own.answer === undefined ? `${last}]` : last)
  }

  element(): JsonText {
    return ''
  }

  #chunk(part: JsonText): string {
    return this.#framed(this.#before + part + this.#behind)
  }

  #framed(data: JsonText): string {
    if (!this.options.array) return `data: ${data}\n\n`
    const before = this.#frame.isBegun ? ',\r\n' : '['
    this.#frame.isBegun = true
    return before + data
  }

  protected media(mime: string, base64: Literal): JsonText {
    return mediaPart(mime, base64)
  }

  protected override get unit(): 'bytes' {
    return 'bytes'
  }

  protected tell({ kind }: OpenBlock, piece: Piece, logprobs?: Logprobs): string {
    const isThought = kind === 'thought'
    if (typeof piece !== 'string' && !('value' in piece)) {
      this.hold('sources' in piece ? sizeOfFound(piece) : sizeOfNote(piece))
      this.#grounding.add(piece)
      return ''
    }
    if (typeof piece !== 'string')
      return piece.value === EMPTY_TEXT ? '' : this.#chunk(textPart(EMPTY_TEXT, isThought, piece))
    if (kind === 'media') return this.#chunk(piece)
    this.toldBytes += bytesIn(piece)
    const part = textPart(piece, isThought)
    return logprobs === undefined ? this.#chunk(part) : this.#likely(part, logprobs)
  }

  #likely(part: JsonText, logprobs: Logprobs): string {
    this.#average.add(logprobs)
    return this.#framed(documentOf(this.#own, [candidateOf(this.#own, [part], { logprobs: logprobsResult(logprobs) })]))
  }

  /** A call that is not whole is left out: clients would run it. */
  protected ended({ call, check, args }: OpenBlock): string {
    if (call === null || check === null || (!check.whole && !check.empty)) return ''
    const { text } = args
    this.toldBytes += bytesIn(text)
    const isFirst = !this.#called
    this.#called = true
    return this.#chunk(callPart(call, check.empty ? '{}' : oneLine(unquote(text)), isFirst))
  }
}

class GenerateDocument extends DocumentOfObjects implements WriterOfMany {
  readonly #own: AnswerOptions

  constructor(options: AnswerOptions) {
    super(options)
    this.#own = options
  }

  element(): JsonText {
    return this.#candidate(this.reason)
  }

  override usageText(usage: Usage, thinking: number): JsonText {
    return usageOf(usage, thinking)
  }

  protected end(usage: Usage, reason: StopReason): string {
    const candidates = [this.#candidate(reason), ...(this.#own.others?.() ?? [])]
    return documentOf(this.options, candidates, this.usage(usage))
  }

  #candidate(reason: StopReason): JsonText {
    this.losesCitations()
    const grounding = new Grounding()
    for (const { found, notes } of this.blocks) {
      if (found !== null) grounding.add(found)
      if (this.searches) for (const note of notes) grounding.add(note)
    }
    const metadata = grounding.metadata((start, end) => this.between(start, end))
    const first = this.blocks.find(({ kind }) => kind === 'call')
    const parts = this.blocks.flatMap(block => partOf(block, block === first))
    const shown = parts.length === 0 ? [textPart(EMPTY_TEXT, false)] : parts
    const tokens = this.blocks.flatMap(({ logprobs }) => logprobs)
    const average = new Average()
    average.add(tokens)
    const logprobs = tokens.length === 0 ? undefined : logprobsResult(tokens)
    return candidateOf(this.#own, shown, { reason, grounding: metadata, average: average.text, logprobs })
  }

  protected override get unit(): 'bytes' {
    return 'bytes'
  }
}

/** In an answer that was cut, a call that is not whole has no place. */
function partOf({ kind, pieces, call, mime, opaque }: CollectedBlock, isFirst: boolean): JsonText[] {
  const { text } = pieces
  if (kind === 'media') return [mediaPart(mime, text)]
  if (kind === 'search') return []
  if (call === null) return [textPart(text, kind === 'thought', opaque)]
  const args = objectIn(text)
  return args === null ? [] : [callPart(call, args, isFirst)]
}

export const generateAnswerWriter = (options: WriterOptions): AnswerWriter =>
  writerOfAll(own => (own.events || own.array ? new GenerateStream(own) : new GenerateDocument(own)), options)

// --- words

const REASONS: Readonly<Record<StopReason, string>> = {
  end: 'STOP',
  length: 'MAX_TOKENS',
  sequence: 'STOP',
  tool: 'STOP',
  refusal: 'SAFETY',
  context: 'MAX_TOKENS',
  pause: 'STOP',
  other: 'OTHER',
}

// --- what was found

/** What searches have found, and which places of the text cite it. */
class Grounding {
  readonly #queries = new Set<Literal>()
  /** The titles, by address. */
  readonly #sources = new Map<Literal, Literal>()
  readonly #cited = new Map<string, Citation[]>()

  add(piece: Citation | WebFindings): void {
    if ('sources' in piece) {
      for (const query of piece.queries) this.#queries.add(query)
      for (const { url, title } of piece.sources) this.#source(url, title)
    } else {
      const place = `${piece.start} ${piece.end}`
      this.#source(piece.url, piece.title)
      this.#cited.set(place, [...(this.#cited.get(place) ?? []), piece])
    }
  }

  #source(url: Literal, title: Literal): void {
    if ((this.#sources.get(url) ?? EMPTY_TEXT) === EMPTY_TEXT) this.#sources.set(url, title)
  }

  /** `between`: the text at a place. undefined = nothing was found. */
  metadata(between: (start: number, end: number) => string): JsonText | undefined {
    if (this.#queries.size + this.#sources.size === 0) return undefined
    const places = new Map([...this.#sources.keys()].map((url, place) => [url, String(place)]))
    const supports = [...this.#cited.values()].map(cited => {
      const [{ start, end }] = cited as [Citation, ...Citation[]]
      const text = literal(between(Number(start), Number(end)).toWellFormed())
      const indices = new Set(cited.map(({ url }) => places.get(url) as string))
      return object({
        segment: object({ startIndex: start, endIndex: end, text }),
        groundingChunkIndices: array([...indices]),
      })
    })
    const chunks = [...this.#sources].map(([uri, title]) =>
      object({ web: object({ uri, title: title === EMPTY_TEXT ? uri : title }) }),
    )
    return object({
      webSearchQueries: array([...this.#queries]),
      groundingChunks: array(chunks),
      groundingSupports: array(supports),
    })
  }
}

// --- parts

/** State without a value says nothing to anybody. */
const stateOf = (opaque: Opaque | null | undefined): Literal | undefined =>
  opaque === null || opaque === undefined || opaque.value === EMPTY_TEXT ? undefined : seal64(opaque)

function textPart(text: Literal, isThought: boolean, opaque?: Opaque | null): JsonText {
  const state = stateOf(opaque)
  return `{"text":${text}${isThought ? ',"thought":true' : ''}${state === undefined ? '' : `,"thoughtSignature":${state}`}}`
}

/** The first call of an answer always has a state: models of this protocol refuse a history in which it has none. */
const callPart = ({ id, name, opaque }: CallHead, args: JsonText, isFirst: boolean): JsonText =>
  object({
    functionCall: object({ id: literal(id), name: literal(name), args }),
    thoughtSignature: stateOf(opaque) ?? (isFirst ? EMPTY_STATE : undefined),
  })

const mediaPart = (mime: string, data: Literal): JsonText =>
  object({ inlineData: object({ mimeType: literal(mime), data }) })

// --- the response

interface Ended {
  reason?: StopReason
  grounding?: JsonText | undefined
  /** How likely the tokens were that are told here, and those of the whole answer. */
  logprobs?: JsonText | undefined
  average?: JsonText | undefined
}

/** Only the last chunk, and a document, say why the answer ended. */
function candidateOf({ answer = 0 }: AnswerOptions, parts: readonly JsonText[], end: Ended = {}): JsonText {
  const content = object({ parts: array(parts), role: '"model"' })
  const finishReason = end.reason === undefined ? undefined : `"${REASONS[end.reason]}"`
  return object({
    content,
    finishReason,
    avgLogprobs: end.average,
    logprobsResult: end.logprobs,
    groundingMetadata: end.grounding,
    index: String(answer),
  })
}

const documentOf = (
  { model, requestId }: WriterOptions,
  candidates: readonly JsonText[],
  usageMetadata?: JsonText,
): JsonText =>
  object({
    candidates: array(candidates),
    usageMetadata,
    modelVersion: literal(model),
    responseId: literal(requestId),
  })

/** A chunk of one answer. The usage stands with the end of the first one. */
const responseOf = (options: AnswerOptions, parts: readonly JsonText[], end?: Ended & { usage: JsonText }): JsonText =>
  documentOf(options, [candidateOf(options, parts, end)], options.answer === undefined ? end?.usage : undefined)

/**
 * Here the prompt is one number, with what was read from a cache, or written to one, inside of it; thoughts are counted beside the
 * rest of the output. What is not text is named in lists.
 */
function usageOf(usage: Usage, thinking: number): JsonText {
  const cachedText = usage.cache_read
  const written = usage.cache_write_5m + usage.cache_write_1h
  const cached = cachedText + usage.cache_read_audio + usage.cache_read_image
  const prompt = usage.input + usage.input_audio + usage.input_image + cached + written
  const output = outputOf(usage)
  const thoughts = Math.min(thinking, usage.output)
  return object({
    promptTokenCount: String(prompt),
    cachedContentTokenCount: cached === 0 ? undefined : String(cached),
    candidatesTokenCount: String(output - thoughts),
    thoughtsTokenCount: thoughts === 0 ? undefined : String(thoughts),
    totalTokenCount: String(prompt + output),
    promptTokensDetails: listOf(
      usage.input + cachedText + written,
      usage.input_audio + usage.cache_read_audio,
      usage.input_image + usage.cache_read_image,
    ),
    cacheTokensDetails: listOf(cachedText, usage.cache_read_audio, usage.cache_read_image),
    candidatesTokensDetails: listOf(usage.output - thoughts, usage.output_audio, usage.output_image),
  })
}

/** Left out where all of it is text. */
function listOf(text: number, audio: number, image: number): JsonText | undefined {
  if (audio === 0 && image === 0) return undefined
  const counts = { TEXT: text, AUDIO: audio, IMAGE: image }
  const named = Object.entries(counts).filter(([, tokens]) => tokens > 0)
  return array(named.map(([modality, tokens]) => object({ modality: `"${modality}"`, tokenCount: String(tokens) })))
}

// --- errors

const STATUSES: Readonly<Record<FailureKind, string>> = {
  invalid: 'INVALID_ARGUMENT',
  context: 'INVALID_ARGUMENT',
  not_found: 'NOT_FOUND',
  too_large: 'INVALID_ARGUMENT',
  timeout: 'DEADLINE_EXCEEDED',
  rate: 'RESOURCE_EXHAUSTED',
  quota: 'RESOURCE_EXHAUSTED',
  overloaded: 'UNAVAILABLE',
  server: 'INTERNAL',
}

/** 529 is another protocol's own status. */
export function writeGenerateError({ kind, status, message }: Failure): WrittenError {
  const code = status === 529 ? 503 : status
  const word = kind === 'server' && (code === 502 || code === 503) ? 'UNAVAILABLE' : STATUSES[kind]
  const error = object({ code: String(code), message: literal(message), status: `"${word}"` })
  return { status: code, body: object({ error }) }
}
