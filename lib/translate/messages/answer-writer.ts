/**
 * Answers for clients of the messages protocol: events, of which one block is open at a time, or one document.
 */
import { outputOf, type Usage } from '../../protocols/words/usage.ts'
import {
  bytesIn,
  type CollectedBlock,
  DocumentOfObjects,
  type OpenBlock,
  OrderedWriter,
  type Piece,
} from '../answer-writer.ts'
import type {
  AnswerWriter,
  CallHead,
  Citation,
  Failure,
  FailureKind,
  WebFindings,
  Opaque,
  OpenEvent,
  FoundSource,
  StopReason,
  WriterOptions,
  WrittenError,
} from '../events.ts'
import { array, EMPTY_TEXT, flat, type Literal, literal, object, quote, type JsonText, typed } from '../json/literal.ts'
import { objectIn } from '../json/tree.ts'
import { issuerOf, seal } from '../opaque.ts'
import { SEARCH_ID, SEARCH_NAME } from '../search.ts'

const TEXT = '{"type":"text","text":""}'
const THINKING = '{"type":"thinking","thinking":"","signature":""}'
/** The most searches of one answer that are told one by one. */
const MOST_QUERIES = 20
/** In the place of an upstream's own state; it says only that it is none. */
const NO_INDEX = seal({ issuer: issuerOf('', ''), of: 'found', value: EMPTY_TEXT })
const TEXT_DELTA = '{"type":"text_delta","text":'
const DELTAS: Readonly<Record<OpenEvent['kind'], string>> = {
  text: TEXT_DELTA,
  refusal: TEXT_DELTA,
  media: TEXT_DELTA,
  search: '',
  thought: '{"type":"thinking_delta","thinking":',
  call: '{"type":"input_json_delta","partial_json":',
}

class MessagesStream extends OrderedWriter {
  /** The index of the next block, as the client counts. */
  #next = 0
  #isBegun = false
  /** The beginning of the live block has been written. */
  #isStarted = false
  /** What stands before a piece of the live block. */
  #delta = ''
  /** State of the text before, for which there is a place when another block follows. */
  #behind: Literal | null = null

  constructor(options: WriterOptions) {
    super(options, { tellsCallsWhole: false })
  }

  override get keepAlive(): string {
    return this.#isBegun ? PING : '\n'
  }

  override breakOff(failure: Failure): string {
    return `event: error\ndata: ${errorOf(failure)}\n\n`
  }

  /** What was read is not known yet, and clients want to see more than nothing. */
  protected override begin(): string {
    if (this.#isBegun) return ''
    this.#isBegun = true
    const usage = object({
      input_tokens: String(this.options.inputEstimate),
      cache_creation_input_tokens: '0',
      cache_read_input_tokens: '0',
      output_tokens: '0',
    })
    const unsaid = { stop_reason: 'null', stop_sequence: 'null', stop_details: 'null' }
    return event('message_start', {
      message: object({ ...messageHead(this.options), content: '[]', ...unsaid, usage }),
    })
  }

  override usageText(usage: Usage, thinking: number): JsonText {
    return object(usageMembers(usage, thinking))
  }

  protected end(usage: Usage, reason: StopReason): string {
    const blocks = this.closeAll()
    const delta = object(stopMembers(reason, this.sequence))
    const members = { delta, usage: this.usage(usage) }
    return blocks + event('message_delta', members) + event('message_stop', {})
  }

  protected media(mime: string): Literal {
    return leftOut(mime)
  }

  protected override live(block: OpenBlock): string {
    return block.kind === 'call' ? this.#start(block) : ''
  }

  protected tell(block: OpenBlock, piece: Piece): string {
    if (typeof piece !== 'string') {
      if ('value' in piece) return this.#seal(block, piece)
      return 'sources' in piece ? this.#search(piece) : this.#cites(block, piece)
    }
    this.toldBytes += bytesIn(piece)
    const start = this.#isStarted ? '' : this.#start(block)
    return `${start}${this.#delta}${piece}}}\n\n`
  }

  /**
   * A thought that shows nothing is hidden. State that belongs to a text has a hidden thought of its own behind it, unless the text
   * is the last block: Claude Code takes the last block for the answer, and would show nothing.
   */
  #seal(block: OpenBlock, opaque: Opaque): string {
    const data = seal(opaque)
    if (block.kind === 'thought') {
      const isShown = this.#isStarted || (opaque.of === 'signed' && opaque.value !== EMPTY_TEXT)
      if (!isShown) return this.#stateBefore() + this.#hidden(data)
      return this.#start(block) + this.#event(typed('signature_delta', { signature: data }))
    }
    this.held += data.length - (this.#behind?.length ?? 0)
    this.#behind = data
    return ''
  }

  #cites(block: OpenBlock, citation: Citation): string {
    return this.#start(block) + this.#event(typed('citations_delta', { citation: citationOf(citation) }))
  }

