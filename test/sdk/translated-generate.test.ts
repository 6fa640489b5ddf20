/** Clients of generate-content at models of the other protocols, and the reverse: what they get, what is charged, what upstreams were asked. */
import { createGoogleGenerativeAI } from '@ai-sdk/google'
import Anthropic from '@anthropic-ai/sdk'
import { ApiError, type Content, type GenerateContentConfig, GoogleGenAI, type Part } from '@google/genai'
import { generateText, jsonSchema, streamText, type ToolSet, tool } from 'ai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import { outputOf } from '../../lib/protocols/usage.ts'
import type { Served } from '../../lib/simulator/books.ts'
import { rowCounts } from '../../lib/terms/records.ts'
import { KEY, stallAfter, startGateway, testCatalog } from '../support/gateway.ts'

// it does not know these models' limits, and would say so each time
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

/** Models that upstreams of one protocol have. */
const AT = {
  chat: 'beta-4.7',
  messages: 'alpha-sonnet-5-5',
  generate: 'gamma-3.8-flash',
  responses: 'delta-2',
} as const
type Via = keyof typeof AT
const gateway = await startGateway({
  catalog: upstream => ({
    ...testCatalog(upstream),
    models: Object.values(AT).map(name => ({ name, price: { input: 2, output: 8, cache_read: 0.5 } })),
    channels: Object.entries(AT).map(([protocol, model]) => ({
      name: protocol,
      base_url: upstream,
      protocols: [protocol],
      key: 'up',
      groups: ['default'],
      models: [model],
    })),
  }),
})
t.teardown(() => gateway.stop())
const openai = new OpenAI({ baseURL: `${gateway.main}/v1`, apiKey: KEY, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.main, apiKey: KEY, maxRetries: 0 })
const google = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.main } })

const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='
const SCHEMA = { type: 'object' as const, properties: { city: { type: 'string' } }, required: ['city'] }
const WEATHER = { name: 'weather', description: 'The weather of a city', input_schema: SCHEMA }
const OF_CHAT = { type: 'function' as const, function: { name: 'weather', parameters: SCHEMA } }
const TOOLS = { tools: [{ functionDeclarations: [{ name: 'weather', parametersJsonSchema: SCHEMA }] }] }

const create = (via: Via, contents: string | Content[], config: GenerateContentConfig = {}) =>
  google.models.generateContent({ model: AT[via], contents, config })

/** All parts of a streamed answer, and its last chunk. */
async function stream(via: Via, contents: string | Content[], config: GenerateContentConfig = {}) {
  const parts: Part[] = []
  let last = null
  for await (const chunk of await google.models.generateContentStream({ model: AT[via], contents, config })) {
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []))
    last = chunk
  }
  const text = parts.map(part => (part.thought === true ? '' : (part.text ?? ''))).join('')
  return { parts, text, usage: last?.usageMetadata, reason: last?.candidates?.[0]?.finishReason }
}

const message = (content: string, more: object = {}) => ({
  model: AT.generate,
  max_tokens: 2000,
  messages: [{ role: 'user' as const, content }],
  ...more,
})
const chat = (content: string, more: object = {}) => ({
  model: AT.generate,
  messages: [{ role: 'user' as const, content }],
  ...more,
})

/** The last request that the simulator served, when its row is in the books: both say the same. */
async function same(t: Test, protocol: Via, via: Via): Promise<Served> {
  const served = gateway.simulator.stats.served.at(-1) as Served
  const row = await gateway.usageRow({ protocol, via, input: served.usage?.input, output: outputOf(served.usage!) })
  const { images: _, ...counts } = rowCounts(served.usage!)
  t.match(row, { ...counts, basis: 'reported', end: 'completed' })
  return served
}

let tokens = 20

