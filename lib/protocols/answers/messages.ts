/**
 * Answers of the messages protocol. Each report has the usage so far; the output in a stream's first event is a
 * placeholder.
 */
import { ContentKeys } from '../content-keys.ts'
import { DocumentMeter, type DocumentRules } from '../document-meter.ts'
import { idOf, parseEvent, typeOf } from '../event-text.ts'
import { type Fields, fieldsOf, isFields } from '../json/text.ts'
import { isStrangeFinish } from '../words/finish-words.ts'
import type { ItemRules, Seeing } from '../items.ts'
import { lastObject } from '../json/last-members.ts'
import type { MeterOptions } from '../meter.ts'
import { Patterns } from '../json/patterns.ts'
import type { AnswerForm } from '../protocol.ts'
import { first, type ToldTiers } from '../words/reports.ts'
import { type EventRules, StreamMeter, type Tally } from '../stream-meter.ts'
import { MessageUsage } from './message-usage.ts'

const KEYS = new ContentKeys({
  thought: ['thinking'],
  text: ['text', 'partial_json', 'content', 'cited_text', 'stdout', 'stderr'],
  whole: ['input'],
  encoded: ['data', 'signature', 'encrypted_content', 'encrypted_stdout'],
})
const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify(data)}\n\n`

/** The ends of `message_`, `content_block_st` and `error`: a search is faster when patterns begin with rare letters. */
const MARKERS = new Patterns(['sage_', 'block_st', 'rror'])

/** The last one is of Vertex AI alone, which repeats the usage in it. */
const EVENTS = /^(message_|content_block_|ping$|error$|vertex_event$)/

const SEARCH = 'web_search'
const CODE = 'code_execution'
/** `bash_code_execution` and others of this kind are the tool `code_execution`. */
const toolOf = (name: string): string => (name.endsWith(CODE) ? CODE : name)
const RESULT = '_tool_result'

/** Notes a call of a tool that the upstream runs, and an error that came of one. */
function noteBlock(tally: Seeing, block: Fields, index: number): void {
  const { type, name, id, tool_use_id, content } = block
  if (typeof type !== 'string') return
  if (type === 'server_tool_use') noteCall(tally, name, keyOf(id, index), true)
  else if (type.endsWith(RESULT) && String(fieldsOf(content)['type']).endsWith('_error'))
    noteCall(tally, type.slice(0, -RESULT.length), keyOf(tool_use_id, index), false)
}

function noteCall(tally: Seeing, name: unknown, key: string, counts: boolean): void {
  if (typeof name !== 'string') return
  if (name === SEARCH) tally.search(key, counts)
  else tally.call(toolOf(name), key, counts)
}

const keyOf = (id: unknown, index: number): string => (typeof id === 'string' && id !== '' ? id : `${index}`)

function tiersIn(value: unknown): ToldTiers {
  const usage = fieldsOf(value)
  return { service: usage['service_tier'], speed: usage['speed'], geo: usage['inference_geo'] }
}

class Rules implements EventRules {
  readonly markers = MARKERS
  readonly #ttl: '5m' | '1h'
  #usage: MessageUsage

  constructor(ttl: '5m' | '1h') {
    this.#ttl = ttl
    this.#usage = new MessageUsage(ttl)
  }

  knows(name: string, data: Buffer, cut: Buffer | null): boolean {
    return EVENTS.test(typeOf(name, data, cut))
  }

  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void {
    switch (typeOf(name, data, cut)) {
      case 'content_block_delta':
        return
      case 'message_start':
        this.#start(tally, data, cut)
        return
      case 'message_delta':
        this.#end(tally, parseEvent(data, cut) ?? { usage: lastObject(data, 'usage', 1) })
        return
      case 'content_block_start':
        this.#block(tally, parseEvent(data, cut) ?? {})
        return
      case 'content_block_stop':
        tally.stop.openBlock = null
        return
      case 'message_stop':
        tally.terminal = true
        return
      case 'error':
        tally.failed = true
    }
  }

  #start(tally: Tally, data: Buffer, cut: Buffer | null): void {
    this.#usage = new MessageUsage(this.#ttl) // a second start begins a new count
    const message = parseEvent(data, cut)?.['message']
    tally.answerId = idOf(fieldsOf(message)['id'])
    this.#report(tally, isFields(message) ? message['usage'] : lastObject(data, 'usage', 2), 'first')
  }

  #end(tally: Tally, event: Fields): void {
    this.#report(tally, event['usage'], 'later')
    if (isStrangeFinish('messages', fieldsOf(event['delta'])['stop_reason'])) tally.unknownFinish = true
  }

  #report(tally: Tally, usage: unknown, event: 'first' | 'later'): void {
    this.#usage.add(usage, event)
    tally.report(this.#usage.report)
    tally.tell(tiersIn(usage))
  }

  #block(tally: Tally, event: Fields): void {
    const index = first(event, 'index')
    tally.stop.openBlock = index
    noteBlock(tally, fieldsOf(event['content_block']), index ?? 0)
  }
}

const MEMBERS: ReadonlySet<string> = new Set(['id', 'usage', 'error', 'stop_reason'])

const ITEMS: ItemRules = {
  array: 'content',
  branch: { type: 'text', name: 'text', id: 'text', tool_use_id: 'text', content: { type: 'text' } },
  read: noteBlock,
}

export const messagesAnswers: AnswerForm = {
  terminalIsLast: true,
  meter(options: MeterOptions) {
    if (options.events) return new StreamMeter(new Rules(options.cacheTtl), KEYS)
    const rules: DocumentRules = {
      members: MEMBERS,
      own: ['content'],
      keys: KEYS,
      items: ITEMS,
      tiersOf: document => tiersIn(document.value('usage')),
      unknownFinish: document => isStrangeFinish('messages', document.value('stop_reason')),
      reportOf(document) {
        const usage = new MessageUsage(options.cacheTtl)
        usage.add(document.value('usage'))
        return usage.report
      },
    }
    return new DocumentMeter(rules, options.mostOutput)
  },
  words: {
    keepAlive: event('ping', { type: 'ping' }),
    error: (_status, message) => event('error', { type: 'error', error: { code: '', type: 'api_error', message } }),
    lengthStop: ({ openBlock, output }) =>
      (openBlock === null ? '' : event('content_block_stop', { type: 'content_block_stop', index: openBlock })) +
      event('message_delta', {
        type: 'message_delta',
        delta: { stop_reason: 'max_tokens', stop_sequence: null },
        usage: { output_tokens: output },
      }) +
      event('message_stop', { type: 'message_stop' }),
  },
  countAnswer: tokens => ({ input_tokens: tokens }),
}
