/** Answers of OpenAI-compatible responses. The last event repeats the whole answer, with its usage near the end. */

import { ContentKeys } from '../content-keys.ts'
import { DocumentMeter, type DocumentRules } from '../document-meter.ts'
import { idOf, parseEvent, shortText, typeOf } from '../event-text.ts'
import { type Fields, fieldsOf, isFields } from '../json/text.ts'
import { isStrangeFinish } from '../words/finish-words.ts'
import type { ItemRules, Seeing } from '../items.ts'
import { lastMembers } from '../json/last-members.ts'
import type { LengthStopState, MeterOptions } from '../meter.ts'
import {
  detailsOf,
  fromPrompt,
  type Modal,
  addUsage,
  first,
  type Report,
  usageReport,
  UsageWords,
} from '../words/reports.ts'
import { Patterns } from '../json/patterns.ts'
import { DATA, KIND, PicturePlaces, QUALITY, SIZE, type Spot, PictureCounter } from '../pictures/counter.ts'
import type { AnswerForm } from '../protocol.ts'
import { type EventRules, StreamMeter, type Tally } from '../stream-meter.ts'
import type { Usage } from '../words/usage.ts'

/**
 * Content that counts in a stream. Only deltas are new text, and other events repeat it; but some upstreams send no
 * deltas.
 */
const STREAM_KEYS = new ContentKeys({
  text: ['delta'],
  again: ['text', 'arguments'],
  encoded: ['result'],
})
const DOCUMENT_KEYS = new ContentKeys({
  text: ['text', 'arguments', 'refusal', 'input', 'code', 'logs'],
  encoded: ['result', 'encrypted_content'],
})
/** The places of pictures. A stream has each item, and at its end the whole answer; a document is such an answer. */
const ITEM: Spot = {
  picture: /^image_generation_call$/,
  inside: { type: KIND, result: DATA, size: SIZE, quality: QUALITY },
}
const PICTURES = new PicturePlaces('image_generation_call', {
  inside: { output: ITEM, item: ITEM, response: { again: true, inside: { output: ITEM } } },
})
/** The members of a document that are read. */
const MEMBERS: ReadonlySet<string> = new Set([
  'id',
  'usage',
  'tool_usage',
  'error',
  'service_tier',
  'status',
  'incomplete_details',
])
const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
/** The number of the gateway's own events, which come last: larger than any that an upstream will have reached. */
const SEQUENCE = 1_000_000

const WORDS = new UsageWords('responses')

/** `tools`: the usage of tools that draw pictures or search, which is not part of the usage itself. */
function reportOf(value: unknown, tools: unknown): Report | null {
  if (!isFields(value)) return null
  const prompt = WORDS.largest(value, 'prompt')
  const output = WORDS.largest(value, 'completion')
  if (prompt === null || output === null) return null
  const details = fieldsOf(value['input_tokens_details'])
  const usage = fromPrompt({
    prompt,
    output: WORDS.output(value, prompt, output),
    cached: WORDS.count(value, 'cached'),
    ...WORDS.written(value),
    details: {
      prompt: detailsOf(details),
      cached: detailsOf(fieldsOf(details['cached_tokens_details'])),
      output: detailsOf(fieldsOf(value['output_tokens_details'])),
    },
  })
  const { image_gen, web_search } = fieldsOf(tools)
  if (isFields(image_gen)) addUsage(usage, drawingOf(image_gen))
  usage.searches = Math.max(WORDS.searches(value), first(fieldsOf(web_search), 'num_requests') ?? 0)
  return usageReport(usage, { thinks: WORDS.count(value, 'reasoning') > 0 })
}

/** What a tool used that draws pictures. Where it does not say what its output was, it was pictures. */
function drawingOf(drawing: Fields): Usage {
  const output = first(drawing, 'output_tokens') ?? 0
  const drawn: Modal = { text: 0, image: output, audio: 0 }
  const details = drawing['output_tokens_details']
  return fromPrompt({
    prompt: first(drawing, 'input_tokens') ?? 0,
    output,
    cached: first(drawing, 'cached_tokens') ?? 0,
    details: {
      prompt: detailsOf(fieldsOf(drawing['input_tokens_details'])),
      cached: detailsOf(fieldsOf(drawing['cached_tokens_details'])),
      output: isFields(details) ? detailsOf(details) : drawn,
    },
  })
}

