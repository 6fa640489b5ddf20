/** The requests and answers of the protocols in the chaos run. The number of a request decides what it costs. */
import type { Talking } from '../../test/support/talking.ts'

export const MODEL = 'storm-1'
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
  path: (stream: boolean) => string
  headers: (key: string) => Record<string, string>
  ask: (text: string, stream: boolean) => object
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

export const SPEECH: Record<Talking, Speech> = {
  messages: {
    path: () => '/v1/messages',
    headers: key => ({ 'x-api-key': key }),
    ask: (text, stream) => ({ model: MODEL, max_tokens: 1000, stream, messages: [{ role: 'user', content: text }] }),
    whole: n => ({ id: 'msg_1', type: 'message', content: [{ type: 'text', text: 'Hello' }], usage: usage(n) }),
    stream: n => [
      event('message_start', { message: { id: 'msg_1', usage: { input_tokens: INPUT, output_tokens: 1 } } }),
      ...many(event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Hello' } })),
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: usage(n) }) + event('message_stop', {}),
    ],
    last: 'event: message_stop',
  },
  chat: {
    path: () => '/v1/chat/completions',
    headers: bearer,
    ask: (text, stream) => ({ model: MODEL, max_tokens: 1000, stream, messages: [{ role: 'user', content: text }] }),
    whole: n => ({ choices: [{ message: { content: 'Hello' } }], usage: chatUsage(n) }),
    stream: n => [
      ...many(data({ choices: [{ delta: { content: 'Hello' } }] })),
      `${data({ choices: [], usage: chatUsage(n) })}data: [DONE]\n\n`,
    ],
    last: 'data: [DONE]',
  },
  responses: {
    path: () => '/v1/responses',
    headers: bearer,
    ask: (input, stream) => ({ model: MODEL, max_output_tokens: 1000, stream, input }),
    whole: n => ({ object: 'response', status: 'completed', output: [], usage: usage(n) }),
    stream: n => [
      event('response.created', { response: {} }),
      ...many(event('response.output_text.delta', { delta: 'Hello' })),
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
    path: stream => `/v1beta/models/${MODEL}:${stream ? 'streamGenerateContent?alt=sse' : 'generateContent'}`,
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
  const protocol = PROTOCOLS.find(p => SPEECH[p].path(false) === path) ?? 'chat'
  return { protocol, stream: body.includes('"stream":true') }
}
