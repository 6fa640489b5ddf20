/** Two at once: the second begins after silence, the first byte wins, and nobody pays twice. */
import { pbkdf2 } from 'node:crypto'
import { promisify } from 'node:util'
import t from 'tap'
import { NOTHING_LEFT, type Options, open } from './support/gateway.ts'
import { answers, document, says } from './support/speech.ts'
import type { Call } from './support/upstream.ts'

const two: Options = { hedge: '5s', channels: { a: {}, b: {} } }
const first = answers(100, 10)
const second = answers(50, 5)

interface Row {
  act: (a: Call, b: Call) => void
  status: number
  channel: string
  charge: number
  hedge: 'won' | 'lost'
  /** What its health heard. */
  heard: { a: string; b: string }
}

const ROWS: Record<string, Row> = {
  'the second is faster': {
    act: (_a, b) => second(b),
    status: 200,
    channel: 'b',
    charge: 140,
    hedge: 'won',
    heard: { a: 'ignored', b: 'ok' },
  },
  'the first is faster after all': {
    act: a => first(a),
    status: 200,
    channel: 'a',
    charge: 280,
    hedge: 'lost',
    heard: { a: 'ok', b: 'ignored' },
  },
  'the first answers that the client is wrong': {
    act: a => says(400)(a),
    status: 400,
    channel: 'a',
    charge: 0,
    hedge: 'lost',
    heard: { a: 'ok', b: 'ignored' },
  },
}

for (const [name, row] of Object.entries(ROWS)) {
  t.test(name, async t => {
    const s = await open(t, two)
    const client = s.ask(document())
    const a = await s.at('a').call()
    s.clock.advance(4_000)
    await s.settled()
    t.equal(s.at('b').calls.length, 0)
    s.clock.advance(2_000)
    const b = await s.at('b').call()
    row.act(a, b)
    t.equal(await client.end(), 'whole')
    t.equal(client.status, row.status)
    await (row.channel === 'a' ? b : a).cut()
    t.match(await s.books(), {
      ok: true,
      left: NOTHING_LEFT,
      rows: [{ channel: row.channel, charge: row.charge, status: row.status }],
    })
    t.equal(await s.metric('gateway_hedges_total', { outcome: row.hedge }), 1)
    for (const channel of ['a', 'b'] as const)
      t.equal(await s.metric('gateway_upstream_attempts_total', { channel, result: row.heard[channel] }), 1)
  })
}

for (const first of [true, false])
  t.test(`whoever loses has taken the question: ${first ? 'the first' : 'the second'} wins`, async t => {
    const s = await open(t, { ...two, channels: { a: { cost: 0.5 }, b: { cost: 2 } } })
    const client = s.ask(document({ messages: [{ role: 'user', content: 'x'.repeat(400) }] }))
    const a = await s.at('a').call()
    s.clock.advance(6_000)
    const b = await s.at('b').call()
    ;(first ? answers(100, 10) : answers(50, 5))(first ? a : b)
    t.equal(await client.end(), 'whole')
    const { rows, ok } = await s.books()
    t.ok(ok)
    const [row, lost] = rows.sort((x, y) => (x.requestId < y.requestId ? -1 : 1))
    const [winner, loser] = first ? ['a', 'b'] : ['b', 'a']
    t.match(row, { channel: winner, charge: first ? 280 : 140, cost: first ? 140 : 280 })
    t.match(lost, {
      requestId: `${row?.requestId}.1`,
      channel: loser,
      outcome: 'attempt',
      end: 'upstream_cut',
      status: 0,
      basis: 'none',
      charge: 0,
      attempts: [{ channel: loser, status: 0, error: 'lost' }],
    })
    const input = Math.ceil(
      (JSON.stringify(document({ messages: [{ role: 'user', content: 'x'.repeat(400) }] }).body).length / 4) * 1.1,
    )
    t.equal(lost?.cost, input * 2 * (first ? 2 : 0.5), 'the estimated input at the price of the list')
    t.equal(rows.length, 2)
  })

t.test('one of two fails, and the other goes on; both fail, and the client hears of it', async t => {
  const s = await open(t, two)
  for (const [loser, winner] of [
    ['a', 'b'],
    ['b', 'a'],
  ] as const) {
    for (const lose of [(call: Call) => call.reset(), says(500)]) {
      const nth = s.at('a').calls.length
      const client = s.ask(document())
      await s.at('a').call(nth)
      s.clock.advance(6_000)
      await s.at('b').call(nth)
      lose(await s.at(loser).call(nth))
      await s.settled()
      first(await s.at(winner).call(nth))
      t.equal(await client.end(), 'whole')
      t.equal(client.status, 200, `${loser} fails`)
    }
  }
  const client = s.ask(document())
  const a = await s.at('a').call(4)
  s.clock.advance(6_000)
  const b = await s.at('b').call(4)
  a.reset()
  await s.settled()
  b.reset()
  t.equal(await client.end(), 'whole')
  t.equal(client.status, 502)
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
  t.same(
    books.rows.map(row => row.channel + row.charge),
    ['b280', 'b280', 'a280', 'a280', 'b0'],
  )
})

const ONE: Record<string, Options> = {
  'one channel only': { ...two, channels: { a: {} } },
  'an exhausted budget': { ...two, retriesFloor: 0 },
  'a group that does not': { channels: { a: {}, b: {} } },
  'a second channel that is disabled': { ...two, channels: { a: {}, b: { status: 'disabled' } } },
}
for (const [name, options] of Object.entries(ONE)) {
  t.test(`no hedge with ${name}`, async t => {
    const s = await open(t, options)
    const client = s.ask(document())
    const a = await s.at('a').call()
    s.clock.advance(20_000)
    await s.settled()
    first(a)
    t.equal(await client.end(), 'whole')
    t.match(s.asked(), { a: 1, ...(options.channels?.['b'] === undefined ? {} : { b: 0 }) })
    t.equal(await s.metric('gateway_hedges_total'), undefined)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
  })
}

