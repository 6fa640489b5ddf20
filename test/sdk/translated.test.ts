/** The official SDKs and the AI SDK against models that speak the other protocol: what they get, what is charged, what upstreams were asked. */
import { createAnthropic } from '@ai-sdk/anthropic'
import { createOpenAI } from '@ai-sdk/openai'
import Anthropic, * as anthropicErrors from '@anthropic-ai/sdk'
import { generateText, jsonSchema, streamText, type ToolSet, tool } from 'ai'
import OpenAI, * as openaiErrors from 'openai'
import t, { type Test } from 'tap'
import type { Served } from '../../tools/simulator/books.ts'
import { outputOf } from '../../lib/protocols/words/usage.ts'
import { rowCounts } from '../../lib/terms/usage-row.ts'
import { KEY, stallAfter, testCatalog } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import { isUsual, modelFor, withBusy } from './support/busy.ts'

// it does not know these models' limits, and would say so each time
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

/** Of a model that only chat upstreams have, and one that only messages upstreams have. */
const ON_CHAT = 'beta-4.7'
const ON_MESSAGES = 'alpha-sonnet-5-5'
const gateway = await openGateway({
  catalog: upstream => ({
    ...testCatalog(upstream),
    models: (testCatalog(upstream)['models'] as { name: string }[]).flatMap(model =>
      withBusy(model.name).map(name => ({ ...model, name })),
    ),
    channels: [
      { name: 'c', base_url: upstream, protocols: ['chat'], key: 'up', groups: ['default'], models: withBusy(ON_CHAT) },
      {
        name: 'm',
        base_url: upstream,
        protocols: ['messages'],
        key: 'up',
        groups: ['default'],
        models: withBusy(ON_MESSAGES),
      },
    ],
  }),
})
t.teardown(() => gateway.stop())
const openai = new OpenAI({ baseURL: `${gateway.main}/v1`, apiKey: KEY, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.main, apiKey: KEY, maxRetries: 0 })

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const WEATHER = { name: 'weather', description: 'The weather of a city', input_schema: SCHEMA }
const FUNCTION = { type: 'function' as const, function: { name: 'weather', parameters: SCHEMA } }

type Content = Anthropic.MessageParam['content']
const message = (content: Content, more: object = {}) => ({
  model: modelFor(ON_CHAT, content),
  max_tokens: 2000,
  messages: [{ role: 'user' as const, content }],
  ...more,
})
const chat = (content: string | OpenAI.ChatCompletionContentPart[], more: object = {}) => ({
  model: modelFor(ON_MESSAGES, content),
  messages: [{ role: 'user' as const, content }],
  ...more,
})
const chatStream = (content: string, more: object = {}) =>
  openai.chat.completions.stream({ ...chat(content, more), stream_options: { include_usage: true } })

/** The last request that the simulator served, when its row is in the books: both say the same. */
async function same(t: Test, protocol: string): Promise<Served> {
  const served = gateway.simulator.stats.served.at(-1) as Served
  const row = await gateway.usageRow({ protocol, input: served.usage?.input, output: outputOf(served.usage!) })
  const { images: _, ...counts } = rowCounts(served.usage!)
  t.match(row, { ...counts, via: protocol === 'chat' ? 'messages' : 'chat', basis: 'reported', end: 'completed' })
  return served
}

t.test('messages by chat: whole and streamed', async t => {
  const whole = await anthropic.messages.create(message('Hello! [[sim tokens=21]]'))
  t.match(whole, {
    type: 'message',
    model: ON_CHAT,
    stop_reason: 'end_turn',
    content: [{ type: 'text', text: /quick brown fox/ }],
  })
  const first = await same(t, 'messages')
  t.match(whole.usage, { input_tokens: first.usage?.input, output_tokens: 21 })
  const final = await anthropic.messages.stream(message('Hello! [[sim tokens=22]]')).finalMessage()
  t.match(final, { stop_reason: 'end_turn', content: [{ type: 'text', text: /quick brown fox/ }] })
  const second = await same(t, 'messages')
  t.match(final.usage, { input_tokens: second.usage?.input, output_tokens: 22 })
  const cut = await anthropic.messages.create(message('Hello!', { max_tokens: 5 }))
  t.equal(cut.stop_reason, 'max_tokens')
  const cached = await anthropic.messages.create(message('[[sim input=900 cached=300 tokens=23]]'))
  t.match(cached.usage, { input_tokens: 900, cache_read_input_tokens: 300, output_tokens: 23 })
  await same(t, 'messages')
})