  #search(found: WebFindings): string {
    let text = this.#stateBefore()
    for (const { use, result, input } of searchBlocks(this.options, this.#next, found)) {
      const index = String(this.#next++)
      const delta = typed('input_json_delta', { partial_json: quote(input) })
      text += event('content_block_start', { index, content_block: use('{}') })
      text += event('content_block_delta', { index, delta }) + event('content_block_stop', { index })
      text += this.#whole(result)
    }
    return text
  }

  #whole(content_block: JsonText): string {
    const index = String(this.#next++)
    return event('content_block_start', { index, content_block }) + event('content_block_stop', { index })
  }

  #hidden(data: Literal): string {
    return this.#whole(typed('redacted_thinking', { data }))
  }

  /** What belongs to the text before. */
  #stateBefore(): string {
    const data = this.#behind
    this.#behind = null
    if (data === null) return ''
    this.held -= data.length
    return this.#hidden(data)
  }

  /** State that belongs to a call, or to the text before, stands before the block. */
  #start({ kind, call }: OpenBlock): string {
    if (this.#isStarted) return ''
    const ofText = this.#stateBefore()
    const ofCall = call?.opaque === undefined ? '' : this.#hidden(seal(call.opaque))
    const index = String(this.#next)
    const other = kind === 'thought' ? THINKING : TEXT
    const content_block = call === null ? other : typed('tool_use', callMembers(call, '{}'))
    this.#isStarted = true
    this.#delta = flat(
      `event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":${DELTAS[kind]}`,
    )
    return ofText + ofCall + event('content_block_start', { index, content_block })
  }

  #event(delta: JsonText): string {
    return event('content_block_delta', { index: String(this.#next), delta })
  }

  protected ended({ check }: OpenBlock): string {
    if (!this.#isStarted) return ''
    this.#isStarted = false
    const rest = check?.empty ? this.#event(typed('input_json_delta', { partial_json: '"{}"' })) : ''
    return rest + event('content_block_stop', { index: String(this.#next++) })
  }
}

class MessagesDocument extends DocumentOfObjects {
  override usageText(usage: Usage, thinking: number): JsonText {
    const split = {
      ephemeral_5m_input_tokens: String(usage.cache_write_5m),
      ephemeral_1h_input_tokens: String(usage.cache_write_1h),
    }
    return object({ ...usageMembers(usage, thinking), cache_creation: object(split) })
  }

  protected end(usage: Usage, reason: StopReason): string {
    this.losesCitations()
    return object({
      ...messageHead(this.options),
      content: array(this.#content()),
      ...stopMembers(reason, this.sequence),
      usage: this.usage(usage),
    })
  }

  /** Searches that an upstream told of at the end stand before the text, because clients take the last block for the answer. */
  #content(): JsonText[] {
    const end = this.blocks.findLastIndex(({ kind }) => kind !== 'search') + 1
    const first = this.blocks.findIndex(({ kind }) => kind === 'text')
    const at = first < 0 ? end : first
    const all = [...this.blocks.slice(0, at), ...this.blocks.slice(end), ...this.blocks.slice(at, end)]
    return all.flatMap((block, n) => this.#block(block, n, n === all.length - 1))
  }

  /** State of a text stands behind it, unless it is the last block, which clients take for the answer. */
  #block(
    { kind, pieces, call, found, opaque, mime, notes }: CollectedBlock,
    place: number,
    isLast: boolean,
  ): JsonText[] {
    const { text } = pieces
    if (found !== null)
      return searchBlocks(this.options, place, found).flatMap(({ use, result, input }) => [use(input), result])
    if (call !== null) return this.#call(call, text)
    if (kind === 'media') return [typed('text', { text: leftOut(mime) })]
    const hidden = opaque === null ? [] : [typed('redacted_thinking', { data: seal(opaque) })]
    if (kind === 'thought') {
      const isShown = text !== EMPTY_TEXT || (opaque?.of === 'signed' && opaque.value !== EMPTY_TEXT)
      if (!isShown || opaque === null) return hidden
      return [typed('thinking', { thinking: text, signature: seal(opaque) })]
    }
    if (isLast && opaque !== null) this.losses.add('thinking')
    const behind = isLast ? [] : hidden
    const citations = this.searches && notes.length > 0 ? array(notes.map(citationOf)) : undefined
    return text === EMPTY_TEXT ? behind : [typed('text', { text, citations }), ...behind]
  }

  /** In an answer that was cut, a call that is not whole has no place. */
  #call(call: CallHead, args: Literal): JsonText[] {
    const input = objectIn(args)
    if (input === null) return []
    const before = call.opaque === undefined ? [] : [typed('redacted_thinking', { data: seal(call.opaque) })]
    return [...before, typed('tool_use', callMembers(call, input))]
  }
}

export const messagesAnswerWriter = (options: WriterOptions): AnswerWriter =>
  options.events ? new MessagesStream(options) : new MessagesDocument(options)

// --- words

const REASONS: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  length: 'max_tokens',
  sequence: 'stop_sequence',
  tool: 'tool_use',
  refusal: 'refusal',
  context: 'model_context_window_exceeded',
  pause: 'pause_turn',
  other: 'end_turn',
}

/** The members that say why the answer ended. */
const stopMembers = (reason: StopReason, sequence: Literal | null): Record<string, JsonText> => ({
  stop_reason: `"${REASONS[reason]}"`,
  stop_sequence: reason === 'sequence' && sequence !== null ? sequence : 'null',
  stop_details: 'null',
})

/** The members of a usage that a stream tells, too. Prompts of any kind are one number here. */
function usageMembers(usage: Usage, thinking: number): Record<string, JsonText> {
  const output = outputOf(usage)
  return {
    input_tokens: String(usage.input + usage.input_audio + usage.input_image),
    cache_creation_input_tokens: String(usage.cache_write_5m + usage.cache_write_1h),
    cache_read_input_tokens: String(usage.cache_read + usage.cache_read_audio + usage.cache_read_image),
    output_tokens: String(output),
    ...(usage.searches > 0 ? { server_tool_use: `{"web_search_requests":${usage.searches}}` } : {}),
    ...(thinking > 0 ? { output_tokens_details: `{"thinking_tokens":${Math.min(thinking, output)}}` } : {}),
  }
}

/** The members of the message that come before its content. */
const messageHead = ({ requestId, model }: WriterOptions): Record<string, JsonText> => ({
  id: literal(`msg_${requestId}`),
  type: '"message"',
  role: '"assistant"',
  model: literal(model),
})

const callMembers = ({ id, name }: CallHead, input: JsonText): Record<string, JsonText> => ({
  id: literal(id),
  name: literal(name),
  input,
  caller: '{"type":"direct"}',
})

const DIRECT = { caller: '{"type":"direct"}' }

/** Clients count searches and show their links by these blocks: one pair for each query, and what was found with the first. */
function searchBlocks(
  { requestId }: WriterOptions,
  place: number,
  { queries, sources, isFailed, issuer }: WebFindings,
) {
  const results = sources.map(source => resultOf(source, issuer))
  const failed = typed('web_search_tool_result_error', { error_code: '"unavailable"' })
  return queries.slice(0, MOST_QUERIES).map((query, n) => {
    const id = literal(`${SEARCH_ID}${requestId.replace(/\W/g, '')}_${place}_${n}`)
    const content = isFailed ? failed : array(n === 0 ? results : [])
    return {
      use: (input: JsonText) => typed('server_tool_use', { id, name: literal(SEARCH_NAME), input, ...DIRECT }),
      input: object({ query }),
      result: typed('web_search_tool_result', { tool_use_id: id, content, ...DIRECT }),
    }
  })
}

/** What was found goes along, so that a model can read it again when the client sends it back. */
const resultOf = ({ url, title, text, age }: FoundSource, issuer: string): JsonText =>
  typed('web_search_result', {
    url,
    title: title === EMPTY_TEXT ? url : title,
    encrypted_content: seal({ issuer, of: 'found', value: text }),
    page_age: age === EMPTY_TEXT ? 'null' : age,
  })

const citationOf = ({ url, title, cited = EMPTY_TEXT }: Citation): JsonText =>
  typed('web_search_result_location', {
    url,
    title: title === EMPTY_TEXT ? 'null' : title,
    cited_text: cited,
    encrypted_index: NO_INDEX,
  })

const MIME = /^[\w.+-]{1,40}\/[\w.+-]{1,60}$/

/** Stands where a picture was that has no place here. */
const leftOut = (mime: string): Literal =>
  literal(
    `[A file (${MIME.test(mime) ? mime : 'unknown'}) was left out: this protocol has no place for it in answers.]`,
  )

const TYPES: Readonly<Record<FailureKind, string>> = {
  invalid: 'invalid_request_error',
  context: 'invalid_request_error',
  not_found: 'not_found_error',
  too_large: 'request_too_large',
  timeout: 'timeout_error',
  rate: 'rate_limit_error',
  quota: 'rate_limit_error',
  overloaded: 'overloaded_error',
  server: 'api_error',
}

/** Clients shorten a conversation when they read these words. */
const TOO_LONG = 'prompt is too long'

function errorOf({ kind, message }: Failure): JsonText {
  const text = kind === 'context' && !message.includes(TOO_LONG) ? `${TOO_LONG}: ${message}` : message
  return typed('error', { error: object({ type: `"${TYPES[kind]}"`, message: literal(text) }) })
}

export const writeMessagesError = (failure: Failure): WrittenError => ({
  status: failure.status,
  body: errorOf(failure),
})

const event = (type: string, members: Record<string, JsonText>): string =>
  `event: ${type}\ndata: ${typed(type, members)}\n\n`

const PING = event('ping', {})
