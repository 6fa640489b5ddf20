/**
 * An answer as events of generate-content, or as the elements of one array. Calls are told whole here: one waits until its arguments
 * are a whole object, and what is behind it waits for it, so that parts come in the order of the answer.
 */
import { outputOf, type Usage } from '../../protocols/words/usage.ts'
import {
  unreadable,
  type Opaque,
  type AnswerEvent,
  type CallHead,
  type OpenEvent,
  type StopReason,
  isCut,
  type Failure,
  type FailureKind,
  type AnswerWriter,
  type WriterOptions,
  type WrittenError,
} from '../events.ts'
import { type CollectedBlock, DocumentOfObjects, MOST_HELD, Pieces, TOO_MUCH, Told } from '../answer-writer.ts'
import { ObjectCheck } from '../json/check.ts'
import {
  EMPTY,
  type Literal,
  type Source,
  array,
  flat,
  isBlank,
  literal,
  object,
  oneLine,
  unquote,
} from '../json/literal.ts'
import { seal64 } from '../opaque.ts'
import { EMPTY_STATE } from './members.ts'

const PARTS = '"parts":['
const NO_OBJECT = unreadable('the arguments of a call are no JSON object')
const HALF = unreadable('the arguments of a call are not whole')

interface Block {
  kind: OpenEvent['kind']
  /** Of calls: the arguments so far, and whether they are whole. */
  call: { head: CallHead; args: Pieces; check: ObjectCheck; bytes: number } | null
  /** What waits for the blocks before it: texts, their state, or a part that is written already. */
  waiting: (Literal | Opaque)[]
  /** Media only: the part. */
  part: Source
  /** It has come to its end, as the reader says. */
  closed: boolean
}

const sizeOf = (piece: Literal | Opaque): number => (typeof piece === 'string' ? piece.length : piece.value.length)

class StreamWriter implements AnswerWriter {
  readonly #options: WriterOptions
  readonly #told = new Told()
  /** What stands around the part, where one is all that a chunk tells. */
  readonly #before: string
  readonly #behind: string
  /** Blocks that are not written to their end, in order; the first one is live. */
  #blocks: Block[] = []
  /** How many blocks came before the first of these. */
  #gone = 0
  #thinking = 0
  /** The arguments of a call have ended before they were whole, which may only be in an answer that was cut. */
  #halfCall = false
  #reason: StopReason = 'end'
  /** A call has been told. */
  #called = false
  /** The array has begun. */
  #begun = false
  /** Clients read events from the first byte of their data, and take no comments. */
  readonly keepAlive = '\n'
  failure: Failure | null = null
  held = 0

  constructor(options: WriterOptions) {
    this.#options = options
    const chunk = responseOf(options, [])
    const at = chunk.indexOf(PARTS) + PARTS.length
    this.#before = flat(chunk.slice(0, at))
    this.#behind = flat(chunk.slice(at))
  }

  get counted(): number {
    return this.#told.tokens
  }

  write(event: AnswerEvent): string {
    if (this.failure !== null) return ''
    switch (event.type) {
      case 'open':
        return this.#open(event)
      case 'delta':
        return this.#piece(event.index, event.text)
      case 'seal':
        return this.#piece(event.index, event.opaque)
      case 'close': {
        const block = this.#blocks[event.index - this.#gone]
        if (block !== undefined) block.closed = true
        return this.#live()
      }
      case 'thinking':
        this.#thinking = event.tokens
        return ''
      case 'stop':
        this.#reason = event.reason
        if (this.#halfCall && !isCut(event.reason)) this.failure = HALF
        return ''
      default:
        return ''
    }
  }

  finish(usage: Usage): string {
    return this.#end(usage, this.#reason)
  }

  /** Calls that are not whole are left out: clients would run them. */
  stopByLength(usage: Usage): string {
    for (const block of this.#blocks) block.closed = true
    return this.#live() + this.#end(usage, 'length')
  }

  breakOff(failure: Failure): string {
    return this.#framed(writeGenerateError(failure).body)
  }

  #end(usage: Usage, reason: StopReason): string {
    const end = { reason, usage, thinking: this.#thinking }
    const last = this.#framed(responseOf(this.#options, [textPart(EMPTY, false)], end))
    return this.#options.array ? `${last}]` : last
  }

  #chunk(part: Source): string {
    return this.#framed(this.#before + part + this.#behind)
  }

  #framed(data: Source): string {
    if (!this.#options.array) return event(data)
    const before = this.#begun ? ',\r\n' : '['
    this.#begun = true
    return before + data
  }

  // --- blocks

  #open(event: OpenEvent): string {
    const { kind } = event
    const isCall = kind === 'call'
    const call = isCall ? { head: event.call, args: new Pieces(), check: new ObjectCheck(), bytes: 0 } : null
    const part = kind === 'media' ? mediaPart(event.mime, event.base64) : ''
    this.#blocks.push({ kind, call, waiting: [], part, closed: false })
    this.#hold(part.length)
    return ''
  }

