/** OpenAI-compatible responses. */

import { ContentKeys } from './answers/content.ts'
import { DocumentMeter, type DocumentRules, type ItemRules } from './answers/document-meter.ts'
import { answerIdOf, type StreamEvent, shortText } from './answers/events.ts'
import type { LengthStopState, MeterOptions, SeenInAnswer } from './answers/meter.ts'
import { type EventRules, StreamMeter } from './answers/stream-meter.ts'
import { openAiOnAws } from './clouds.ts'
import { Patterns } from './json/patterns.ts'
import { type Fields, fieldsOf, isFields } from './json/text.ts'
import { imageUrl, inputAudio, streamOptions, top, urlOrObject } from './layouts.ts'
import { DATA, KIND, PictureCounter, PicturePlaces, QUALITY, SIZE, type Spot } from './pictures/counter.ts'
import { bearerClient, clientPath, openAiUpstream, type ProtocolRow, TEXT_COVER } from './protocol.ts'
import { bareTool, typedTool, withDrawing, withSearch } from './requests/asked-tools.ts'
import { jsonBody } from './requests/body.ts'
import { DATA_HEAD, Place, type Read } from './requests/places.ts'
import * as read from './requests/readers.ts'
import { strangeFinish } from './words/finish-words.ts'
import { addToUsage, detailsOf, first, fromPrompt, type Modal, type Report, UsageWords } from './words/reports.ts'
import { UNSAID, type Usage } from './words/usage.ts'

/** Tools that draw pictures, and those whose type cannot be read. */
const DRAWING_TOOLS = new Set(['image_generation', '?'])

/** Reads how much memory a container has, on which its price depends. */
const memory: Read = (_draft, value, frame) => {
  if (frame.owner !== null && !read.isNull(value)) frame.owner.size = read.capturedString(value) ?? '?'
}
/** A skill that was uploaded to the account that all customers share; those of the provider itself begin with its name. */
const skill = new Place().has('skill_id', (draft, value) => {
  if (!read.capturedString(value)?.startsWith('openai-')) draft.invalid ??= 'skills'
})
const container = new Place()
  .has('id', read.stored('container'))
  .has('file_ids', read.stored('file_ids'))
  .has('memory_limit', memory)
const environment = new Place({
  end(_draft, frame) {
    if (frame.owner !== null) frame.owner.isLocal = frame.type === 'local'
  },
})
  .has('type', read.type)
  .has('container_id', read.stored('container_id'))
  .has('file_ids', read.stored('file_ids'))
  .has('memory_limit', memory)
  .has('skills', { inside: skill })
const mask = new Place().has('image_url', read.pictureUrl).has('file_id', read.stored('file_id'))

const tool = withDrawing(
  withSearch(
    new Place({
      element: bareTool,
      end(draft, frame, end) {
        typedTool(draft, frame, end)
        if (!DRAWING_TOOLS.has(frame.type)) return
        draft.pictures = true
        draft.drawingTools++
        read.askPicture(draft, frame.picture ?? UNSAID)
      },
    }),
  ),
)
  .has('type', read.type)
  .has('container', { read: read.stored('container'), inside: container })
  .has('environment', { inside: environment })
  .has('vector_store_ids', read.stored('vector_store_ids'))
  .has('tunnel_id', read.stored('tunnel_id'))
  .has('input_image_mask', { inside: mask })
  .has('size', read.pictureSaid('size'))
  .has('quality', read.pictureSaid('quality'))
// a namespace has tools inside
tool.has('tools', { inside: tool })

const reasoning = new Place().has('effort', read.effort)

/** Clients send items and do not name them: this says how. */
const REFERENCE = 'item_reference (store: false)'

/** An item of the input, or a part of its content: no name has different meanings in the two. */
const item = new Place({
  end(draft, frame) {
    const { type, dataLength } = frame
    if (type === 'image_generation_call' && dataLength > 0) read.inline(draft, 'image/png', dataLength)
    // without a type, or with null as its type, an id alone is a reference; so is a drawing without its data
    const isReference = (type === '' || type === '?') && frame.hasId && !frame.hasRole
    const isDrawing = type === 'image_generation_call' && frame.hasId && dataLength <= 0
    if (type === 'item_reference' || isReference || isDrawing) draft.invalid ??= REFERENCE
  },
})
  .has('type', read.type)
  .has('id', (_draft, value, frame) => {
    frame.hasId = !read.isNull(value)
  })
  .has('role', (_draft, value, frame) => {
    frame.hasRole = !read.isNull(value)
  })
  .has('image_url', { ...read.pictureUrl, inside: imageUrl })
  .has('file_url', read.documentUrl)
  .has('video_url', urlOrObject)
  .has('audio_url', urlOrObject)
  .has('file_id', read.stored('file_id'))
  .has('file_data', {
    limit: DATA_HEAD,
    read(draft, value, frame) {
      read.data.read(draft, value, frame)
      read.inlineOrFetched(draft, frame)
      frame.dataLength = -1
    },
  })
  .has('input_audio', { inside: inputAudio })
  .has('result', read.data)
  .has('tools', { inside: tool })
