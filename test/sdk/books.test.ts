/** What the official SDKs asked for, as the upstream counted it and as the gateway charged it, to the micro-unit. */
import Anthropic from '@anthropic-ai/sdk'
import { GoogleGenAI } from '@google/genai'
import OpenAI from 'openai'
import t from 'tap'
import type { Served } from '../../tools/simulator/books.ts'
import type { Usage } from '../../lib/protocols/words/usage.ts'
import { ROW_CLASSES, rowCounts } from '../../lib/terms/usage-row.ts'
import { KEY, testCatalog } from '../support/gateway.ts'
import { openGateway } from '../support/open-gateway.ts'

const gateway = await openGateway()
t.teardown(() => gateway.stop())
const openai = new OpenAI({ baseURL: `${gateway.main}/v1`, apiKey: KEY, maxRetries: 0 })
const anthropic = new Anthropic({ baseURL: gateway.main, apiKey: KEY, maxRetries: 0 })
const genai = new GoogleGenAI({ apiKey: KEY, httpOptions: { baseUrl: gateway.main } })

const system = [{ type: 'text' as const, text: 'rules '.repeat(900), cache_control: { type: 'ephemeral' as const } }]
const hour = [
  { ...system[0]!, text: 'more '.repeat(900), cache_control: { type: 'ephemeral' as const, ttl: '1h' as const } },
]
const message = (content: string, more: object = {}) => ({
  model: 'alpha-sonnet-5-5',
  max_tokens: 2000,
  messages: [{ role: 'user' as const, content }],
  ...more,
})
const long = 'x'.repeat(8000)
const chat = (content: string, more: object = {}) => ({
  model: 'beta-4.7',
  messages: [{ role: 'user' as const, content }],
  ...more,
})
const generate = (contents: string, config: object = {}) => ({ model: 'gamma-3.8-flash', contents, config })
const drain = async (stream: AsyncIterable<unknown>) => {
  for await (const _ of stream);
}

const CALLS: Record<string, () => Promise<unknown>> = {
  'messages, written': () => anthropic.messages.create(message('hi', { system })),
  'messages, read': () => anthropic.messages.create(message('hi', { system })),
  'messages, read, streamed': () => anthropic.messages.stream(message('hi', { system })).finalMessage(),
  'messages, written for an hour, streamed': () =>
    anthropic.messages.stream(message('hi', { system: hour })).finalMessage(),
  'messages, thinking': () =>
    anthropic.messages.stream(message('[[sim thinking=33]]', { thinking: { type: 'adaptive' } })).finalMessage(),
  chat: () => openai.chat.completions.create(chat(`${long} [[sim tokens=7]]`)),
  'chat, cached, streamed': async () =>
    drain(await openai.chat.completions.create({ ...chat(`${long} [[sim tokens=7]]`), stream: true })),
  'chat, cached and written': () => openai.chat.completions.create(chat('[[sim input=50 cached=40 written=30]]')),
  'chat, three choices': async () =>
    drain(await openai.chat.completions.create({ ...chat('[[sim tokens=11]]', { n: 3 }), stream: true })),
  'chat, reasoning': () => openai.chat.completions.create(chat('[[sim thinking=44]]', { reasoning_effort: 'low' })),
  responses: () => openai.responses.create({ model: 'beta-4.7', input: 'hi', reasoning: { effort: 'low' } }),
  'responses, cached, streamed': () =>
    openai.responses.stream({ model: 'beta-4.7', input: '[[sim input=900 cached=100 tokens=500]]' }).finalResponse(),
  'images, links': () => openai.images.generate({ model: 'gamma-image-2', prompt: 'a cat', n: 3 }),
  'images, bytes': () =>
    openai.images.generate({ model: 'gamma-image-2', prompt: '[[sim bytes=2000000]]', response_format: 'b64_json' }),
  'generate, thinking': () => genai.models.generateContent(generate('hi', { thinkingConfig: { thinkingBudget: 100 } })),
  'generate, cached, streamed': async () =>
    drain(await genai.models.generateContentStream(generate('[[sim cached=64 tokens=90]]'))),
}

type Prices = Record<string, number>
const prices = new Map((testCatalog('')['models'] as { name: string; price: Prices }[]).map(m => [m.name, m.price]))
/** micro-CNY, up to the next whole one: prices are per million tokens, so tokens × price is what is wanted. */
function chargeOf(model: string, usage: Usage): number {
  const price = prices.get(model) as Prices
  if (price['image'] !== undefined) return usage.images * price['image'] * 1e6
  const per: Prices = { cache_read: price['input']!, cache_write_5m: price['input']!, ...price }
  per['cache_write_1h'] ??= per['cache_write_5m']!
  const counts = rowCounts(usage)
  const hundredths = ROW_CLASSES.reduce((sum, name) => sum + counts[name] * Math.round(per[name]! * 100), 0)
  return Math.ceil(hundredths / 100)
}
const text = (micro: number) => (micro / 1e6).toFixed(6)

t.test('every call is charged what its upstream reported', async t => {
  for (const [i, [name, send]] of Object.entries(CALLS).entries()) {
    await send()
    const [row] = await gateway.usage('rich', i + 1)
    const served = gateway.simulator.stats.served[i] as Served
    const usage = served.usage as Usage
    t.match(row, { end: 'completed', basis: 'reported', protocol: served.protocol, model: served.model }, name)
    const counts = rowCounts(usage)
    const charged = Object.fromEntries(Object.keys(counts).map(of => [of, row?.[of]]))
    t.strictSame(charged, counts, name)
    t.equal(row?.['charge'], text(chargeOf(served.model, usage)), name)
  }
  const rows = await gateway.usage('rich', 0)
  const total = rows.reduce((sum, row) => sum + Math.round(Number(row['charge']) * 1e6), 0)
  t.match(await gateway.admin('GET', '/admin/accounts/rich'), { balance: text(1e9 - total), held: '0.000000' })
  t.match(await gateway.admin('GET', '/admin/audit'), { ok: true, imbalance: '0.000000' })
})

t.test('cache classes came up in the run', async t => {
  const sum = rowCounts(gateway.simulator.stats.usage)
  for (const [name, tokens] of Object.entries(sum)) t.ok(tokens > 0, name)
})
