/** Long silence: keep-alive bytes only where they do no harm, the early head, and the page of a CDN. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { TALKING } from '../support/talking.ts'
import type { Client } from './support/client.ts'
import { CONNECTIONS, NOTHING_LEFT, open } from './support/gateway.ts'
import { answers, document, SPEECH, says } from './support/speech.ts'

for (const protocol of TALKING) {
  const { ask, first, rest, keepAlive } = SPEECH[protocol]

  t.test(`${protocol}: keep-alive bytes between events, and never inside one`, async t => {
    const s = await open(t)
    const client = s.ask(ask)
    const call = await s.at('a').call()
    call.stream()
    await s.settled()
    s.clock.advance(40_000)
    await s.settled()
    t.equal(client.status, 0, 'nothing before the first byte')
    call.chunk(first)
    await client.sees(first)
    s.clock.advance(16_000)
    await client.sees(first + keepAlive)
    call.chunk(rest.slice(0, 9))
    await client.sees(first + keepAlive + rest.slice(0, 9))
    s.clock.advance(60_000)
    await s.settled()
    call.chunk(rest.slice(9))
    call.end()
    t.equal(await client.end(), 'whole')
    t.equal(client.text, first + keepAlive + rest)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ basis: 'reported', end: 'completed' }] })
  })
}

t.test('no keep-alive bytes on direct, nor in a compressed answer', async t => {
  const s = await open(t)
  const { ask, first, rest } = SPEECH.messages
  const plain = s.ask(ask, 'direct')
  const call = await s.at('a').call()
  call.stream()
  call.chunk(first)
  await plain.sees(first)
  s.clock.advance(60_000)
  await s.settled()
  call.chunk(rest)
  call.end()
  t.equal(await plain.end(), 'whole')
  t.equal(plain.text, first + rest)

  const packed = gzipSync(first + rest)
  const client = s.ask(ask)
  const other = await s.at('a').call(1)
  other.stream({ 'content-encoding': 'gzip' })
  other.chunk(packed.subarray(0, 20))
  await s.settled()
  s.clock.advance(60_000)
  await s.settled()
  other.chunk(packed.subarray(20))
  other.end()
  t.equal(await client.end(), 'whole')
  t.equal(client.text, packed.toString())
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT })
  t.same(
    books.rows.map(row => row.charge),
    [280, 280],
  )
})

const early = { config: { keepalive: { early: '80s' } }, channels: { a: {}, b: {} } }

for (const protocol of TALKING) {
  const { ask, first, rest } = SPEECH[protocol]

  t.test(`${protocol}: an early head, and the answer in its stream, from whoever gives it`, async t => {
    const s = await open(t, early)
    const client = s.ask(ask)
    const call = await s.at('a').call()
    s.clock.advance(79_000)
    await s.settled()
    t.equal(client.status, 0)
    s.clock.advance(2_000)
    await client.sees('\n')
    t.equal(client.status, 200)
    call.reset()
    const next = await s.at('b').call()
    next.stream()
    next.chunk(first + rest)
    next.end()
    t.equal(await client.end(), 'whole')
    t.equal(client.text, `\n${first}${rest}`)
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ channel: 'b', basis: 'reported', status: 200 }] })
  })

  t.test(`${protocol}: a stream that has begun early goes on showing life, until its upstream does`, async t => {
    const s = await open(t, early)
    const client = s.ask(ask)
    const call = await s.at('a').call()
    s.clock.advance(81_000)
    await client.sees('\n')
    s.clock.advance(10_000)
    await s.settled()
    t.equal(client.text, '\n', 'not more often than keepalive.main says')
    for (let lines = 2; lines < 6; lines++) {
      s.clock.advance(16_000)
      await client.sees('\n'.repeat(lines))
    }
    call.stream()
    call.chunk(first)
    await client.sees(first)
    s.clock.advance(10_000)
    await s.settled()
    call.chunk(rest)
    call.end()
    t.equal(await client.end(), 'whole')
    t.equal(client.text.replace(/^\n+/, ''), first + rest)
  })

  t.test(`${protocol}: a failure after an early head is the protocol's own error event`, async t => {
    for (const [answer, text] of [
      [says(500), 'an answer'],
      [says(400), 'a refusal'],
      [says(401), 'a key refused'],
    ] as const) {
      const s = await open(t, { ...early, channels: { a: {} } })
      const client = s.ask(ask)
      const call = await s.at('a').call()
      s.clock.advance(81_000)
      await client.sees('\n')
      answer(call)
      t.equal(await client.end(), 'cut', text)
      const id = client.answer.headers.get('x-request-id')
      t.match(client.text, new RegExp(`^\\n+(event: error\\n)?data: .*\\(request id: ${id}\\)`))
      t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ basis: 'none', charge: 0 }] })
    }
  })
}

t.test('no early head on direct, nor for a document; without one, a 524 page on main', async t => {
  const s = await open(t, early)
  const direct = s.ask(SPEECH.chat.ask, 'direct')
  await s.at('a').call()
  const whole = s.ask(document())
  await s.at('a').call(1)
  s.clock.advance(99_000)
  await s.settled()
  t.same([direct.status, whole.status], [0, 0])
  s.clock.advance(2_000)
  t.equal(await whole.end(), 'whole')
  t.equal(whole.status, 524)
  t.match(whole.text, whole.answer.headers.get('x-request-id'))
  s.clock.advance(20_000)
  answers(100, 10)(s.at('a').calls[1]!)
  t.equal(direct.status, 0)
  const call = s.at('a').calls[0]!
  call.stream()
  call.chunk(SPEECH.chat.first + SPEECH.chat.rest)
  call.end()
  t.equal(await direct.end(), 'whole')
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT })
  t.same(
    books.rows.map(row => [row.status, row.charge, row.end]),
    [
      [200, 280, 'completed'],
      [524, 280, 'client_gone'],
    ],
  )
})

t.test('silence past the first-byte time-out after an early head: the error event, all of it', async t => {
  const s = await open(t, { channels: { a: {} }, config: { keepalive: { early: '80s' } } })
  const client = s.ask(SPEECH.messages.ask)
  await s.at('a').call()
  s.clock.advance(81_000)
  await client.sees('\n')
  s.clock.advance(525_000)
  t.equal(await client.end(), 'cut')
  t.match(client.text, /^\n+event: error\ndata: .*上游响应超时 \(request id: /)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [], rows: [{ charge: 0, basis: 'none' }] })
  t.equal(await s.metric('gateway_client_gone_total', { outcome: 'slow' }), 0)
})

t.test('the first-byte time-out also ends a wait in line for a connection', async t => {
  const s = await open(t, { config: { timeouts: { main: '0s', first_byte: '60s', idle: '900s' } } })
  const { ask, first, rest } = SPEECH.chat
  const busy: Client[] = []
  for (let i = 0; i < CONNECTIONS; i++) {
    busy.push(s.ask({ ...ask, body: { ...(ask.body as object), max_tokens: 100 } }))
    const call = await s.at('a').call(i)
    call.stream()
    call.chunk(first)
  }
  for (const client of busy) await client.sees('Good')
  const late = s.ask(document())
  await s.settled()
  s.clock.advance(61_000)
  t.equal(await late.end(), 'whole')
  t.equal(late.status, 504)
  for (const call of s.at('a').calls) {
    call.chunk(rest)
    call.end()
  }
  for (const client of busy) t.equal(await client.end(), 'whole')
  const books = await s.books()
  t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
  t.equal(s.at('a').calls.length, CONNECTIONS, 'what nobody waits for is not asked')
})

t.test('a client that leaves after an early head is recorded, and nothing is retried for it', async t => {
  const s = await open(t, early)
  const client = s.ask(SPEECH.messages.ask)
  const call = await s.at('a').call()
  s.clock.advance(81_000)
  await client.sees('\n')
  client.leave()
  await s.settled()
  call.reset()
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ status: 200, end: 'client_gone', basis: 'none' }] })
  t.same(s.asked(), { a: 1, b: 0 })
})
