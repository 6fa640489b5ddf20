/**
 * An upstream may report anything, and money is computed from it: what no request of this kind can have caused is not charged.
 * The row keeps the numbers that were reported, and says what was not charged of them.
 */
import t from 'tap'
import { micro } from '../../lib/base/money.ts'
import { HEADERS, MODEL, NOTHING_LEFT, open, PATHS } from './support/gateway.ts'
import type { Script } from './support/upstream.ts'

type Json = Record<string, unknown>

/** Micro-CNY a token, a search and a picture. */
const PRICE = { input: 12, cache_read: 1, cache_write_5m: 15, output: 30, web_search: 0.5 }
const SEARCH = 500_000
const OVERHEAD = 4096
const WHOLE = 128_000
const CONTEXT = 2_000_000

const chat = (usage: Json, content = 'hello'): Script => {
  return call => call.whole(200, { choices: [{ message: { content } }], usage })
}
const messages = (usage: Json): Script => {
  return call => call.whole(200, { content: [{ type: 'text', text: 'hello' }], usage })
}
const body = (more: object) => JSON.stringify({ model: MODEL, max_tokens: 8, messages: [], ...more })

t.test('an upstream reports 900,000,000 tokens for a prompt of 60 bytes', async t => {
  const s = await open(t, { prices: { m: PRICE } })
  s.at('a').script = chat({ prompt_tokens: 900_000_000, completion_tokens: 5, total_tokens: 900_000_005 })
  const asked = body({ messages: [{ role: 'user', content: 'hi' }] })
  await s.ask({ path: PATHS.chat, headers: HEADERS, body: asked }).end()
  const { rows, ok, left } = await s.books()
  t.ok(ok)
  t.same(left, NOTHING_LEFT)
  const input = asked.length + OVERHEAD
  const [row] = rows
  t.match(row, { input: 900_000_000, output: 5, basis: 'reported', end: 'completed' })
  t.equal(row?.charge, input * 12 + 5 * 30)
  t.equal(row?.disputed, (900_000_000 - input) * 12)
  t.match(row?.lines, [
    { class: 'input', count: input },
    { class: 'output', count: 5 },
  ])
  t.equal(await s.metric('gateway_disputed_cny_total', { channel: 'a' }), (900_000_000 - input) * 12)
})

t.test('operators are told once an hour and channel, with what came since', async t => {
  const s = await open(t, { prices: { m: PRICE } })
  s.at('a').script = chat({ prompt_tokens: 10, completion_tokens: 1008 })
  const told = () => s.logged.filter(line => line['msg'] === 'the upstream reports more than was asked for')
  for (let i = 0; i < 3; i++) await s.ask({ path: PATHS.chat, headers: HEADERS, body: body({}) }).end()
  const { rows } = await s.books()
  t.match(told(), [{ level: 'warn', channel: 'a', model: MODEL, requests: 1, disputed: '0.030000' }])
  t.same([told().length, rows.length], [1, 3])
  s.clock.advance(3_600_000)
  s.services.upstreamLog.disputed('id', 'a', MODEL, micro(5))
  t.match(told()[1], { requests: 3, disputed: '0.060005' })
})

