/** The accumulators of the official clients, which throw at what they do not expect, over what our writers write. */

import { createGoogleGenerativeAI } from '@ai-sdk/google'
import { createOpenAI } from '@ai-sdk/openai'
import { GoogleGenAI, type Part } from '@google/genai'
import { type ToolSet, jsonSchema, streamText, tool } from 'ai'
import { type AnswerEvent, isCut } from '../../lib/translate/events.ts'
import { seeded } from '../support/random.ts'
import { come, cuts, randomAnswer, tell, usageOf, writeAll, writerOptions } from './support/answers.ts'
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import t from 'tap'
import { chat, generate, messages, responses } from './support/protocols.ts'

const RUNS = 50

/** A `fetch` that answers with these bytes. */
const answering = (chunks: readonly Buffer[], type: string) => async (): Promise<Response> =>
  new Response(ReadableStream.from(chunks), { status: 200, headers: { 'content-type': type } })

const EVENTS = 'text/event-stream'

const anthropic = (chunks: readonly Buffer[]) =>
  new Anthropic({ apiKey: 'k', maxRetries: 0, fetch: answering(chunks, EVENTS) }).messages.stream({
    model: 'm',
    max_tokens: 9,
    messages: [{ role: 'user', content: 'x' }],
  })

const openai = (chunks: readonly Buffer[]) =>
  new OpenAI({ apiKey: 'k', maxRetries: 0, fetch: answering(chunks, EVENTS) }).chat.completions.stream({
    model: 'm',
    messages: [{ role: 'user', content: 'x' }],
    stream_options: { include_usage: true },
  })

const openaiResponses = (chunks: readonly Buffer[]) =>
  new OpenAI({ apiKey: 'k', maxRetries: 0, fetch: answering(chunks, EVENTS) }).responses.stream({
    model: 'm',
    input: 'x',
  })

/** All parts of a stream, as the client has them, and what the last chunk says. */
async function google(chunks: readonly Buffer[]) {
  const real = globalThis.fetch
  globalThis.fetch = answering(chunks, EVENTS)
  try {
    const client = new GoogleGenAI({ apiKey: 'k', httpOptions: { baseUrl: 'http://upstream.test' } })
    const parts: Part[] = []
    let last = null
    for await (const chunk of await client.models.generateContentStream({ model: 'm', contents: 'x' })) {
      parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
      last = chunk
    }
    return { parts, last, reason: last?.candidates?.[0]?.finishReason }
  } finally {
    globalThis.fetch = real
  }
}

interface Seen {
  kind: string
  text: string
}

const textsOf = (answer: readonly AnswerEvent[], ...kinds: string[]): string =>
  (come(answer).blocks as Seen[])
    .filter(({ kind }) => kinds.includes(kind))
    .map(({ text }) => text)
    .join('')

const callsOf = (answer: readonly AnswerEvent[]): unknown[] =>
  (come(answer).blocks as Seen[])
    .filter(({ kind }) => kind === 'call')
    .map(({ text }) => JSON.parse(Buffer.from(text, 'latin1').toString()))

t.test('messages: the client has what the answer is', async t => {
  const random = seeded(t)
  for (let run = 0; run < RUNS; run++) {
    const answer = randomAnswer(random)
    const bytes = writeAll(messages, answer, usageOf({ cache_read: 3 }))
    const { content, usage, stop_reason } = await anthropic(cuts(random, bytes)).finalMessage()
    const texts = content.map(block => (block.type === 'text' ? block.text : '')).join('')
    t.equal(texts, textsOf(answer, 'text', 'refusal').toWellFormed(), `run ${run}`)
    t.same(
      content.filter(block => block.type === 'tool_use').map(({ input }) => input),
      callsOf(answer),
    )
    t.match(usage, { input_tokens: 11, output_tokens: 5, cache_read_input_tokens: 3 })
    t.equal(stop_reason === 'tool_use', callsOf(answer).length > 0 && !cutShort(answer))
  }
})

