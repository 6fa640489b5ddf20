/**
 * Answers for clients of the responses protocol: events, or one document. Items may be mixed in a stream, so that nothing waits. Its last
 * event repeats the whole answer, which is kept until then.
 */
import { outputOf, type Usage } from '../../protocols/words/usage.ts'
import { bytesIn, DocumentWriter, EventWriter, LongText, sizeOfFound, sizeOfNote } from '../answer-writer.ts'
import {
  type AnswerWriter,
  type CallHead,
  type Citation,
  type Failure,
  isCut,
  type Logprobs,
  NO_LOGPROBS,
  type Opaque,
  type OpenEvent,
  type StopReason,
  type WebFindings,
  type WriterOptions,
} from '../events.ts'
import { ObjectCheck } from '../json/check.ts'
import {
  array,
  EMPTY_TEXT,
  flat,
  isBlank,
  type JsonText,
  type Literal,
  literal,
  object,
  optional,
  typed,
} from '../json/literal.ts'
import { objectIn } from '../json/tree.ts'
import { logprobsText } from '../logprobs.ts'
import { CallIds } from '../names.ts'
import { seal } from '../opaque.ts'
import { codeOf, flatCitation } from '../openai.ts'

/** What an item costs besides its text. */
const ITEM_BYTES = 400

/** How an event begins, up to its number. */
const startOf = (type: string): string => `event: ${type}\ndata: {"type":"${type}","sequence_number":`

class ResponsesStream extends EventWriter {
  protected override get unit(): 'block' {
    return 'block'
  }

  readonly #ids = new CallIds()
  /** The open items, by the reader's index. */
  readonly #items = new Map<number, Item>()
  /** Calls that ended before their arguments were whole: what becomes of them is known at the end. */
  readonly #half: Item[] = []
  readonly #kinds = new Set<string>()
  /** The items that have ended, each at its place; undefined = the item has not. */
  readonly #output: (JsonText | undefined)[] = []
  /** The place of the next item. */
  #next = 0
  /** The number of the next event. */
  #number = 0
  #isBegun = false

  // --- the answer as a whole

