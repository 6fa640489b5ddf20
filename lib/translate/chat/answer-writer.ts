/** An answer as chunks of chat completions. Calls may be mixed here, so that nothing waits. */
import { outputOf, type Usage } from '../../protocols/words/usage.ts'
import { type CollectedBlock, Document, MOST_HELD, TOO_MUCH, Told } from '../answer-writer.ts'
import type {
  Opaque,
  AnswerEvent,
  Citation,
  OpenEvent,
  StopReason,
  Failure,
  AnswerWriter,
  WriterOptions,
} from '../events.ts'
import { EMPTY, type Literal, type Source, array, flat, join, literal, object, typed } from '../json/literal.ts'
import { seal } from '../opaque.ts'
import { asDataUrl, errorObject, nestedCitation, sizeOfNote } from '../openai.ts'

interface Call {
  /** Among the calls. */
  index: number
  freeform: boolean
  /** Some of the arguments have been written. */
  hasArgs: boolean
}

class StreamWriter implements AnswerWriter {
  readonly #options: WriterOptions
  readonly #told = new Told()
  /** How chunks begin and end. */
  readonly #head: string
  readonly #tail: string
  /** What stands around the delta, where that is all that a chunk tells. */
  readonly #before: string
  readonly #behind: string
  /** What the blocks are, by the reader's index. */
  readonly #kinds = new Map<number, OpenEvent['kind']>()
  readonly #calls = new Map<number, Call>()
  /** Citations of the open text, which are told at its end. */
  #notes: Citation[] = []
  #nextCall = 0
  #begun = false
  #thinking = 0
  #reason: StopReason = 'end'
  readonly keepAlive = '\n'
  failure: Failure | null = null
  held = 0

  constructor(options: WriterOptions) {
    this.#options = options
    this.#head = `data: {${head(options, 'chat.completion.chunk')},`
    this.#tail = options.tellsUsage ? ',"usage":null}\n\n' : '}\n\n'
    this.#before = flat(`${this.#head}"choices":[{"index":0,"delta":{`)
    this.#behind = flat(`},"logprobs":null,"finish_reason":null}]${this.#tail}`)
  }

  get counted(): number {
    return this.#told.tokens
  }

  write(event: AnswerEvent): string {
    switch (event.type) {
      case 'begin':
        return this.#begin()
      case 'open':
        return this.#open(event)
      case 'delta':
        return this.#piece(event.index, event.text)
      case 'seal':
        return event.opaque.value === EMPTY ? '' : this.#chunk(`"reasoning_details":${thoughtState(event.opaque)}`)
      case 'note':
        this.#notes.push(event.citation)
        this.held += sizeOfNote(event.citation)
        if (this.held > MOST_HELD) this.failure = TOO_MUCH
        return ''
      case 'close':
        return this.#close(event.index) + this.#cited()
      case 'thinking':
        this.#thinking = event.tokens
        return ''
      case 'stop':
        this.#reason = event.reason
        return ''
      default:
        return ''
    }
  }

  finish(usage: Usage): string {
    return this.#begin() + this.#end(usage, this.#reason)
  }

  stopByLength(usage: Usage): string {
    return this.#begin() + this.#end(usage, 'length')
  }

  breakOff(failure: Failure): string {
    return errorEvent(failure)
  }

  #begin(): string {
    if (this.#begun) return ''
    this.#begun = true
    return this.#chunk('"role":"assistant","content":""')
  }

  #end(usage: Usage, reason: StopReason): string {
    const told = this.#options.tellsUsage
      ? `${this.#head}"choices":[],"usage":${usageOf(usage, this.#thinking)}}\n\n`
      : ''
    const stop = `${this.#before}},"logprobs":null,"finish_reason":${reasonWord(reason)}}]${this.#tail}`
    return `${stop}${told}data: [DONE]\n\n`
  }

  #chunk(delta: string): string {
    return this.#before + delta + this.#behind
  }

  #open(event: OpenEvent): string {
    this.#kinds.set(event.index, event.kind)
    if (event.kind === 'media') return this.#chunk(`"images":[${imageOf(event.mime, event.base64)}]`)
    if (event.kind !== 'call') return ''
    const { id, name, freeform, opaque } = event.call
    const index = this.#nextCall++
    this.#calls.set(event.index, { index, freeform, hasArgs: false })
    const inner = freeform
      ? object({ name: literal(name), input: '""' })
      : object({ name: literal(name), arguments: '""' })
    const call = object({
      index: String(index),
      id: literal(id),
      type: freeform ? '"custom"' : '"function"',
      [freeform ? 'custom' : 'function']: inner,
      extra_content: opaque === undefined ? undefined : callState(opaque),
    })
    return this.#chunk(`"tool_calls":[${call}]`)
  }

  #piece(index: number, text: Literal): string {
    this.#told.add(text)
    switch (this.#kinds.get(index)) {
      case 'text':
        return this.#chunk(`"content":${text}`)
      case 'thought':
        return this.#chunk(`"reasoning_content":${text}`)
      case 'refusal':
        return this.#chunk(`"refusal":${text}`)
      case 'call':
        return this.#args(this.#calls.get(index) as Call, text)
      default:
        return ''
    }
  }

  #args(call: Call, text: Literal): string {
    call.hasArgs = true
    const inner = call.freeform ? `"custom":{"input":${text}}` : `"function":{"arguments":${text}}`
    return this.#chunk(`"tool_calls":[{"index":${call.index},${inner}}]`)
  }

  #cited(): string {
    if (this.#notes.length === 0) return ''
    const annotations = array(this.#notes.map(nestedCitation))
    this.#notes = []
    this.held = 0
    return this.#chunk(`"annotations":${annotations}`)
  }

  /** Clients parse the arguments when the call ends, and there must be something to parse. */
  #close(index: number): string {
    const call = this.#calls.get(index)
    this.#calls.delete(index)
    this.#kinds.delete(index)
    return call === undefined || call.freeform || call.hasArgs ? '' : this.#args(call, '"{}"')
  }
}

