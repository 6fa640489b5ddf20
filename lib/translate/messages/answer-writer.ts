/**
 * An answer as events of the messages protocol. One block is open at a time: while it is, what belongs to blocks behind it
 * waits. A call is closed as soon as its arguments are a whole object, so that parallel calls wait for nobody unless the upstream
 * mixes them.
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
import { type CollectedBlock, DocumentOfObjects, MOST_HELD, TOO_MUCH, Told } from '../answer-writer.ts'
import { ObjectCheck } from '../json/check.ts'
import { EMPTY, type Literal, type Source, array, flat, isBlank, literal, object, typed } from '../json/literal.ts'
import { seal } from '../opaque.ts'

const NO_OBJECT = unreadable('the arguments of a call are no JSON object')
const HALF = unreadable('the arguments of a call are not whole')

class StreamWriter implements AnswerWriter {
  readonly #options: WriterOptions
  readonly #told = new Told()
  /** Blocks that are not written to their end, in order; the first one is live. */
  #blocks: Block[] = []
  /** How many blocks came before the first of these, as the reader counts. */
  #gone = 0
  /** The index of the next block, as the client counts. */
  #next = 0
  #begun = false
  #thinking = 0
  /** The arguments of a call have ended before they were whole, which may only be in an answer that was cut. */
  #halfCall = false
  #reason: StopReason = 'end'
  #sequence: Literal | null = null
  /** State of the text before, for which there is a place when another block follows. */
  #behind: Literal | null = null
  failure: Failure | null = null
  held = 0

  constructor(options: WriterOptions) {
    this.#options = options
  }

  get keepAlive(): string {
    return this.#begun ? PING : '\n'
  }

  get counted(): number {
    return this.#told.tokens
  }

  write(event: AnswerEvent): string {
    if (this.failure !== null) return ''
    switch (event.type) {
      case 'begin':
        return this.#begin()
      case 'open':
        return this.#open(newBlock(event))
      case 'delta':
        return this.#piece(event.index, event.text)
      case 'seal':
        return this.#piece(event.index, event.opaque)
      case 'close':
        return this.#close(event.index)
      case 'thinking':
        this.#thinking = event.tokens
        return ''
      case 'stop':
        this.#reason = event.reason
        this.#sequence = event.sequence
        if (this.#halfCall && !isCut(event.reason)) this.failure = HALF
        return ''
      default:
        return ''
    }
  }

  finish(usage: Usage): string {
    return this.#begin() + this.#end(usage, this.#reason)
  }

  /** Calls that are not whole are closed as they are: with this reason nobody runs them. */
  stopByLength(usage: Usage): string {
    return this.#begin() + this.#end(usage, 'length')
  }

  breakOff(failure: Failure): string {
    return errorEvent(failure)
  }

  #begin(): string {
    if (this.#begun) return ''
    this.#begun = true
    return startEvent(this.#options)
  }

  #end(usage: Usage, reason: StopReason): string {
    for (const block of this.#blocks) block.closed = true
    const delta = object(stopMembers(reason, this.#sequence))
    return (
      this.#live() +
      event('message_delta', { delta, usage: object(usageMembers(usage, this.#thinking)) }) +
      event('message_stop', {})
    )
  }

  // --- blocks

  #open(block: Block): string {
    this.#blocks.push(block)
    for (const piece of block.waiting) this.held += sizeOf(piece)
    return this.#live()
  }

  #piece(index: number, piece: Literal | Opaque): string {
    const block = this.#blocks[index - this.#gone]
    if (block === undefined) {
      // a call whose arguments were whole, behind which only space may come
      if (typeof piece === 'string' && !isBlank(piece)) this.failure = NO_OBJECT
      return ''
    }
    if (typeof piece === 'string' && block.check !== null) {
      block.check.feed(piece)
      if (block.check.bad) {
        this.failure = NO_OBJECT
        return ''
      }
    }
    if (block !== this.#blocks[0]) {
      block.waiting.push(piece)
      this.held += sizeOf(piece)
      if (this.held > MOST_HELD) this.failure = TOO_MUCH
      return ''
    }
    return this.#tell(block, piece) + (block.check?.whole ? this.#live() : '')
  }

  #close(index: number): string {
    const block = this.#blocks[index - this.#gone]
    if (block === undefined) return ''
    block.closed = true
    const { check } = block
    this.#halfCall ||= check !== null && !check.whole && !check.empty
    return this.#live()
  }

  /** Writes what the first block has waiting, and goes on to the next while blocks have come to their end. */
  #live(): string {
    let text = ''
    for (let block = this.#blocks[0]; block !== undefined; block = this.#blocks[0]) {
      if (block.kind === 'call' && !block.started) text += this.#start(block, beginningOf(block))
      for (const piece of block.waiting) {
        this.held -= sizeOf(piece)
        text += this.#tell(block, piece)
      }
      block.waiting = []
      if (!block.closed && !block.check?.whole) return text
      text += this.#stop(block)
      this.#blocks.shift()
      this.#gone++
    }
    return text
  }

  #tell(block: Block, piece: Literal | Opaque): string {
    if (typeof piece !== 'string') return this.#seal(block, piece)
    this.#told.add(piece)
    const start = block.started ? '' : this.#start(block, beginningOf(block))
    return start + block.delta + piece + DELTA_END
  }

  /**
   * A thought that shows nothing is hidden. State that belongs to a text has a hidden thought of its own behind it, unless the text
   * is the last block: Claude Code takes the last block for the answer, and would show nothing.
   */
  #seal(block: Block, opaque: Opaque): string {
    const data = seal(opaque)
    if (block.kind === 'thought' && block.started) return this.#delta(typed('signature_delta', { signature: data }))
    if (block.kind === 'thought' && opaque.of === 'signed' && opaque.value !== EMPTY)
      return this.#start(block, THINKING) + this.#delta(typed('signature_delta', { signature: data }))
    if (block.kind === 'thought') return this.#stop(block) + this.#stateBefore() + this.#hidden(data)
    this.held += data.length - (this.#behind?.length ?? 0)
    this.#behind = data
    return ''
  }

  #hidden(data: Literal): string {
    const content_block = typed('redacted_thinking', { data })
    const index = String(this.#next++)
    return event('content_block_start', { index, content_block }) + event('content_block_stop', { index })
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
  #start(block: Block, content_block: Source): string {
    const ofText = this.#stateBefore()
    const ofCall = block.call?.opaque === undefined ? '' : this.#hidden(seal(block.call.opaque))
    block.started = true
    block.delta = deltaStart(block, this.#next)
    return ofText + ofCall + event('content_block_start', { index: String(this.#next), content_block })
  }

  #delta(delta: Source): string {
    return event('content_block_delta', { index: String(this.#next), delta })
  }

  #stop(block: Block): string {
    if (!block.started) return ''
    block.started = false
    const rest = block.check?.empty ? this.#delta(typed('input_json_delta', { partial_json: '"{}"' })) : ''
    return rest + event('content_block_stop', { index: String(this.#next++) })
  }
}

// --- open-block

/** A block of a stream while it is written, and the words of its events. */

interface Block {
  kind: OpenEvent['kind']
  call: CallHead | null
  /** Of calls: what tells whether the arguments are whole. */
  check: ObjectCheck | null
  /** What waits for the blocks before it. */
  waiting: (Literal | Opaque)[]
  /** Its start has been written. */
  started: boolean
  /** What stands before a piece of it, when it has started. */
  delta: string
  /** It has come to its end, as the reader says. */
  closed: boolean
}

/** What has no place here is a text that says so. */
function newBlock(event: OpenEvent): Block {
  const call = event.kind === 'call' ? event.call : null
  return {
    kind: event.kind === 'media' ? 'text' : event.kind,
    call,
    check: call === null ? null : new ObjectCheck(),
    waiting: event.kind === 'media' ? [leftOut(event.mime)] : [],
    started: false,
    delta: '',
    closed: false,
  }
}

const TEXT = '{"type":"text","text":"","citations":null}'
const THINKING = '{"type":"thinking","thinking":"","signature":""}'

/** The block as it begins. */
function beginningOf({ kind, call }: Block): Source {
  if (call !== null) return typed('tool_use', callMembers(call, '{}'))
  return kind === 'thought' ? THINKING : TEXT
}

const DELTAS: Readonly<Record<OpenEvent['kind'], string>> = {
  text: '{"type":"text_delta","text":',
  refusal: '{"type":"text_delta","text":',
  media: '{"type":"text_delta","text":',
  thought: '{"type":"thinking_delta","thinking":',
  call: '{"type":"input_json_delta","partial_json":',
}

/** How an event with a piece of the block begins; behind the piece it ends with `DELTA_END`. */
const deltaStart = ({ kind }: Block, index: number): string =>
  flat(`event: content_block_delta\ndata: {"type":"content_block_delta","index":${index},"delta":${DELTAS[kind]}`)
const DELTA_END = '}}\n\n'

const sizeOf = (piece: Literal | Opaque): number => (typeof piece === 'string' ? piece.length : piece.value.length)

// --- document-writer

/** An answer as one document of the messages protocol. */

class DocumentWriter extends DocumentOfObjects {
  override finish(usage: Usage): string {
    const { reason, sequence, thinking, blocks } = this.collected
    this.losesCitations(blocks)
    const members = usageMembers(usage, thinking)
    const split = {
      ephemeral_5m_input_tokens: String(usage.cache_write_5m),
      ephemeral_1h_input_tokens: String(usage.cache_write_1h),
    }
    return object({
      ...messageHead(this.options),
      content: array(blocks.flatMap((block, n) => this.#block(block, n === blocks.length - 1))),
      ...stopMembers(reason ?? 'length', sequence),
      usage: object({ ...members, cache_creation: object(split) }),
    })
  }

  /** State of a text stands behind it, unless it is the last block, which clients take for the answer. */
  #block({ kind, text, call, opaque, mime }: CollectedBlock, isLast: boolean): Source[] {
    if (kind === 'call') return this.#call(call as CallHead, text)
    if (kind === 'media') return [typed('text', { text: leftOut(mime), citations: 'null' })]
    const hidden = opaque === null ? [] : [typed('redacted_thinking', { data: seal(opaque) })]
    if (kind === 'thought') {
      const isShown = text !== EMPTY || (opaque?.of === 'signed' && opaque.value !== EMPTY)
      if (!isShown || opaque === null) return hidden
      return [typed('thinking', { thinking: text, signature: seal(opaque) })]
    }
    if (isLast && opaque !== null) this.losses.add('thinking')
    const behind = isLast ? [] : hidden
    if (text === EMPTY) return behind
    return [typed('text', { text, citations: 'null' }), ...behind]
  }

  /** In an answer that was cut, a call that is not whole has no place. */
  #call(call: CallHead, args: string): Source[] {
    const input = this.args(args)
    if (input === null) return []
    const before = call.opaque === undefined ? [] : [typed('redacted_thinking', { data: seal(call.opaque) })]
    return [...before, typed('tool_use', callMembers(call, input))]
  }
}

// --- words

/** What streams and documents of the messages protocol have in common: reasons, usage, errors, blocks. */

const REASONS: Readonly<Record<StopReason, string>> = {
  end: 'end_turn',
  length: 'max_tokens',
  sequence: 'stop_sequence',
  tool: 'tool_use',
  refusal: 'refusal',
  context: 'model_context_window_exceeded',
  pause: 'pause_turn',
  malformed: 'end_turn',
  other: 'end_turn',
}

/** The members that say why the answer ended. */
const stopMembers = (reason: StopReason, sequence: Literal | null): Record<string, Source> => ({
  stop_reason: `"${REASONS[reason]}"`,
  stop_sequence: reason === 'sequence' && sequence !== null ? sequence : 'null',
  stop_details: 'null',
})

/** The members of a usage that a stream tells, too. Prompts of any kind are one number here. */
function usageMembers(usage: Usage, thinking: number): Record<string, Source> {
  const output = outputOf(usage)
  return {
    input_tokens: String(usage.input + usage.input_audio + usage.input_image),
    cache_creation_input_tokens: String(usage.cache_write_5m + usage.cache_write_1h),
    cache_read_input_tokens: String(usage.cache_read + usage.cache_read_audio + usage.cache_read_image),
    output_tokens: String(output),
    ...(thinking > 0 ? { output_tokens_details: `{"thinking_tokens":${Math.min(thinking, output)}}` } : {}),
  }
}

/** The members of the message that come before its content. */
const messageHead = ({ requestId, model }: WriterOptions): Record<string, Source> => ({
  id: literal(`msg_${requestId}`),
  type: '"message"',
  role: '"assistant"',
  model: literal(model),
})

const callMembers = ({ id, name }: CallHead, input: Source): Record<string, Source> => ({
  id: literal(id),
  name: literal(name),
  input,
  caller: '{"type":"direct"}',
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

function errorOf({ kind, message }: Failure): Source {
  const text = kind === 'context' && !message.includes(TOO_LONG) ? `${TOO_LONG}: ${message}` : message
  return typed('error', { error: object({ type: `"${TYPES[kind]}"`, message: literal(text) }) })
}

export const writeMessagesError = (failure: Failure): WrittenError => ({
  status: failure.status,
  body: errorOf(failure),
})

const event = (type: string, members: Record<string, Source>): string =>
  `event: ${type}\ndata: ${typed(type, members)}\n\n`

const errorEvent = (failure: Failure): string => `event: error\ndata: ${errorOf(failure)}\n\n`

/** How a stream begins. What was read is not known yet, and clients want to see more than nothing. */
function startEvent(options: WriterOptions): string {
  const usage = object({
    input_tokens: String(options.inputEstimate),
    cache_creation_input_tokens: '0',
    cache_read_input_tokens: '0',
    output_tokens: '0',
  })
  const unsaid = { stop_reason: 'null', stop_sequence: 'null', stop_details: 'null' }
  return event('message_start', { message: object({ ...messageHead(options), content: '[]', ...unsaid, usage }) })
}

const PING = event('ping', {})

/** The writer of one answer to a client. */
export const messagesAnswerWriter = (options: WriterOptions): AnswerWriter =>
  options.events ? new StreamWriter(options) : new DocumentWriter(options)
