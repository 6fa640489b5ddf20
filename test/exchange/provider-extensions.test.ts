/**
 * Words that only some providers know made an answer dearer than what was held for it, or another model's, or opened what
 * the upstream keeps: `batch_size` asked for four pictures and one was held, `enable_thinking` let a maximum of one token
 * grow to thirty thousand, a film under `video` was text, `models` named who should answer instead.
 */
// The bug behind these rows: words of single providers.
import t from 'tap'
import { KEY, MODEL, NOTHING_LEFT, open, type Scene } from './support/gateway.ts'
import type { Talking } from '../support/talking.ts'
import { until } from '../support/wait.ts'

const PATHS: Record<Talking, string> = {
  messages: '/v1/messages',
  chat: '/v1/chat/completions',
  responses: '/v1/responses',
  images: '/v1/images/generations',
  generate: `/v1beta/models/${MODEL}:generateContent`,
}
const HEADERS = { authorization: `Bearer ${KEY}`, 'x-api-key': KEY, 'x-goog-api-key': KEY }
const M = `"model":"${MODEL}",`
const DEFAULT = 100_000
const PICTURE = 2000
const MAX_INPUT = 200_000
const SEARCH = 16_000
const SEARCHES = 10 * SEARCH

/** A token costs a micro-CNY on either side, so that amounts are tokens; a picture costs a million of them. */
const scene = (t: Parameters<typeof open>[0], price: object = { input: 1, output: 1, web_search: 0 }) =>
  open(t, { model: { price, input_factor: 1, max_output: 100_000 } })

/** What is held while the upstream is asked, beyond the body's text; or why it is not asked. */
async function held(s: Scene, protocol: Talking, body: string): Promise<number | string> {
  const client = s.ask({ path: PATHS[protocol], headers: HEADERS, body })
  const calls = s.at('a').calls.length
  let refused = false
  const ended = client.end().then(() => (refused = true))
  await until('the upstream is asked, or the client is refused', () => refused || s.at('a').calls.length > calls)
  if (refused) return client.text
  const amount = s.services.ledger.heldTotal
  s.at('a').calls[calls]?.whole(400, {})
  await ended
  return amount - Math.ceil(body.length / 4)
}

const part = (members: string) => `{${M}"messages":[{"role":"user","content":[{${members}}]}]}`
const item = (members: string) => `{${M}"input":[{"role":"user","content":[{${members}}]}]}`
const URL = '"https://example.test/x"'

