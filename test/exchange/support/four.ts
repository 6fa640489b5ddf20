/** The four protocols that are translated into each other: how each asks, and what its upstreams send for one and the same answer. */
import type { Ask, Client } from './client.ts'
import { HEADERS } from './gateway.ts'
import type { Script } from './upstream.ts'

export const FOUR = ['messages', 'chat', 'responses', 'generate'] as const
export type Four = (typeof FOUR)[number]
/** Another protocol for each, so that every protocol is asked once. */
export const NEXT = { messages: 'chat', chat: 'responses', responses: 'generate', generate: 'messages' } as const

type Json = Record<string, unknown>

/** A request, as a document or as a stream. `max`: tokens of output. */
export function asks(
  protocol: Four,
  model: string,
  {
    stream = false,
    max = 100,
    more = {},
    headers = {},
  }: Partial<{ stream: boolean; max: number; more: Json; headers: Record<string, string> }> = {},
): Ask {
  const verb = stream ? 'streamGenerateContent?alt=sse' : 'generateContent'
  const path = {
    messages: '/v1/messages',
    chat: '/v1/chat/completions',
    responses: '/v1/responses',
    generate: `/v1beta/models/${model}:${verb}`,
  }[protocol]
  return { path, headers: { ...HEADERS, ...headers }, body: { ...bodyOf(protocol, model, stream, max), ...more } }
}

function bodyOf(protocol: Four, model: string, stream: boolean, max: number): Json {
  const streams = stream ? { stream } : {}
  switch (protocol) {
    case 'messages':
      return { model, max_tokens: max, messages: [{ role: 'user', content: 'Hi' }], ...streams }
    case 'chat':
      return {
        model,
        max_tokens: max,
        messages: [{ role: 'user', content: 'Hi' }],
        ...(stream ? { stream, stream_options: { include_usage: true } } : {}),
      }
    case 'responses':
      return { model, max_output_tokens: max, input: [{ role: 'user', content: 'Hi' }], ...streams }
    case 'generate':
      return { contents: [{ role: 'user', parts: [{ text: 'Hi' }] }], generationConfig: { maxOutputTokens: max } }
  }
}

const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const chunk = (delta: object, finish_reason: string | null = null): string =>
  data({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })
const part = (text: string, more: object = {}): object => ({
  candidates: [{ index: 0, content: { role: 'model', parts: [{ text }] }, ...more }],
})

export const TEXT = 'Good morning to you'
const MESSAGE = { id: 'msg_u', type: 'message', role: 'assistant', model: 'u' }
const USAGE = {
  messages: { input_tokens: 100, output_tokens: 10 },
  chat: { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 },
  responses: { input_tokens: 100, output_tokens: 10, total_tokens: 110 },
  generate: { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 },
}
const ITEM = {
  type: 'message',
  id: 'msg_u',
  role: 'assistant',
  status: 'completed',
  content: [{ type: 'output_text', text: TEXT, annotations: [] }],
}
const RESPONSE = { id: 'resp_u', object: 'response', model: 'u' }

interface Sent {
  start: string
  text: string
  rest: string
  error: string
  document: object
}

/** What an upstream sends for 100 tokens in and 10 out, 280 micro-CNY: in three pieces of a stream, and as one document. */
export const SENT: Record<Four, Sent> = {
  messages: {
    start:
      event('message_start', { message: { ...MESSAGE, content: [], usage: { input_tokens: 100, output_tokens: 1 } } }) +
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    text: event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: TEXT } }),
    rest:
      event('content_block_stop', { index: 0 }) +
      event('message_delta', {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 10 },
      }) +
      event('message_stop', {}),
    error: event('error', { error: { type: 'overloaded_error', message: 'too busy' } }),
    document: {
      ...MESSAGE,
      content: [{ type: 'text', text: TEXT }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: USAGE.messages,
    },
  },
  chat: {
    start: chunk({ role: 'assistant', content: '' }),
    text: chunk({ content: TEXT }),
    rest: `${chunk({}, 'stop')}${data({ choices: [], usage: USAGE.chat })}data: [DONE]\n\n`,
    error: data({ error: { message: 'too busy', type: 'server_error' } }),
    document: {
      id: 'c',
      choices: [{ index: 0, message: { role: 'assistant', content: TEXT }, finish_reason: 'stop' }],
      usage: USAGE.chat,
    },
  },
  responses: {
    start:
      event('response.created', { response: { ...RESPONSE, status: 'in_progress', output: [] } }) +
      event('response.output_item.added', { output_index: 0, item: { ...ITEM, status: 'in_progress', content: [] } }),
    text: event('response.output_text.delta', { output_index: 0, item_id: 'msg_u', content_index: 0, delta: TEXT }),
    rest:
      event('response.output_item.done', { output_index: 0, item: ITEM }) +
      event('response.completed', {
        response: { ...RESPONSE, status: 'completed', output: [ITEM], usage: USAGE.responses },
      }),
    error: event('error', { code: 'server_error', message: 'too busy' }),
    document: { ...RESPONSE, status: 'completed', output: [ITEM], usage: USAGE.responses },
  },
  generate: {
    start: data({ ...part(''), responseId: 'g', modelVersion: 'u' }),
    text: data(part(TEXT)),
    rest: data({ ...part('', { finishReason: 'STOP' }), usageMetadata: USAGE.generate }),
    error: data({ error: { code: 503, message: 'too busy', status: 'UNAVAILABLE' } }),
    document: { ...part(TEXT, { finishReason: 'STOP' }), usageMetadata: USAGE.generate },
  },
}

export const whole =
  (protocol: Four): Script =>
  call =>
    call.whole(200, SENT[protocol].document)

export const streamed =
  (protocol: Four): Script =>
  call => {
    const { start, text, rest } = SENT[protocol]
    call.stream()
    for (const piece of [start, text, rest]) call.chunk(piece)
    call.end()
  }

/** What of the client's own words is looked for. `shown`: tokens of input and output. */
export const SEEN: Record<Four, { end: RegExp; length: RegExp; shown: [input: RegExp, output: RegExp] }> = {
  messages: {
    end: /message_stop/,
    length: /"stop_reason":"max_tokens"[\s\S]*message_stop/,
    shown: [/"input_tokens":(\d+)(?![\s\S]*"input_tokens")/, /"output_tokens":(\d+)(?![\s\S]*"output_tokens")/],
  },
  chat: {
    end: /\[DONE\]/,
    length: /"finish_reason":"length"[\s\S]*\[DONE\]/,
    shown: [/"prompt_tokens":(\d+)/, /"completion_tokens":(\d+)/],
  },
  responses: {
    end: /response\.completed/,
    length: /response\.incomplete[\s\S]*"reason":"max_output_tokens"/,
    shown: [/"input_tokens":(\d+)/, /"output_tokens":(\d+)/],
  },
  generate: {
    end: /"finishReason":"STOP"/,
    length: /"finishReason":"MAX_TOKENS"/,
    shown: [/"promptTokenCount":(\d+)/, /"candidatesTokenCount":(\d+)/],
  },
}

/** The tokens of input and output that the client was told. */
export const shown = (protocol: Four, { text }: Client): number[] =>
  SEEN[protocol].shown.map(pattern => Number(pattern.exec(text)?.[1] ?? Number.NaN))