  #event(type: string, members: string): string {
    return this.#numbered(startOf(type), members)
  }

  /** An event of which there are many: its beginning is made once. */
  #numbered(start: string, members: string): string {
    return `${start}${this.#number++},${members}}\n\n`
  }

  #response(ending: Ending, usage?: JsonText): string {
    const output = this.#output.filter(item => item !== undefined)
    return `"response":${responseOf(this.options, ending, output, usage)}`
  }

  protected override begin(): string {
    if (this.#isBegun) return ''
    this.#isBegun = true
    const response = this.#response({ status: 'in_progress' })
    return this.#event('response.created', response) + this.#event('response.in_progress', response)
  }

  override usageText(usage: Usage, thinking: number): JsonText {
    return usageOf(usage, thinking)
  }

  protected end(usage: Usage, reason: StopReason): string {
    const status = isCut(reason) ? 'incomplete' : 'completed'
    let text = ''
    for (const item of [...this.#half, ...this.#items.values()]) if (item.place >= 0) text += this.#stop(item, status)
    const ending = endingOf(reason, this.#kinds)
    return text + this.#event(`response.${ending.status}`, this.#response(ending, this.usage(usage)))
  }

  /** Clients differ in which of the two they look for. */
  override breakOff(failure: Failure): string {
    const code = literal(wordOf(failure))
    const message = literal(failure.message)
    const error = object({ type: code, code, message, param: 'null' })
    return (
      this.#event('error', `"code":${code},"message":${message},"param":null,"error":${error}`) +
      this.#event('response.failed', this.#response(failed(failure)))
    )
  }

  protected get hasWholeCalls(): boolean {
    return this.#kinds.has('call') && this.#half.length === 0
  }

  // --- items

  protected open(event: OpenEvent): string {
    this.#kinds.add(event.kind)
    this.hold(ITEM_BYTES)
    if (event.kind === 'media') return this.#media(event.base64)
    if (event.kind === 'search') return this.#search(event.found)
    const call = event.kind === 'call' ? { ...event.call, id: this.#ids.once(event.call.id) } : null
    const item = newItem(event.kind, call)
    this.#items.set(event.index, item)
    if (call === null) return ''
    return (call.opaque === undefined ? '' : this.#hidden(call.opaque)) + this.#start(item)
  }

  /** A text or a thought begins with the first that comes of it. */
  #start(item: Item): string {
    item.place = this.#next++
    item.id = itemId(this.options, item.kind, item.place, item.call?.freeform)
    item.head = `"item_id":${item.id},"output_index":${item.place}${WORDS[item.form].at}`
    item.delta = { start: flat(startOf(`${WORDS[item.form].events}.delta`)), before: flat(`${item.head},"delta":`) }
    return this.#added(item.place, itemOf(item, 'in_progress', EMPTY_TEXT)) + this.#part(item, 'added', EMPTY_TEXT)
  }

  #added(place: number, item: JsonText): string {
    return this.#event('response.output_item.added', `"output_index":${place},"item":${item}`)
  }

  #done(place: number, item: JsonText): string {
    this.#output[place] = item
    return this.#event('response.output_item.done', `"output_index":${place},"item":${item}`)
  }

  #part(item: Item, when: string, text: Literal): string {
    const { part } = WORDS[item.form]
    return part === null ? '' : this.#event(`${part}.${when}`, `${item.head},"part":${partOf(item, text)}`)
  }

  protected piece(index: number, text: Literal, logprobs: Logprobs = NO_LOGPROBS): string {
    const item = this.#items.get(index)
    if (item === undefined) return ''
    const start = item.place < 0 ? this.#start(item) : ''
    this.toldBytes += bytesIn(text)
    this.hold(text.length)
    item.pieces.add(text)
    item.check?.feed(text)
    const more = item.form === 'text' ? `,"logprobs":${this.#likely(item, logprobs)}` : ''
    return start + this.#numbered(item.delta.start, item.delta.before + text + more)
  }

  /** Keeps how likely the tokens were, which is told once more at the end of the text. */
  #likely(item: Item, logprobs: Logprobs): JsonText {
    if (logprobs.length === 0) return '[]'
    const list = flat(logprobsText(logprobs, '[]'))
    this.hold(list.length)
    item.logprobs.push(list.slice(1, -1))
    return list
  }

  protected override note(index: number, citation: Citation): string {
    const item = this.#items.get(index)
    if (item === undefined || item.place < 0) return ''
    this.hold(sizeOfNote(citation))
    const place = item.notes.push(citation) - 1
    const members = `${item.head},"annotation_index":${place},"annotation":${flatCitation(citation)}`
    return this.#event('response.output_text.annotation.added', members)
  }

  protected seal(index: number, opaque: Opaque): string {
    const item = this.#items.get(index)
    if (item === undefined) return ''
    this.hold(opaque.value.length)
    item.opaque = opaque
    return ''
  }

  protected close(index: number): string {
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
    const { events, whole } = WORDS[form]
    const more = form === 'text' ? `,"logprobs":${array(item.logprobs)}` : ''
    const text = call === null ? pieces.text : wholeArgs(call, pieces.text)
    const name = form === 'call' && call !== null ? `,"name":${literal(call.name)}` : ''
    return (
      this.#event(`${events}.done`, `${head}${name},"${whole}":${text}${more}`) +
      this.#part(item, 'done', text) +
      this.#done(place, itemOf(item, status, text))
    )
  }

  /** State that belongs to nothing that is shown. */
  #hidden(opaque: Opaque): string {
    const place = this.#next++
    const item = thoughtItem(itemId(this.options, 'thought', place), EMPTY_TEXT, opaque)
    return this.#added(place, item) + this.#done(place, item)
  }

  #search(found: WebFindings): string {
    this.hold(sizeOfFound(found))
    const place = this.#next++
    const id = itemId(this.options, 'search', place)
    const members = `"output_index":${place},"item_id":${id}`
    const events = ['in_progress', 'searching', ...(found.isFailed ? [] : ['completed'])]
    return (
      this.#added(place, searchItem(id, found, 'in_progress')) +
      events.map(name => this.#event(`response.web_search_call.${name}`, members)).join('') +
      this.#done(place, searchItem(id, found, found.isFailed ? 'failed' : 'completed'))
    )
  }

  #media(base64: Literal): string {
    this.hold(base64.length)
    const place = this.#next++
    const id = itemId(this.options, 'media', place)
    return this.#added(place, mediaItem(id)) + this.#done(place, mediaItem(id, base64))
  }
}

