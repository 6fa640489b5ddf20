/** What stands in a row beside its charge: who was asked, what it cost, which ids it had, and what the price did not list. */
import t from 'tap'
import { HEADERS, type Options, open, PATHS } from './support/gateway.ts'
import { answers, document, says } from './support/speech.ts'

const event = (data: { type: string; item?: object; response?: object }): string =>
  `event: ${data.type}\ndata: ${JSON.stringify(data)}\n\n`
const two: Options = { channels: { a: { cost: 0.5 }, b: { cost: { m: { input: 1, output: 1 } } } } }

t.test('each attempt is noted, and the cost is that of the channel that answered', async t => {
  const s = await open(t, two)
  s.at('a').script = says(503)
  s.at('b').script = answers(100, 10)
  t.equal(await s.ask(document()).end(), 'whole')
  s.at('a').script = answers(100, 10)
  t.equal(await s.ask(document()).end(), 'whole')
  const { rows } = await s.books()
  t.match(rows, [
    {
      attempts: [
        { channel: 'a', status: 503, error: 'status', ms: Number },
        { channel: 'b', status: 200, error: null, ms: Number },
      ],
      charge: 280,
      cost: 110,
    },
    { attempts: [{ channel: 'a', status: 200, error: null }], charge: 280, cost: 140 },
  ])
})

t.test('an attempt without an answer has the code of its error', async t => {
  const s = await open(t, two)
  s.at('a').script = call => call.reset()
  s.at('b').script = call => call.reset()
  t.equal(await s.ask(document()).end(), 'whole')
  const { rows } = await s.books()
  const attempt = (channel: string) => ({ channel, status: 0, error: /^[A-Z_]+$/ })
  t.match(rows, [{ attempts: [attempt('a'), attempt('b')], charge: 0, cost: 0, lines: [] }])
})

t.test('of two at once, the one that lost', async t => {
  const s = await open(t, { ...two, hedge: '5s' })
  const client = s.ask(document())
  await s.at('a').call()
  s.clock.advance(6_000)
  await s.settled()
  answers(50, 5)(await s.at('b').call())
  t.equal(await client.end(), 'whole')
  const { rows } = await s.books()
  t.match(rows, [
    {
      attempts: [
        { channel: 'a', status: 0, error: 'lost', ms: 6_000 },
        { channel: 'b', error: null },
      ],
    },
  ])
})

t.test('an answer that was taken back costs what it reported', async t => {
  const s = await open(t, { channels: { a: { cost: 0.5 } } })
  const begun = '{"usage":{"prompt_tokens":100,"completion_tokens":5000},"choices":[{"message":{"content":"good morning'
  const head = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n'
  s.at('a').script = call => call.raw(`${head}${begun.length.toString(16)}\r\n${begun}\r\nno size\r\n`)
  t.equal(await s.ask(document()).end(), 'whole')
  const { rows } = await s.books()
  t.match(rows, [{ basis: 'none', charge: 0, lines: [], cost: (100 * 2 + 5000 * 8) / 2 }])
})

t.test('ids that are no word of visible ASCII, too long, or quote a key are not kept', async t => {
  const key = 'up-secret-0123456789'
  const s = await open(t, { channels: { a: { key } } })
  const ids: [sent: string, kept: string | null][] = [
    ['req_abcdefghij', 'req_abcdefghij'],
    ['two words', null],
    ['x'.repeat(129), null],
    [`req-${key}`, null],
    [`req-${Buffer.from(key).toString('base64')}`, null],
  ]
  for (const [sent, kept] of ids) {
    s.at('a').script = call => call.whole(200, { choices: [{ message: { content: 'Hi.' } }] }, { 'request-id': sent })
    const headers = { ...HEADERS, 'x-client-request-id': sent }
    t.equal(await s.ask({ ...document(), headers }).end(), 'whole')
    const { rows } = await s.books()
    t.equal(rows.at(-1)?.upstreamId, kept, sent)
    if (!sent.includes('-')) t.equal(rows.at(-1)?.clientRequestId, kept, sent)
  }
})