// --- document-writer

/** An answer as one document of chat completions. */

class DocumentWriter extends Document {
  override finish(usage: Usage): string {
    const { reason, thinking } = this.collected
    const choice = object({
      index: '0',
      message: this.#message(this.collected.blocks),
      logprobs: 'null',
      finish_reason: reasonWord(reason ?? 'length'),
    })
    return `{${head(this.options, 'chat.completion')},"choices":[${choice}],"usage":${usageOf(usage, thinking)}}`
  }

  #message(blocks: readonly CollectedBlock[]): Source {
    const calls = blocks.filter(({ kind }) => kind === 'call')
    const notes = blocks.flatMap(block => block.notes)
    const media = blocks.filter(({ kind }) => kind === 'media')
    const state = blocks.filter(({ opaque }) => opaque !== null && opaque.value !== EMPTY)
    const details = state.map(({ opaque }) => thoughtState(opaque as NonNullable<typeof opaque>).slice(1, -1))
    return object({
      role: '"assistant"',
      content: textOf(blocks, 'text') ?? (calls.length > 0 || textOf(blocks, 'refusal') !== null ? 'null' : EMPTY),
      refusal: textOf(blocks, 'refusal') ?? 'null',
      annotations: notes.length === 0 ? undefined : array(notes.map(nestedCitation)),
      images: media.length === 0 ? undefined : array(media.map(({ mime, text }) => imageOf(mime, text))),
      reasoning_content: textOf(blocks, 'thought') ?? undefined,
      reasoning_details: details.length === 0 ? undefined : array(details),
      tool_calls: calls.length === 0 ? undefined : array(calls.map(callOf)),
    })
  }
}

/** All texts of a kind, as one; null = there are none. */
function textOf(blocks: readonly CollectedBlock[], kind: CollectedBlock['kind']): Literal | null {
  const texts = blocks.filter(block => block.kind === kind && block.text !== EMPTY).map(({ text }) => text)
  return texts.length === 0 ? null : join(texts)
}

function callOf({ call, text }: CollectedBlock): Source {
  if (call === null) return '{}'
  const { id, name, freeform, opaque } = call
  const inner = freeform
    ? { custom: object({ name: literal(name), input: text }) }
    : { function: object({ name: literal(name), arguments: text === EMPTY ? '"{}"' : text }) }
  return object({
    id: literal(id),
    type: freeform ? '"custom"' : '"function"',
    ...inner,
    extra_content: opaque === undefined ? undefined : callState(opaque),
  })
}

// --- words

/** What streams and documents of chat completions have in common: reasons, usage, errors, the names of the answer. */

const REASONS: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  length: 'length',
  sequence: 'stop',
  tool: 'tool_calls',
  refusal: 'content_filter',
  context: 'length',
  pause: 'stop',
  malformed: 'stop',
  other: 'stop',
}

const reasonWord = (reason: StopReason): Source => `"${REASONS[reason]}"`

/** Here the prompt is one number, with what was read from a cache, or written to one, inside of it. */
function usageOf(usage: Usage, thinking: number): Source {
  const cached = usage.cache_read + usage.cache_read_audio + usage.cache_read_image
  const written = usage.cache_write_5m + usage.cache_write_1h
  const prompt = usage.input + usage.input_audio + usage.input_image + cached + written
  const completion = outputOf(usage)
  const audioIn = usage.input_audio + usage.cache_read_audio
  return object({
    prompt_tokens: String(prompt),
    completion_tokens: String(completion),
    total_tokens: String(prompt + completion),
    prompt_tokens_details: object({
      cached_tokens: String(cached),
      cache_write_tokens: written === 0 ? undefined : String(written),
      audio_tokens: audioIn === 0 ? undefined : String(audioIn),
    }),
    completion_tokens_details: object({
      reasoning_tokens: String(Math.min(thinking, completion)),
      audio_tokens: usage.output_audio === 0 ? undefined : String(usage.output_audio),
    }),
  })
}

/** The members that every chunk begins with. */
const head = ({ requestId, createdS, model }: WriterOptions, kind: string): string =>
  `"id":${literal(`chatcmpl-${requestId}`)},"object":"${kind}","created":${createdS},"model":${literal(model)}`

/** The upstream's state at a thought, which clients may send back; at a call it has the place that Google gave it. */
const thoughtState = (opaque: Opaque): Source =>
  `[{"type":"reasoning.encrypted","data":${seal(opaque)},"format":"gateway"}]`
const callState = (opaque: Opaque): Source => `{"google":{"thought_signature":${seal(opaque)}}}`

/** Pictures in answers have the form that gateways to models that draw have given them. */
const imageOf = (mime: string, base64: Literal): Source =>
  typed('image_url', { image_url: object({ url: asDataUrl(mime, base64) }) })

const errorEvent = (failure: Failure): string => `data: ${errorObject(failure)}\n\n`

/** The writer of one answer to a client. */
export const chatAnswerWriter = (options: WriterOptions): AnswerWriter =>
  options.events ? new StreamWriter(options) : new DocumentWriter(options)
