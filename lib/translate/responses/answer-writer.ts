/**
 * An answer as events of the responses protocol. Items may be mixed here, so that nothing waits. The last event repeats
 * the whole answer, which is kept until then.
 */
import { outputOf, type Usage } from '../../protocols/words/usage.ts'
import { type CollectedBlock, Document, MOST_HELD, Pieces, TOO_MUCH, Told } from '../answer-writer.ts'
import {
  type Opaque,
  type AnswerEvent,
  type CallHead,
  type Citation,
  type OpenEvent,
  type StopReason,
  isCut,
  type Failure,
  type AnswerWriter,
  type WriterOptions,
} from '../events.ts'
import { ObjectCheck } from '../json/check.ts'
import {
  EMPTY,
  type Literal,
  type Source,
  array,
  flat,
  literal,
  object,
  optional,
  typed,
  unquote,
} from '../json/literal.ts'
import { Tree } from '../json/tree.ts'
import { CallIds } from '../names.ts'
import { seal } from '../opaque.ts'
import { codeOf, flatCitation, sizeOfNote } from '../openai.ts'

/** What an item costs besides its text. */
const ITEM_BYTES = 400

class StreamWriter implements AnswerWriter {
  readonly #options: WriterOptions
  readonly #events: StreamEvents
  readonly #told = new Told()
  readonly #ids = new CallIds()
  /** By the reader's index. */
  readonly #items = new Map<number, Item>()
  /** Calls that ended before their arguments were whole: what becomes of them is known at the end. */
  readonly #half: Item[] = []
  readonly #kinds = new Set<string>()
  #next = 0
  #thinking = 0
  #reason: StopReason = 'end'
  readonly keepAlive = '\n'
  failure: Failure | null = null
  held = 0

  constructor(options: WriterOptions) {
    this.#options = options
    this.#events = new StreamEvents(options)
  }

  get counted(): number {
    return this.#told.tokens
  }

  write(event: AnswerEvent): string {
    if (this.failure !== null) return ''
    switch (event.type) {
      case 'begin':
        return this.#events.begin()
      case 'open':
        return this.#open(event)
      case 'delta':
        return this.#piece(this.#items.get(event.index), event.text)
      case 'seal':
        return this.#seal(this.#items.get(event.index), event.opaque)
      case 'note':
        return this.#note(this.#items.get(event.index), event.citation)
      case 'close':
        return this.#close(event.index)
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
    return this.#end(usage, this.#reason)
  }

  stopByLength(usage: Usage): string {
    return this.#end(usage, 'length')
  }

  breakOff(failure: Failure): string {
    return this.#events.breakOff(failure)
  }

  #end(usage: Usage, reason: StopReason): string {
    const status = isCut(reason) ? 'incomplete' : 'completed'
    let text = this.#events.begin()
    for (const item of [...this.#half, ...this.#items.values()]) if (item.place >= 0) text += this.#stop(item, status)
    return text + this.#events.end(endingOf(reason, this.#kinds), usageOf(usage, this.#thinking))
  }

  // --- items

  #open(event: OpenEvent): string {
    this.#kinds.add(event.kind)
    this.#hold(ITEM_BYTES)
    if (event.kind === 'media') return this.#media(event.base64)
    const item = newItem(
      event.kind,
      event.kind === 'call' ? { ...event.call, id: this.#ids.once(event.call.id) } : null,
    )
    this.#items.set(event.index, item)
    if (item.call === null) return ''
    return (item.call.opaque === undefined ? '' : this.#hidden(item.call.opaque)) + this.#start(item)
  }

  #hold(bytes: number): void {
    this.held += bytes
    if (this.held > MOST_HELD) this.failure = TOO_MUCH
  }

  /** A text or a thought begins with the first that comes of it. */
  #start(item: Item): string {
    item.place = this.#next++
    item.id = itemId(this.#options, item.kind, item.place, item.call?.freeform)
    item.head = `"item_id":${item.id},"output_index":${item.place}${WORDS[item.form].at}`
    item.delta = { start: flat(startOf(`${WORDS[item.form].events}.delta`)), before: flat(`${item.head},"delta":`) }
    const added = `"output_index":${item.place},"item":${itemOf(item, 'in_progress', EMPTY)}`
    return this.#events.one('response.output_item.added', added) + this.#part(item, 'added', EMPTY)
  }

  #part(item: Item, when: string, text: Literal): string {
    const { part } = WORDS[item.form]
    return part === null ? '' : this.#events.one(`${part}.${when}`, `${item.head},"part":${partOf(item, text)}`)
  }

  #piece(item: Item | undefined, text: Literal): string {
    if (item === undefined) return ''
    const start = item.place < 0 ? this.#start(item) : ''
    this.#told.add(text)
    this.#hold(text.length)
    item.pieces.add(text)
    item.check?.feed(text)
    return start + this.#events.many(item.delta.start, item.delta.before + text + WORDS[item.form].more)
  }