t.test('what the price does not list is counted', async t => {
  const price = { input: 1, output: 1, tiers: { flex: 0.5 } }
  const drawn = { image: { '1k': 1, '2k': 2 } }
  const s = await open(t, { prices: { m: price, drawn }, channels: { a: { models: ['m', 'drawn'] } } })
  s.at('a').script = call =>
    call.whole(200, { service_tier: 'scale', choices: [{ message: { content: 'Hi.' } }], usage: { prompt_tokens: 9 } })
  t.equal(await s.ask(document()).end(), 'whole')
  s.at('a').script = call => call.whole(200, { size: '4k', data: [{ b64_json: 'QUJD' }] })
  const body = { model: 'drawn', prompt: 'a cat', size: '1k' }
  t.equal(await s.ask({ path: PATHS.images, headers: HEADERS, body }).end(), 'whole')
  const { rows } = await s.books()
  t.equal(rows.at(-1)?.charge, 2_000_000, 'the dearest')
  t.equal(await s.metric('gateway_tier_unlisted_total', { model: 'm' }), 1)
  t.equal(await s.metric('gateway_picture_unmatched_total', { model: 'drawn' }), 1)
})

t.test('a hold grows by searches that the request did not announce, while there is money', async t => {
  const search = (id: string) =>
    event({ type: 'response.output_item.added', item: { type: 'web_search_call', id, action: { type: 'search' } } })
  const usage = { input_tokens: 10, output_tokens: 10 }
  for (const [count, fee, whole] of [
    [5, 2, true],
    [5, 30, false],
  ] as const) {
    const price = { input: 1, output: 1, web_search: fee }
    const s = await open(t, { model: { price, max_searches: 1 }, config: { hold: { output_tokens: 16 } } })
    s.at('a').script = call => {
      call.stream()
      for (let i = 0; i < count; i++) call.chunk(search(`s${i}`))
      call.chunk(event({ type: 'response.completed', response: { id: 'r', usage } }))
      call.end()
    }
    const body = { model: 'm', stream: true, input: 'q', tools: [{ type: 'web_search' }] }
    const asking = s.ask({ path: PATHS.responses, headers: HEADERS, body })
    await asking.end()
    const { rows, ok } = await s.books()
    const searches = rows[0]?.lines.find(line => line.class === 'web_search')?.count ?? 0
    t.ok(ok)
    t.equal(searches === count, whole, `${searches} searches at ${fee}`)
    t.ok((rows[0]?.held ?? 0) >= (rows[0]?.charge ?? 0), 'the hold covers the charge')
    if (!whole) t.match(asking.text, /max_output_tokens/, 'the end of a stream whose money has ended')
  }
})

t.test('what has no price is refused before the upstream is asked', async t => {
  const drawn = { image: { '1k': 1, '2k/high': 2 } }
  const s = await open(t, { prices: { m: { input: 1, output: 1, tiers: { priority: 2 } }, drawn } })
  await s.changeChannel('a', { models: { m: 'm', drawn: 'drawn' } })
  const rows: [path: string, body: object, field: string | null][] = [
    [PATHS.chat, { model: 'm', service_tier: 'scale', messages: [] }, 'service_tier'],
    [PATHS.chat, { model: 'm', service_tier: 'priority', messages: [] }, null],
    [PATHS.messages, { model: 'm', speed: 'fast', messages: [] }, 'speed'],
    [PATHS.images, { model: 'drawn', prompt: '', size: '9x9' }, 'size'],
    [PATHS.images, { model: 'drawn', prompt: '', size: '2k', quality: 'low' }, 'quality'],
    [PATHS.images, { model: 'drawn', prompt: '', size: '2k', quality: 'HIGH' }, null],
  ]
  s.at('a').script = says(400)
  for (const [path, body, field] of rows) {
    const before = s.at('a').calls.length
    const asking = s.ask({ path, headers: HEADERS, body })
    t.equal(await asking.end(), 'whole')
    t.equal(s.at('a').calls.length, before + (field === null ? 1 : 0), JSON.stringify(body))
    if (field !== null) t.match(asking.text, `请求体字段无效:${field}`)
  }
})
