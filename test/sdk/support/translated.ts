/**
 * A gateway with a model for each of the four protocols, which upstreams have in that protocol only, and what clients of messages and of
 * chat get of a model that is reached through responses or generate-content.
 */
import Anthropic from '@anthropic-ai/sdk'
import OpenAI from 'openai'
import type { Test } from 'tap'
import { outputOf } from '../../../lib/protocols/words/usage.ts'
import type { Served } from '../../../tools/simulator/books.ts'
import { rowCounts } from '../../../lib/terms/usage-row.ts'
import { KEY, stallAfter, testCatalog } from '../../support/gateway.ts'
import { openGateway } from '../../support/open-gateway.ts'
import { modelFor, withBusy } from './busy.ts'

/** Models that upstreams of one protocol have. */
export const AT = {
  chat: 'beta-4.7',
  messages: 'alpha-sonnet-5-5',
  responses: 'delta-2',
  generate: 'gamma-3.8-flash',
} as const
export type Via = keyof typeof AT

export const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
export const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const WEATHER = { name: 'weather', description: 'The weather of a city', input_schema: SCHEMA }
const OF_CHAT = { type: 'function' as const, function: { name: 'weather', parameters: SCHEMA } }

export type Translated = Awaited<ReturnType<typeof openTranslated>>

export async function openTranslated(t: Pick<Test, 'teardown'>) {
  const gateway = await openGateway({
    catalog: upstream => ({
      ...testCatalog(upstream),
      models: Object.values(AT)
        .flatMap(withBusy)
        .map(name => ({ name, price: { input: 2, output: 8, cache_read: 0.5 } })),
      channels: Object.entries(AT).map(([protocol, model]) => ({
        name: protocol,
        base_url: upstream,
        protocols: [protocol],
        key: 'up',
        groups: ['default'],
        models: withBusy(model),
      })),
    }),
  })
  t.teardown(() => gateway.stop())
  /** The last request that the simulator served, when its row is in the books: both say the same. */
  async function same(t: Test, protocol: Via, via: Via): Promise<Served> {
    const served = gateway.simulator.stats.served.at(-1) as Served
    const row = await gateway.usageRow({ protocol, via, input: served.usage?.input, output: outputOf(served.usage!) })
    const { images: _, ...counts } = rowCounts(served.usage!)
    t.match(row, { ...counts, basis: 'reported', end: 'completed' })
    return served
  }
  const openai = new OpenAI({ baseURL: `${gateway.main}/v1`, apiKey: KEY, maxRetries: 0 })
  const anthropic = new Anthropic({ baseURL: gateway.main, apiKey: KEY, maxRetries: 0 })
  return { gateway, openai, anthropic, same }
}

/** The least maximum that the upstream's protocol takes. */
const LEAST = { responses: 16, generate: 5 } as const
/** After how many events a stream is still under way: upstreams of generate-content send few, each with many tokens. */
const UNDER_WAY = { responses: 6, generate: 2 } as const
type Other = keyof typeof LEAST
const BROKEN = ['cut=6', 'end_early=6', 'event_error=6'].map(how => `[[sim tokens=200 ${how}]]`)

