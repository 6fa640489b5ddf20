/** The messages protocol (alpha). */

import { ContentKeys } from './answers/content.ts'
import { DocumentMeter, type DocumentRules, type ItemRules } from './answers/document-meter.ts'
import { answerIdOf, type StreamEvent } from './answers/events.ts'
import type { MeterOptions, SeenInAnswer } from './answers/meter.ts'
import { type EventRules, StreamMeter } from './answers/stream-meter.ts'
import { MESSAGES_ON_AWS, MESSAGES_ON_BEDROCK, MESSAGES_ON_VERTEX } from './clouds.ts'
import { Patterns } from './json/patterns.ts'
import { type Fields, fieldsOf, isFields } from './json/text.ts'
import { file, imageUrl, urlOrObject } from './layouts.ts'
import { clientPath, type ProtocolRow, TEXT_COVER } from './protocol.ts'
import { bareTool, toolChoice, typedTool, withSearch, withSwitches } from './requests/asked-tools.ts'
import { jsonBody } from './requests/body.ts'
import { Place } from './requests/places.ts'
import * as read from './requests/readers.ts'
import { strangeFinish } from './words/finish-words.ts'
import { NO_OUTPUT } from './words/maxima.ts'
import { addToUsage, first, type Pass, type Report, reported, type ToldTiers, usageReport } from './words/reports.ts'
import { noUsage, type Usage } from './words/usage.ts'

const cacheControl = new Place({
  begin: draft => {
    draft.cacheTtl ??= '5m'
  },
}).has('ttl', read.ttl('5m'))

const source = new Place({
  end(draft, frame) {
    if (frame.dataLength > 0 && frame.type === 'base64') read.inline(draft, frame.mime, frame.dataLength)
    if (frame.owner !== null) frame.owner.urls += frame.urls
  },
})
  .has('type', read.type)
  .has('media_type', read.mime)
  .has('data', read.data)
  .has('url', read.url)
  .has('file_id', read.stored('file_id'))

const block = new Place({
  end(draft, { type, urls }) {
    if (type === 'image') draft.prompt.remotePictures += urls
    else draft.prompt.remoteDocuments += urls
    // the result of a tool may name files of its container, which is harmless; only an upload is refused
    if (type === 'container_upload') draft.invalid ??= 'file_id'
  },
})
  .has('type', read.type)
  .has('source', { inside: source })
  .has('cache_control', { inside: cacheControl })
// parts in the words of chat, which some upstreams take too
block
  .has('image_url', { ...read.pictureUrl, inside: imageUrl })
  .has('video_url', urlOrObject)
  .has('audio_url', urlOrObject)
  .has('file_url', urlOrObject)
  .has('file', { inside: file })
block.has('content', { inside: block })
source.has('content', { inside: block })

const message = new Place().has('content', { inside: block })

const tool = withSearch(
  new Place({
    element: bareTool,
    end(draft, frame, end) {
      typedTool(draft, frame, end)
      if (frame.type.startsWith('advisor_')) read.advisor(draft, frame)
    },
  }),
)
  .has('type', read.type)
  .has('max_uses', read.uses)
  .has('model', read.otherModel)
  .has('max_tokens', (_draft, value, frame) => {
    frame.maximum = read.numberIn(value)
  })
  .has('cache_control', { inside: cacheControl })
  .has('caching', { inside: cacheControl })

// a conversation may add tools in its course
const change = new Place().has('definition', { inside: tool })
block.has('tool', { inside: change }).has('tool_changes', { inside: block })

const fallback = new Place()
  .has('tools', { inside: tool })
  .has('model', read.otherModel)
  .has('max_tokens', read.raiseMaximum)
  .has('speed', read.tier('speed', 'speed'))

/** A skill that was uploaded to the account that all customers share. */
const skill = new Place({
  end(draft, { type }) {
    if (type !== 'anthropic') draft.invalid ??= 'container'
  },
}).has('type', read.type)
const container = new Place().has('id', read.stored('container')).has('skills', { inside: skill })
const thread = new Place().has('previous_message_id', read.stored('thread'))
// in a turn with tools the budget of thoughts may be larger than the maximum
const thinking = new Place().has('type', read.effort).has('budget_tokens', read.budgetWithin)
const outputConfig = new Place().has('effort', read.effort)
const maxTokens = read.maximum('max_tokens')
const metadata = new Place({ free: true }).has('user_id', read.userId)

const body = new Place({
  // answers consist of text
  begin(draft) {
    draft.sound = draft.pictures = false
  },
}).has('container', { read: read.stored('container'), inside: container })