// --- an item of a stream while it is written, and the words of the events that belong to its form

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
}

const CONTENT = { part: 'response.content_part', at: ',"content_index":0' } as const
const NO_PART = { part: null, at: '' } as const

const WORDS: Readonly<Record<Form, Words>> = {
  text: { events: 'response.output_text', ...CONTENT, whole: 'text' },
  refusal: { events: 'response.refusal', ...CONTENT, whole: 'refusal' },
  thought: {
    events: 'response.reasoning_summary_text',
    part: 'response.reasoning_summary_part',
    at: ',"summary_index":0',
    whole: 'text',
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
  pieces: LongText
  /** Tells of functions whether the arguments are whole. */
  check: ObjectCheck | null
  opaque: Opaque | null
  notes: Citation[]
  /** How likely the tokens of the text were: elements of a list. */
  logprobs: JsonText[]
}

const newItem = (kind: Item['kind'], call: CallHead | null): Item => ({
  kind,
  form: call?.freeform ? 'custom' : kind,
  call,
  place: -1,
  id: EMPTY_TEXT,
  head: '',
  delta: { start: '', before: '' },
  pieces: new LongText(),
  check: call === null || call.freeform ? null : new ObjectCheck(),
  opaque: null,
  notes: [],
  logprobs: [],
})

const partOf = ({ form, notes, logprobs }: Item, text: Literal): JsonText =>
  form === 'text' || form === 'refusal'
    ? contentOf(form, text, notes, array(logprobs))
    : typed('summary_text', { text })

/** The item with the text that it has come to. */
function itemOf({ kind, id, call, opaque, notes, logprobs }: Item, status: ItemStatus, text: Literal): JsonText {
  if (call !== null) return callItem(id, call, text, status)
  if (kind === 'thought') return thoughtItem(id, text, opaque)
  const whole = () => contentOf(kind === 'refusal' ? kind : 'text', text, notes, array(logprobs))
  const content = status === 'in_progress' ? [] : [whole()]
  return messageItem(id, content, status)
}

// --- documents

class ResponsesDocument extends DocumentWriter {
  override usageText(usage: Usage, thinking: number): JsonText {
    return usageOf(usage, thinking)
  }

  protected override get unit(): 'block' {
    return 'block'
  }

  protected end(usage: Usage, reason: StopReason): string {
    const ending = endingOf(reason, new Set(this.blocks.map(({ kind }) => kind)))
    return responseOf(this.options, ending, this.#output(reason), this.usage(usage))
  }

  #output(reason: StopReason): JsonText[] {
    const output: JsonText[] = []
    const ids = new CallIds()
    const hidden = (opaque: Opaque): void => {
      output.push(thoughtItem(itemId(this.options, 'thought', output.length), EMPTY_TEXT, opaque))
    }
    for (const { kind, pieces, call, found, opaque, notes, logprobs, isClosed } of this.blocks) {
      const { text } = pieces
      if (call?.opaque !== undefined) hidden(call.opaque)
      const id = itemId(this.options, kind, output.length, call?.freeform)
      if (kind === 'thought') output.push(thoughtItem(id, text, opaque))
      else if (kind === 'media') output.push(mediaItem(id, text))
      else if (found !== null) output.push(searchItem(id, found, found.isFailed ? 'failed' : 'completed'))
      else if (call !== null) output.push(callOf(id, { ...call, id: ids.once(call.id) }, text, reason))
      else {
        const content = contentOf(kind === 'refusal' ? kind : 'text', text, notes, logprobsText(logprobs, '[]'))
        if (text !== EMPTY_TEXT) output.push(messageItem(id, [content], isClosed ? 'completed' : 'incomplete'))
        if (opaque !== null) hidden(opaque)
      }
    }
    return output
  }
}

function callOf(id: Literal, call: CallHead, text: Literal, reason: StopReason): JsonText {
  const args = wholeArgs(call, text)
  const isHalf = isCut(reason) && !call.freeform && (isBlank(args) || objectIn(args) === null)
  return callItem(id, call, args, isHalf ? 'incomplete' : 'completed')
}

export const responsesAnswerWriter = (options: WriterOptions): AnswerWriter =>
  options.events ? new ResponsesStream(options) : new ResponsesDocument(options)

// --- words

/** What an answer repeats of its request, where the request does not say it. */
const UNSAID: Readonly<Record<string, JsonText>> = {
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
  incomplete?: JsonText
  error?: JsonText
}

const responseOf = (
  { requestId, createdS, model, ask }: WriterOptions,
  { status, incomplete = 'null', error = 'null' }: Ending,
  output: readonly JsonText[],
  usage: JsonText = 'null',
): JsonText =>
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
function usageOf(usage: Usage, thinking: number): JsonText {
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
const PREFIXES = { text: 'msg', refusal: 'msg', thought: 'rs', media: 'ig', call: 'fc', search: 'ws' } as const

/** `place`: in the output. */
const itemId = ({ requestId }: WriterOptions, kind: keyof typeof PREFIXES, place: number, freeform = false): Literal =>
  literal(`${freeform ? 'ctc' : PREFIXES[kind]}_${requestId}_${place}`)

/** The part of a message that has its text. */
const contentOf = (
  kind: 'text' | 'refusal',
  text: Literal,
  notes: readonly Citation[],
  logprobs: JsonText,
): JsonText =>
  kind === 'refusal'
    ? typed('refusal', { refusal: text })
    : typed('output_text', { text, annotations: array(notes.map(flatCitation)), logprobs })

const messageItem = (id: Literal, content: readonly JsonText[], status: ItemStatus): JsonText =>
  object({ id, type: '"message"', status: `"${status}"`, role: '"assistant"', content: array(content) })

/** A state stands in it even where it is empty, so that an item of ours is known when it comes back. */
const thoughtItem = (id: Literal, text: Literal, opaque: Opaque | null): JsonText =>
  object({
    id,
    type: '"reasoning"',
    summary: text === EMPTY_TEXT ? '[]' : array([typed('summary_text', { text })]),
    encrypted_content: opaque === null ? 'null' : seal(opaque),
  })

function callItem(id: Literal, call: CallHead, args: Literal, status: ItemStatus): JsonText {
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

function searchItem(id: Literal, { queries, sources }: WebFindings, status: string): JsonText {
  const action = typed('search', {
    query: queries[0] ?? EMPTY_TEXT,
    queries: array(queries),
    sources: status === 'in_progress' ? undefined : array(sources.map(({ url }) => typed('url', { url }))),
  })
  return object({ id, type: '"web_search_call"', status: `"${status}"`, action })
}

/** Without a picture while that is drawn. */
const mediaItem = (id: Literal, result?: Literal): JsonText =>
  object({
    id,
    type: '"image_generation_call"',
    status: result === undefined ? '"in_progress"' : '"completed"',
    result,
  })

/** The arguments of a call that has ended. */
const wholeArgs = ({ freeform }: CallHead, args: Literal): Literal => (args === EMPTY_TEXT && !freeform ? '"{}"' : args)