const SEARCH = 'web_search_call'
const CALL = '_call'
const FAILED = 'failed'
/** Events of a call that has begun, whatever tool it is of. */
const CALL_EVENT = /^response\.(\w+)_call\.(\w+)$/
/** What is read of the last event, which may be too long to be kept. */
const LAST = ['usage', 'tool_usage', 'service_tier']

/** Whether an answer says why it ended in words that nobody knows. */
const endsStrangely = (status: unknown, details: unknown): boolean =>
  isStrangeFinish('responses', status) || isStrangeFinish('responses', fieldsOf(details)['reason'])

/** A call of the search tool counts unless it failed, or its action proves to be another than a search. */
function noteSearch(tally: Seeing, item: Fields, index: number): void {
  if (item['type'] !== SEARCH) return
  const action = fieldsOf(item['action'])['type']
  const isSearch = action === undefined || action === 'search'
  tally.search(keyOf(item['id'], index), isSearch && item['status'] !== FAILED)
}

/** Calls of other tools are items of the type `…_call`. */
function noteCall(tally: Seeing, item: Fields, index: number): void {
  const { type, id, status, container_id, environment } = item
  if (type === SEARCH) noteSearch(tally, item, index)
  else if (typeof type === 'string' && type.endsWith(CALL)) {
    const place = fieldsOf(environment)
    if (place['type'] === 'local') return // the client's own shell
    const container = container_id ?? place['container_id']
    const stem = type.slice(0, -CALL.length)
    tally.call(stem, keyOf(id, index), status !== FAILED, typeof container === 'string' ? container : null)
  }
}

/** Items have ids, and their events name them; where an upstream leaves ids out, the place in the output is told. */
const keyOf = (id: unknown, index: unknown): string => (typeof id === 'string' && id !== '' ? id : `#${index}`)

const EVENTS = [
  'response.created',
  'response.completed',
  'response.incomplete',
  'response.failed',
  'error',
  'search_call',
]
const MARKERS = new Patterns(EVENTS)
/** Where tools cost by the piece. */
const TOOL_MARKERS = new Patterns([...EVENTS, 'output_item.', '_call.'])

class Rules implements EventRules {
  readonly markers: Patterns
  /** Whether calls of all tools are read, and not only searches. */
  readonly #tools: boolean

  constructor(tools: boolean) {
    this.markers = tools ? TOOL_MARKERS : MARKERS
    this.#tools = tools
  }

  knows(name: string, data: Buffer, cut: Buffer | null): boolean {
    const type = typeOf(name, data, cut)
    return type === 'error' || type.startsWith('response.')
  }

  read(tally: Tally, name: string, data: Buffer, cut: Buffer | null): void {
    const type = typeOf(name, data, cut)
    switch (type) {
      case 'response.created':
        this.#begin(tally, data, cut)
        return
      case 'response.failed':
        tally.failed = true
        this.#finish(tally, data, cut)
        return
      case 'response.completed':
      case 'response.incomplete':
        this.#finish(tally, data, cut)
        return
      case 'response.output_item.added':
      case 'response.output_item.done':
        if (this.#tools || data.includes(SEARCH)) this.#item(tally, data, cut)
        return
      case 'response.web_search_call.in_progress':
      case 'response.web_search_call.searching':
      case 'response.web_search_call.completed':
        this.#searched(tally, data, cut)
        return
      case 'error':
        tally.failed = true
        return
      default:
        if (this.#tools) this.#called(tally, type, data, cut)
    }
  }

  #called(tally: Tally, type: string, data: Buffer, cut: Buffer | null): void {
    const [, stem, event] = CALL_EVENT.exec(type) ?? []
    if (stem === undefined) return
    const parsed = parseEvent(data, cut) ?? {}
    tally.call(stem, keyOf(parsed['item_id'], first(parsed, 'output_index') ?? 0), event !== FAILED)
  }

  #item(tally: Tally, data: Buffer, cut: Buffer | null): void {
    const parsed = parseEvent(data, cut) ?? {}
    const note = this.#tools ? noteCall : noteSearch
    note(tally, fieldsOf(parsed['item']), first(parsed, 'output_index') ?? 0)
  }