const messagesBody = withSwitches(body)
  .has('model', read.model)
  .has('stream', read.stream)
  .has('max_tokens', (draft, value, frame) => {
    maxTokens(draft, value, frame)
    if (read.numberIn(value) !== 0) return
    draft.maximum ??= 0
    draft.maxima |= NO_OUTPUT
  })
  .has('max_completion_tokens', read.maximum('max_completion_tokens'))
  .has('max_output_tokens', read.maximum('max_output_tokens'))
  .has('messages', { inside: message })
  .has('system', { inside: block })
  .has('tools', { inside: tool })
  .has('tool_choice', toolChoice)
  .has('fallbacks', {
    limit: read.LONGEST_MODEL_NAME,
    // a text in the place of the list names the model to which the upstream falls back
    read: (draft, value) => value.kind === 'string' && read.otherModel.read(draft, value),
    inside: fallback,
  })
  .has('thread', { inside: thread })
  .has('thinking', { inside: thinking })
  .has('output_config', { inside: outputConfig })
  .has('cache_control', { inside: cacheControl })
  .has('metadata', { inside: metadata })
  .has('service_tier', read.tier('service', 'service_tier'))
  .has('speed', read.tier('speed', 'speed'))
  .has('inference_geo', read.tier('geo', 'inference_geo'))

messagesBody.has('extra_body', { inside: read.extraBody(messagesBody) })

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
function noteBlock(meter: SeenInAnswer, block: Fields, index: number): void {
  const { type, name, id, tool_use_id, content } = block
  if (typeof type !== 'string') return
  if (type === 'server_tool_use') noteCall(meter, name, keyOf(id, index), true)
  else if (type.endsWith(RESULT) && String(fieldsOf(content)['type']).endsWith('_error'))
    noteCall(meter, type.slice(0, -RESULT.length), keyOf(tool_use_id, index), false)
}

function noteCall(meter: SeenInAnswer, name: unknown, key: string, counts: boolean): void {
  if (typeof name !== 'string') return
  if (name === SEARCH) meter.search(key, counts)
  else meter.call(toolOf(name), key, counts)
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

  knows({ type }: StreamEvent): boolean {
    return EVENTS.test(type)
  }

  read(meter: StreamMeter, event: StreamEvent): void {
    switch (event.type) {
      case 'content_block_delta':
        return
      case 'message_start':
        this.#start(meter, event)
        return
      case 'message_delta':
        this.#end(meter, event.fieldsOr('usage'))
        return
      case 'content_block_start':
        this.#block(meter, event.fields ?? {})
        return
      case 'content_block_stop':
        meter.stop.openBlock = null
        return
      case 'message_stop':
        meter.terminal = true
        return
      case 'error':
        meter.failed = true
    }
  }

  #start(meter: StreamMeter, event: StreamEvent): void {
    this.#usage = new MessageUsage(this.#ttl) // a second start begins a new count
    const message = event.objectOr('message', 'usage')
    meter.answerId = answerIdOf(message['id'])
    this.#report(meter, message['usage'], 'first')
  }

  #end(meter: StreamMeter, event: Fields): void {
    this.#report(meter, event['usage'], 'later')
    meter.unknownFinish ??= strangeFinish('messages', fieldsOf(event['delta'])['stop_reason'])
  }

  #report(meter: StreamMeter, usage: unknown, event: 'first' | 'later'): void {
    this.#usage.add(usage, event)
    meter.report(this.#usage.report)
    meter.tell(tiersIn(usage))
  }

  #block(meter: StreamMeter, event: Fields): void {
    const index = first(event, 'index')
    meter.stop.openBlock = index
    noteBlock(meter, fieldsOf(event['content_block']), index ?? 0)
  }
}

const MEMBERS: ReadonlySet<string> = new Set(['id', 'usage', 'error', 'stop_reason'])

const ITEMS: ItemRules = {
  array: 'content',
  branch: { type: 'text', name: 'text', id: 'text', tool_use_id: 'text', content: { type: 'text' } },
  read: noteBlock,
}

const TOTALS = ['input_tokens', 'output_tokens', 'cache_read_input_tokens', 'cache_creation_input_tokens']
const SPLIT = ['ephemeral_5m_input_tokens', 'ephemeral_1h_input_tokens']
const SEARCHES = 'web_search_requests'

class MessageUsage {
  readonly #ttl: '5m' | '1h'
  readonly #numbers: Record<string, number> = {}
  #namesOutput = false
  #iterations: Fields[] = []
  #thinks = false

  constructor(ttl: '5m' | '1h') {
    this.#ttl = ttl
  }

  /**
   * `event`: which event of a stream has the report. The output in the first event is a placeholder; a 0 in a later
   * event is not a number.
   */
  add(usage: unknown, event?: 'first' | 'later'): void {
    if (!isFields(usage)) return
    for (const name of TOTALS) if (event !== 'first' || name !== 'output_tokens') this.#put(name, usage[name])
    const output = event === 'first' ? null : first(usage, 'output_tokens')
    this.#namesOutput ||= output !== null && (output > 0 || event === undefined)
    const split = fieldsOf(usage['cache_creation'])
    for (const name of SPLIT) this.#put(name, split[name])
    this.#thinks ||= (first(fieldsOf(usage['output_tokens_details']), 'thinking_tokens') ?? 0) > 0
    this.#put(SEARCHES, fieldsOf(usage['server_tool_use'])[SEARCHES])
    if (Array.isArray(usage['iterations'])) this.#iterations = usage['iterations'].filter(isFields)
  }