item.has('content', { inside: item }).has('output', { inside: item })

const responsesBody = top({
  // only tools draw pictures
  begin(draft) {
    draft.pictures = false
  },
})
  .has('max_output_tokens', read.maximum('max_output_tokens'))
  .has('max_tokens', read.maximum('max_tokens'))
  .has('max_completion_tokens', read.maximum('max_completion_tokens'))
  .has('reasoning', { inside: reasoning })
  .has('max_tool_calls', (draft, value) => {
    draft.maxToolCalls = read.numberIn(value) || null
  })
  .has('background', read.background)
  .has('stream_options', streamOptions)
  .has('input', { inside: item })
  .has('instructions', { inside: item })
  .has('tools', { inside: tool })
  .has('previous_response_id', {
    limit: read.LONGEST_MODEL_NAME,
    read(draft, value) {
      // a value that cannot be read names an answer that nobody has
      draft.previousAnswer = read.capturedString(value) ?? (read.isNull(value) ? null : '')
    },
  })
  .has('conversation', read.stored('conversation'))
  .has('prompt', read.stored('prompt'))

responsesBody.has('extra_body', { inside: read.extraBody(responsesBody) })

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

const WORDS = new UsageWords('responses', { prompt: 'input_tokens_details', output: 'output_tokens_details' })

/** `tools`: the usage of tools that draw pictures or search, which is not part of the usage itself. */
const reportOf = (value: unknown, tools: unknown): Report | null =>
  WORDS.report(value, usage => {
    const { image_gen, web_search } = fieldsOf(tools)
    if (isFields(image_gen)) addToUsage(usage, drawingOf(image_gen))
    usage.searches = Math.max(usage.searches, first(fieldsOf(web_search), 'num_requests') ?? 0)
  })

/** Returns the usage of a tool that draws pictures. Where it does not say what its output was, it was pictures. */
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
/** Members that are read of the last event, which may be too long to be kept. */
const LAST = ['usage', 'tool_usage', 'service_tier']

/** The word for why an answer ended, where nobody knows it. */
const strangeEnd = (status: unknown, details: unknown): string | null =>
  strangeFinish('responses', status) ?? strangeFinish('responses', fieldsOf(details)['reason'])

/** A call of the search tool counts unless it failed, or its action proves to be another than a search. */
function noteSearch(meter: SeenInAnswer, item: Fields, index: number): void {
  if (item['type'] !== SEARCH) return
  const action = fieldsOf(item['action'])['type']
  const isSearch = action === undefined || action === 'search'
  meter.search(keyOf(item['id'], index), isSearch && item['status'] !== FAILED)
}

