/**
 * What providers report in words of their own is charged as they bill it: whole, as a stream, and however the stream is cut. And what
 * an operator is told of words that nobody knows.
 */
import t from 'tap'
import type { Call } from './support/upstream.ts'
import { KEY, MODEL, NOTHING_LEFT, open } from './support/gateway.ts'
import { document } from './support/speech.ts'

type Json = Record<string, unknown>

/** Long enough to have caused what is reported. */
const ASKED = { messages: [{ role: 'user', content: 'a word '.repeat(6_000) }] }

interface Row {
  what: string
  price: Json
  usage?: Json
  /** Of the only choice. */
  choice?: Json
  /** Beside the choices. */
  beside?: Json
  /** Micro-CNY. */
  due: number
}

const MOONSHOT = { input: 2, output: 8, cache_read: 0.2 }
const QWEN = { input: 2.5, output: 10, cache_write_5m: 3.125 }
const SEARCHING = { input: 21, output: 105, web_search: 0.071 }
const usage = (prompt_tokens: number, completion_tokens: number, more: Json = {}): Json => ({
  prompt_tokens,
  completion_tokens,
  total_tokens: prompt_tokens + completion_tokens,
  ...more,
})
const CACHED = usage(10_000, 10, { cached_tokens: 9_900 })

const ROWS: Row[] = [
  { what: 'Moonshot, cached tokens on top of usage', price: MOONSHOT, usage: CACHED, due: 2_260 },
  { what: 'Moonshot, usage in the first choice', price: MOONSHOT, choice: { usage: usage(10_000, 10) }, due: 20_080 },
  { what: 'Moonshot, both', price: MOONSHOT, choice: { usage: CACHED }, due: 2_260 },
  {
    what: 'Qwen, an explicit cache is written',
    price: QWEN,
    usage: usage(10_000, 10, { prompt_tokens_details: { cache_creation_input_tokens: 9_000, cached_tokens: 0 } }),
    due: 30_725,
  },
  {
    what: 'the same on top of usage',
    price: QWEN,
    usage: usage(10_000, 10, { cache_creation_input_tokens: 9_000 }),
    due: 30_725,
  },
  {
    what: 'the same by life',
    price: QWEN,
    usage: usage(10_000, 10, { prompt_tokens_details: { cache_creation: { ephemeral_5m_input_tokens: 9_000 } } }),
    due: 30_725,
  },
  {
    what: 'Qwen, a film',
    price: { input: 1, output: 4, input_image: 3 },
    usage: usage(10_000, 10, { prompt_tokens_details: { video_tokens: 9_900 } }),
    due: 29_840,
  },
  {
    what: 'Zhipu, what was found beside the choices',
    price: SEARCHING,
    usage: usage(100, 10),
    beside: { web_search: [{ title: 'a', link: 'https://example.com' }] },
    due: 74_150,
  },
  {
    what: 'Qwen, searches as plug-ins',
    price: SEARCHING,
    usage: usage(100, 10, { plugins: { search: { count: 1 } } }),
    due: 74_150,
  },
  { what: 'xAI, sources', price: SEARCHING, usage: usage(100, 10, { num_sources_used: 3 }), due: 3_150 + 3 * 71_000 },
  {
    what: 'xAI, calls of two tools',
    price: SEARCHING,
    usage: usage(100, 10, { server_side_tool_usage_details: { web_search_calls: 2, x_search_calls: 1 } }),
    due: 3_150 + 3 * 71_000,
  },
  {
    what: 'xAI, thoughts beside the completion',
    price: MOONSHOT,
    usage: { ...usage(100, 10, { completion_tokens_details: { reasoning_tokens: 90 } }), total_tokens: 200 },
    due: 200 + 800,
  },
  {
    what: 'thoughts inside of it',
    price: MOONSHOT,
    usage: usage(100, 10, { completion_tokens_details: { reasoning_tokens: 9 } }),
    due: 200 + 80,
  },
  {
    what: 'Perplexity, what was cited, and searches',
    price: SEARCHING,
    usage: usage(100, 10, { citation_tokens: 900, num_search_queries: 2, reasoning_tokens: 7_000 }),
    due: 1_000 * 21 + 10 * 105 + 2 * 71_000,
  },
  { what: 'fractions', price: MOONSHOT, usage: usage(99.2, 10.5), due: 100 * 2 + 11 * 8 },
  { what: 'Groq, in a member of its own', price: MOONSHOT, beside: { x_groq: { usage: usage(100, 10) } }, due: 280 },
]

/** The same answer whole and as events. */
function answersOf({ usage, choice = {}, beside = {} }: Row) {
  const top = usage === undefined ? beside : { usage, ...beside }
  const whole = {
    id: 'chatcmpl-1',
    choices: [{ index: 0, message: { content: 'hello' }, finish_reason: 'stop', ...choice }],
    ...top,
  }
  const events: (Json | string)[] = [
    { id: 'chatcmpl-1', choices: [{ index: 0, delta: { content: 'hello' }, finish_reason: null }], usage: null },
    { id: 'chatcmpl-1', choices: [{ index: 0, delta: {}, finish_reason: 'stop', ...choice }], ...top },
    '[DONE]',
  ]
  const data = events.map(event => `data: ${typeof event === 'string' ? event : JSON.stringify(event)}\n\n`).join('')
  return { whole, data: Buffer.from(data) }
}