t.test('they make it dearer', async t => {
  const s = await scene(t)
  const rows: [Talking, string, number][] = [
    ['chat', `{${M}"max_tokens":1,"enable_thinking":true}`, 1 + DEFAULT],
    ['chat', `{${M}"max_tokens":1,"enable_thinking":"true"}`, 1 + DEFAULT],
    ['chat', `{${M}"max_tokens":1,"enable_thinking":false}`, 1],
    ['chat', `{${M}"max_tokens":1,"enable_thinking":null}`, 1],
    ['chat', `{${M}"max_tokens":1,"enable_thinking":true,"thinking_budget":500}`, 1 + DEFAULT],
    ['chat', `{${M}"max_tokens":1,"thinking_budget":0,"enable_thinking":true}`, 1 + DEFAULT],
    ['chat', `{${M}"max_tokens":1,"thinking":{"type":"enabled"}}`, 1 + DEFAULT],
    ['chat', `{${M}"max_tokens":1,"thinking":{"type":"disabled"}}`, 1],
    ['chat', `{${M}"max_tokens":1,"thinking":{"budget_tokens":700}}`, 700 + DEFAULT],
    ['chat', `{${M}"max_tokens":1,"reasoning":{"max_tokens":"800"}}`, 800 + DEFAULT],
    ['chat', `{${M}"max_tokens":1,"enable_search":true}`, 1 + SEARCHES],
    ['chat', `{${M}"max_tokens":1,"enable_search":false}`, 1],
    ['chat', `{${M}"max_tokens":1,"enable_enhancement":true}`, 1 + SEARCHES],
    ['chat', `{${M}"max_tokens":1,"search_parameters":{"mode":"auto"}}`, 1 + SEARCHES],
    ['chat', `{${M}"max_tokens":1,"search_parameters":{"mode":"off"}}`, 1],
    ['chat', `{${M}"max_tokens":1,"web_search":{"enable":true}}`, 1 + SEARCHES],
    ['chat', `{${M}"max_tokens":1,"web_search":{"enable":false}}`, 1],
    ['chat', `{${M}"max_tokens":1,"web_search":true}`, 1 + SEARCHES],
    ['chat', `{${M}"max_tokens":1,"plugins":[{"id":"web"}]}`, 1 + SEARCH],
    ['chat', `{${M}"max_tokens":1,"plugins":["web"]}`, 1 + SEARCH],
    ['chat', part(`"type":"file_url","file_url":{"url":${URL}}`), DEFAULT + MAX_INPUT],
    ['chat', part(`"type":"document_url","document_url":${URL}`), DEFAULT + MAX_INPUT],
    ['chat', part(`"type":"video","video":${URL}`), DEFAULT + MAX_INPUT],
    ['chat', part(`"type":"video","video":[${URL},${URL}]`), DEFAULT + 2 * PICTURE],
    ['responses', item(`"type":"input_video","video_url":${URL}`), DEFAULT + MAX_INPUT],
    ['responses', `{${M}"max_output_tokens":1,"plugins":[{"id":"web"}]}`, 1 + SEARCH],
    // 0 is no limit to readers that take it for a field that is not there
    ['responses', `{${M}"max_output_tokens":1,"max_tool_calls":0,"tools":[{"type":"web_search"}]}`, 1 + SEARCHES],
    ['messages', `{${M}"max_tokens":1,"tools":[{"type":"web_search_20250305","max_uses":0}]}`, 1 + SEARCHES],
  ]
  for (const [protocol, body, want] of rows) t.equal(await held(s, protocol, body), want, body)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

t.test('they ask for more pictures', async t => {
  const s = await scene(t, { image: 1 })
  const rows: [string, number][] = [
    [`{${M}"batch_size":4}`, 4],
    [`{${M}"n":2,"num_images":"3"}`, 3],
    [`{${M}"sequential_image_generation":"auto"}`, 15],
    [`{${M}"sequential_image_generation_options":{"max_images":6},"sequential_image_generation":"auto"}`, 6],
    [`{${M}"sequential_image_generation_options":{"max_images":6},"sequential_image_generation":"disabled"}`, 1],
  ]
  for (const [body, pictures] of rows) t.equal(Math.round(Number(await held(s, 'images', body)) / 1e6), pictures, body)
})

t.test('they name other models, or what the upstream keeps', async t => {
  const s = await scene(t)
  const rows: [Talking, string, string][] = [
    ['chat', `{${M}"models":["dear"]}`, 'models'],
    ['responses', `{${M}"models":["dear"]}`, 'models'],
    ['messages', `{${M}"models":["dear"]}`, 'models'],
    ['chat', `{${M}"fallbacks":["dear"]}`, 'fallbacks'],
    ['chat', `{${M}"preset":"of-the-operator"}`, 'preset'],
    ['chat', `{${M}"deferred":true}`, 'deferred'],
    ['chat', `{${M}"extra_body":{"google":{"cached_content":"cachedContents/1"}}}`, 'cached_content'],
    ['chat', part('"type":"image_url","image_url":{"url":"ms://file-1"}'), 'url'],
    ['chat', part('"type":"image_url","image_url":"\\u006ds:\\/\\/file-1"'), 'url'],
    ['chat', part('"type":"file","file":{"file_data":"gs://bucket/x"}'), 'url'],
    ['responses', item('"type":"input_image","image_url":"ms://file-1"'), 'url'],
    [
      'messages',
      `{${M}"messages":[{"content":[{"type":"image","source":{"type":"url","url":"ms://file-1"}}]}]}`,
      'url',
    ],
    ['responses', `{${M}"input":[{"type":null,"id":"msg_1"}]}`, 'item_reference (store: false)'],
    ['responses', `{${M}"input":[{"id":"msg_1","role":null}]}`, 'item_reference (store: false)'],
    ['responses', `{${M}"input":[{"type":"image_generation_call","id":"ig_1"}]}`, 'item_reference (store: false)'],
    [
      'responses',
      `{${M}"input":[{"type":"image_generation_call","id":"ig_1","result":null}]}`,
      'item_reference (store: false)',
    ],
  ]
  for (const [protocol, body, field] of rows)
    t.match(await held(s, protocol, body), `请求体字段无效:${field} (request id`, body)
  for (const [protocol, body] of [
    ['chat', `{${M}"models":[],"fallbacks":null,"deferred":false,"extra_body":{"google":{"thinking_config":{}}}}`],
    ['chat', part('"type":"image_url","image_url":{"url":"QUJD"}')],
    ['responses', `{${M}"input":[{"type":"image_generation_call","id":"ig_1","result":"QUJD"}]}`],
  ] as const)
    t.type(await held(s, protocol, body), 'number', body)
})

const event = (type: string, more: object): string =>
  `event: image_generation.${type}\ndata: ${JSON.stringify({ type: `image_generation.${type}`, ...more })}\n\n`
const one = (image_index: number) => event('partial_succeeded', { image_index, url: URL })
const end = (generated_images: number) => event('completed', { usage: { generated_images, output_tokens: 4096 } })

t.test('each picture of a sequence is told by an event of its own', async t => {
  const rows: [what: string, stream: string, pictures: number, whole: boolean][] = [
    ['three', one(0) + one(1) + one(2) + end(3), 3, true],
    [
      'two, and one that failed',
      one(0) + event('partial_failed', { error: { code: 'no' } }) + one(2) + end(2),
      2,
      true,
    ],
    ['two, and no end', one(0) + one(1), 2, false],
    ['none', event('partial_failed', { error: { code: 'no' } }) + end(0), 0, true],
    ['as many as it says, where it shows none', end(4), 4, true],
    ['one as others tell it', event('completed', { b64_json: 'QUJD', usage: { output_tokens: 5 } }), 1, true],
  ]
  for (const [what, stream, images, whole] of rows) {
    const s = await scene(t, { image: 0.5 })
    const body = `{${M}"prompt":"a cat","stream":true,"sequential_image_generation":"auto"}`
    const client = s.ask({ path: PATHS.images, headers: HEADERS, body })
    const call = await s.at('a').call()
    call.stream()
    call.chunk(stream)
    if (whole) call.chunk('data: [DONE]\n\n')
    if (whole) call.end()
    else call.reset()
    t.equal(await client.end(), whole ? 'whole' : 'cut')
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [], rows: [{ images, charge: images * 500_000 }] }, what)
  }
})

