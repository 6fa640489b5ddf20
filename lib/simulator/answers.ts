/** What the five protocols' upstreams say, in their own shapes: whole, and event by event. */
import type { Asked, Script } from './request.ts'

/** One event of a stream: with `event` a name line, else data alone. `text`: it carries generated text. */
export interface Event {
  event?: string
  data: unknown
  text?: boolean
}

export interface Answers {
  whole(a: Asked, s: Script): unknown
  stream(a: Asked, s: Script): Iterable<Event>
  /** Of a failed request. */
  error(status: number): unknown
  errorEvent: Event
}

const WORDS = ['The', ' quick', ' brown', ' fox', ' jumps', ' over', ' the', ' lazy', ' dog', '.', ' '] as const
const CREATED = 1_790_000_000
const word = (i: number): string => WORDS[i % WORDS.length] as string
const outputTokens = (a: Asked, s: Script): number => Math.min(s.tokens, a.maxTokens)
const wasCut = (a: Asked, s: Script): boolean => s.tokens > a.maxTokens
const textOf = (a: Asked, s: Script): string => Array.from({ length: outputTokens(a, s) }, (_, i) => word(i)).join('')
const TOOL_ARGUMENTS = '{"city":"Paris"}'

function* words(a: Asked, s: Script): Iterable<string> {
  const pad = 'x'.repeat(s.bytes)
  for (let i = 0; i < outputTokens(a, s); i++) yield word(i) + pad
}

// --- messages

const messagesUsage = (a: Asked, s: Script, output: number): object =>
  s.reportsUsage
    ? {
        usage: {
          input_tokens: a.promptTokens - a.cached.read - a.cached.written,
          cache_creation_input_tokens: a.cached.written,
          cache_read_input_tokens: a.cached.read,
          cache_creation: { ephemeral_5m_input_tokens: a.cached.written, ephemeral_1h_input_tokens: 0 },
          output_tokens: output,
          service_tier: 'standard',
        },
      }
    : {}

const messagesStop = (a: Asked, s: Script): string =>
  a.tool !== null ? 'tool_use' : wasCut(a, s) ? 'max_tokens' : 'end_turn'

const message = (a: Asked, content: unknown[], rest: object): object => ({
  id: 'msg_simulated',
  type: 'message',
  role: 'assistant',
  model: a.model,
  content,
  ...rest,
})

const named = (type: string, data: object, text = false): Event => ({ event: type, data: { type, ...data }, text })

const messages: Answers = {
  whole: (a, s) =>
    message(
      a,
      a.tool === null
        ? [{ type: 'text', text: textOf(a, s) }]
        : [{ type: 'tool_use', id: 'toolu_1', name: a.tool, input: JSON.parse(TOOL_ARGUMENTS) }],
      {
        stop_reason: messagesStop(a, s),
        stop_sequence: null,
        ...messagesUsage(a, s, outputTokens(a, s)),
      },
    ),
  *stream(a, s) {
    yield named('message_start', {
      message: message(a, [], { stop_reason: null, stop_sequence: null, ...messagesUsage(a, s, 1) }),
    })
    const block =
      a.tool === null ? { type: 'text', text: '' } : { type: 'tool_use', id: 'toolu_1', name: a.tool, input: {} }
    yield named('content_block_start', { index: 0, content_block: block })
    yield named('ping', {})
    if (a.tool !== null)
      yield named(
        'content_block_delta',
        { index: 0, delta: { type: 'input_json_delta', partial_json: TOOL_ARGUMENTS } },
        true,
      )
    else
      for (const text of words(a, s))
        yield named('content_block_delta', { index: 0, delta: { type: 'text_delta', text } }, true)
    yield named('content_block_stop', { index: 0 })
    const usage = s.reportsUsage ? { usage: { output_tokens: outputTokens(a, s) } } : {}
    yield named('message_delta', { delta: { stop_reason: messagesStop(a, s), stop_sequence: null }, ...usage })
    yield named('message_stop', {})
  },
  error: status => ({
    type: 'error',
    error: { type: ERROR_TYPES[status] ?? 'api_error', message: `simulated ${status}` },
  }),
  errorEvent: named('error', { error: { type: 'overloaded_error', message: 'simulated overload' } }),
}