  #note(item: Item | undefined, citation: Citation): string {
    if (item === undefined || item.place < 0) return ''
    this.#hold(sizeOfNote(citation))
    const place = item.notes.push(citation) - 1
    const members = `${item.head},"annotation_index":${place},"annotation":${flatCitation(citation)}`
    return this.#events.one('response.output_text.annotation.added', members)
  }

  #seal(item: Item | undefined, opaque: Opaque): string {
    if (item === undefined) return ''
    this.#hold(opaque.value.length)
    item.opaque = opaque
    return ''
  }

  #close(index: number): string {
    const item = this.#items.get(index)
    this.#items.delete(index)
    if (item === undefined) return ''
    const { check, opaque, kind } = item
    if (check !== null && !check.whole && !check.empty) {
      this.#half.push(item)
      return ''
    }
    const text = item.place < 0 ? '' : this.#stop(item, 'completed')
    const isAlone = opaque !== null && (kind !== 'thought' || item.place < 0)
    return isAlone ? text + this.#hidden(opaque) : text
  }

  #stop(item: Item, status: ItemStatus): string {
    const { place, form, call, head, pieces } = item
    const { events, whole, more } = WORDS[form]
    const text = call === null ? pieces.text : wholeArgs(call, pieces.text)
    const source = itemOf(item, status, text)
    const name = form === 'call' && call !== null ? `,"name":${literal(call.name)}` : ''
    return (
      this.#events.one(`${events}.done`, `${head}${name},"${whole}":${text}${more}`) +
      this.#part(item, 'done', text) +
      this.#events.done(place, source)
    )
  }

  /** State that belongs to nothing that is shown. */
  #hidden(opaque: Opaque): string {
    const place = this.#next++
    return this.#events.whole(place, thoughtItem(itemId(this.#options, 'thought', place), EMPTY, opaque))
  }

  #media(base64: Literal): string {
    this.#hold(base64.length)
    const place = this.#next++
    return this.#events.whole(place, mediaItem(itemId(this.#options, 'media', place), base64))
  }
}

// --- open-item

/** An item of a stream while it is written, and the words of the events that belong to its form. */

type Form = 'text' | 'thought' | 'refusal' | 'call' | 'custom'

interface Words {
  /** How the names of the events of its text begin. */
  events: string
  /** The same of the events of its part; null = it has no parts. */
  part: string | null
  /** Which part it is: all have one. */
  at: string
  /** The member that has the whole text. */
  whole: string
  /** More members of the events of its text. */
  more: string
}

const CONTENT = { part: 'response.content_part', at: ',"content_index":0' } as const
const NO_PART = { part: null, at: '', more: '' } as const

const WORDS: Readonly<Record<Form, Words>> = {
  text: { events: 'response.output_text', ...CONTENT, whole: 'text', more: ',"logprobs":[]' },
  refusal: { events: 'response.refusal', ...CONTENT, whole: 'refusal', more: '' },
  thought: {
    events: 'response.reasoning_summary_text',
    part: 'response.reasoning_summary_part',
    at: ',"summary_index":0',
    whole: 'text',
    more: '',
  },
  call: { events: 'response.function_call_arguments', ...NO_PART, whole: 'arguments' },
  custom: { events: 'response.custom_tool_call_input', ...NO_PART, whole: 'input' },
}

