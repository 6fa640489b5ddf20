/** OpenAI-compatible chat completions (beta). */

import type { LengthStopState, SeenInAnswer } from './answers/meter.ts'
import { ContentKeys } from './answers/content.ts'
import { DocumentMeter, type DocumentRules, type ItemRules } from './answers/document-meter.ts'
import { answerIdOf, type StreamEvent, saysError, shortText } from './answers/events.ts'
import { type EventRules, StreamMeter } from './answers/stream-meter.ts'
import { openAiOnAws } from './clouds.ts'
import { lastObject } from './json/last-members.ts'
import { Patterns } from './json/patterns.ts'
import { type Fields, fieldsOf, isFields } from './json/text.ts'
import { file, imageUrl, inputAudio, streamOptions, top, urlOrObject } from './layouts.ts'
import { DATA, PictureCounter, PicturePlaces, type Spot } from './pictures/counter.ts'
import { bearerClient, clientPath, openAiUpstream, type ProtocolRow, type StreamWords, TEXT_COVER } from './protocol.ts'
import { bareTool, endMembers, memberTool, typedTool, withDrawing, withSearch } from './requests/asked-tools.ts'
import { jsonBody } from './requests/body.ts'
import type { BodyRule } from './requests/edits.ts'
import type { Draft } from './requests/facts.ts'
import { Place } from './requests/places.ts'
import * as read from './requests/readers.ts'
import { strangeFinish } from './words/finish-words.ts'
import { first, UsageWords } from './words/reports.ts'
import { isToolMember } from './words/server-tools.ts'

/** The pictures of which a film consists. */
const frames = new Place({ element: read.pictureUrl.read })

/** The source of a part in the words of messages. */
const source = new Place().has('file_id', read.stored('file_id'))

/** Parts whose media are read, and those that have none. */
const PARTS: ReadonlySet<string> = new Set([
  'text',
  'input_text',
  'output_text',
  'refusal',
  'reasoning',
  'thinking',
  'redacted_thinking',
  'tool_use',
  'image_url',
  'input_image',
  'video_url',
  'audio_url',
  'file_url',
  'document_url',
  'video',
  'input_audio',
  'file',
])

/** Whatever a part holds that nobody here knows may be anything that an upstream fetches; of several one is enough. */
const part = new Place({
  other(_draft, name, frame) {
    if (name !== 'text') frame.hasOthers = true
  },
  end(draft, { type, hasOthers }) {
    if (PARTS.has(type) || (type === '' && !hasOthers) || draft.hasUnknownPart) return
    draft.hasUnknownPart = true
    draft.prompt.remoteDocuments++
  },
})
  .has('type', read.type)
  .has('file_id', read.stored('file_id'))
  .has('source', { inside: source })
  .has('image_url', { ...read.pictureUrl, inside: imageUrl })
  .has('video_url', urlOrObject)
  .has('audio_url', urlOrObject)
  .has('file_url', urlOrObject)
  .has('document_url', urlOrObject)
  .has('video', { ...read.documentUrl, inside: frames })
  .has('input_audio', { inside: inputAudio })
  .has('file', { inside: file })

/** The sound of an earlier answer. */
const spoken = new Place().has('id', read.stored('audio'))

const message = new Place().has('content', { inside: part }).has('audio', { inside: spoken })

const tool = withDrawing(
  withSearch(
    new Place({
      element: bareTool,
      // proxies take the tools of generate too, which have no type
      other(draft, name, frame) {
        if (isToolMember(name)) memberTool(draft, name, frame)
        else frame.hasOthers = true
      },
      end(draft, frame, end) {
        if (frame.hasMembers && frame.type === '') endMembers(draft, frame, end)
        else typedTool(draft, frame, end)
      },
    }),
  ),
).has('type', read.type)

const thinking = new Place().has('type', read.effort).has('budget_tokens', read.budgetWithin)
const reasoning = new Place()
  .has('effort', read.effort)
  .has('enabled', read.thinks)
  .has('max_tokens', read.budgetWithin)
/** Some upstreams hand this on to the template of the conversation. */
const template = new Place().has('thinking', read.thinks).has('enable_thinking', read.thinks)