for (const via of ['chat', 'messages', 'responses'] as const) {
  t.test(`generate by ${via}: whole and streamed, and the row is what was shown`, async t => {
    const whole = await create(via, `Hello! [[sim tokens=${++tokens}]]`, { systemInstruction: 'You are' })
    t.match(whole.text, /quick brown fox/)
    t.match(whole, { modelVersion: AT[via], candidates: [{ finishReason: 'STOP' }] })
    const first = await same(t, 'generate', via)
    t.match(whole.usageMetadata, { promptTokenCount: first.usage?.input, candidatesTokenCount: tokens })
    const final = await stream(via, `Hello! [[sim tokens=${++tokens}]]`)
    t.match(final.text, /quick brown fox/)
    t.equal(final.reason, 'STOP')
    const second = await same(t, 'generate', via)
    t.match(final.usage, { promptTokenCount: second.usage?.input, candidatesTokenCount: tokens })
    t.equal((await stream(via, 'Hello!', { maxOutputTokens: 5 })).reason, 'MAX_TOKENS')
    const cached = await create(via, `[[sim input=900 cached=300 tokens=${++tokens}]]`)
    const prompt = (await same(t, 'generate', via)).usage!
    t.match(cached.usageMetadata, {
      promptTokenCount: prompt.input + prompt.cache_read,
      cachedContentTokenCount: 300,
      candidatesTokenCount: tokens,
      totalTokenCount: prompt.input + prompt.cache_read + tokens,
    })
  })

  t.test(`generate by ${via}: two rounds of tools, with everything that the answer gave`, async t => {
    const called = await create(via, 'use tool', TOOLS)
    const [call] = called.functionCalls ?? []
    t.match(call, { name: 'weather', args: { city: 'Paris' } })
    const { parts, reason } = await stream(via, 'use tool', TOOLS)
    t.equal(reason, 'STOP')
    t.match(parts.find(part => part.functionCall !== undefined)?.functionCall, { args: { city: 'Paris' } })
    const another = { functionCall: { name: 'weather', args: {} } }
    const answers = ['sunny', 'rain'].map(output => ({ functionResponse: { name: 'weather', response: { output } } }))
    const contents = [
      { role: 'user', parts: [{ text: 'use tool' }] },
      { role: 'model', parts: [...(called.candidates?.[0]?.content?.parts ?? []), another] },
      { role: 'user', parts: answers },
    ]
    t.match((await create(via, contents, TOOLS)).text, /\w/)
    t.match((await stream(via, contents, TOOLS)).text, /\w/)
  })

  t.test(`generate by ${via}: pictures, a schema, thinking`, async t => {
    const parts = [{ inlineData: { mimeType: 'image/png', data: PNG } }, { text: 'What is it?' }]
    t.ok((await create(via, [{ role: 'user', parts }])).text)
    const json = { responseMimeType: 'application/json', responseJsonSchema: SCHEMA }
    t.ok((await create(via, 'A city', json)).text)
    const thinkingConfig = { thinkingBudget: 2000, includeThoughts: true }
    const thought = await stream(via, '[[sim thinking=40 tokens=7]]', { thinkingConfig })
    const { candidatesTokenCount = 0, thoughtsTokenCount = 0 } = thought.usage ?? {}
    t.equal(candidatesTokenCount + thoughtsTokenCount, 47)
    t.match(thought.text, /\w/)
  })

  t.test(`generate by ${via}: what cannot be carried is refused or named`, async t => {
    const two = create(via, 'Hello!', { candidateCount: 2 })
    await t.rejects(two, { status: 400, message: /candidateCount/ })
    const answer = await create(via, 'Hello!', {
      tools: [{ googleSearch: {} }],
      safetySettings: [{ category: 'HARM_CATEGORY_HARASSMENT', threshold: 'BLOCK_NONE' }] as never,
    })
    t.equal(answer.sdkHttpResponse?.headers?.['x-gateway-via'], via)
    t.match(answer.sdkHttpResponse?.headers?.['x-gateway-dropped'], /hosted_tools.*safety_settings/)
  })

  t.test(`generate by ${via}: errors, streams that break off, an abort`, async t => {
    const rows: [number, number, string][] = [
      [400, 400, 'INVALID_ARGUMENT'],
      [404, 404, 'NOT_FOUND'],
      [429, 429, 'RESOURCE_EXHAUSTED'],
      [529, 503, 'UNAVAILABLE'],
    ]
    for (const [sent, status, word] of rows) {
      const error = (await create(via, `[[sim error=${sent}]]`).catch((error: unknown) => error)) as ApiError
      t.type(error, ApiError)
      t.equal(error.status, status)
      t.match(JSON.parse(error.message), { error: { code: status, status: word } }, String(sent))
    }
    for (const content of ['[[sim tokens=200 cut=6]]', '[[sim end_early=6]]', '[[sim event_error=6]]'])
      await t.rejects(stream(via, content), { message: /request id: \w{21}/ }, content)
    const contents = `[[sim tokens=${60 + ++tokens} ${stallAfter(6)}]]`
    const leaving = new AbortController()
    const long = await google.models.generateContentStream({
      model: AT[via],
      contents,
      config: { abortSignal: leaving.signal },
    })
    for await (const _ of long) break
    leaving.abort()
    await gateway.goOn()
    const row = await gateway.usageRow({ protocol: 'generate', via, end: 'client_gone' })
    t.match(row, { output: 60 + tokens })
  })

  t.test(`the AI SDK, generate by ${via}: whole, streamed, tools`, async t => {
    const model = createGoogleGenerativeAI({ baseURL: `${gateway.main}/v1beta`, apiKey: KEY })(AT[via])
    const input = jsonSchema({ type: 'object', properties: { city: { type: 'string' } } })
    // its own types do not fit exactOptionalPropertyTypes
    const tools = { weather: tool({ inputSchema: input }) } as unknown as ToolSet
    const whole = await generateText({ model, prompt: 'Hello!', maxRetries: 0 })
    t.match(whole.text, /quick brown fox/)
    t.equal(whole.usage.outputTokens, 24)
    const streamed = streamText({ model, prompt: 'Hello!', maxRetries: 0 })
    t.equal(await streamed.text, whole.text)
    t.equal((await streamed.usage).outputTokens, 24)
    const called = await generateText({ model, prompt: 'use tool', tools, maxRetries: 0 })
    t.match(called.toolCalls[0], { toolName: 'weather', input: { city: 'Paris' } })
    const calling = streamText({ model, prompt: 'use tool', tools, maxRetries: 0 })
    t.match((await calling.toolCalls)[0], { toolName: 'weather', input: { city: 'Paris' } })
    t.equal(await calling.finishReason, 'tool-calls')
  })
}

