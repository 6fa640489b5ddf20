/** Ordinary clients of messages, generate and chat, served by Claude and Gemini on Vertex AI: what they get, and what is charged. */
import { createAnthropic } from '@ai-sdk/anthropic'
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import { streamText } from 'ai'
import OpenAI from 'openai'
import t, { type Test } from 'tap'
import type { Served } from '../../tools/simulator/books.ts'
import { simulate } from '../../tools/simulator/main.ts'
import { outputOf } from '../../lib/protocols/words/usage.ts'
import { rowCounts } from '../../lib/terms/usage-row.ts'
import { KEY, testCatalog } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'
import { Vertex } from '../support/vertex.ts'

// it does not know these models' limits, and would say so each time
Object.assign(globalThis, { AI_SDK_LOG_WARNINGS: false })

const CLAUDE = 'alpha-sonnet-5-5'
const GEMINI = 'gamma-3.8-flash'
const simulator = await simulate()
const double = await Vertex.open(t, simulator.url)
const row = { groups: ['default'], ...double.channel() }
const gateway = await openGateway({
  catalog: upstream => ({
    ...testCatalog(upstream),
    channels: [
      { ...row, name: 'claude', protocols: ['messages'], models: { [CLAUDE]: 'claude-sonnet-5-5@20260101' } },
      { ...row, name: 'gemini', protocols: ['generate'], models: [GEMINI] },
    ],
  }),
})
t.teardown(async () => {
  await gateway.stop()
  await simulator.close()
})
const anthropic = new Anthropic({ baseURL: gateway.main, apiKey: KEY, maxRetries: 0 })
const genai = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.main } })
const openai = new OpenAI({ baseURL: `${gateway.main}/v1`, apiKey: KEY, maxRetries: 0 })

const WEATHER = { name: 'weather', input_schema: { type: 'object' as const, properties: { city: { type: 'string' } } } }
const message = (content: string, more: object = {}) => ({
  model: CLAUDE,
  max_tokens: 2000,
  messages: [{ role: 'user' as const, content }],
  ...more,
})
const last = () => double.asked.at(-1)!

/** The last request that the simulator served, when its row is in the books: both say the same. */
async function same(t: Test, more: object): Promise<Served> {
  const served = simulator.stats.served.at(-1) as Served
  const found = await gateway.usageRow({ input: served.usage?.input, output: outputOf(served.usage!) })
  const { images: _, ...counts } = rowCounts(served.usage!)
  t.match(found, { ...counts, basis: 'reported', end: 'completed', ...more })
  return served
}

t.test('messages: whole, streamed, tools, betas, a count', async t => {
  const whole = await anthropic.messages.create(message('Hello! [[sim input=101 tokens=21]]'))
  t.match(whole.content, [{ type: 'text', text: /quick brown fox/ }])
  t.match(last().url, /\/publishers\/anthropic\/models\/claude-sonnet-5-5@20260101:rawPredict$/)
  await same(t, { protocol: 'messages', channel: 'claude', charge: '0.000618' })
  const final = await anthropic.messages.stream(message('Hello! [[sim input=102 tokens=22]]')).finalMessage()
  t.match(final.content, [{ type: 'text', text: /quick brown fox/ }])
  t.match(last().url, /:streamRawPredict$/)
  t.equal(last().body['stream'], true)
  await same(t, { protocol: 'messages', channel: 'claude', charge: '0.000636' })
  const called = await anthropic.messages.stream(message('use tool', { tools: [WEATHER] })).finalMessage()
  t.match(called, { stop_reason: 'tool_use', content: [{ type: 'tool_use', input: { city: 'Paris' } }] })
  const beta = await anthropic.beta.messages.create({
    ...message('Hello!'),
    betas: ['context-1m-2025-08-07', 'files-api-2025-04-14'],
  })
  t.match(beta.content, [{ type: 'text', text: /quick brown fox/ }])
  t.match(last(), { url: /:rawPredict$/, body: { anthropic_beta: ['context-1m-2025-08-07'] } })
  const { messages } = message('Hello!')
  t.ok((await anthropic.messages.countTokens({ model: CLAUDE, messages })).input_tokens > 0)
  t.match(last(), { url: /\/count-tokens:rawPredict$/, body: { model: 'claude-sonnet-5-5@20260101' } })
  t.equal(double.tokensAsked, 1, 'one token for all of them')
})

