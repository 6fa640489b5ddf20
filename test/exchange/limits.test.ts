/** Full channels, resting channels, an overloaded process: who is asked instead, and what the client hears. */
import t from 'tap'
import { until } from '../support/wait.ts'
import { NOTHING_LEFT, open, type Scene } from './support/gateway.ts'
import { answers, document, SPEECH, says } from './support/speech.ts'

const good = answers(100, 10)

const LIMITS = {
  'of the channel': { key: 'up', max_concurrency: 1 },
  'of its keys': { keys: [{ key: 'up', max_concurrency: 1 }] },
}

for (const [whose, limit] of Object.entries(LIMITS)) {
  t.test(`a place ${whose}: taken by one, others go elsewhere, all full is a 429`, async t => {
    const s = await open(t, { channels: { a: limit, b: limit } })
    const first = s.ask(document())
    await s.at('a').call()
    const second = s.ask(document())
    await s.at('b').call()
    const third = s.ask(document())
    t.equal(await third.end(), 'whole')
    t.equal(third.status, 429)
    t.equal(third.answer.headers.get('retry-after'), '1')
    t.match(third.text, /当前分组上游负载已饱和,请稍后再试/)
    t.equal(await s.metric('gateway_upstream_open', { channel: 'a' }), 1)
    good(await s.at('a').call())
    good(await s.at('b').call())
    t.same([await first.end(), await second.end()], ['whole', 'whole'])
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT })
    t.equal(books.rows.length, 2)
    t.equal(await s.metric('gateway_upstream_open', { channel: 'a' }), 0)
  })

  t.test(`a place ${whose} comes back however the answer ended`, async t => {
    const s = await open(t, { channels: { a: limit }, config: { client_gone: { concurrent: 0 } } })
    const { ask: said, first } = SPEECH.messages
    const ask = { ...said, body: { ...(said.body as object), max_tokens: 5_000 } } // which takes a place, and there is none
    const ends = ['answered', 'refused', 'cut', 'left', 'left early']
    for (const [nth, end] of ends.entries()) {
      const client = s.ask(ask)
      const call = await s.at('a').call(nth)
      if (end === 'answered') good(call)
      else if (end === 'refused') says(400)(call)
      else if (end !== 'left early') {
        call.stream()
        call.chunk(first)
        await client.sees(first)
        if (end === 'cut') call.reset()
      }
      if (end.startsWith('left')) {
        client.leave()
        await until('it is read on, or done', () => s.services.readOns.size === 1 || s.services.openCount === 0)
        s.clock.advance(3_000)
      } else await client.end()
      await until(`the place is free after ${end}`, () => s.health.states().get('a')?.open === 0)
    }
    t.equal(s.at('a').calls.length, ends.length)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
  })
}

const status = async (s: Scene): Promise<number> => {
  const client = s.ask(document())
  await client.end()
  return client.status
}

t.test('retry-after is honoured', async t => {
  const s = await open(t)
  s.at('a').script = says(429, { 'retry-after': '30' })
  t.equal(await status(s), 429)
  t.equal(s.state('a'), 'closed', 'its health is another question')
  s.at('a').script = good
  const refused = s.ask(document())
  await refused.end()
  t.same([refused.status, refused.answer.headers.get('retry-after')], [429, '30'])
  s.clock.advance(29_000)
  t.equal(await status(s), 429)
  t.equal(s.at('a').calls.length, 1)
  s.clock.advance(1_000)
  t.equal(await status(s), 200)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

t.test('retry-after may be a date, or be said in ms', async t => {
  const s = await open(t)
  for (const headers of [
    { 'retry-after': new Date(s.clock.now() + 40_000).toUTCString() },
    { 'retry-after-ms': '40000' },
  ]) {
    s.at('a').script = says(429, headers)
    t.equal(await status(s), 429)
    s.at('a').script = good
    const before = s.at('a').calls.length
    s.clock.advance(38_000)
    t.equal(await status(s), 429)
    t.equal(s.at('a').calls.length, before)
    s.clock.advance(2_000)
    t.equal(await status(s), 200)
  }
})

t.test('a key refused three times rests its channel for long, which is said once', async t => {
  const s = await open(t, { channels: { a: {}, b: {} } })
  s.at('a').script = says(401)
  s.at('b').script = good
  for (let i = 0; i < 3; i++) t.equal(await status(s), 200)
  await until('a question of our own is refused', () => s.state('a') === 'open')
  for (let i = 0; i < 3; i++) t.equal(await status(s), 200)
  t.same(s.asked(), { a: 4, b: 6 })
  t.same(s.refusedKeys(), ['a'])
  t.same([s.state('a'), s.state('b')], ['open', 'closed'])
  s.clock.advance(59_000)
  t.equal(s.state('a'), 'open')
  s.clock.advance(2_000)
  s.at('a').script = good
  t.equal(await status(s), 200)
  t.same([s.asked(), s.state('a')], [{ a: 5, b: 6 }, 'closed'])
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

t.test(
  'failures rest a channel, which is asked so often all the same: then 503; a disabled one is no question of health',
  async t => {
    const s = await open(t, { channels: { a: {}, b: { status: 'disabled' } } })
    s.at('a').script = says(500)
    for (let i = 0; i < 15; i++) t.equal(await status(s), 500)
    const client = s.ask(document())
    await client.end()
    t.equal(client.status, 503)
    t.match(client.text, /无可用渠道/)
    t.equal(client.answer.headers.get('retry-after'), '5')
    t.same([s.state('a'), s.state('b')], ['open', 'closed'])
    t.equal(await s.metric('gateway_channel_state', { channel: 'a' }), 2)
    t.equal(await s.metric('gateway_channel_state', { channel: 'b' }), 0)
    t.same(s.asked(), { a: 15, b: 0 })
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  },
)

t.test('one exhausted key does not rest the other', async t => {
  const s = await open(t, { channels: { a: { keys: [{ key: 'k0' }, { key: 'k1' }] } } })
  s.at('a').script = call =>
    (call.header('authorization') === 'Bearer k0' ? says(429, { 'retry-after': '60' }) : good)(call)
  for (let i = 0; i < 12; i++) t.equal(await status(s), 200)
  t.ok(s.at('a').calls.length <= 13, 'the exhausted key was asked once at most')
  t.equal(s.state('a'), 'closed')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

t.test('shed.lag: new requests are refused while the process is late', async t => {
  const s = await open(t, { config: { shed: { lag: '200ms' } } })
  s.at('a').script = good
  for (const [ms, expected] of [
    [200, 200],
    [201, 503],
    [0, 200],
  ] as const) {
    s.services.lag = { ms }
    const client = s.ask(document())
    await client.end()
    t.equal(client.status, expected)
    if (expected === 503) t.equal(client.answer.headers.get('retry-after'), '2')
  }
  t.equal(s.at('a').calls.length, 2)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})