t.test('a hedge that the budget put off is made when there is room again', async t => {
  const s = await open(t, { ...two, retriesFloor: 1 })
  const client = s.ask(document())
  await s.at('a').call()
  s.clock.advance(4_900)
  s.services.retries.retry(2) // somebody else's
  s.clock.advance(700)
  await s.settled()
  t.equal(s.at('b').calls.length, 0)
  s.clock.advance(5_000)
  second(await s.at('b').call())
  t.equal(await client.end(), 'whole')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ channel: 'b', charge: 140 }] })
})

t.test('a client that leaves keeps one of two, and gets no second one', async t => {
  const s = await open(t, two)
  const client = s.ask(document())
  const a = await s.at('a').call()
  s.clock.advance(6_000)
  const b = await s.at('b').call()
  client.leave()
  await b.cut()
  first(a)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ end: 'client_gone', charge: 280, channel: 'a' }] })
  const other = s.ask(document())
  await s.at('a').call(1)
  other.leave()
  await s.settled()
  s.clock.advance(20_000)
  await s.settled()
  t.equal(s.at('b').calls.length, 1)
  await s.readOut()
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

t.test('a client that leaves while the head of the one that is kept has come is charged for its answer', async t => {
  const s = await open(t, two)
  const client = s.ask(document())
  const a = await s.at('a').call()
  const body = '{"usage":{"prompt_tokens":100,"completion_tokens":10}}'
  a.start(200, { 'content-type': 'application/json', 'content-length': String(body.length) })
  await s.settled()
  s.clock.advance(6_000)
  const b = await s.at('b').call()
  client.leave()
  await b.cut()
  a.raw(body)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ end: 'client_gone', charge: 280, channel: 'a' }] })
})

t.test('a first byte that proves to be an error goes on to a third', async t => {
  const s = await open(t, { hedge: '5s', channels: { a: {}, b: {}, c: {} } })
  s.at('c').script = first
  const client = s.ask(document())
  const a = await s.at('a').call()
  s.clock.advance(6_000)
  const b = await s.at('b').call()
  b.whole(200, { error: { message: 'no' } })
  t.equal(await client.end(), 'whole')
  t.equal(client.status, 200)
  await a.cut()
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [], rows: [{ channel: 'c', charge: 280 }] })
  t.equal(await s.metric('gateway_upstream_attempts_total', { channel: 'b', result: 'failed' }), 1)
})

t.test('a head alone wins nothing; it is relayed when the other fails', async t => {
  const s = await open(t, two)
  const client = s.ask(document())
  const a = await s.at('a').call()
  s.clock.advance(6_000)
  const b = await s.at('b').call()
  b.start(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
  await s.settled()
  t.equal(a.closed, false)
  a.reset()
  await s.settled()
  b.chunk('{"usage":{"prompt_tokens":100,"completion_tokens":10}}')
  b.end()
  t.equal(await client.end(), 'whole')
  t.equal(client.answer.headers.get('content-type'), 'application/json')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [], rows: [{ channel: 'b', charge: 280 }] })
})

t.test('both silent until the first-byte time-out: 504', async t => {
  const s = await open(t, { ...two, config: { timeouts: { main: '0s', first_byte: '60s' }, retry: { attempts: 2 } } })
  const client = s.ask(document())
  await s.at('a').call()
  s.clock.advance(6_000)
  await s.at('b').call()
  s.clock.advance(70_000)
  t.equal(await client.end(), 'whole')
  t.equal(client.status, 504)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [], rows: [{ status: 504, charge: 0 }] })
})

t.test('the places of both are taken and given back', async t => {
  const s = await open(t, {
    hedge: '5s',
    channels: { a: { key: 'up', max_concurrency: 1 }, b: { key: 'up', max_concurrency: 1 } },
  })
  for (let nth = 0; nth < 3; nth++) {
    const client = s.ask(document())
    await s.at('a').call(nth)
    s.clock.advance(6_000)
    const b = await s.at('b').call(nth)
    const refused = s.ask(document())
    await refused.end()
    t.equal(refused.status, 429)
    second(b)
    t.equal(await client.end(), 'whole')
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
    for (const channel of ['a', 'b']) t.equal(await s.metric('gateway_upstream_open', { channel }), 0)
  }
})

/** Work for the threads that also decode: what is asked of them later waits for it. */
const busyThreads = () =>
  Promise.all(Array.from({ length: 48 }, () => promisify(pbkdf2)('word', 'salt', 40_000, 32, 'sha512')))

// The bug behind it: a second attempt began, and when it failed, nobody ended the answer of the first one any more.
t.test('an empty compressed answer whose decoder is late is no silence, so no hedged attempt begins', async t => {
  const s = await open(t, two)
  const client = s.ask(document())
  const a = await s.at('a').call()
  const work = busyThreads()
  a.start(200, { 'content-type': 'application/json', 'content-encoding': 'gzip', 'transfer-encoding': 'chunked' })
  a.end()
  await s.settled()
  s.clock.advance(6_000)
  await work
  second(await s.at('b').call())
  t.equal(await client.end(), 'whole')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ channel: 'b', charge: 140, status: 200 }] })
  for (const outcome of ['won', 'lost']) t.equal(await s.metric('gateway_hedges_total', { outcome }), undefined)
  t.equal(await s.metric('gateway_upstream_attempts_total', { channel: 'a', result: 'failed' }), 1)
})
