/** Writes the same answer in each protocol, as an event stream and as a whole. */
import type { Usage } from '../../../lib/protocols/words/usage.ts'
import type { Talking } from '../../../test/support/talking.ts'

const MODEL = 'beta-4.7'
const ID = 'answer_01J9ZK5T3V'
const CREATED_S = 1_790_000_000

/** null = the answer reports no usage. */
type Reported = Usage | null

export interface Dialect {
  /** The meter counts the text of this protocol. */
  text: boolean
  begin(usage: Reported): string
  delta(text: string, index: number, usage: Reported): string
  /** `text`: the whole text of the answer. */
  end(text: string, usage: Reported): string
  whole(text: string, usage: Usage): object
}

const named = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const plain = (data: object): string => `data: ${JSON.stringify(data)}\n\n`

const promptOf = (u: Usage): number => u.input + u.cache_read + u.cache_write_5m
const total = (u: Usage): number => promptOf(u) + u.output

const messagesUsage = (u: Usage) => ({
  input_tokens: u.input,
  cache_read_input_tokens: u.cache_read,
  cache_creation_input_tokens: u.cache_write_5m,
  output_tokens: u.output,
})
const chatUsage = (u: Usage) => ({
  prompt_tokens: promptOf(u),
  completion_tokens: u.output,
  total_tokens: total(u),
  prompt_tokens_details: { cached_tokens: u.cache_read, cache_write_tokens: u.cache_write_5m },
})
const responsesUsage = (u: Usage) => ({
  input_tokens: promptOf(u),
  input_tokens_details: { cached_tokens: u.cache_read, cache_write_tokens: u.cache_write_5m },
  output_tokens: u.output,
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: total(u),
})
const generateUsage = (u: Usage) => ({
  promptTokenCount: promptOf(u),
  cachedContentTokenCount: u.cache_read,
  candidatesTokenCount: u.output,
  totalTokenCount: total(u),
})
const imagesUsage = (u: Usage) => ({
  input_tokens: u.input,
  output_tokens: u.output,
  total_tokens: u.input + u.output,
  input_tokens_details: { text_tokens: u.input, image_tokens: 0 },
})

const message = (content: object[], fields: object) => ({
  id: ID,
  type: 'message',
  role: 'assistant',
  model: MODEL,
  content,
  stop_reason: null,
  stop_sequence: null,
  ...fields,
})

const messages: Dialect = {
  text: true,
  begin: usage =>
    named('message_start', {
      message: message([], usage === null ? {} : { usage: { ...messagesUsage(usage), output_tokens: 1 } }),
    }) +
    named('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }) +
    named('ping', {}),
  delta: text => named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }),
  end: (_text, usage) =>
    named('content_block_stop', { index: 0 }) +
    named('message_delta', {
      delta: { stop_reason: 'end_turn', stop_sequence: null },
      ...(usage === null ? {} : { usage: { output_tokens: usage.output } }),
    }) +
    named('message_stop', {}),
  whole: (text, usage) => message([{ type: 'text', text }], { stop_reason: 'end_turn', usage: messagesUsage(usage) }),
}

const chunk = (choices: object[], fields: object = {}) =>
  plain({ id: ID, object: 'chat.completion.chunk', created: CREATED_S, model: MODEL, choices, ...fields })
const choice = (delta: object, finish: string | null = null) => [{ index: 0, delta, finish_reason: finish }]

const chat: Dialect = {
  text: true,
  begin: () => chunk(choice({ role: 'assistant', content: '' }), { usage: null }),
  delta: text => chunk(choice({ content: text }), { usage: null }),
  end: (_text, usage) =>
    `${chunk(choice({}, 'stop'), { usage: null })}${usage === null ? '' : chunk([], { usage: chatUsage(usage) })}data: [DONE]\n\n`,
  whole: (text, usage) => ({
    id: ID,
    object: 'chat.completion',
    created: CREATED_S,
    model: MODEL,
    choices: [{ index: 0, message: { role: 'assistant', content: text }, finish_reason: 'stop' }],
    usage: chatUsage(usage),
  }),
}

const ITEM = { item_id: 'msg_01', output_index: 0, content_index: 0 }
const outputOf = (text: string) => [
  { id: 'msg_01', type: 'message', role: 'assistant', content: [{ type: 'output_text', text, annotations: [] }] },
]
const response = (status: string, output: object[], usage: object | null) => ({
  id: ID,
  object: 'response',
  created_at: CREATED_S,
  status,
  model: MODEL,
  output,
  usage,
})

const responses: Dialect = {
  text: true,
  begin: () => named('response.created', { sequence_number: 0, response: response('in_progress', [], null) }),
  delta: (text, index) =>
    named('response.output_text.delta', { sequence_number: index + 1, ...ITEM, delta: text, logprobs: [] }),
  end: (text, usage) =>
    named('response.output_text.done', { sequence_number: 900_000, ...ITEM, text }) +
    named('response.completed', {
      sequence_number: 900_001,
      response: response('completed', outputOf(text), usage === null ? null : responsesUsage(usage)),
    }),
  whole: (text, usage) => response('completed', outputOf(text), responsesUsage(usage)),
}

const generated = (text: string, usage: Reported, fields: object = {}) => ({
  candidates: [{ content: { parts: [{ text }], role: 'model' }, ...fields, index: 0 }],
  ...(usage === null ? {} : { usageMetadata: generateUsage(usage) }),
  modelVersion: MODEL,
  responseId: ID,
})

const generate: Dialect = {
  text: true,
  begin: () => '',
  delta: (text, index, usage) => plain(generated(text, usage && { ...usage, output: Math.min(index, usage.output) })),
  end: (_text, usage) => plain(generated('', usage, { finishReason: 'STOP' })),
  whole: (text, usage) => generated(text, usage, { finishReason: 'STOP' }),
}

const images: Dialect = {
  text: false,
  begin: () => '',
  delta: (text, index) =>
    named('image_generation.partial_image', { b64_json: text, partial_image_index: index, created_at: CREATED_S }),
  end: (text, usage) =>
    named('image_generation.completed', {
      b64_json: text.slice(-PICTURE),
      ...(usage === null ? {} : { usage: imagesUsage(usage) }),
    }),
  whole: (text, usage) => ({ created: CREATED_S, data: [{ b64_json: text }], usage: imagesUsage(usage) }),
}
/** The most characters of a picture. */
const PICTURE = 200_000

export const DIALECTS: Record<Talking, Dialect> = { messages, chat, responses, images, generate }
