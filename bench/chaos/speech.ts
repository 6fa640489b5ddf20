/** The requests and answers of the protocols in the chaos run. The number of a request decides what it costs. */
import type { Talking } from '../../test/support/talking.ts'

export const MODEL = 'storm-1'
/** Models that only upstreams of one protocol have, so that clients of the others are answered by translation. */
export const SOLE = ['messages', 'chat', 'responses', 'generate'] as const
export const soleModel = (protocol: Talking): string => `storm-${protocol}`
export const IMAGES = 'storm-image'
export const INPUT = 50
export const outputOf = (n: number): number => 1 + (n % 997)
/** The charge in micro-CNY: 2 CNY per million input tokens, 8 per million output tokens, 0.01 per image. */
export const chargeOf = (protocol: Talking, n: number): number =>
  protocol === 'images' ? 10_000 : INPUT * 2 + outputOf(n) * 8

/** The text in the prompt that tells the upstream the number of the request. */
export const tagOf = (n: number): string => `storm ${n} storm`
export const numberIn = (body: Buffer): number => Number(/storm (\d+) storm/.exec(body.toString('latin1'))?.[1] ?? -1)

interface Speech {
  path: (stream: boolean, model: string) => string
  headers: (key: string) => Record<string, string>
  ask: (text: string, stream: boolean, model: string) => object
  whole: (n: number) => object
  /** The pieces of the stream, each of one or more events. */
  stream: (n: number) => string[]
  /** The text that only a complete stream contains; null = the protocol never streams. */
  last: string | null
}

const event = (type: string, rest: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...rest })}\n\n`
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const bearer = (key: string) => ({ authorization: `Bearer ${key}` })
const many = (text: string): string[] => Array.from({ length: 8 }, () => text)

const usage = (n: number) => ({ input_tokens: INPUT, output_tokens: outputOf(n) })
const chatUsage = (n: number) => ({ prompt_tokens: INPUT, completion_tokens: outputOf(n) })
const geminiUsage = (n: number) => ({ promptTokenCount: INPUT, candidatesTokenCount: outputOf(n) })

const said = (text: string): object => ({
  id: 'msg',
  type: 'message',
  role: 'assistant',
  content: [{ type: 'output_text', text, annotations: [] }],
})

export const SPEECH: Record<Talking, Speech> = {
  messages: {
    path: () => '/v1/messages',
    headers: key => ({ 'x-api-key': key }),
    ask: (text, stream, model) => ({ model, max_tokens: 1000, stream, messages: [{ role: 'user', content: text }] }),
    whole: n => ({
      id: 'msg_1',
      type: 'message',
      role: 'assistant',
      content: [{ type: 'text', text: 'Hello' }],
      stop_reason: 'end_turn',
      usage: usage(n),
    }),
    stream: n => [
      event('message_start', { message: { id: 'msg_1', usage: { input_tokens: INPUT, output_tokens: 1 } } }),
      event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
      ...many(event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello' } })),
      event('content_block_stop', { index: 0 }),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: usage(n) }) + event('message_stop', {}),
    ],
    last: 'event: message_stop',
  },
  chat: {
    path: () => '/v1/chat/completions',
    headers: bearer,
    ask: (text, stream, model) => ({ model, max_tokens: 1000, stream, messages: [{ role: 'user', content: text }] }),
    whole: n => ({ choices: [{ message: { content: 'Hello' }, finish_reason: 'stop' }], usage: chatUsage(n) }),
    stream: n => [
      ...many(data({ choices: [{ delta: { content: 'Hello' } }] })),
      data({ choices: [{ delta: {}, finish_reason: 'stop' }] }),
      `${data({ choices: [], usage: chatUsage(n) })}data: [DONE]\n\n`,
    ],
    last: 'data: [DONE]',
  },
  responses: {
    path: () => '/v1/responses',
    headers: bearer,
    ask: (input, stream, model) => ({ model, max_output_tokens: 1000, stream, input }),
    whole: n => ({ object: 'response', status: 'completed', output: [said('Hello')], usage: usage(n) }),
    stream: n => [
      event('response.created', { response: {} }),
      event('response.output_item.added', { output_index: 0, item: { ...said(''), content: [] } }),
      ...many(
        event('response.output_text.delta', { output_index: 0, content_index: 0, item_id: 'msg', delta: 'Hello' }),
      ),
      event('response.output_item.done', { output_index: 0, item: said('Hello'.repeat(8)) }),
      event('response.completed', { response: { status: 'completed', usage: usage(n) } }),
    ],
    last: 'event: response.completed',
  },
  images: {
    path: () => '/v1/images/generations',
    headers: bearer,
    ask: prompt => ({ model: IMAGES, prompt }),
    whole: () => ({ created: 1, data: [{ url: 'https://images.example/1.png' }] }),
    stream: () => [],
    last: null,
  },
  generate: {
    path: (stream, model) => `/v1beta/models/${model}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
    headers: key => ({ 'x-gamma-api-key': key }),
    ask: text => ({ contents: [{ parts: [{ text }] }], generationConfig: { maxOutputTokens: 1000 } }),
    whole: n => ({
      candidates: [{ content: { parts: [{ text: 'Hello' }] }, finishReason: 'STOP' }],
      usageMetadata: geminiUsage(n),
    }),
    stream: n => [
      ...many(data({ candidates: [{ content: { parts: [{ text: 'Hello' }] } }] })),
      data({ candidates: [{ finishReason: 'STOP' }], usageMetadata: geminiUsage(n) }),
    ],
    last: '"finishReason":"STOP"',
  },
}

export const PROTOCOLS = Object.keys(SPEECH) as Talking[]

/** The protocol of a path, and whether the answer is a stream. */
export function readPath(path: string, body: Buffer): { protocol: Talking; stream: boolean } {
  if (path.includes('/models/')) return { protocol: 'generate', stream: path.includes('stream') }
  const protocol = PROTOCOLS.find(p => SPEECH[p].path(false, '') === path) ?? 'chat'
  return { protocol, stream: body.includes('"stream":true') }
}