for (const row of ROWS)
  t.test(`${row.what}: charged as due`, async t => {
    const s = await open(t, { prices: { [MODEL]: row.price } })
    const { whole, data } = answersOf(row)
    const sendIn = (call: Call, parts: Iterable<Buffer>): void => {
      call.stream()
      for (const part of parts) call.chunk(part)
      call.end()
    }
    const bytes = Array.from(data, (_, i) => data.subarray(i, i + 1))
    const forms: [what: string, stream: boolean, script: (call: Call) => void][] = [
      ['whole', false, call => call.whole(200, whole)],
      ['a stream', true, call => sendIn(call, [data])],
      ['a stream, byte by byte', true, call => sendIn(call, bytes)],
    ]
    for (const [what, stream, script] of forms) {
      s.at('a').script = script
      const client = s.ask(document({ ...ASKED, stream, stream_options: { include_usage: true } }))
      t.equal(await client.end(), 'whole', what)
      t.equal(client.status, 200)
      if (stream) t.equal(client.answer.body.toString(), data.toString(), 'the bytes pass as they came')
    }
    const { rows, ...books } = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    for (const [i, [what]] of forms.entries())
      t.match(rows[i], { charge: row.due, basis: 'reported', end: 'completed', answerId: 'chatcmpl-1' }, what)
    t.equal(await s.metric('gateway_usage_counted_total', { channel: 'a' }), undefined)
    t.equal(await s.metric('gateway_finish_unknown_total', { channel: 'a' }), undefined)
  })

t.test('a translated answer is charged by the same words', async t => {
  const s = await open(t, {
    prices: { [MODEL]: MOONSHOT },
    channels: { a: { protocols: ['chat'], kind: 'moonshot' } },
  })
  const { whole, data } = answersOf({ what: '', price: MOONSHOT, usage: CACHED, due: 2_260 })
  for (const stream of [false, true]) {
    s.at('a').script = call => {
      if (!stream) {
        call.whole(200, whole)
        return
      }
      call.stream()
      call.chunk(data)
      call.end()
    }
    const body = { model: MODEL, max_tokens: 100, stream, ...ASKED }
    const client = s.ask({ path: '/v1/messages', headers: { 'x-api-key': KEY }, body })
    t.equal(await client.end(), 'whole')
    t.match(client.text, '"cache_read_input_tokens":9900')
  }
  const { rows, ok } = await s.books()
  t.ok(ok)
  t.match(rows, [
    { via: 'chat', charge: 2_260, basis: 'reported' },
    { via: 'chat', charge: 2_260, basis: 'reported' },
  ])
})

t.test('words that nobody knows are counted by channel, and a finish is logged once an hour', async t => {
  const s = await open(t)
  const answer = (finish_reason: string, usage?: Json) => ({
    choices: [{ index: 0, message: { content: 'hello' }, finish_reason }],
    usage,
  })
  const ask = async (body: Json) => {
    s.at('a').script = call => call.whole(200, body)
    await s.ask(document()).end()
  }
  await ask(answer('stop', usage(10, 5)))
  await ask(answer('stop', { tokens_read: 10, tokens_written: 5 }))
  await ask(answer('x'.repeat(100), usage(10, 5)))
  await ask(answer('exhausted', usage(10, 5)))
  await s.books()
  const told = s.logged.filter(line => line['msg'] === 'an answer ended with an unknown word')
  t.match(told, [{ channel: 'a', finish: 'x'.repeat(64) }])
  t.equal(told.length, 1)
  t.equal(await s.metric('gateway_usage_counted_total', { channel: 'a' }), 1)
  t.equal(await s.metric('gateway_finish_unknown_total', { channel: 'a' }), 2)
})

t.test('an error in a 200 of MiniMax is an error: the next candidate is asked, and without one it is free', async t => {
  const failed = { choices: null, usage: { total_tokens: 900 }, base_resp: { status_code: 2061, status_msg: 'no' } }
  const s = await open(t, { channels: { a: {}, b: {} } })
  s.at('a').script = call => call.whole(200, failed)
  s.at('b').script = call => call.whole(200, { choices: [{ message: { content: 'hi' } }], usage: usage(100, 10) })
  await s.ask(document()).end()
  s.at('b').script = call => call.whole(200, failed)
  const client = s.ask(document())
  await client.end()
  t.match(JSON.parse(client.answer.body.toString()), failed, 'a document is told as it is')
  s.at('a').script = s.at('b').script = call => {
    call.stream()
    call.chunk(`data: ${JSON.stringify(failed)}\n\n`)
    call.end()
  }
  const streaming = s.ask(document({ stream: true }))
  await streaming.end()
  t.equal(streaming.status, 502)
  const { rows, ok } = await s.books()
  t.ok(ok)
  t.match(rows, [
    { channel: 'b', charge: 280, basis: 'reported' },
    { charge: 0, basis: 'none', end: 'upstream_error' },
    { charge: 0, basis: 'none', end: 'upstream_error', status: 502 },
  ])
})