t.test('of each number what the request can have caused, and of the rest nothing', async t => {
  const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 2 }]
  const many = Array.from({ length: 18 }, () => ({ type: 'message', input_tokens: 10, output_tokens: 1 }))
  const rows: [
    what: string,
    path: 'chat' | 'messages' | 'responses',
    more: Json,
    Script,
    charge: (bytes: number) => number,
  ][] = [
    ['output above the maximum', 'chat', {}, chat({ prompt_tokens: 10, completion_tokens: 9000 }), () => 120 + 8 * 30],
    ['of three answers', 'chat', { n: 3 }, chat({ prompt_tokens: 10, completion_tokens: 9000 }), () => 120 + 24 * 30],
    [
      'within no maximum',
      'chat',
      { max_tokens: 0 },
      chat({ prompt_tokens: 10, completion_tokens: 100_000 }),
      () => 120 + 100_000 * 30,
    ],
    [
      'above no maximum',
      'chat',
      { max_tokens: 0 },
      chat({ prompt_tokens: 10, completion_tokens: 500_000 }),
      () => 120 + WHOLE * 30,
    ],
    [
      'thoughts beside the maximum',
      'chat',
      { enable_thinking: true },
      chat({ prompt_tokens: 10, completion_tokens: 9000 }),
      () => 120 + 9000 * 30,
    ],
    [
      'more content than the maximum',
      'chat',
      {},
      chat({ prompt_tokens: 10, completion_tokens: 9000 }, 'x'.repeat(440)),
      () => 120 + 100 * 30,
    ],
    [
      'searches of a request that limits none',
      'chat',
      { web_search_options: {} },
      chat({ prompt_tokens: 1, completion_tokens: 1, num_search_queries: 90_000 }),
      () => 42 + 1000 * SEARCH,
    ],
    [
      'cache writes, which are dearer, go first',
      'messages',
      {},
      messages({ input_tokens: 1000, cache_creation_input_tokens: 500_000, output_tokens: 1 }),
      bytes => 1000 * 12 + (bytes + OVERHEAD - 1000) * 15 + 30,
    ],
    [
      'cached tokens, which are cheaper, go last',
      'messages',
      {},
      messages({ input_tokens: 9000, cache_read_input_tokens: 500_000, output_tokens: 1 }),
      bytes => bytes + OVERHEAD + 30,
    ],
    [
      'a document',
      'messages',
      { messages: [{ content: [{ type: 'document', source: { type: 'url', url: 'https://x/y' } }] }] },
      messages({ input_tokens: 3_000_000, output_tokens: 1 }),
      () => CONTEXT * 12 + 30,
    ],
    [
      'searches and the input of a tool with two uses',
      'messages',
      { tools },
      messages({ input_tokens: 9_000_000, output_tokens: 1, server_tool_use: { web_search_requests: 9 } }),
      () => 3 * CONTEXT * 12 + 30 + 2 * SEARCH,
    ],
    [
      'passes, of which two are too many',
      'messages',
      {},
      messages({ input_tokens: 180, output_tokens: 18, iterations: many.map(pass => ({ ...pass, model: MODEL })) }),
      () => 16 * (120 + 30),
    ],
    [
      'a total that leaves more for the answer',
      'chat',
      {},
      chat({ prompt_tokens: 10, completion_tokens: 1, total_tokens: 900_000_000 }),
      () => 120 + 8 * 30,
    ],
    [
      'neither input nor output for an answer with content',
      'chat',
      {},
      chat({ prompt_tokens: 0, completion_tokens: 0, num_search_queries: 2 }),
      bytes => Math.ceil((bytes * 1.1) / 4) * 12 + 2 * 30 + 2 * SEARCH,
    ],
  ]
  for (const [what, path, more, script, charge] of rows) {
    const s = await open(t, { prices: { m: PRICE } })
    s.at('a').script = script
    const asked = body(more)
    const client = s.ask({ path: PATHS[path], headers: HEADERS, body: asked })
    await client.end()
    t.equal(client.status, 200, what)
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    t.equal(books.rows[0]?.charge, charge(asked.length), what)
  }
})