t.test('chat: the client has what the answer is', async t => {
  const random = seeded(t)
  for (let run = 0; run < RUNS; run++) {
    const answer = randomAnswer(random)
    const bytes = writeAll(chat, answer, usageOf({ cache_read: 3 }))
    const stream = openai(cuts(random, bytes))
    const completion = await stream.finalChatCompletion()
    const { message, finish_reason } = completion.choices[0] as (typeof completion.choices)[0]
    t.equal(message.content ?? '', textsOf(answer, 'text').toWellFormed(), `run ${run}`)
    t.same(
      (message.tool_calls ?? []).map(call => (call.type === 'function' ? JSON.parse(call.function.arguments) : null)),
      callsOf(answer),
    )
    t.match(completion.usage, { prompt_tokens: 14, completion_tokens: 5, total_tokens: 19 })
    t.equal(finish_reason === 'tool_calls', callsOf(answer).length > 0 && !cutShort(answer))
  }
})

t.test('responses: the client has what the answer is', async t => {
  const random = seeded(t)
  for (let run = 0; run < RUNS; run++) {
    const answer = randomAnswer(random)
    const bytes = writeAll(responses, answer, usageOf({ cache_read: 3 }))
    const { output, output_text, usage, status } = await openaiResponses(cuts(random, bytes)).finalResponse()
    t.equal(output_text, textsOf(answer, 'text').toWellFormed(), `run ${run}`)
    t.same(
      output.filter(item => item.type === 'function_call').map(item => JSON.parse(item.arguments)),
      callsOf(answer),
    )
    t.match(usage, { input_tokens: 14, input_tokens_details: { cached_tokens: 3 }, output_tokens: 5, total_tokens: 19 })
    if (callsOf(answer).length > 0) t.equal(status === 'completed', !cutShort(answer))
  }
})

t.test('responses: the same for a client that reads it otherwise', async t => {
  const random = seeded(t)
  for (let run = 0; run < RUNS / 4; run++) {
    const answer = randomAnswer(random)
    const chunks = cuts(random, writeAll(responses, answer, usageOf({ cache_read: 3 })))
    const model = createOpenAI({ apiKey: 'k', fetch: answering(chunks, EVENTS) }).responses('m')
    const names = Array.from({ length: 3 }, (_, n) => [
      `tool_${n}`,
      tool({ inputSchema: jsonSchema({ type: 'object' }) }),
    ])
    const stream = streamText({ model, prompt: 'x', maxRetries: 0, tools: Object.fromEntries(names) as ToolSet })
    t.equal(await stream.text, textsOf(answer, 'text', 'refusal').toWellFormed(), `run ${run}`)
    t.equal((await stream.toolCalls).length, callsOf(answer).length)
    t.match(await stream.usage, { inputTokens: 14, outputTokens: 5 })
    if (callsOf(answer).length > 0)
      t.equal((await stream.finishReason) === 'tool-calls', !cutShort(answer), `run ${run}: why it ended`)
  }
})

t.test('generate: the client has what the answer is', async t => {
  const random = seeded(t)
  for (let run = 0; run < RUNS; run++) {
    const answer = randomAnswer(random)
    const bytes = writeAll(generate, answer, usageOf({ cache_read: 3 }))
    const { parts, last, reason } = await google(cuts(random, bytes))
    const said = parts.filter(({ thought }) => thought !== true)
    t.equal(
      said.map(({ text }) => text ?? '').join(''),
      textsOf(answer, 'text', 'refusal').toWellFormed(),
      `run ${run}`,
    )
    t.same(
      parts.filter(part => part.functionCall !== undefined).map(part => part.functionCall?.args),
      callsOf(answer),
    )
    t.match(last?.usageMetadata, { promptTokenCount: 14, cachedContentTokenCount: 3, candidatesTokenCount: 5 })
    t.equal(last?.usageMetadata?.totalTokenCount, 19)
    t.equal(reason === 'STOP', !cutShort(answer))
  }
})

t.test('generate: the same for a client that reads it otherwise', async t => {
  const random = seeded(t)
  for (let run = 0; run < RUNS / 4; run++) {
    const answer = randomAnswer(random)
    // it refuses whole events that have such a member, wherever it stands
    if (JSON.stringify(callsOf(answer)).includes('__proto__')) continue
    const chunks = cuts(random, writeAll(generate, answer, usageOf({ cache_read: 3 })))
    const model = createGoogleGenerativeAI({ apiKey: 'k', fetch: answering(chunks, EVENTS) })('m')
    const names = Array.from({ length: 3 }, (_, n) => [
      `tool_${n}`,
      tool({ inputSchema: jsonSchema({ type: 'object' }) }),
    ])
    const stream = streamText({ model, prompt: 'x', maxRetries: 0, tools: Object.fromEntries(names) as ToolSet })
    t.equal(await stream.text, textsOf(answer, 'text', 'refusal').toWellFormed(), `run ${run}`)
    t.equal((await stream.toolCalls).length, callsOf(answer).length)
    t.match(await stream.usage, { inputTokens: 14, outputTokens: 5 })
    if (callsOf(answer).length > 0)
      t.equal((await stream.finishReason) === 'tool-calls', !cutShort(answer), `run ${run}: why it ended`)
  }
})