t.test('pictures that nobody can count are those that were asked for', async t => {
  const s = await scene(t, { image: 0.5 })
  const client = s.ask({ path: PATHS.images, headers: HEADERS, body: `{${M}"prompt":"a cat","n":2}` })
  const call = await s.at('a').call()
  call.whole(200, one(0) + one(1) + end(2))
  t.equal(await client.end(), 'whole')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ images: 2, charge: 1_000_000, basis: 'counted' }] })
})

t.test('what a tool that draws took is told beside the usage', async t => {
  const usage = { input_tokens: 100, output_tokens: 10, total_tokens: 110 }
  const tool_usage = { image_gen: { input_tokens: 40, output_tokens: 4000, total_tokens: 4040 } }
  const drawn = (result: string) => ({ type: 'image_generation_call', id: 'ig_1', status: 'completed', result })
  const answer = (size: number) => ({ id: 'resp_1', output: [drawn('QUJD'.repeat(size))], tool_usage, usage })
  const stream = (size: number) =>
    `event: response.completed\ndata: ${JSON.stringify({ type: 'response.completed', response: answer(size) })}\n\n`
  for (const streams of [true, false])
    for (const size of [10, 50_000])
      for (const [price, want] of [
        [
          { input: 1, output: 1 },
          { input: 140, output: 4010, charge: 4150 },
        ],
        [
          { input: 1, output: 1, image: 0.5 },
          { input: 140, output: 4010, images: 1, charge: 500_150 },
        ],
      ] as const) {
        const s = await scene(t, price)
        const body = `{${M}"stream":${streams},"tools":[{"type":"image_generation"}]}`
        const client = s.ask({ path: PATHS.responses, headers: HEADERS, body })
        const call = await s.at('a').call()
        if (streams) {
          call.stream()
          call.chunk(stream(size))
          call.end()
        } else call.whole(200, answer(size))
        t.equal(await client.end(), 'whole')
        const what = `${streams ? 'stream' : 'document'} of ${size}, ${JSON.stringify(price)}`
        t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ ...want, basis: 'reported' }] }, what)
      }
  const s = await scene(t)
  const body = `{${M}"max_output_tokens":1,"max_tool_calls":2,"tools":[{"type":"image_generation"}]}`
  t.equal(await held(s, 'responses', body), 1 + 2 * (16_000 + 4096), 'and held')
})