t.test('chat by messages: whole and streamed', async t => {
  const whole = await openai.chat.completions.create(chat('Hello! [[sim tokens=31]]'))
  t.match(whole, { model: ON_MESSAGES, choices: [{ finish_reason: 'stop', message: { content: /quick brown fox/ } }] })
  const first = await same(t, 'chat')
  t.match(whole.usage, { prompt_tokens: first.usage?.input, completion_tokens: 31 })
  const final = await chatStream('Hello! [[sim tokens=32]]').finalChatCompletion()
  t.match(final.choices, [{ finish_reason: 'stop', message: { content: /quick brown fox/ } }])
  await same(t, 'chat')
  t.equal(final.usage?.completion_tokens, 32)
  const plain = await openai.chat.completions.create({ ...chat('Hello!'), stream: true })
  for await (const chunk of plain) t.notOk('usage' in chunk && chunk.usage, 'no usage is told that was not asked for')
  const cut = await openai.chat.completions.create(chat('Hello!', { max_tokens: 5 }))
  t.equal(cut.choices[0]?.finish_reason, 'length')
  const cached = await openai.chat.completions.create(chat('[[sim input=900 cached=300 tokens=33]]'))
  t.match(cached.usage, { completion_tokens: 33, prompt_tokens_details: { cached_tokens: 300 } })
  await same(t, 'chat')
})

t.test('tools, two rounds, parallel calls in the history', async t => {
  const called = await anthropic.messages.create(message('use tool', { tools: [WEATHER] }))
  const [use] = called.content
  t.match(called, {
    stop_reason: 'tool_use',
    content: [{ type: 'tool_use', name: 'weather', input: { city: 'Paris' } }],
  })
  const streamed = await anthropic.messages.stream(message('use tool', { tools: [WEATHER] })).finalMessage()
  t.match(streamed, { stop_reason: 'tool_use', content: [{ type: 'tool_use', input: { city: 'Paris' } }] })
  const another = { ...(use as Anthropic.ToolUseBlock), id: 'toolu_2' }
  const results = [use as Anthropic.ToolUseBlock, another].map(({ id }) => ({
    type: 'tool_result' as const,
    tool_use_id: id,
    content: [{ type: 'text' as const, text: 'sunny' }],
  }))
  const second = await anthropic.messages.create({
    ...message(''),
    tools: [WEATHER],
    messages: [
      { role: 'user', content: 'use tool' },
      { role: 'assistant', content: [use as Anthropic.ToolUseBlock, another] },
      { role: 'user', content: results },
    ],
  })
  t.match(second.content[0], { type: 'text' })

  const asked = await openai.chat.completions.create(chat('use tool', { tools: [FUNCTION] }))
  const calls = asked.choices[0]?.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
  t.match(asked.choices, [
    { finish_reason: 'tool_calls', message: { tool_calls: [{ function: { name: 'weather' } }] } },
  ])
  t.same(JSON.parse(calls[0]?.function.arguments ?? ''), { city: 'Paris' })
  const stream = await chatStream('use tool', { tools: [FUNCTION] }).finalChatCompletion()
  t.match(stream.choices, [
    { finish_reason: 'tool_calls', message: { tool_calls: [{ function: { name: 'weather' } }] } },
  ])
  const both = [...calls, { ...calls[0]!, id: 'call_2' }]
  const next = await openai.chat.completions.create({
    model: ON_MESSAGES,
    tools: [FUNCTION],
    messages: [
      { role: 'user', content: 'use tool' },
      { role: 'assistant', content: null, tool_calls: both },
      ...both.map(({ id }) => ({ role: 'tool' as const, tool_call_id: id, content: 'sunny' })),
    ],
  })
  t.ok(next.choices[0]?.message.content)
})

t.test('images, structured output, thinking', async t => {
  const source = { type: 'base64' as const, media_type: 'image/png' as const, data: PNG }
  const seen = await anthropic.messages.create(
    message([
      { type: 'image', source },
      { type: 'text', text: 'What is it?' },
    ]),
  )
  t.match(seen.content[0], { type: 'text' })
  const looked = await openai.chat.completions.create(
    chat([
      { type: 'image_url', image_url: { url: `data:image/png;base64,${PNG}` } },
      { type: 'text', text: 'What is it?' },
    ]),
  )
  t.ok(looked.choices[0]?.message.content)
  const format = { type: 'json_schema' as const, json_schema: { name: 'city', schema: SCHEMA } }
  t.ok((await openai.chat.completions.create(chat('A city', { response_format: format }))).choices[0]?.message.content)
  const config = { output_config: { format: { type: 'json_schema', schema: SCHEMA } } }
  t.match((await anthropic.messages.create(message('A city', config))).content[0], { type: 'text' })
  const thought = await anthropic.messages
    .stream(
      message('[[sim thinking=40 tokens=7]]', { thinking: { type: 'adaptive' }, output_config: { effort: 'low' } }),
    )
    .finalMessage()
  t.match(thought.content.at(-1), { type: 'text' })
  t.equal(thought.usage.output_tokens, 47)
  const reasoned = await openai.chat.completions.create(
    chat('[[sim thinking=40 tokens=7]]', { reasoning_effort: 'low' }),
  )
  t.match(reasoned.choices[0], { finish_reason: 'stop' })
})