  #searched(tally: Tally, data: Buffer, cut: Buffer | null): void {
    const parsed = parseEvent(data, cut) ?? {}
    tally.search(keyOf(parsed['item_id'], first(parsed, 'output_index') ?? 0))
  }

  #begin(tally: Tally, data: Buffer, cut: Buffer | null): void {
    const response = fieldsOf(parseEvent(data, cut)?.['response'])
    tally.answerId = idOf(response['id'])
    tally.tell({ service: response['service_tier'] })
    tally.stop = {
      answerId: shortText(response['id'], ''),
      model: shortText(response['model'], ''),
      createdS: first(response, 'created_at') ?? 0,
    }
  }

  #finish(tally: Tally, data: Buffer, cut: Buffer | null): void {
    tally.terminal = true
    const whole = parseEvent(data, cut)?.['response']
    const response = isFields(whole) ? whole : lastMembers(data, LAST, 2)
    tally.report(reportOf(response['usage'], response['tool_usage']))
    tally.tell({ service: response['service_tier'] })
    tally.answerId ??= idOf(response['id'])
    if (endsStrangely(response['status'], response['incomplete_details'])) tally.unknownFinish = true
    const { output } = response
    const note = this.#tools ? noteCall : noteSearch
    if (Array.isArray(output)) for (const [index, item] of output.entries()) note(tally, fieldsOf(item), index)
  }
}

/** The fewest members that clients accept as a response. */
const response = (s: Pick<LengthStopState, 'answerId' | 'createdS' | 'model'>, fields: object): object => ({
  id: s.answerId,
  object: 'response',
  created_at: s.createdS,
  model: s.model,
  output: [],
  ...fields,
})

const ITEMS: ItemRules = {
  array: 'output',
  branch: { type: 'text', id: 'text', status: 'text', action: { type: 'text' } },
  read: noteSearch,
}
const TOOL_ITEMS: ItemRules = {
  array: 'output',
  branch: { ...ITEMS.branch, container_id: 'text', environment: { type: 'text', container_id: 'text' } },
  read: noteCall,
}

const DOCUMENT: DocumentRules = {
  members: MEMBERS,
  items: ITEMS,
  own: ['output'],
  keys: DOCUMENT_KEYS,
  reportOf: document => reportOf(document.value('usage'), document.value('tool_usage')),
  tiersOf: document => ({ service: document.value('service_tier') }),
  unknownFinish: document => endsStrangely(document.value('status'), document.value('incomplete_details')),
}

const TOOL_DOCUMENT: DocumentRules = { ...DOCUMENT, items: TOOL_ITEMS }

export const responsesAnswers: AnswerForm = {
  terminalIsLast: true,
  continuable: true,
  meter({ events, pictures, tools = false, mostOutput }: MeterOptions) {
    const counter = pictures ? new PictureCounter(PICTURES, events) : null
    return events
      ? new StreamMeter(new Rules(tools), STREAM_KEYS, counter)
      : new DocumentMeter(tools ? TOOL_DOCUMENT : DOCUMENT, mostOutput, counter)
  },
  words: {
    keepAlive: '\n',
    error(_status, message) {
      const error = { code: 'server_error', message }
      const nobody = { answerId: '', createdS: 0, model: '' }
      return (
        event('error', {
          sequence_number: SEQUENCE,
          ...error,
          param: null,
          error: { type: 'gateway_api_error', ...error, param: null },
        }) +
        event('response.failed', {
          sequence_number: SEQUENCE + 1,
          response: response(nobody, { status: 'failed', error, incomplete_details: null, usage: null }),
        })
      )
    },
    lengthStop: s =>
      event('response.incomplete', {
        sequence_number: SEQUENCE,
        response: response(s, {
          status: 'incomplete',
          error: null,
          incomplete_details: { reason: 'max_output_tokens' },
          usage: {
            input_tokens: s.input,
            input_tokens_details: { cached_tokens: s.cached },
            output_tokens: s.output,
            output_tokens_details: { reasoning_tokens: 0 },
            total_tokens: s.input + s.output,
          },
        }),
      }),
  },
  countAnswer: tokens => ({ object: 'response.input_tokens', input_tokens: tokens }),
}