  /** Notes a number. A missing number changes nothing, and neither does a 0, which some upstreams fill in. */
  #put(name: string, value: unknown): void {
    const number = reported(value)
    if (number !== null && (number > 0 || this.#numbers[name] === undefined)) this.#numbers[name] = number
  }

  /** The report so far; null = neither input nor output is known yet, or the input is not of an answer in several passes. */
  get report(): Report | null {
    const namesInput = this.#numbers['input_tokens'] !== undefined
    if (!namesInput && (!this.#namesOutput || this.#iterations.length > 0)) return null
    const said = { namesInput, namesOutput: this.#namesOutput, thinks: this.#thinks }
    const top = { ...this.#usageOf(this.#numbers, this.#numbers), searches: first(this.#numbers, SEARCHES) ?? 0 }
    // after a fallback the top level has the usage of the fallback; otherwise other passes are not in it
    const fallback = this.#iterations.findLast(pass => pass['type'] === 'fallback_message')
    if (fallback !== undefined) return usageReport(top, { ...said, passes: [{ model: modelOf(fallback), usage: top }] })
    const passes = this.#iterations.map(pass => ({
      model: modelOf(pass),
      usage: this.#usageOf(pass, fieldsOf(pass['cache_creation'])),
    }))
    const sum = { ...noUsage(), searches: top.searches }
    for (const pass of passes) addToUsage(sum, pass.usage)
    // when the passes have less than the top level, some of them are missing
    if (sum.output < top.output || promptOf(sum) < promptOf(top)) return usageReport(top, said)
    // each pass has a prompt of its own, whatever model made it
    return usageReport(sum, { ...said, passes: passes.length > 1 || passes.some(namesModel) ? passes : [] })
  }

  /** Cache writes that are not split by life count as the life that the request asked for. */
  #usageOf(totals: Fields, split: Fields): Usage {
    const write5m = first(split, 'ephemeral_5m_input_tokens') ?? 0
    const write1h = first(split, 'ephemeral_1h_input_tokens') ?? 0
    const rest = Math.max(0, (first(totals, 'cache_creation_input_tokens') ?? 0) - write5m - write1h)
    return {
      ...noUsage(),
      input: first(totals, 'input_tokens') ?? 0,
      cache_read: first(totals, 'cache_read_input_tokens') ?? 0,
      cache_write_5m: write5m + (this.#ttl === '5m' ? rest : 0),
      cache_write_1h: write1h + (this.#ttl === '1h' ? rest : 0),
      output: first(totals, 'output_tokens') ?? 0,
    }
  }
}

const modelOf = (pass: Fields): string | null => (typeof pass['model'] === 'string' ? pass['model'] : null)
const namesModel = (pass: Pass): boolean => pass.model !== null
const promptOf = (usage: Usage): number => usage.input + usage.cache_read + usage.cache_write_5m + usage.cache_write_1h

export const messages: ProtocolRow = {
  place: 1,
  client: {
    paths: [
      clientPath('/messages'),
      clientPath('/messages/count_tokens', { action: 'count', suffix: '/count_tokens' }),
    ],
    versions: ['/v1'],
    repeatsVersion: true,
    placements: ['x-api-key', 'bearer'],
    query: { beta: ['true', 'false'] },
    typesErrors: true,
  },
  upstream: {
    path: '/v1/messages',
    ending: /\/messages$/,
    authHeader: 'x-api-key',
    kinds: {
      anthropic: '/v1/messages',
      azure: { path: '/anthropic/v1/messages', authHeader: 'x-api-key' },
      bedrock: MESSAGES_ON_BEDROCK,
      'bedrock-api-key': { ...MESSAGES_ON_BEDROCK, authHeader: 'authorization' },
      'bedrock-mantle': MESSAGES_ON_AWS,
      dashscope: '/apps/anthropic/v1/messages',
      deepseek: '/anthropic/v1/messages',
      minimax: '/anthropic/v1/messages',
      moonshot: '/anthropic/v1/messages',
      openrouter: { path: '/api/v1/messages', authHeader: 'authorization' },
      siliconflow: '/v1/messages',
      vertex: MESSAGES_ON_VERTEX,
      zhipu: { path: '/api/anthropic/v1/messages', authHeader: 'authorization' },
    },
    atProvider: {
      authHeader: 'x-api-key',
      renamed: { 'alpha-version': 'anthropic-version', 'alpha-beta': 'anthropic-beta' },
      fallback: ['anthropic-version', '2023-06-01'],
    },
  },
  body: jsonBody(messagesBody),
  streamsByPath: null,
  asksForUsage: false,
  price: { cover: TEXT_COVER, pictures: false, cachesWhenAsked: true },
  terminalIsLast: true,
  meter(options: MeterOptions) {
    if (options.events) return new StreamMeter(new Rules(options.cacheTtl), KEYS)
    const rules: DocumentRules = {
      members: MEMBERS,
      own: ['content'],
      keys: KEYS,
      items: ITEMS,
      tiersOf: document => tiersIn(document.value('usage')),
      unknownFinish: document => strangeFinish('messages', document.value('stop_reason')),
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
  lastUsage: ({ type, usage }) => (type === 'message_delta' ? usage : undefined),
  countAnswer: tokens => ({ input_tokens: tokens }),
}