const ERROR_TYPES: Record<number, string> = {
  400: 'invalid_request_error',
  401: 'authentication_error',
  403: 'permission_error',
  404: 'not_found_error',
  429: 'rate_limit_error',
  529: 'overloaded_error',
}

// --- chat

const chatUsage = (a: Asked, s: Script): object => {
  const completion = outputTokens(a, s) * a.n
  return {
    prompt_tokens: a.promptTokens,
    completion_tokens: completion,
    total_tokens: a.promptTokens + completion,
    prompt_tokens_details: { cached_tokens: a.cached.read },
    completion_tokens_details: { reasoning_tokens: 0 },
  }
}

const chatFinish = (a: Asked, s: Script): string => (a.tool !== null ? 'tool_calls' : wasCut(a, s) ? 'length' : 'stop')
const toolCalls = (a: Asked): object[] => [
  { index: 0, id: 'call_1', type: 'function', function: { name: a.tool, arguments: TOOL_ARGUMENTS } },
]

const openaiError = (status: number): object => ({
  error: { message: `simulated ${status}`, type: ERROR_TYPES[status] ?? 'server_error', param: null, code: null },
})

const chat: Answers = {
  whole: (a, s) => ({
    id: 'chatcmpl-simulated',
    object: 'chat.completion',
    created: CREATED,
    model: a.model,
    choices: Array.from({ length: a.n }, (_, index) => ({
      index,
      message: {
        role: 'assistant',
        content: a.tool === null ? textOf(a, s) : null,
        refusal: null,
        ...(a.tool === null ? {} : { tool_calls: toolCalls(a) }),
      },
      logprobs: null,
      finish_reason: chatFinish(a, s),
    })),
    ...(s.reportsUsage ? { usage: chatUsage(a, s) } : {}),
    service_tier: 'default',
  }),
  *stream(a, s) {
    const usage = a.includeUsage ? { usage: null } : {}
    const chunk = (choices: object[], rest: object = usage, text = false): Event => ({
      data: {
        id: 'chatcmpl-simulated',
        object: 'chat.completion.chunk',
        created: CREATED,
        model: a.model,
        choices,
        ...rest,
      },
      text,
    })
    const all = (delta: object, finish_reason: string | null = null) =>
      Array.from({ length: a.n }, (_, index) => ({ index, delta, finish_reason }))
    yield chunk(all({ role: 'assistant', content: '' }))
    if (a.tool !== null) yield chunk(all({ tool_calls: toolCalls(a) }), usage, true)
    else for (const content of words(a, s)) yield chunk(all({ content }), usage, true)
    yield chunk(all({}, chatFinish(a, s)))
    if (a.includeUsage && s.reportsUsage) yield chunk([], { usage: chatUsage(a, s) })
    yield { data: '[DONE]' }
  },
  error: openaiError,
  errorEvent: { data: openaiError(500) },
}

// --- responses

const responsesUsage = (a: Asked, s: Script): object => ({
  input_tokens: a.promptTokens,
  input_tokens_details: { cached_tokens: a.cached.read },
  output_tokens: outputTokens(a, s),
  output_tokens_details: { reasoning_tokens: 0 },
  total_tokens: a.promptTokens + outputTokens(a, s),
})

const item = (a: Asked, s: Script, status: string): object =>
  a.tool === null
    ? {
        id: 'msg_1',
        type: 'message',
        status,
        role: 'assistant',
        content: status === 'completed' ? [{ type: 'output_text', text: textOf(a, s), annotations: [] }] : [],
      }
    : {
        id: 'fc_1',
        type: 'function_call',
        status,
        call_id: 'call_1',
        name: a.tool,
        arguments: status === 'completed' ? TOOL_ARGUMENTS : '',
      }

const response = (a: Asked, s: Script, status: string): object => ({
  id: 'resp_simulated',
  object: 'response',
  created_at: CREATED,
  status,
  model: a.model,
  output: status === 'in_progress' ? [] : [item(a, s, 'completed')],
  error: null,
  incomplete_details: status === 'incomplete' ? { reason: 'max_output_tokens' } : null,
  parallel_tool_calls: true,
  tool_choice: 'auto',
  tools: [],
  usage: status === 'in_progress' || !s.reportsUsage ? null : responsesUsage(a, s),
})