interface Item {
  kind: 'text' | 'thought' | 'refusal' | 'call'
  form: Form
  call: CallHead | null
  /** In the output; -1 = it has not begun. */
  place: number
  id: Literal
  /** The members by which its events name it. */
  head: string
  /** How the events of its text begin, and what stands before a piece of it. */
  delta: { start: string; before: string }
  pieces: Pieces
  /** Of functions: whether the arguments are whole. */
  check: ObjectCheck | null
  opaque: Opaque | null
  notes: Citation[]
}

const newItem = (kind: Item['kind'], call: CallHead | null): Item => ({
  kind,
  form: call?.freeform ? 'custom' : kind,
  call,
  place: -1,
  id: EMPTY,
  head: '',
  delta: { start: '', before: '' },
  pieces: new Pieces(),
  check: call === null || call.freeform ? null : new ObjectCheck(),
  opaque: null,
  notes: [],
})

const partOf = ({ form, notes }: Item, text: Literal): Source =>
  form === 'text' || form === 'refusal' ? contentOf(form, text, notes) : typed('summary_text', { text })

/** The item with the text that it has come to. */
function itemOf({ kind, id, call, opaque, notes }: Item, status: ItemStatus, text: Literal): Source {
  if (call !== null) return callItem(id, call, text, status)
  if (kind === 'thought') return thoughtItem(id, text, opaque)
  const content = status === 'in_progress' ? [] : [contentOf(kind === 'refusal' ? kind : 'text', text, notes)]
  return messageItem(id, content, status)
}

// --- stream-events

/** The events of a stream of responses as a whole: numbered one after the other, the first ones, the last ones, and the output so far. */

/** How an event begins, up to its number. */
const startOf = (type: string): string => `event: ${type}\ndata: {"type":"${type}","sequence_number":`

class StreamEvents {
  readonly #options: WriterOptions
  /** By the place of each item; undefined = it has not ended. */
  readonly #output: (Source | undefined)[] = []
  #sequence = 0
  #begun = false

  constructor(options: WriterOptions) {
    this.#options = options
  }

  one(type: string, members: string): string {
    return this.many(startOf(type), members)
  }

  /** The same, for an event of which there are many: its beginning is made once. */
  many(start: string, members: string): string {
    return `${start}${this.#sequence++},${members}}\n\n`
  }

  /** An item has ended. */
  done(place: number, item: Source): string {
    this.#output[place] = item
    return this.one('response.output_item.done', `"output_index":${place},"item":${item}`)
  }

  /** An item that is told at once. */
  whole(place: number, item: Source): string {
    return this.one('response.output_item.added', `"output_index":${place},"item":${item}`) + this.done(place, item)
  }

  begin(): string {
    if (this.#begun) return ''
    this.#begun = true
    const response = `"response":${responseOf(this.#options, BEGUN, [])}`
    return this.one('response.created', response) + this.one('response.in_progress', response)
  }

  end(ending: Ending, usage: Source): string {
    return this.one(`response.${ending.status}`, `"response":${this.#response(ending, usage)}`)
  }

  /** Clients differ in which of the two they look for. */
  breakOff(failure: Failure): string {
    const code = literal(wordOf(failure))
    const message = literal(failure.message)
    const error = object({ type: code, code, message, param: 'null' })
    return (
      this.one('error', `"code":${code},"message":${message},"param":null,"error":${error}`) +
      this.one('response.failed', `"response":${this.#response(failed(failure))}`)
    )
  }

  #response(ending: Ending, usage?: Source): Source {
    const output = this.#output.filter(item => item !== undefined)
    return responseOf(this.#options, ending, output, usage)
  }
}

// --- document-writer

/** An answer as one document of the responses protocol. */

class DocumentWriter extends Document {
  readonly #tree = new Tree(1)