const googleThinking = new Place()
  .has('thinking_level', read.effort)
  .has('thinking_budget', read.thinkingBudget)
  .has('include_thoughts', read.thinks)
const google = new Place()
  .has('cached_content', read.stored('cached_content'))
  .has('thinking_config', { inside: googleThinking })

/** Text that the answer is expected to repeat: where it does not, its tokens are billed as output, beside the maximum. */
const predict = (draft: Draft, bytes: number): void => {
  draft.predictedBytes += bytes
  draft.writesUnseen = true
}
const prediction = new Place({ end: (draft, { start }, end) => predict(draft, end - start) })

/** Asks what the answer cost, as OpenRouter's clients do. */
const usage = new Place({
  single: true,
  begin(draft) {
    draft.namesUsage = true
  },
}).has('include', (draft, value) => {
  draft.asksCost ||= read.isTrue(value)
})

const chatBody = top()
  .has('max_tokens', read.maximum('max_tokens'))
  .has('max_completion_tokens', read.maximum('max_completion_tokens'))
  .has('max_output_tokens', read.maximum('max_output_tokens'))
  .has('thinking_budget', read.thinkingBudget)
  .has('enable_thinking', read.thinks)
  .has('reasoning_effort', read.effort)
  .has('thinking', { inside: thinking })
  .has('reasoning', { inside: reasoning })
  .has('chat_template_kwargs', { inside: template })
  .has('prediction', {
    inside: prediction,
    read(draft, value) {
      if (!read.isNull(value)) predict(draft, value.end - value.start)
    },
  })
  .has('n', read.answers)
  .has('n_cmpl', read.answers) // llama.cpp reads it before `n`
  .has('best_of', read.bestOf)
  .has('messages', { inside: message })
  .has('tools', { inside: tool })
  // the answer would come later, by a request that is not charged
  .has('deferred', (draft, value) => {
    if (read.isOn(value)) draft.invalid ??= 'deferred'
  })
  .has('stream_options', streamOptions)
  .has('usage', {
    inside: usage,
    read(draft) {
      draft.namesUsage = true
    },
  })

chatBody.has('extra_body', { inside: read.extraBody(chatBody).has('google', { inside: google }) })

const KEYS = new ContentKeys({
  text: ['content', 'arguments', 'refusal', 'input', 'transcript'],
  thought: ['reasoning_content', 'reasoning'],
  // of `reasoning_details`, which mostly repeat the thought; and of content in parts
  beside: ['text', 'summary'],
  encoded: ['data', 'url', 'image_url'],
})
/** The places of pictures: a list of their own, or parts of the content. */
const PICTURE_PARTS: Spot = {
  picture: 'any',
  inside: { image_url: { role: 'data', picture: 'any', inside: { url: DATA } } },
}
const MESSAGE: Spot = { inside: { images: PICTURE_PARTS, content: PICTURE_PARTS } }
const PICTURES = new PicturePlaces('image_url', {
  inside: { choices: { inside: { delta: MESSAGE, message: MESSAGE } } },
})
const MEMBERS: ReadonlySet<string> = new Set(['id', 'usage', 'x_groq', 'error', 'base_resp', 'service_tier'])
/** Members of an answer that have what a search has found. */
const FOUND = ['web_search', 'search_results'] as const
const OPEN_BRACKET = 0x5b
const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

const WORDS = new UsageWords('chat', { prompt: 'prompt_tokens_details', output: 'completion_tokens_details' })

/** Some say the usage in the first choice, or in a member of their own, and not on top of the answer. */
const usageIn = (answer: Fields, inChoice: unknown): unknown =>
  answer['usage'] ?? inChoice ?? fieldsOf(answer['x_groq'])['usage']

/**
 * Notes what a choice tells beside its text. `inside`: where its message stands. An answer that cites what it found has searched; how
 * often is not to be seen, so that this counts as one search.
 */
function noteChoice(meter: SeenInAnswer, choice: Fields, inside: 'delta' | 'message'): void {
  const { annotations } = fieldsOf(choice[inside])
  if (Array.isArray(annotations) && annotations.some(one => fieldsOf(one)['type'] === 'url_citation'))
    meter.search('cited')
  meter.unknownFinish ??= strangeFinish('chat', choice['finish_reason'])
}