t.test('pictures that are only reported', async t => {
  const s = await open(t, { prices: { m: { image: 0.1 } } })
  const completed = (generated_images: number): Script => {
    const event = { type: 'image_generation.completed', b64_json: 'AAAA', usage: { generated_images } }
    return call => {
      call.stream()
      call.chunk(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
      call.end()
    }
  }
  for (const [reported, asked, charged] of [
    [50, {}, 1],
    [50, { n: 3 }, 3],
    [2, { n: 3 }, 2],
  ] as const) {
    s.at('a').script = completed(reported)
    const sent = JSON.stringify({ model: MODEL, prompt: 'a cat', stream: true, ...asked })
    await s.ask({ path: PATHS.images, headers: HEADERS, body: sent }).end()
    const row = (await s.books()).rows.at(-1)
    t.match(row, { images: reported, charge: charged * 100_000, disputed: (reported - charged) * 100_000 })
  }
})

t.test('seconds that no file can have', async t => {
  const s = await open(t, { prices: { m: { second: 0.01 } } })
  const file = 'x'.repeat(900)
  const part = (name: string, text: string, more = '') =>
    `--B\r\nContent-Disposition: form-data; name="${name}"${more}\r\n\r\n${text}\r\n`
  const sent = `${part('model', MODEL)}${part('file', file, '; filename="a.bin"')}--B--\r\n`
  const headers = { ...HEADERS, 'content-type': 'multipart/form-data; boundary=B' }
  const rows: [answer: Json, charged: number, disputed: number][] = [
    [{ text: 'hello', usage: { type: 'duration', seconds: 2 } }, 2, 0],
    [{ text: 'hello', usage: { type: 'duration', seconds: 900_000 } }, 15, 900_000 - 15],
    [{ text: 'hello', duration: 60 }, 15, 45],
    [{ text: 'hello', segments: [{ start: 0, end: 16 }] }, 15, 1],
  ]
  for (const [answer, charged, disputed] of rows) {
    s.at('a').script = call => call.whole(200, answer)
    await s.ask({ path: '/v1/audio/transcriptions', headers, body: sent }).end()
    const row = (await s.books()).rows.at(-1)
    t.match(row, { charge: charged * 10_000, disputed: disputed * 10_000 }, JSON.stringify(answer))
  }
})

t.test('where another channel serves the model, it is asked after a report that cannot be', async t => {
  const s = await open(t, { prices: { m: PRICE }, channels: { a: {}, b: {} } })
  s.at('a').script = chat({ prompt_tokens: 10, completion_tokens: 9000 })
  s.at('b').script = chat({ prompt_tokens: 10, completion_tokens: 8 })
  const ask = () => s.ask({ path: PATHS.chat, headers: HEADERS, body: body({}) }).end()
  await ask()
  await ask()
  t.same(s.asked(), { a: 1, b: 1 })
  t.match((await s.books()).rows, [
    { channel: 'a', disputed: 8992 * 30 },
    { channel: 'b', disputed: 0 },
  ])
  s.clock.advance(60_000)
  await ask()
  t.same(s.asked(), { a: 2, b: 1 })
})

t.test('a growing hold does not grow for what cannot be, so that a false report ends no stream', async t => {
  const tools = [{ type: 'web_search_20250305', name: 'web_search', max_uses: 1 }]
  const usage = { input_tokens: 10, output_tokens: 1e9, server_tool_use: { web_search_requests: 900 } }
  const events = [
    { type: 'message_start', message: { usage: { input_tokens: 10, output_tokens: 1 } } },
    { type: 'content_block_start', index: 0, content_block: { type: 'text', text: '' } },
    { type: 'content_block_delta', index: 0, delta: { type: 'text_delta', text: 'hello' } },
    { type: 'content_block_stop', index: 0 },
    { type: 'message_delta', delta: { stop_reason: 'end_turn' }, usage },
    { type: 'message_stop' },
  ]
  const s = await open(t, { prices: { m: PRICE }, config: { hold: { output_tokens: 2 } }, model: { context: 1000 } })
  s.at('a').script = call => {
    call.stream()
    for (const event of events) call.chunk(`event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`)
    call.end()
  }
  const client = s.ask({ path: PATHS.messages, headers: HEADERS, body: body({ stream: true, tools }) })
  await client.end()
  t.match(client.text, /end_turn/)
  t.notMatch(client.text, /max_tokens/)
  const { rows, ok } = await s.books()
  t.ok(ok)
  t.match(rows, [{ charge: 120 + 8 * 30 + SEARCH, output: 1e9, end: 'completed', basis: 'reported' }])
})
