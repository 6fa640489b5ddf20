/** Members that few clients send, and rows of models that say little: each is carried, named, or refused. */
import t from 'tap'
import { targetOf } from '../../lib/world/table.ts'
import type { Model } from '../../lib/terms/records.ts'
import { plainTarget, type TranslationTarget } from '../../lib/translate/ask.ts'
import type { Translated } from '../../lib/translate/table.ts'
import { type Loose, readAll, usageOf, writeAll } from './support/answers.ts'
import { chat, generate, messages, responses } from './support/protocols.ts'

const PLAIN = new Map<Translated, Loose>([
  [messages, { max_tokens: 9000, messages: [{ role: 'user', content: 'q' }] }],
  [chat, { messages: [{ role: 'user', content: 'q' }] }],
  [responses, { input: 'q' }],
  [generate, { contents: [{ parts: [{ text: 'q' }] }] }],
])
const read = (from: Translated, more: object) =>
  from.readRequest(Buffer.from(JSON.stringify({ ...PLAIN.get(from), ...more })), { model: 'm', stream: false })
const write = (from: Translated, to: Translated, more: object, target: Partial<TranslationTarget> = {}) => {
  const { body, losses } = to.writeRequest(read(from, more), { ...plainTarget('m'), ...target })
  return { body: JSON.parse(body) as Loose, losses: [...losses].sort() }
}

t.test("tiers have the names of the upstream's protocol", async t => {
  const rows: [said: string | undefined, told: string | undefined][] = [
    ['SERVICE_TIER_PRIORITY', 'priority'],
    ['flex', 'flex'],
    ['standard', 'default'],
    ['SERVICE_TIER_UNSPECIFIED', undefined],
    [undefined, undefined],
  ]
  for (const to of [chat, responses])
    for (const [serviceTier, told] of rows)
      t.equal(write(generate, to, { serviceTier }).body['service_tier'], told, String(serviceTier))
})

t.test('what is dropped by name, and what is refused', async t => {
  const dropped: [Translated, object, string[]][] = [
    [messages, { fallbacks: [{ model: 'x' }] }, ['other']],
    [messages, { mcp_servers: [] }, []],
    [messages, { compaction: { type: 'x' } }, ['context_management']],
    [messages, { speed: 'fast' }, ['service_tier']],
    [messages, { diagnostics: { a: 1 } }, []],
    [chat, { web_search_options: { user_location: null, search_context_size: 'low' } }, ['hosted_tools']],
    [chat, { prompt_cache_options: { mode: 'explicit' } }, ['cache_control']],
    [chat, { prompt_cache_retention: '24h' }, ['cache_control']],
    [chat, { moderation: { a: 1 } }, ['moderation']],
    [chat, { verbosity: 'low', of_tomorrow: 1 }, ['other', 'verbosity']],
    [generate, { generationConfig: { mediaResolution: 'LOW', ofTomorrow: 1 } }, ['image_detail', 'other']],
    [generate, { safety_settings: [{ a: 1 }], labels: { a: 'b' } }, ['metadata', 'safety_settings']],
  ]
  for (const [from, more, losses] of dropped) t.same([...read(from, more).losses].sort(), losses, JSON.stringify(more))
  const refused: [Translated, object, string][] = [
    [messages, { thread: { type: 'continue' } }, 'thread'],
    [messages, { container: { id: 'c' } }, 'container'],
    [messages, { mcp_servers: [{ url: 'u' }] }, 'mcp_servers'],
    [messages, { inference_geo: 'us' }, 'inference_geo'],
    [messages, { max_tokens: 0 }, 'max_tokens'],
    [chat, { n: 9 }, 'n'],
    [chat, { n: 1.5 }, 'n'],
    [chat, { n: 0 }, 'n'],
    [chat, { audio: { voice: 'x' } }, 'audio'],
    [responses, { conversation: 'c' }, 'conversation'],
    [responses, { background: true }, 'background'],
    [generate, { continuationToken: 'x' }, 'continuationToken'],
  ]
  for (const [from, more, field] of refused) t.throws(() => read(from, more), { name: 'Error', field }, field)
})

t.test('words of vendors for thinking', async t => {
  const rows: [Translated, object, object][] = [
    [messages, { thinking: { type: 'between_tools' } }, { mode: 'on' }],
    [chat, { thinking: { type: 'enabled', budget_tokens: 9000 } }, { mode: 'on', budget: 9000 }],
    [chat, { thinking: { type: 'disabled' } }, { mode: 'off' }],
    [chat, { enable_thinking: true, thinking_budget: 500 }, { mode: 'on', budget: 500 }],
    [chat, { enable_thinking: false }, { mode: 'off' }],
    [chat, { reasoning: { effort: 'high', exclude: true } }, { mode: 'on', effort: 'high', show: false }],
  ]
  for (const [from, more, thinking] of rows) t.match(read(from, more).thinking, thinking, JSON.stringify(more))
})