  override finish(usage: Usage): string {
    const { reason, thinking, blocks } = this.collected
    const ending = endingOf(reason ?? 'length', new Set(blocks.map(({ kind }) => kind)))
    return responseOf(this.options, ending, this.#output(blocks), usageOf(usage, thinking))
  }

  #output(blocks: readonly CollectedBlock[]): Source[] {
    const output: Source[] = []
    const ids = new CallIds()
    const hidden = (opaque: Opaque): void => {
      output.push(thoughtItem(itemId(this.options, 'thought', output.length), EMPTY, opaque))
    }
    for (const { kind, text, call, opaque, notes, closed } of blocks) {
      const id = itemId(this.options, kind, output.length, call?.freeform)
      if (kind === 'thought') output.push(thoughtItem(id, text, opaque))
      else if (kind === 'media') output.push(mediaItem(id, text))
      else if (call !== null) {
        if (call.opaque !== undefined) hidden(call.opaque)
        output.push(this.#call({ ...call, id: ids.once(call.id) }, text, output.length))
      } else {
        if (text !== EMPTY)
          output.push(
            messageItem(
              id,
              [contentOf(kind === 'refusal' ? kind : 'text', text, notes)],
              closed ? 'completed' : 'incomplete',
            ),
          )
        if (opaque !== null) hidden(opaque)
      }
    }
    return output
  }

  #call(call: CallHead, text: Literal, place: number): Source {
    const args = wholeArgs(call, text)
    const id = itemId(this.options, 'call', place, call.freeform)
    const isHalf = isCut(this.collected.reason ?? 'length') && !call.freeform && !this.#isObject(args)
    return callItem(id, call, args, isHalf ? 'incomplete' : 'completed')
  }

  #isObject(args: Literal): boolean {
    return this.#tree.read(unquote(args)) && this.#tree.kind(this.#tree.root) === 'object'
  }
}

// --- words

/** What streams and documents of responses have in common: the response itself, its items, how it ended, usage. */

/** What an answer repeats of its request, where the request does not say it. */
const UNSAID: Readonly<Record<string, Source>> = {
  instructions: 'null',
  max_output_tokens: 'null',
  max_tool_calls: 'null',
  metadata: '{}',
  parallel_tool_calls: 'true',
  prompt_cache_key: 'null',
  reasoning: '{"effort":null,"summary":null}',
  safety_identifier: 'null',
  service_tier: '"default"',
  temperature: '1',
  text: '{"format":{"type":"text"},"verbosity":"medium"}',
  tool_choice: '"auto"',
  tools: '[]',
  top_logprobs: '0',
  top_p: '1',
  truncation: '"disabled"',
  user: 'null',
}

interface Ending {
  status: 'in_progress' | 'completed' | 'incomplete' | 'failed'
  incomplete?: Source
  error?: Source
}

const BEGUN: Ending = { status: 'in_progress' }

const responseOf = (
  { requestId, createdS, model, ask }: WriterOptions,
  { status, incomplete = 'null', error = 'null' }: Ending,
  output: readonly Source[],
  usage: Source = 'null',
): Source =>
  object({
    id: literal(`resp_${requestId}`),
    object: '"response"',
    created_at: String(createdS),
    status: `"${status}"`,
    background: 'false',
    completed_at: 'null',
    error,
    incomplete_details: incomplete,
    model: literal(model),
    output: array(output),
    previous_response_id: 'null',
    store: 'false',
    ...UNSAID,
    ...ask.repeated,
    usage,
  })

/** How an answer ended. A refusal in words is a whole answer, unless there are calls, which nobody must run. */
function endingOf(reason: StopReason, kinds: ReadonlySet<string>): Ending {
  if (reason === 'length' || reason === 'context') return cut('max_output_tokens')
  const isSaid = kinds.has('refusal') && !kinds.has('call')
  return reason === 'refusal' && !isSaid ? cut('content_filter') : { status: 'completed' }
}