/** MiniMax says so in a 200 that a request failed. */
function fails(baseResp: unknown): boolean {
  const code = fieldsOf(baseResp)['status_code']
  return typeof code === 'number' && code !== 0
}

const hasFound = (value: unknown): boolean => Array.isArray(value) && value.some(isFields)
const NO_CHOICES: readonly unknown[] = []
/** The number of objects and arrays around the usage of a choice. */
const IN_CHOICE = 3

/**
 * Every event with usage, wherever it stands, an error or the end has one of these patterns in it; most that say why the answer
 * ended have one, too. They do not match `"usage":null` and `"finish_reason":null`, which many other events have.
 */
const ENDS = ['pletion_tokens"', 'pt_tokens"', 'sh_reason":"', 'sh_reason": "', 'error"', '[DONE]']
const MARKERS = new Patterns(ENDS)

/** The markers where searches have a price: events that show what was found have nothing else of interest. */
const SEARCH_MARKERS = new Patterns([...ENDS, '"url_c', 'web_search"', 'search_results"'])

const KNOWN = new Patterns(['"choices"', '"error"', '[DONE]', '"usage"'])

class Rules implements EventRules {
  readonly markers: Patterns
  readonly #lengthStop: boolean
  #first = true

  /** `lengthStop`: whether the first event is to be read for what a length stop would say. */
  constructor(lengthStop: boolean, searches: boolean) {
    this.markers = searches ? SEARCH_MARKERS : MARKERS
    this.#lengthStop = lengthStop
  }

  knows({ begin }: StreamEvent): boolean {
    return KNOWN.isIn(begin.toString('latin1'))
  }