/** Calls of other tools are items of the type `…_call`. */
function noteCall(meter: SeenInAnswer, item: Fields, index: number): void {
  const { type, id, status, container_id, environment } = item
  if (type === SEARCH) noteSearch(meter, item, index)
  else if (typeof type === 'string' && type.endsWith(CALL)) {
    const place = fieldsOf(environment)
    if (place['type'] === 'local') return // the client's own shell
    const container = container_id ?? place['container_id']
    const stem = type.slice(0, -CALL.length)
    meter.call(stem, keyOf(id, index), status !== FAILED, typeof container === 'string' ? container : null)
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
/** The markers where tools cost by the piece. */
const TOOL_MARKERS = new Patterns([...EVENTS, 'output_item.', '_call.'])

class Rules implements EventRules {
  readonly markers: Patterns
  /** True when calls of all tools are read, and not only searches. */
  readonly #tools: boolean

  constructor(tools: boolean) {
    this.markers = tools ? TOOL_MARKERS : MARKERS
    this.#tools = tools
  }

  knows({ type }: StreamEvent): boolean {
    return type === 'error' || type.startsWith('response.')
  }

  read(meter: StreamMeter, event: StreamEvent): void {
    const { type } = event
    switch (type) {
      case 'response.created':
        this.#begin(meter, event)
        return
      case 'response.failed':
        meter.failed = true
        this.#finish(meter, event)
        return
      case 'response.completed':
      case 'response.incomplete':
        this.#finish(meter, event)
        return
      case 'response.output_item.added':
      case 'response.output_item.done':
        if (this.#tools || event.data.includes(SEARCH)) this.#item(meter, event)
        return
      case 'response.web_search_call.in_progress':
      case 'response.web_search_call.searching':
      case 'response.web_search_call.completed':
        this.#searched(meter, event)
        return
      case 'error':
        meter.failed = true
        return
      default:
        if (this.#tools) this.#called(meter, event)
    }
  }

  #called(meter: StreamMeter, { type, fields }: StreamEvent): void {
    const [, stem, what] = CALL_EVENT.exec(type) ?? []
    if (stem === undefined) return
    const parsed = fields ?? {}
    meter.call(stem, keyOf(parsed['item_id'], first(parsed, 'output_index') ?? 0), what !== FAILED)
  }

  #item(meter: StreamMeter, event: StreamEvent): void {
    const parsed = event.fields ?? {}
    const note = this.#tools ? noteCall : noteSearch
    note(meter, fieldsOf(parsed['item']), first(parsed, 'output_index') ?? 0)
  }

  #searched(meter: StreamMeter, event: StreamEvent): void {
    const parsed = event.fields ?? {}
    meter.search(keyOf(parsed['item_id'], first(parsed, 'output_index') ?? 0))
  }

  #begin(meter: StreamMeter, event: StreamEvent): void {
    const response = event.objectOr('response')
    meter.answerId = answerIdOf(response['id'])
    meter.tell({ service: response['service_tier'] })
    meter.stop = {
      answerId: shortText(response['id'], ''),
      model: shortText(response['model'], ''),
      createdS: first(response, 'created_at') ?? 0,
    }
  }

  #finish(meter: StreamMeter, event: StreamEvent): void {
    meter.terminal = true
    const response = event.objectOr('response', ...LAST)
    meter.report(reportOf(response['usage'], response['tool_usage']))
    meter.tell({ service: response['service_tier'] })
    meter.answerId ??= answerIdOf(response['id'])
    meter.unknownFinish ??= strangeEnd(response['status'], response['incomplete_details'])
    const { output } = response
    const note = this.#tools ? noteCall : noteSearch
    if (Array.isArray(output)) for (const [index, item] of output.entries()) note(meter, fieldsOf(item), index)
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
  unknownFinish: document => strangeEnd(document.value('status'), document.value('incomplete_details')),
}

const TOOL_DOCUMENT: DocumentRules = { ...DOCUMENT, items: TOOL_ITEMS }

const PATH = '/v1/responses'

export const responses: ProtocolRow = {
  place: 3,
  client: {
    ...bearerClient(
      clientPath('/responses'),
      clientPath('/responses/compact', { suffix: '/compact' }),
      clientPath('/responses/input_tokens', { action: 'count', suffix: '/input_tokens' }),
      clientPath('/responses', { action: 'upgrade' }),
    ),
    query: { beta: ['true', 'false'] },
  },
  upstream: openAiUpstream(PATH, {
    openai: PATH,
    azure: '/openai/v1/responses',
    bedrock: openAiOnAws('/openai/v1/responses'),
    'bedrock-api-key': openAiOnAws('/openai/v1/responses'),
    'bedrock-mantle': openAiOnAws(PATH),
    dashscope: '/compatible-mode/v1/responses',
    fireworks: '/inference/v1/responses',
    groq: '/openai/v1/responses',
    moonshot: PATH,
    openrouter: '/api/v1/responses',
    volcengine: '/api/v3/responses',
    xai: PATH,
  }),
  body: jsonBody(responsesBody),
  streamsByPath: null,
  asksForUsage: false,
  price: { cover: TEXT_COVER, pictures: false, cachesWhenAsked: false },
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
  lastUsage: ({ type, response }) =>
    type === 'response.completed' || type === 'response.incomplete' ? fieldsOf(response)['usage'] : undefined,
  countAnswer: tokens => ({ object: 'response.input_tokens', input_tokens: tokens }),
}