const cut = (why: string): Ending => ({ status: 'incomplete', incomplete: `{"reason":"${why}"}` })

const failed = (failure: Failure): Ending => ({
  status: 'failed',
  error: object({ code: literal(wordOf(failure)), message: literal(failure.message) }),
})

/** Clients repeat what fails for another reason than these. */
const wordOf = (failure: Failure): string =>
  codeOf(failure) ?? (failure.kind === 'invalid' ? 'invalid_prompt' : 'server_error')

/** Here the prompt is one number, with what was read from a cache, or written to one, inside of it. */
function usageOf(usage: Usage, thinking: number): Source {
  const cached = usage.cache_read + usage.cache_read_audio + usage.cache_read_image
  const written = usage.cache_write_5m + usage.cache_write_1h
  const audio = usage.input_audio + usage.cache_read_audio
  const input = usage.input + usage.input_audio + usage.input_image + cached + written
  const output = outputOf(usage)
  const split = { ttl_30m_tokens: String(usage.cache_write_5m), ttl_12h_tokens: String(usage.cache_write_1h) }
  return object({
    input_tokens: String(input),
    input_tokens_details: object({
      cached_tokens: String(cached),
      cache_write_tokens: written === 0 ? undefined : String(written),
      cache_write_tokens_details: written === 0 ? undefined : object(split),
      audio_tokens: audio === 0 ? undefined : String(audio),
    }),
    output_tokens: String(output),
    output_tokens_details: object({
      reasoning_tokens: String(Math.min(thinking, output)),
      audio_tokens: usage.output_audio === 0 ? undefined : String(usage.output_audio),
    }),
    total_tokens: String(input + output),
  })
}

// --- items

type ItemStatus = 'in_progress' | 'completed' | 'incomplete'
const PREFIXES = { text: 'msg', refusal: 'msg', thought: 'rs', media: 'ig', call: 'fc' } as const

/** `place`: in the output. */
const itemId = ({ requestId }: WriterOptions, kind: keyof typeof PREFIXES, place: number, freeform = false): Literal =>
  literal(`${freeform ? 'ctc' : PREFIXES[kind]}_${requestId}_${place}`)

/** The part of a message that has its text. */
const contentOf = (kind: 'text' | 'refusal', text: Literal, notes: readonly Citation[]): Source =>
  kind === 'refusal'
    ? typed('refusal', { refusal: text })
    : typed('output_text', { text, annotations: array(notes.map(flatCitation)), logprobs: '[]' })

const messageItem = (id: Literal, content: readonly Source[], status: ItemStatus): Source =>
  object({ id, type: '"message"', status: `"${status}"`, role: '"assistant"', content: array(content) })

/** A state stands in it even where it is empty, so that an item of ours is known when it comes back. */
const thoughtItem = (id: Literal, text: Literal, opaque: Opaque | null): Source =>
  object({
    id,
    type: '"reasoning"',
    summary: text === EMPTY ? '[]' : array([typed('summary_text', { text })]),
    encrypted_content: opaque === null ? 'null' : seal(opaque),
  })

function callItem(id: Literal, call: CallHead, args: Literal, status: ItemStatus): Source {
  return object({
    id,
    type: call.freeform ? '"custom_tool_call"' : '"function_call"',
    status: `"${status}"`,
    call_id: literal(call.id),
    name: literal(call.name),
    namespace: optional(call.namespace),
    [call.freeform ? 'input' : 'arguments']: args,
  })
}

const mediaItem = (id: Literal, base64: Literal): Source =>
  object({ id, type: '"image_generation_call"', status: '"completed"', result: base64 })

/** The arguments of a call that has ended. */
const wholeArgs = ({ freeform }: CallHead, args: Literal): Literal => (args === EMPTY && !freeform ? '"{}"' : args)

/** The writer of one answer to a client. */
export const responsesAnswerWriter = (options: WriterOptions): AnswerWriter =>
  options.events ? new StreamWriter(options) : new DocumentWriter(options)