  read(meter: StreamMeter, event: StreamEvent): void {
    const { data, isCut } = event
    if (data[0] === OPEN_BRACKET && !isCut) {
      if (data.toString('latin1').trim() === '[DONE]') meter.terminal = true
      return
    }
    if (this.#first) this.#begin(meter, event)
    if (!this.markers.isIn(data.toString('latin1'))) return
    const parsed = event.fields
    if (parsed === null) {
      meter.report(WORDS.report(lastObject(data, 'usage', 1) ?? lastObject(data, 'usage', IN_CHOICE)))
      return
    }
    if (saysError(parsed['error']) || fails(parsed['base_resp'])) meter.failed = true
    meter.answerId ??= answerIdOf(parsed['id'])
    meter.tell({ service: parsed['service_tier'] })
    if (FOUND.some(name => hasFound(parsed[name]))) meter.search('cited')
    const choices = Array.isArray(parsed['choices']) ? parsed['choices'] : NO_CHOICES
    for (const choice of choices) noteChoice(meter, fieldsOf(choice), 'delta')
    meter.report(WORDS.report(usageIn(parsed, fieldsOf(choices[0])['usage'])))
  }

  #begin(meter: StreamMeter, event: StreamEvent): void {
    this.#first = false
    const parsed = event.fields
    if (parsed === null) return
    if (fails(parsed['base_resp'])) meter.failed = true
    meter.answerId = answerIdOf(parsed['id'])
    meter.tell({ service: parsed['service_tier'] })
    if (!this.#lengthStop) return
    meter.stop = {
      answerId: shortText(parsed['id'], ''),
      model: shortText(parsed['model'], ''),
      createdS: first(parsed, 'created') ?? 0,
    }
  }
}

const ITEMS: ItemRules = {
  array: 'choices',
  branch: { message: { annotations: { type: 'text' } }, finish_reason: 'text', usage: 'value' },
  read(meter, choice, index) {
    noteChoice(meter, choice, 'message')
    if (index === 0) meter.tellUsage(choice['usage'])
  },
}

const documentRules = (keys: ContentKeys): DocumentRules => ({
  members: MEMBERS,
  items: ITEMS,
  own: ['choices'],
  keys,
  reportOf: (document, _pieces, inChoice) =>
    WORDS.report(usageIn({ usage: document.value('usage'), x_groq: document.value('x_groq') }, inChoice)),
  tiersOf: document => ({ service: document.value('service_tier') }),
  failed: document => fails(document.value('base_resp')),
  searched: document => document.itemsOf(FOUND[0]) > 0 || document.itemsOf(FOUND[1]) > 0,
})

/** How answers with `choices` are counted; `keys`: where their content stands. */
export function choicesMeter(keys: ContentKeys): ProtocolRow['meter'] {
  const rules = documentRules(keys)
  return ({ events, lengthStop, pictures, searches = false, mostOutput }) => {
    const counter = pictures ? new PictureCounter(PICTURES, events) : null
    return events
      ? new StreamMeter(new Rules(lengthStop, searches), keys, counter)
      : new DocumentMeter(rules, mostOutput, counter)
  }
}

/** The words of a stream of events without names, which end with `[DONE]`. */
export const openAiWords: StreamWords = {
  keepAlive: '\n',
  error: (_status, message) => event({ error: { code: '', message, type: 'gateway_api_error' } }),
  lengthStop: state => stopByLength(state, 'chat.completion.chunk', [{ index: 0, delta: {}, finish_reason: 'length' }]),
}

/** The end of a stream whose events are of this `object`: its last choices, and the usage where the client has asked for it. */
export function stopByLength(state: LengthStopState, object: string, choices: object[]): string {
  const { answerId: id, model, createdS: created, input, cached, output } = state
  const usage = {
    prompt_tokens: input,
    completion_tokens: output,
    total_tokens: input + output,
    ...(cached === 0 ? {} : { prompt_tokens_details: { cached_tokens: cached } }),
  }
  const head = { id, object, created, model }
  const last = event({ ...head, choices })
  return `${last}${state.tellsUsage ? event({ ...head, choices: [], usage }) : ''}data: [DONE]\n\n`
}

/** Mistral reports usage unasked, and refuses to be asked. */
export const WITHOUT_STREAM_OPTIONS: BodyRule = { leftOut: ['stream_options'], set: {}, listed: null }

const PATH = '/v1/chat/completions'

export const chat: ProtocolRow = {
  place: 2,
  client: bearerClient(clientPath('/chat/completions')),
  upstream: openAiUpstream(PATH, {
    anthropic: PATH,
    openai: PATH,
    gemini: '/v1beta/openai/chat/completions',
    azure: '/openai/v1/chat/completions',
    'azure-deployments': '/openai/deployments/{model}/chat/completions',
    bedrock: openAiOnAws('/openai/v1/chat/completions'),
    'bedrock-api-key': openAiOnAws('/openai/v1/chat/completions'),
    'bedrock-mantle': openAiOnAws(PATH),
    cerebras: PATH,
    cohere: '/compatibility/v1/chat/completions',
    dashscope: '/compatible-mode/v1/chat/completions',
    deepinfra: '/v1/openai/chat/completions',
    deepseek: PATH,
    fireworks: '/inference/v1/chat/completions',
    groq: '/openai/v1/chat/completions',
    hunyuan: PATH,
    minimax: PATH,
    mistral: { path: PATH, body: WITHOUT_STREAM_OPTIONS },
    moonshot: PATH,
    nvidia: PATH,
    openrouter: { path: '/api/v1/chat/completions', readsUsage: true },
    perplexity: '/chat/completions',
    qianfan: '/v2/chat/completions',
    siliconflow: PATH,
    together: PATH,
    vertex: '/endpoints/openapi/chat/completions',
    volcengine: '/api/v3/chat/completions',
    xai: PATH,
    zhipu: '/api/paas/v4/chat/completions',
  }),
  body: jsonBody(chatBody),
  streamsByPath: null,
  asksForUsage: true,
  price: { cover: TEXT_COVER, pictures: false, cachesWhenAsked: false, hidesCalls: true },
  terminalIsLast: true,
  meter: choicesMeter(KEYS),
  words: openAiWords,
  lastUsage: ({ choices, usage }) =>
    !Array.isArray(choices) ||
    choices.length === 0 ||
    choices.some(one => typeof fieldsOf(one)['finish_reason'] === 'string')
      ? usage
      : undefined,
  countAnswer: null,
}
