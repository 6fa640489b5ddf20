/** What an answer reports beside its text, in the books: tokens of sound and pictures, and searches. */
import t from 'tap'
import { HEADERS, MODEL, NOTHING_LEFT, open } from './support/gateway.ts'
import { SPEECH } from './support/speech.ts'
import type { Script } from './support/upstream.ts'

type Json = Record<string, unknown>

const data = (value: Json | string) => `data: ${typeof value === 'string' ? value : JSON.stringify(value)}\n\n`
const stream =
  (end: 'whole' | 'broken', ...events: (Json | string)[]): Script =>
  call => {
    call.stream()
    for (const event of events) call.chunk(data(event))
    if (end === 'whole') call.end()
    else call.reset()
  }

const text = (content: string): Json => ({ choices: [{ index: 0, delta: { content } }] })
const cited = { choices: [{ index: 0, delta: { annotations: [{ type: 'url_citation' }] } }] }
const usage = {
  prompt_tokens: 100,
  completion_tokens: 60,
  prompt_tokens_details: { audio_tokens: 40, cached_tokens: 10 },
  completion_tokens_details: { audio_tokens: 50 },
}
const reported = { choices: [], usage }
const call = { type: 'response.web_search_call.in_progress', item_id: 'ws_1', output_index: 0 }

/** 44 bytes, which are 10 tokens. */
const TEN = 'x'.repeat(44)
const PRICE = { input: 2, input_audio: 30, cache_read: 1, output: 8, output_audio: 100, web_search: 0.5 }
const SEARCH = 500_000
const INPUT = 50 * 2 + 10 * 1 + 40 * 30

const ROWS: [what: string, keyof typeof SPEECH, Script, row: Json][] = [
  [
    'each modality at its price',
    'chat',
    stream('whole', text('x'), reported, '[DONE]'),
    { input: 90, cache_read: 10, output: 60, charge: INPUT + 10 * 8 + 50 * 100, basis: 'reported' },
  ],
  [
    'more content behind the report is text, and sound is not counted twice',
    'chat',
    stream('broken', reported, text(TEN.repeat(7))),
    { output: 70, charge: INPUT + 20 * 8 + 50 * 100, basis: 'counted' },
  ],
  [
    'less content than was reported, in an answer that breaks off',
    'chat',
    stream('broken', text(TEN), reported),
    { output: 60, charge: INPUT + 10 * 8 + 50 * 100, basis: 'reported' },
  ],
  [
    'a search that is seen by what is cited',
    'chat',
    stream('whole', text('x'), cited, reported, '[DONE]'),
    { charge: INPUT + 10 * 8 + 50 * 100 + SEARCH },
  ],
  [
    'the larger of the searches reported and seen',
    'responses',
    stream(
      'whole',
      call,
      { ...call, item_id: 'ws_2' },
      {
        type: 'response.completed',
        response: { usage: { input_tokens: 10, output_tokens: 5 }, tool_usage: { web_search: { num_requests: 1 } } },
      },
    ),
    { input: 10, output: 5, charge: 20 + 40 + 2 * SEARCH },
  ],
]

t.test('the books', async t => {
  const s = await open(t, { prices: { m: PRICE } })
  for (const [what, protocol, script, row] of ROWS) {
    s.at('a').script = script
    await s.ask(SPEECH[protocol].ask).end()
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    t.match(books.rows.at(-1), row, what)
  }
})

t.test('searches of an answer that breaks off before anything is reported', async t => {
  const s = await open(t, { prices: { m: PRICE } })
  const delta = { type: 'response.output_text.delta', delta: TEN }
  s.at('a').script = stream('broken', { type: 'response.created', response: { id: 'r' } }, call, delta)
  await s.ask(SPEECH.responses.ask).end()
  const books = await s.books()
  const row = books.rows.at(-1)
  t.match(row, { basis: 'counted', end: 'upstream_cut', output: 10 })
  t.equal(row?.charge, (row?.input ?? 0) * 2 + 80 + SEARCH)
})

t.test('where searches have no price, they cost nothing', async t => {
  const s = await open(t, { prices: { m: { input: 2, output: 8 } } })
  s.at('a').script = stream('whole', text('x'), cited, reported, '[DONE]')
  await s.ask(SPEECH.chat.ask).end()
  t.match((await s.books()).rows, [{ charge: 100 * 2 + 60 * 8 }])
})

t.test('what is charged by the request needs no report', async t => {
  const page: Script = call => call.whole(200, 'Sorry.')
  const silent = stream('whole', text('x'), '[DONE]')
  const rows: [what: string, price: Json, Script, row: Json][] = [
    ['no report', { request: 0.05 }, silent, { basis: 'reported', charge: 50_000 }],
    ['broken off', { request: 0.05 }, stream('broken', text('x')), { basis: 'reported', charge: 50_000 }],
    ['not readable', { request: 0.05 }, page, { basis: 'reported', charge: 50_000 }],
    ['no content', { request: 0.05 }, stream('broken'), { basis: 'none', charge: 0 }],
    ['tokens beside it', { request: 0.05, input: 0, output: 0 }, silent, { basis: 'counted', charge: 50_000 }],
    ['searches beside it', { request: 0.05, web_search: 1 }, silent, { basis: 'counted', charge: 50_000 }],
  ]
  for (const [what, price, script, row] of rows) {
    const s = await open(t, { prices: { m: price } })
    s.at('a').script = script
    await s.ask(SPEECH.chat.ask).end()
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    t.match(books.rows, [row], what)
  }
})

t.test('pictures by link are reported by their pieces, also where the answer comes in several parts', async t => {
  const s = await open(t, { prices: { [MODEL]: { image: 0.01 } } })
  const client = s.ask({ path: '/v1/images/generations', headers: HEADERS, body: { model: MODEL, prompt: 'a cat' } })
  const call = await s.at('a').call()
  const body = JSON.stringify({ created: 1, data: [{ url: 'https://images.example/1.png' }] })
  call.start(200, { 'content-type': 'application/json', 'content-length': String(body.length) })
  for (const byte of body) {
    call.raw(byte)
    await s.settled()
  }
  await client.end()
  t.match((await s.books()).rows, [{ basis: 'reported', charge: 10_000, images: 1 }])
})