  #hold(bytes: number): void {
    this.held += bytes
    if (this.held > MOST_HELD) this.failure = TOO_MUCH
  }

  #piece(index: number, piece: Literal | Opaque): string {
    const block = this.#blocks[index - this.#gone]
    if (block === undefined) {
      // a call whose arguments were whole, behind which only space may come
      if (typeof piece === 'string' && !isBlank(piece)) this.failure = NO_OBJECT
      return ''
    }
    if (block.call !== null) return typeof piece === 'string' ? this.#args(block, block.call, piece) : ''
    if (block === this.#blocks[0]) return this.#tell(block, piece)
    block.waiting.push(piece)
    this.#hold(sizeOf(piece))
    return ''
  }

  #args(block: Block, call: NonNullable<Block['call']>, piece: Literal): string {
    const { check } = call
    check.feed(piece)
    call.args.add(piece)
    call.bytes += piece.length
    this.#hold(piece.length)
    if (check.bad) this.failure = NO_OBJECT
    return this.failure === null && check.whole && block === this.#blocks[0] ? this.#live() : ''
  }

  /** Writes what the first block has waiting, and goes on to the next while blocks have come to their end. */
  #live(): string {
    let text = ''
    for (let block = this.#blocks[0]; block !== undefined; block = this.#blocks[0]) {
      for (const piece of block.waiting) {
        this.held -= sizeOf(piece)
        text += this.#tell(block, piece)
      }
      block.waiting = []
      if (!block.closed && !block.call?.check.whole) return text
      text += this.#last(block)
      this.#blocks.shift()
      this.#gone++
    }
    return text
  }

  #tell({ kind }: Block, piece: Literal | Opaque): string {
    const isThought = kind === 'thought'
    if (typeof piece !== 'string') return piece.value === EMPTY ? '' : this.#chunk(textPart(EMPTY, isThought, piece))
    this.#told.add(piece)
    return this.#chunk(textPart(piece, isThought))
  }

  /** What is told of a block when it has ended. */
  #last({ call, part }: Block): string {
    this.held -= part.length
    if (call === null) return part === '' ? '' : this.#chunk(part)
    this.held -= call.bytes
    if (!call.check.whole && !call.check.empty) {
      this.#halfCall = true
      return ''
    }
    const args = call.args.text
    this.#told.add(args)
    const isFirst = !this.#called
    this.#called = true
    return this.#chunk(callPart(call.head, call.check.empty ? '{}' : oneLine(unquote(args)), isFirst))
  }
}

// --- document-writer

/** An answer as one document of generate-content. */

class DocumentWriter extends DocumentOfObjects {
  override finish(usage: Usage): string {
    const { reason, thinking, blocks } = this.collected
    this.losesCitations(blocks)
    const first = blocks.find(({ kind }) => kind === 'call')
    const parts = blocks.flatMap(block => this.#part(block, block === first))
    const shown = parts.length === 0 ? [textPart(EMPTY, false)] : parts
    return responseOf(this.options, shown, { reason: reason ?? 'length', usage, thinking })
  }

  /** In an answer that was cut, a call that is not whole has no place. */
  #part({ kind, text, call, mime, opaque }: CollectedBlock, isFirst: boolean): Source[] {
    if (kind === 'media') return [mediaPart(mime, text)]
    if (kind !== 'call') return [textPart(text, kind === 'thought', opaque)]
    const args = this.args(text)
    return args === null ? [] : [callPart(call as CallHead, args, isFirst)]
  }
}

// --- words

/** What streams and documents of generate-content have in common: parts, reasons, usage, errors. */

const REASONS: Readonly<Record<StopReason, string>> = {
  end: 'STOP',
  length: 'MAX_TOKENS',
  sequence: 'STOP',
  tool: 'STOP',
  refusal: 'SAFETY',
  context: 'MAX_TOKENS',
  pause: 'STOP',
  malformed: 'MALFORMED_FUNCTION_CALL',
  other: 'OTHER',
}

// --- parts

/** State without a value says nothing to anybody. */
const stateOf = (opaque: Opaque | null | undefined): Literal | undefined =>
  opaque === null || opaque === undefined || opaque.value === EMPTY ? undefined : seal64(opaque)

function textPart(text: Literal, isThought: boolean, opaque?: Opaque | null): Source {
  const state = stateOf(opaque)
  return `{"text":${text}${isThought ? ',"thought":true' : ''}${state === undefined ? '' : `,"thoughtSignature":${state}`}}`
}

/** The first call of an answer always has a state: models of this protocol refuse a history in which it has none. */
const callPart = ({ id, name, opaque }: CallHead, args: Source, isFirst: boolean): Source =>
  object({
    functionCall: object({ id: literal(id), name: literal(name), args }),
    thoughtSignature: stateOf(opaque) ?? (isFirst ? EMPTY_STATE : undefined),
  })

const mediaPart = (mime: string, data: Literal): Source =>
  object({ inlineData: object({ mimeType: literal(mime), data }) })

// --- the response

/** `usage`: only the last chunk, and a document, have it and say why the answer ended. */
function responseOf(
  { model, requestId }: WriterOptions,
  parts: readonly Source[],
  end?: { reason: StopReason; usage: Usage; thinking: number },
): Source {
  const content = object({ parts: array(parts), role: '"model"' })
  const finishReason = end === undefined ? undefined : `"${REASONS[end.reason]}"`
  return object({
    candidates: array([object({ content, finishReason, index: '0' })]),
    usageMetadata: end === undefined ? undefined : usageOf(end.usage, end.thinking),
    modelVersion: literal(model),
    responseId: literal(requestId),
  })
}

/**
 * Here the prompt is one number, with what was read from a cache, or written to one, inside of it; thoughts are counted beside the
 * rest of the output. What is not text is named in lists.
 */
function usageOf(usage: Usage, thinking: number): Source {
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
function listOf(text: number, audio: number, image: number): Source | undefined {
  if (audio === 0 && image === 0) return undefined
  const counts = { TEXT: text, AUDIO: audio, IMAGE: image }
  const named = Object.entries(counts).filter(([, tokens]) => tokens > 0)
  return array(named.map(([modality, tokens]) => object({ modality: `"${modality}"`, tokenCount: String(tokens) })))
}

const event = (data: Source): string => `data: ${data}\n\n`

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

/** The writer of one answer to a client. */
export const generateAnswerWriter = (options: WriterOptions): AnswerWriter =>
  options.events || options.array ? new StreamWriter(options) : new DocumentWriter(options)