export async function messagesBy(t: Test, { gateway, anthropic, same }: Translated, via: Other): Promise<void> {
  const message = (content: string, more: object = {}) => ({
    model: modelFor(AT[via], content),
    max_tokens: 2000,
    messages: [{ role: 'user' as const, content }],
    ...more,
  })
  const whole = await anthropic.messages.create(message('Hello! [[sim tokens=81]]'))
  t.match(whole, { model: AT[via], stop_reason: 'end_turn', content: [{ type: 'text', text: /quick brown fox/ }] })
  const first = await same(t, 'messages', via)
  t.match(whole.usage, { input_tokens: first.usage?.input, output_tokens: 81 })
  const final = await anthropic.messages.stream(message('Hello! [[sim tokens=82]]')).finalMessage()
  t.match(final, { stop_reason: 'end_turn', usage: { output_tokens: 82 } })
  await same(t, 'messages', via)
  const cut = await anthropic.messages.create(message('Hello!', { max_tokens: LEAST[via] }))
  t.equal(cut.stop_reason, 'max_tokens')
  const called = await anthropic.messages.stream(message('use tool', { tools: [WEATHER] })).finalMessage()
  t.match(called, { stop_reason: 'tool_use' })
  const use = called.content.at(-1) as Anthropic.ToolUseBlock
  t.match(use, { type: 'tool_use', name: 'weather', input: { city: 'Paris' } })
  const second = await anthropic.messages.create({
    ...message(''),
    tools: [WEATHER],
    messages: [
      { role: 'user', content: 'use tool' },
      { role: 'assistant', content: called.content },
      { role: 'user', content: [{ type: 'tool_result', tool_use_id: use.id, content: 'sunny' }] },
    ],
  })
  t.match(second.content.at(-1), { type: 'text' })
  const thinking = { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }
  const thought = await anthropic.messages.stream(message('[[sim thinking=40 tokens=7]]', thinking)).finalMessage()
  t.match(thought, { stop_reason: 'end_turn', usage: { output_tokens: 47 } })
  const error = await anthropic.messages.create(message('[[sim error=429]]')).catch((error: unknown) => error)
  t.match(error, { status: 429, error: { type: 'error', error: { type: 'rate_limit_error' } } })
  for (const content of BROKEN)
    await t.rejects(anthropic.messages.stream(message(content)).finalMessage(), { message: /request id: \w{21}/ })
  const long = anthropic.messages.stream(message(`[[sim tokens=91 ${stallAfter(UNDER_WAY[via])}]]`))
  long.on('text', () => long.abort())
  await t.rejects(long.finalMessage())
  await gateway.goOn()
  const row = await gateway.usageRow({ protocol: 'messages', end: 'client_gone' })
  t.match(row, { output: 91, via })
}

export async function chatBy(t: Test, { gateway, openai, same }: Translated, via: Other): Promise<void> {
  const chat = (content: string, more: object = {}) => ({
    model: modelFor(AT[via], content),
    messages: [{ role: 'user' as const, content }],
    ...more,
  })
  const streamed = (content: string, more: object = {}) =>
    openai.chat.completions.stream({ ...chat(content, more), stream_options: { include_usage: true } })
  const whole = await openai.chat.completions.create(chat('Hello! [[sim tokens=83]]'))
  t.match(whole.choices, [{ finish_reason: 'stop', message: { content: /quick brown fox/ } }])
  const first = await same(t, 'chat', via)
  t.match(whole.usage, { prompt_tokens: first.usage?.input, completion_tokens: 83 })
  const final = await streamed('Hello! [[sim tokens=84]]').finalChatCompletion()
  t.match(final, { choices: [{ finish_reason: 'stop' }], usage: { completion_tokens: 84 } })
  await same(t, 'chat', via)
  const cut = await streamed('Hello!', { max_tokens: LEAST[via] }).finalChatCompletion()
  t.equal(cut.choices[0]?.finish_reason, 'length')
  const called = await streamed('use tool', { tools: [OF_CHAT] }).finalChatCompletion()
  const [call] = called.choices[0]!.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
  t.match(called.choices, [{ finish_reason: 'tool_calls' }])
  t.same(JSON.parse(call!.function.arguments), { city: 'Paris' })
  const next = await openai.chat.completions.create({
    model: AT[via],
    tools: [OF_CHAT],
    messages: [
      { role: 'user', content: 'use tool' },
      { role: 'assistant', content: null, tool_calls: [call!] },
      { role: 'tool', tool_call_id: call!.id, content: 'sunny' },
    ],
  })
  t.ok(next.choices[0]?.message.content)
  const error = await openai.chat.completions.create(chat('[[sim error=400]]')).catch((error: unknown) => error)
  t.match(error, { status: 400, error: { type: 'invalid_request_error' } })
  for (const content of BROKEN)
    await t.rejects(streamed(content).finalChatCompletion(), { message: /request id: \w{21}/ }, content)
  const asked = chat(`[[sim tokens=92 ${stallAfter(UNDER_WAY[via])}]]`)
  const long = await openai.chat.completions.create({ ...asked, stream: true })
  for await (const _ of long) break
  await gateway.goOn()
  const row = await gateway.usageRow({ protocol: 'chat', end: 'client_gone' })
  t.match(row, { output: 92, via })
}