// upstreams of this protocol send few events, each with many tokens
t.test('messages by generate', async t => {
  const whole = await anthropic.messages.create(message(`Hello! [[sim tokens=${++tokens}]]`))
  t.match(whole, { model: AT.generate, stop_reason: 'end_turn', content: [{ type: 'text', text: /quick brown fox/ }] })
  const first = await same(t, 'messages', 'generate')
  t.match(whole.usage, { input_tokens: first.usage?.input, output_tokens: tokens })
  const final = await anthropic.messages.stream(message(`Hello! [[sim tokens=${++tokens}]]`)).finalMessage()
  t.match(final, { stop_reason: 'end_turn', usage: { output_tokens: tokens } })
  await same(t, 'messages', 'generate')
  t.equal((await anthropic.messages.create(message('Hello!', { max_tokens: 5 }))).stop_reason, 'max_tokens')
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
  for (const content of [
    '[[sim tokens=200 cut=6]]',
    '[[sim tokens=200 end_early=6]]',
    '[[sim tokens=200 event_error=6]]',
  ])
    await t.rejects(anthropic.messages.stream(message(content)).finalMessage(), { message: /request id: \w{21}/ })
  const long = anthropic.messages.stream(message(`[[sim tokens=91 ${stallAfter(2)}]]`))
  long.on('text', () => long.abort())
  await t.rejects(long.finalMessage())
  await gateway.goOn()
  const row = await gateway.usageRow({ protocol: 'messages', end: 'client_gone' })
  t.match(row, { output: 91, via: 'generate' })
})

t.test('chat by generate', async t => {
  const streamed = (content: string, more: object = {}) =>
    openai.chat.completions.stream({ ...chat(content, more), stream_options: { include_usage: true } })
  const whole = await openai.chat.completions.create(chat(`Hello! [[sim tokens=${++tokens}]]`))
  t.match(whole.choices, [{ finish_reason: 'stop', message: { content: /quick brown fox/ } }])
  const first = await same(t, 'chat', 'generate')
  t.match(whole.usage, { prompt_tokens: first.usage?.input, completion_tokens: tokens })
  const final = await streamed(`Hello! [[sim tokens=${++tokens}]]`).finalChatCompletion()
  t.match(final, { choices: [{ finish_reason: 'stop' }], usage: { completion_tokens: tokens } })
  await same(t, 'chat', 'generate')
  const cut = await streamed('Hello!', { max_tokens: 5 }).finalChatCompletion()
  t.equal(cut.choices[0]?.finish_reason, 'length')
  const called = await streamed('use tool', { tools: [OF_CHAT] }).finalChatCompletion()
  const [call] = called.choices[0]!.message.tool_calls as OpenAI.ChatCompletionMessageFunctionToolCall[]
  t.match(called.choices, [{ finish_reason: 'tool_calls' }])
  t.same(JSON.parse(call!.function.arguments), { city: 'Paris' })
  const next = await openai.chat.completions.create({
    model: AT.generate,
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
  for (const content of [
    '[[sim tokens=200 cut=6]]',
    '[[sim tokens=200 end_early=6]]',
    '[[sim tokens=200 event_error=6]]',
  ])
    await t.rejects(streamed(content).finalChatCompletion(), { message: /request id: \w{21}/ }, content)
  const long = await openai.chat.completions.create({ ...chat(`[[sim tokens=92 ${stallAfter(2)}]]`), stream: true })
  for await (const _ of long) break
  await gateway.goOn()
  const row = await gateway.usageRow({ protocol: 'chat', end: 'client_gone' })
  t.match(row, { output: 92, via: 'generate' })
})
