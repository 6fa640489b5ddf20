/** Answers for clients of chat completions: chunks, in which calls may be mixed so that nothing waits, or one document. */
import { outputOf, type Usage } from '../../protocols/words/usage.ts'
import {
  type AnswerOptions,
  bytesIn,
  type CollectedBlock,
  DocumentWriter,
  EventWriter,
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
  Logprobs,
  Opaque,
  OpenEvent,
  StopReason,
  WebFindings,
  WriterOptions,
} from '../events.ts'
import { ObjectCheck } from '../json/check.ts'
import { array, EMPTY_TEXT, flat, type JsonText, join, type Literal, literal, object, typed } from '../json/literal.ts'
import { logprobsText } from '../logprobs.ts'
import { seal } from '../opaque.ts'
import { asDataUrl, errorObject, nestedCitation } from '../openai.ts'

interface OpenCall {
  /** The place of the call among the calls. */
  index: number
  /** Reads the arguments along; null = the input is no JSON. */
  check: ObjectCheck | null
}

class ChatStream extends EventWriter implements WriterOfMany {
  /** Whether all end with this answer. */
  readonly #isFirst: boolean
  /** How chunks begin and end. */
  readonly #head: string
  readonly #tail: string
  /** What stands around the delta, where that is all that a chunk tells. */
  readonly #before: string
  readonly #behind: string
  /** What the blocks are, by the reader's index. */
  readonly #kinds = new Map<number, OpenEvent['kind']>()
  readonly #calls = new Map<number, OpenCall>()
  /** Citations of the open text, which are told at its end. */
  #notes: Citation[] = []
  #hasCited = false
  readonly #found: WebFindings[] = []
  #nextCall = 0
  /** A call has ended whose arguments are no whole object. */
  #hasHalfCall = false
  #isBegun = false

  constructor(options: AnswerOptions) {
    super(options)
    this.#isFirst = options.answer === undefined
    this.#head = `data: {${head(options, 'chat.completion.chunk')},`
    this.#tail = options.tellsUsage ? ',"usage":null}\n\n' : '}\n\n'
    this.#before = flat(`${this.#head}"choices":[{"index":${options.answer ?? 0},"delta":{`)
    this.#behind = flat(`},"logprobs":null,"finish_reason":null}]${this.#tail}`)
  }

  override breakOff(failure: Failure): string {
    return `data: ${errorObject(failure)}\n\n`
  }

  protected override begin(): string {
    if (this.#isBegun) return ''
    this.#isBegun = true
    return this.#chunk('"role":"assistant","content":""')
  }

  protected get hasWholeCalls(): boolean {
    return this.#nextCall > 0 && !this.#hasHalfCall
  }

  override usageText(usage: Usage, thinking: number): JsonText {
    return usageOf(usage, thinking)
  }

  protected end(usage: Usage, reason: StopReason): string {
    const told = this.options.tellsUsage ? `${this.#head}"choices":[],"usage":${this.usage(usage)}}\n\n` : ''
    const uncited = this.#cited(uncitedOf(this.#found, this.#hasCited))
    const stop = `${this.#before}},"logprobs":null,"finish_reason":${reasonWord(reason)}}]${this.#tail}`
    return uncited + stop + (this.#isFirst ? `${told}data: [DONE]\n\n` : '')
  }

  element(): JsonText {
    return ''
  }

  #chunk(delta: string): string {
    return this.#before + delta + this.#behind
  }

  protected open(event: OpenEvent): string {
    this.#kinds.set(event.index, event.kind)
    if (event.kind === 'media') return this.#chunk(`"images":[${imageOf(event.mime, event.base64)}]`)
    if (event.kind === 'search') {
      this.#found.push(event.found)
      this.hold(sizeOfFound(event.found))
    }
    if (event.kind !== 'call') return ''
    const index = this.#nextCall++
    this.#calls.set(event.index, { index, check: event.call.freeform ? null : new ObjectCheck() })
    const call = callOf(event.call, EMPTY_TEXT)
    return this.#chunk(`"tool_calls":[{"index":${index},${call.slice(1)}]`)
  }

  protected piece(index: number, text: Literal, logprobs?: Logprobs): string {
    this.toldBytes += bytesIn(text)
    switch (this.#kinds.get(index)) {
      case 'text':
        if (logprobs !== undefined) return this.#likely(text, logprobs)
        return this.#chunk(`"content":${text}`)
      case 'thought':
        return this.#chunk(`"reasoning_content":${text}`)
      case 'refusal':
        return this.#chunk(`"refusal":${text}`)
      case 'call':
        return this.#args(this.#calls.get(index) as OpenCall, text)
      default:
        return ''
    }
  }

  #likely(text: Literal, logprobs: Logprobs): string {
    const told = `"logprobs":${choiceLogprobs(logprobs)},"finish_reason":null`
    return `${this.#before}"content":${text}},${told}}]${this.#tail}`
  }