t.test('a client that stumbles over events of Vertex AI alone does not get them', async t => {
  const provider = createAnthropic({ baseURL: `${gateway.main}/v1`, apiKey: KEY })
  const errors: unknown[] = []
  const result = streamText({
    model: provider(CLAUDE),
    prompt: 'Hello! [[sim input=105 tokens=25]]',
    maxOutputTokens: 2000,
    onError: ({ error }) => void errors.push(error),
  })
  t.match(await result.text, /quick brown fox/)
  t.match(await result.usage, { inputTokens: 105, outputTokens: 25 })
  t.same(errors, [])
  await same(t, { protocol: 'messages', channel: 'claude', charge: '0.00069' })
})

t.test('generate: whole, streamed, a count', async t => {
  const whole = await genai.models.generateContent({ model: GEMINI, contents: 'Hello! [[sim input=103 tokens=23]]' })
  t.match(whole.text, /quick brown fox/)
  t.match(last().url, /\/publishers\/google\/models\/gamma-3\.8-flash:generateContent$/)
  await same(t, { protocol: 'generate', channel: 'gemini', charge: '0.000195' })
  let text = ''
  const asked = { model: GEMINI, contents: 'Hello! [[sim input=104 tokens=24]]' }
  for await (const chunk of await genai.models.generateContentStream(asked)) text += chunk.text ?? ''
  t.match(text, /quick brown fox/)
  t.match(last().url, /:streamGenerateContent\?alt=sse$/)
  await same(t, { protocol: 'generate', channel: 'gemini', charge: '0.0002' })
  t.ok(((await genai.models.countTokens({ model: GEMINI, contents: 'Hello!' })).totalTokens ?? 0) > 0)
  t.match(last().url, /\/publishers\/google\/models\/gamma-3\.8-flash:countTokens$/)
})

t.test('chat by translation: whole and streamed, with both of them', async t => {
  for (const [i, [model, via, path]] of (
    [
      [CLAUDE, 'messages', [':rawPredict', ':streamRawPredict']],
      [GEMINI, 'generate', [':generateContent', ':streamGenerateContent?alt=sse']],
    ] as const
  ).entries()) {
    const ask = (content: string) => ({ model, messages: [{ role: 'user' as const, content }] })
    const whole = await openai.chat.completions.create(ask(`Hello! [[sim input=${201 + 10 * i} tokens=31]]`))
    t.match(whole.choices, [{ finish_reason: 'stop', message: { content: /quick brown fox/ } }])
    t.ok(last().url.endsWith(path[0]), last().url)
    await same(t, { protocol: 'chat', via })
    const stream = openai.chat.completions.stream(ask(`Hello! [[sim input=${202 + 10 * i} tokens=32]]`))
    t.match((await stream.finalChatCompletion()).choices, [{ finish_reason: 'stop', message: { content: /quick/ } }])
    t.ok(last().url.endsWith(path[1]), last().url)
    await same(t, { protocol: 'chat', via })
  }
})

t.test('a token that ended before its time, and Google’s own errors', async t => {
  double.tokens.clear()
  const whole = await anthropic.messages.create(message('Hello!'))
  t.match(whole.content, [{ type: 'text', text: /quick brown fox/ }])
  double.fault = 429
  t.teardown(() => (double.fault = 0))
  const refused: unknown[] = await Promise.all([
    anthropic.messages.create(message('Hello!')).catch(error => error),
    openai.chat.completions.create(message('Hello!')).catch(error => error),
  ])
  t.match(refused, [
    { status: 429, error: { error: { code: 429, status: 'RESOURCE_EXHAUSTED' } } },
    { status: 429, type: 'rate_limit_error', message: /Resource exhausted/ },
  ])
})