t.test('what the row of a model says of sampling and thinking', async t => {
  const both = { temperature: 0.5, top_p: 0.9 }
  t.match(write(messages, chat, both, { sampling: 'one' }), { body: { temperature: 0.5 }, losses: ['top_p'] })
  const none = write(messages, chat, both, { sampling: 'none' })
  t.same(none.losses, ['temperature', 'top_p'])
  t.notMatch(Object.keys(none.body), /temperature|top_p/)
  const off = { thinking: { type: 'disabled' } }
  const row = (efforts: string[], via: 'chat' | 'messages' = 'chat') =>
    targetOf({ kind: null, cacheMarks: null } as never, { efforts } as unknown as Model, 'm', via)
  t.match(write(messages, chat, off, row([])), { body: { reasoning_effort: 'none' }, losses: [] })
  t.match(write(messages, chat, off, row(['none', 'low'])), { body: { reasoning_effort: 'none' }, losses: [] })
  const must = write(messages, chat, off, row(['low', 'high']))
  t.equal(must.body['reasoning_effort'], undefined, 'it is left out where it cannot be said')
  t.same(must.losses, ['thinking'])
  t.match(write(chat, messages, { enable_thinking: false }, row(['low'], 'messages')), {
    body: { thinking: { type: 'disabled' } },
    losses: [],
  })
  const much = { thinking: { type: 'adaptive' }, output_config: { effort: 'xhigh' } }
  t.match(write(messages, chat, much, row(['low', 'high'])), { body: { reasoning_effort: 'high' }, losses: ['effort'] })
})

const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const stopped = (stop_reason: string): string =>
  event('message_start', { message: { id: 'm' } }) +
  event('content_block_start', { index: 0, content_block: { type: 'text', text: 'Hi' } }) +
  event('content_block_stop', { index: 0 }) +
  event('message_delta', { delta: { stop_reason } }) +
  event('message_stop', {})

t.test('why an upstream of messages stopped', async t => {
  const rows: [string, string][] = [
    ['max_messages', 'length'],
    ['steered', 'end'],
    ['model_context_window_exceeded', 'context'],
    ['tool_use', 'end'],
    ['pause_turn', 'pause'],
    ['compaction', 'other'],
    ['moon', 'unknown'],
  ]
  for (const [word, reason] of rows) {
    const stop = readAll(messages, [Buffer.from(stopped(word))]).find(({ type }) => type === 'stop')
    t.match(stop, { reason }, word)
  }
})

t.test('usage that has everything, in the words of each protocol', async t => {
  const usage = usageOf({
    input: 10,
    cache_read: 3,
    cache_write_5m: 5,
    cache_write_1h: 7,
    output: 20,
    input_audio: 2,
    output_audio: 4,
  })
  const answer = readAll(messages, [Buffer.from(stopped('end_turn'))])
  answer.splice(1, 0, { type: 'thinking', tokens: 900 })
  const told = (protocol: Translated): Loose =>
    JSON.parse(writeAll(protocol, answer, usage, { events: false }).toString())
  t.match(told(messages)['usage'], {
    input_tokens: 12,
    cache_read_input_tokens: 3,
    cache_creation_input_tokens: 12,
    cache_creation: { ephemeral_5m_input_tokens: 5, ephemeral_1h_input_tokens: 7 },
    output_tokens: 24,
    output_tokens_details: { thinking_tokens: 24 },
  })
  t.match(told(messages), { stop_sequence: null, stop_details: null })
  // AI SDK 5 and 6 refuse a null there, which no answer of the provider has
  t.notOk('citations' in told(messages)['content'][0])
  t.match(told(chat)['usage'], {
    prompt_tokens: 27,
    completion_tokens: 24,
    total_tokens: 51,
    prompt_tokens_details: { cached_tokens: 3, cache_write_tokens: 12, audio_tokens: 2 },
    completion_tokens_details: { reasoning_tokens: 24, audio_tokens: 4 },
  })
  t.match(told(responses)['usage'], {
    input_tokens: 27,
    input_tokens_details: { cached_tokens: 3, cache_write_tokens_details: { ttl_30m_tokens: 5, ttl_12h_tokens: 7 } },
    output_tokens: 24,
    output_tokens_details: { reasoning_tokens: 24 },
    total_tokens: 51,
  })
  t.match(told(generate)['usageMetadata'], {
    promptTokenCount: 27,
    cachedContentTokenCount: 3,
    candidatesTokenCount: 4,
    thoughtsTokenCount: 20,
    totalTokenCount: 51,
  })
})
