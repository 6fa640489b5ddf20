/** The least that each protocol's clients and upstreams say. All report 100 tokens in and 10 out, 280 micro-CNY, or one image. */

import type { Talking } from '../../support/talking.ts'
import type { Ask } from './client.ts'
import { KEY, MODEL } from './gateway.ts'
import type { Script } from './upstream.ts'

const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`

interface Speech {
  ask: Ask
  /** Text, and no usage. */
  first: string
  /** Everything up to the end, with usage. */
  rest: string
  error: string
  keepAlive: string
}

const bearer = { authorization: `Bearer ${KEY}` }
const body = { model: MODEL, stream: true, stream_options: { include_usage: true } }

export const SPEECH: Record<Talking, Speech> = {
  messages: {
    ask: { path: '/v1/messages', headers: { 'x-api-key': KEY }, body: { ...body, max_tokens: 100 } },
    first: event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Good morning to you' } }),
    rest:
      event('message_delta', { delta: { stop_reason: 'end_turn' }, usage: { input_tokens: 100, output_tokens: 10 } }) +
      event('message_stop', {}),
    error: event('error', { error: { type: 'overloaded_error', message: 'no' } }),
    keepAlive: 'event: ping\ndata: {"type":"ping"}\n\n',
  },
  chat: {
    ask: { path: '/v1/chat/completions', headers: bearer, body },
    first: data({ id: 'c', choices: [{ delta: { content: 'Good morning to you' } }] }),
    rest: `${data({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } })}data: [DONE]\n\n`,
    error: data({ error: { message: 'no' } }),
    keepAlive: '\n',
  },
  responses: {
    ask: { path: '/v1/responses', headers: bearer, body },
    first: event('response.output_text.delta', { delta: 'Good morning to you' }),
    rest: event('response.completed', { response: { usage: { input_tokens: 100, output_tokens: 10 } } }),
    error: event('error', { message: 'no' }),
    keepAlive: '\n',
  },
  images: {
    ask: { path: '/v1/images/generations', headers: bearer, body: { ...body, prompt: 'a cat' } },
    first: event('image_generation.partial_image', { b64_json: 'AAAA' }),
    rest: event('image_generation.completed', {
      b64_json: 'AAAA',
      usage: { input_tokens: 100, output_tokens: 10, output_tokens_details: { image_tokens: 10 } },
    }),
    error: event('error', { error: { message: 'no' } }),
    keepAlive: '\n',
  },
  generate: {
    ask: {
      path: `/v1beta/models/${MODEL}:streamGenerateContent?alt=sse`,
      headers: { 'x-gamma-api-key': KEY },
      body: { contents: [] },
    },
    first: data({ candidates: [{ content: { parts: [{ text: 'Good morning to you' }] } }] }),
    rest: data({
      candidates: [{ finishReason: 'STOP' }],
      usageMetadata: { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 },
    }),
    error: data({ error: { code: 500, message: 'no' } }),
    keepAlive: '\n',
  },
}

/** A chat request for one document; `more` stands in its body. */
export const document = (more: object = {}, headers: Record<string, string> = {}): Ask => ({
  path: '/v1/chat/completions',
  headers: { ...bearer, ...headers },
  body: { model: MODEL, max_tokens: 100, ...more },
})

/** Answers a chat request with this usage: 2 micro-CNY a token in, 8 out. */
export const answers =
  (input: number, output: number): Script =>
  call =>
    call.whole(200, {
      choices: [{ message: { content: 'hello' } }],
      usage: { prompt_tokens: input, completion_tokens: output },
    })

export const says =
  (status: number, headers: Record<string, string> = {}): Script =>
  call =>
    call.whole(status, { error: { message: `upstream ${status}` } }, headers)