const responses: Answers = {
  whole: (a, s) => response(a, s, wasCut(a, s) ? 'incomplete' : 'completed'),
  *stream(a, s) {
    let sequence_number = 0
    const next = (type: string, data: object, text = false): Event =>
      named(type, { sequence_number: sequence_number++, ...data }, text)
    const of =
      a.tool === null ? { item_id: 'msg_1', output_index: 0, content_index: 0 } : { item_id: 'fc_1', output_index: 0 }
    yield next('response.created', { response: response(a, s, 'in_progress') })
    yield next('response.in_progress', { response: response(a, s, 'in_progress') })
    yield next('response.output_item.added', { output_index: 0, item: item(a, s, 'in_progress') })
    if (a.tool === null) {
      yield next('response.content_part.added', { ...of, part: { type: 'output_text', text: '', annotations: [] } })
      for (const delta of words(a, s)) yield next('response.output_text.delta', { ...of, delta }, true)
      yield next('response.output_text.done', { ...of, text: textOf(a, s) })
      yield next('response.content_part.done', {
        ...of,
        part: { type: 'output_text', text: textOf(a, s), annotations: [] },
      })
    } else {
      yield next('response.function_call_arguments.delta', { ...of, delta: TOOL_ARGUMENTS }, true)
      yield next('response.function_call_arguments.done', { ...of, arguments: TOOL_ARGUMENTS })
    }
    yield next('response.output_item.done', { output_index: 0, item: item(a, s, 'completed') })
    const status = wasCut(a, s) ? 'incomplete' : 'completed'
    yield next(`response.${status}`, { response: response(a, s, status) })
  },
  error: openaiError,
  errorEvent: named('error', { sequence_number: 0, code: 'server_error', message: 'simulated', param: null }),
}

// --- images

/** A transparent pixel. */
const PIXEL = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=='

const images: Answers = {
  whole: a => ({
    created: CREATED,
    data: Array.from({ length: a.n }, (_, i) =>
      a.body['response_format'] === 'b64_json' ? { b64_json: PIXEL } : { url: `https://images.example/${i}.png` },
    ),
  }),
  *stream() {},
  error: openaiError,
  errorEvent: { data: openaiError(500) },
}

// --- generate-content

const generateUsage = (a: Asked, output: number): object => ({
  promptTokenCount: a.promptTokens,
  candidatesTokenCount: output,
  totalTokenCount: a.promptTokens + output,
})

const generated = (a: Asked, s: Script, part: object, output: number, finishReason: string | null): object => ({
  candidates: [
    { content: { parts: [part], role: 'model' }, ...(finishReason === null ? {} : { finishReason }), index: 0 },
  ],
  ...(s.reportsUsage ? { usageMetadata: generateUsage(a, output) } : {}),
  modelVersion: a.model,
  responseId: 'simulated',
})

const generateFinish = (a: Asked, s: Script): string => (wasCut(a, s) ? 'MAX_TOKENS' : 'STOP')
const WORDS_PER_CHUNK = 8

const generate: Answers = {
  whole: (a, s) =>
    generated(
      a,
      s,
      a.tool === null ? { text: textOf(a, s) } : { functionCall: { name: a.tool, args: JSON.parse(TOOL_ARGUMENTS) } },
      outputTokens(a, s),
      generateFinish(a, s),
    ),
  *stream(a, s) {
    const all = [...words(a, s)]
    if (a.tool !== null || all.length === 0) {
      yield { data: this.whole(a, s), text: true }
      return
    }
    for (let i = 0; i < all.length; i += WORDS_PER_CHUNK) {
      const last = i + WORDS_PER_CHUNK >= all.length
      const text = all.slice(i, i + WORDS_PER_CHUNK).join('')
      yield {
        data: generated(a, s, { text }, Math.min(all.length, i + WORDS_PER_CHUNK), last ? generateFinish(a, s) : null),
        text: true,
      }
    }
  },
  error: status => ({
    error: { code: status, message: `simulated ${status}`, status: status === 429 ? 'RESOURCE_EXHAUSTED' : 'INTERNAL' },
  }),
  errorEvent: { data: { error: { code: 503, message: 'simulated overload', status: 'UNAVAILABLE' } } },
}

export const ANSWERS = { messages, chat, responses, images, generate } as const
export type Kind = keyof typeof ANSWERS