const cutShort = (answer: readonly AnswerEvent[]): boolean =>
  answer.some(event => event.type === 'stop' && event.reason !== 'unknown' && isCut(event.reason))

const HALF: AnswerEvent[] = [
  { type: 'begin', id: 'i', model: 'm' },
  { type: 'open', index: 0, kind: 'text' },
  { type: 'delta', index: 0, text: '"Hello"' },
  { type: 'close', index: 0 },
  { type: 'open', index: 1, kind: 'call', call: { id: 'a', name: 'f', freeform: false } },
  { type: 'open', index: 2, kind: 'call', call: { id: 'b', name: 'g', freeform: false } },
  { type: 'delta', index: 2, text: '"{\\"b\\":1}"' },
  { type: 'delta', index: 1, text: '"{\\"a\\":"' },
]

t.test('a stream that ends at its length, with calls that are not whole', async t => {
  const writer = messages.answerWriter(writerOptions())
  const message = await anthropic([
    Buffer.from(tell(writer, HALF) + writer.stopByLength(usageOf()), 'latin1'),
  ]).finalMessage()
  t.equal(message.stop_reason, 'max_tokens')
  t.equal(message.content.length, 3)
  t.ok(writer.counted > 0)
  const other = chat.answerWriter(writerOptions())
  const text = tell(other, HALF) + other.stopByLength(usageOf())
  t.match(text, /"finish_reason":"length"[\s\S]*data: \[DONE\]\n\n$/)
  const third = responses.answerWriter(writerOptions())
  const { status, incomplete_details, output } = await openaiResponses([
    Buffer.from(tell(third, HALF) + third.stopByLength(usageOf()), 'latin1'),
  ]).finalResponse()
  t.equal(status, 'incomplete')
  t.same(incomplete_details, { reason: 'max_output_tokens' })
  t.match(output, [{ type: 'message' }, { status: 'incomplete', arguments: '{"a":' }, { arguments: '{"b":1}' }])
  t.ok(third.counted > 0)
  const fourth = generate.answerWriter(writerOptions())
  const { parts, reason } = await google([Buffer.from(tell(fourth, HALF) + fourth.stopByLength(usageOf()), 'latin1')])
  t.equal(reason, 'MAX_TOKENS')
  t.match(parts, [{ text: 'Hello' }, { functionCall: { name: 'g', args: { b: 1 } } }, { text: '' }])
  t.equal(parts.length, 3, 'what is half is not told')
  t.ok(fourth.counted > 0)
})

t.test('a stream that breaks off is an error to the client, and not an answer', async t => {
  const failure = { kind: 'overloaded', status: 529, message: 'Überlast' } as const
  for (const [name, protocol] of Object.entries({ messages, chat, responses, generate })) {
    const writer = protocol.answerWriter(writerOptions())
    const bytes = Buffer.from(tell(writer, HALF) + writer.breakOff(failure), 'latin1')
    t.notMatch(
      bytes.toString(),
      /message_stop|\[DONE\]|finish_?[rR]eason":"|response.completed/,
      `${name}: nothing that says it is whole`,
    )
    if (name === 'messages') await t.rejects(anthropic([bytes]).finalMessage(), /Überlast/)
    else if (name === 'chat') await t.rejects(openai([bytes]).finalChatCompletion(), /Überlast/)
    else if (name === 'generate') await t.rejects(google([bytes]), /Überlast/)
    else {
      await t.rejects(openaiResponses([bytes]).finalResponse(), /Überlast/)
      t.equal(new Set(bytes.toString().match(/"id":"resp_\w+"/g)).size, 1, 'one id in all events')
      t.match(
        bytes.toString(),
        /event: response.failed\n.*"code":"server_is_overloaded"/,
        'for those who read only this',
      )
    }
  }
})