t.test('errors have their status, in the words of the client', async t => {
  const rows: [number, number, string, string, string][] = [
    [400, 400, 'BadRequestError', 'invalid_request_error', 'invalid_request_error'],
    [404, 404, 'NotFoundError', 'not_found_error', 'invalid_request_error'],
    [429, 429, 'RateLimitError', 'rate_limit_error', 'rate_limit_error'],
    [529, 529, 'InternalServerError', 'overloaded_error', 'server_error'],
  ]
  for (const [sent, status, name, ofMessages, ofChat] of rows) {
    const a = await anthropic.messages.create(message(`[[sim error=${sent}]]`)).catch((error: unknown) => error)
    t.type(a, Reflect.get(anthropicErrors, name), `messages ${sent}`)
    t.match(a, { status, error: { type: 'error', error: { type: ofMessages } } }, `messages ${sent}`)
    const b = await openai.chat.completions.create(chat(`[[sim error=${sent}]]`)).catch((error: unknown) => error)
    t.type(b, Reflect.get(openaiErrors, name), `chat ${sent}`)
    t.match(b, { status: sent === 529 ? 503 : status, error: { type: ofChat } }, `chat ${sent}`)
  }
})

t.test('a stream that breaks off throws, and never ends well', async t => {
  for (const content of ['[[sim tokens=200 cut=6]]', '[[sim end_early=6]]', '[[sim event_error=6]]']) {
    const messages = anthropic.messages.stream(message(content))
    await t.rejects(messages.finalMessage(), { message: /request id: \w{21}/ }, `messages ${content}`)
    const stream = await openai.chat.completions.create({ ...chat(content), stream: true })
    const drain = async () => {
      for await (const _ of stream);
    }
    await t.rejects(drain(), { message: /request id: \w{21}/ }, `chat ${content}`)
  }
})

t.test('an abort is charged what the upstream reports', async t => {
  const stream = anthropic.messages.stream(message(`[[sim tokens=61 ${stallAfter(6)}]]`))
  stream.on('text', () => stream.abort())
  await t.rejects(stream.finalMessage())
  await gateway.goOn()
  t.match(await gateway.usageRow({ protocol: 'messages', end: 'client_gone' }), { output: 61, via: 'chat' })
  const chunks = await openai.chat.completions.create({ ...chat(`[[sim tokens=62 ${stallAfter(6)}]]`), stream: true })
  for await (const _ of chunks) break
  await gateway.goOn()
  t.match(await gateway.usageRow({ protocol: 'chat', end: 'client_gone' }), { output: 62, via: 'messages' })
})

const input = jsonSchema({ type: 'object', properties: { city: { type: 'string' } } })
// its own types do not fit exactOptionalPropertyTypes
const tools = { weather: tool({ inputSchema: input }) } as unknown as ToolSet
const MODELS = {
  chat: createOpenAI({ baseURL: `${gateway.main}/v1`, apiKey: KEY }).chat(ON_MESSAGES),
  messages: createAnthropic({ baseURL: `${gateway.main}/v1`, apiKey: KEY })(ON_CHAT),
}
for (const [name, model] of Object.entries(MODELS))
  t.test(`the AI SDK, ${name}: whole, streamed, tools`, async t => {
    const whole = await generateText({ model, prompt: 'Hello!', maxRetries: 0 })
    t.match(whole.text, /quick brown fox/)
    t.equal(whole.usage.outputTokens, 24)
    const stream = streamText({ model, prompt: 'Hello!', maxRetries: 0 })
    t.equal(await stream.text, whole.text)
    t.equal((await stream.usage).outputTokens, 24)
    const called = await generateText({ model, prompt: 'use tool', tools, maxRetries: 0 })
    t.match(called.toolCalls[0], { toolName: 'weather', input: { city: 'Paris' } })
    const calling = streamText({ model, prompt: 'use tool', tools, maxRetries: 0 })
    t.match((await calling.toolCalls)[0], { toolName: 'weather', input: { city: 'Paris' } })
    t.equal(await calling.finishReason, 'tool-calls')
  })

t.test('counting is done by upstreams of the protocol only; the list says what is translated', async t => {
  const before = gateway.simulator.stats.requests
  const counted = await anthropic.messages.countTokens({ model: ON_CHAT, messages: message('Hello!').messages })
  t.ok(counted.input_tokens > 0)
  t.equal(gateway.simulator.stats.requests, before)
  const list = await anthropic.models.list()
  t.match(list.data.filter(isUsual), [
    {
      id: ON_MESSAGES,
      protocols: ['messages', 'chat', 'responses', 'generate'],
      translated: ['chat', 'responses', 'generate'],
    },
    {
      id: ON_CHAT,
      protocols: ['chat', 'messages', 'responses', 'generate'],
      translated: ['messages', 'responses', 'generate'],
    },
  ])
})