  #args(call: OpenCall, text: Literal): string {
    call.check?.feed(text)
    const inner = call.check === null ? `"custom":{"input":${text}}` : `"function":{"arguments":${text}}`
    return this.#chunk(`"tool_calls":[{"index":${call.index},${inner}}]`)
  }

  protected seal(_index: number, opaque: Opaque): string {
    return opaque.value === EMPTY_TEXT ? '' : this.#chunk(`"reasoning_details":[${thoughtState(opaque)}]`)
  }

  protected override note(_index: number, citation: Citation): string {
    this.#notes.push(citation)
    this.hold(sizeOfNote(citation))
    return ''
  }

  /** Clients parse the arguments when the call ends, and there must be something to parse. */
  protected close(index: number): string {
    const call = this.#calls.get(index)
    this.#calls.delete(index)
    this.#kinds.delete(index)
    const args = call?.check?.empty ? this.#args(call, '"{}"') : ''
    this.#hasHalfCall ||= call?.check?.whole === false
    const notes = this.#notes
    this.#notes = []
    for (const note of notes) this.held -= sizeOfNote(note)
    return args + this.#cited(notes)
  }

  #cited(notes: readonly Citation[]): string {
    if (notes.length === 0) return ''
    this.#hasCited = true
    return this.#chunk(`"annotations":${array(notes.map(nestedCitation))}`)
  }
}

class ChatDocument extends DocumentWriter implements WriterOfMany {
  readonly #own: AnswerOptions

  constructor(options: AnswerOptions) {
    super(options)
    this.#own = options
  }

  override usageText(usage: Usage, thinking: number): JsonText {
    return usageOf(usage, thinking)
  }

  element(): JsonText {
    return this.#choice(this.reason)
  }

  #choice(reason: StopReason): JsonText {
    return object({
      index: String(this.#own.answer ?? 0),
      message: this.#message(),
      logprobs: choiceLogprobs(this.blocks.flatMap(({ logprobs }) => logprobs)),
      finish_reason: reasonWord(reason),
    })
  }

  protected end(usage: Usage, reason: StopReason): string {
    const members = head(this.options, 'chat.completion')
    const choices = [this.#choice(reason), ...(this.#own.others?.() ?? [])]
    return `{${members},"choices":${array(choices)},"usage":${this.usage(usage)}}`
  }

  #message(): JsonText {
    const { blocks } = this
    const calls = blocks.flatMap(({ call, pieces }) => {
      const args = pieces.text === EMPTY_TEXT && !call?.freeform ? '"{}"' : pieces.text
      return call === null ? [] : [callOf(call, args)]
    })
    const cited = blocks.flatMap(block => block.notes)
    const found = blocks.flatMap(block => (block.found === null ? [] : [block.found]))
    const notes = cited.length > 0 ? cited : uncitedOf(found, false)
    const media = blocks.filter(({ kind }) => kind === 'media')
    const states = blocks.flatMap(({ opaque }) => (opaque === null || opaque.value === EMPTY_TEXT ? [] : [opaque]))
    const refusal = textOf(blocks, 'refusal')
    return object({
      role: '"assistant"',
      content: textOf(blocks, 'text') ?? (calls.length > 0 || refusal !== null ? 'null' : EMPTY_TEXT),
      refusal: refusal ?? 'null',
      annotations: notes.length === 0 ? undefined : array(notes.map(nestedCitation)),
      images: media.length === 0 ? undefined : array(media.map(({ mime, pieces }) => imageOf(mime, pieces.text))),
      reasoning_content: textOf(blocks, 'thought') ?? undefined,
      reasoning_details: states.length === 0 ? undefined : array(states.map(thoughtState)),
      tool_calls: calls.length === 0 ? undefined : array(calls),
    })
  }
}

/** Where the text cites nothing of what was found, there is no other place for it: clients show the links. */
const uncitedOf = (found: readonly WebFindings[], hasCited: boolean): Citation[] =>
  hasCited
    ? []
    : found.flatMap(({ sources }) =>
        sources.map(({ url, title }) => ({ url, title, start: '0', end: '0', at: 'answer' })),
      )

/** How likely the tokens of the texts of a choice were. */
const choiceLogprobs = (all: Logprobs): JsonText =>
  all.length === 0 ? 'null' : object({ content: logprobsText(all, 'null'), refusal: 'null' })

/** All texts of a kind, as one; null = there are none. */
function textOf(blocks: readonly CollectedBlock[], kind: CollectedBlock['kind']): Literal | null {
  const texts = blocks.filter(block => block.kind === kind).map(({ pieces }) => pieces.text)
  const found = texts.filter(text => text !== EMPTY_TEXT)
  return found.length === 0 ? null : join(found)
}

function callOf({ id, name, freeform, opaque }: CallHead, args: Literal): JsonText {
  return object({
    id: literal(id),
    type: freeform ? '"custom"' : '"function"',
    ...(freeform
      ? { custom: object({ name: literal(name), input: args }) }
      : { function: object({ name: literal(name), arguments: args }) }),
    extra_content: opaque === undefined ? undefined : `{"google":{"thought_signature":${seal(opaque)}}}`,
  })
}

export const chatAnswerWriter = (options: WriterOptions): AnswerWriter =>
  writerOfAll(own => (own.events ? new ChatStream(own) : new ChatDocument(own)), options)

// --- words

const REASONS: Readonly<Record<StopReason, string>> = {
  end: 'stop',
  length: 'length',
  sequence: 'stop',
  tool: 'tool_calls',
  refusal: 'content_filter',
  context: 'length',
  pause: 'stop',
  other: 'stop',
}

const reasonWord = (reason: StopReason): JsonText => `"${REASONS[reason]}"`

/** Here the prompt is one number, with what was read from a cache, or written to one, inside of it. */
function usageOf(usage: Usage, thinking: number): JsonText {
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
const thoughtState = (opaque: Opaque): JsonText =>
  `{"type":"reasoning.encrypted","data":${seal(opaque)},"format":"gateway"}`

/** Pictures in answers have the form that gateways to models that draw have given them. */
const imageOf = (mime: string, base64: Literal): JsonText =>
  typed('image_url', { image_url: object({ url: asDataUrl(mime, base64) }) })
