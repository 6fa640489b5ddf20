/** An answer that breaks off: the protocol's own error with the request id, no clean end, and the charge by policy. */
import t from 'tap'
import { TALKING } from '../support/talking.ts'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { document, SPEECH } from './support/speech.ts'
import type { Call } from './support/upstream.ts'

const BREAKS: Record<string, (call: Call) => void> = {
  reset: call => call.reset(),
  'half-closed': call => call.halfClose(),
  'ended without its last event': call => call.end(),
  'no chunk where one must be': call => call.raw('garbage\r\n'),
}

/** An error event that begins a line of its own, and says which request it was. */
const ownWords = (id: string | undefined) =>
  new RegExp(`\\n\\n(event: error\\n)?data: .*上游请求失败 \\(request id: ${id}\\)`)

for (const protocol of TALKING) {
  const { ask, first, rest, error } = SPEECH[protocol]
  const afterText = protocol === 'images' ? 'none' : 'counted'

  for (const [how, act] of Object.entries(BREAKS)) {
    t.test(`${protocol}: ${how} in the middle of an event`, async t => {
      const s = await open(t, { channels: { a: {}, b: {} } })
      const client = s.ask(ask)
      const call = await s.at('a').call()
      call.stream()
      call.chunk(first)
      call.chunk('data: {"half')
      await client.sees('half')
      act(call)
      t.equal(await client.end(), 'cut')
      t.match(client.text, ownWords(client.answer.headers.get('x-request-id')))
      const books = await s.books()
      t.match(books, { ok: true, left: NOTHING_LEFT, failures: [], rows: [{ status: 200, end: 'upstream_cut' }] })
      t.equal(books.rows[0]?.basis, afterText)
      t.equal(books.rows[0]!.charge > 0, afterText === 'counted')
      t.same(s.asked(), { a: 1, b: 0 })
    })
  }

  t.test(`${protocol}: an error event of the upstream's own after text passes as it is`, async t => {
    const s = await open(t, { channels: { a: {}, b: {} } })
    const client = s.ask(ask)
    const call = await s.at('a').call()
    call.stream()
    call.chunk(first)
    await client.sees(first)
    call.chunk(error)
    call.end()
    t.equal(await client.end(), 'whole')
    t.equal(client.text, first + error)
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, rows: [{ status: 200, end: 'upstream_error', basis: afterText }] })
    t.same(s.asked(), { a: 1, b: 0 })
  })

  t.test(
    `${protocol}: a reset after all was said is charged as reported, and a clean end where nothing can follow`,
    async t => {
      const s = await open(t)
      const client = s.ask(ask)
      const call = await s.at('a').call()
      call.stream()
      call.chunk(first + rest)
      await client.sees(rest)
      call.reset()
      const end = await client.end()
      t.equal(end, protocol === 'images' || protocol === 'generate' ? 'cut' : 'whole')
      const books = await s.books()
      t.match(books, { ok: true, left: NOTHING_LEFT, rows: [{ status: 200, basis: 'reported' }] })
      t.equal(books.rows[0]?.charge, protocol === 'images' ? 500_200 : 280)
    },
  )
}

t.test('usage reported before the break is what is charged', async t => {
  const s = await open(t)
  const { ask, first, rest } = SPEECH.messages
  const client = s.ask(ask)
  const call = await s.at('a').call()
  call.stream()
  call.chunk(first + rest.slice(0, rest.indexOf('event: message_stop')))
  await client.sees('message_delta')
  call.reset()
  t.equal(await client.end(), 'cut')
  t.match(await s.books(), { ok: true, rows: [{ basis: 'reported', charge: 280, end: 'upstream_cut' }] })
})

t.test('a document shorter than its length is cut for the client too', async t => {
  const s = await open(t)
  const client = s.ask(document())
  const call = await s.at('a').call()
  call.start(200, { 'content-type': 'application/json', 'content-length': '1000' })
  call.raw('{"choices":[{"message":{"content":"good morning')
  await s.goOn()
  call.halfClose()
  t.equal(await client.end(), 'cut')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ end: 'upstream_cut', basis: 'counted' }] })
})

t.test('a document that breaks off while it waits for its end is taken back, and is free', async t => {
  const s = await open(t)
  const client = s.ask(document())
  const call = await s.at('a').call()
  call.start(200, { 'content-type': 'application/json', 'content-length': '1000' })
  call.raw('{"choices":[{"message":{"content":"good morning')
  await s.settled()
  call.halfClose()
  t.equal(await client.end(), 'whole')
  t.equal(client.status, 502)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ basis: 'none', charge: 0 }] })
})

t.test('a document that is none passes as it came, and is charged by its bytes', async t => {
  const s = await open(t)
  const bodies = ['<html>hi</html>', '{"choices":[{"message":{"content":"good morning', '5', 'null']
  for (const body of bodies) {
    s.at('a').script = call => call.whole(200, body)
    const client = s.ask(document())
    t.equal(await client.end(), 'whole')
    t.match(client.answer, { status: 200, body })
  }
  const rows = bodies.map(({ length }) => ({ status: 200, basis: 'counted', output: Math.ceil(length / 4) }))
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows })
  t.equal(s.state('a'), 'closed')
})

t.test('a document of nothing but space is no answer: 502, and nothing is charged', async t => {
  const s = await open(t)
  s.at('a').script = call => call.whole(200, ' \n ')
  const client = s.ask(document())
  t.equal(await client.end(), 'whole')
  t.equal(client.status, 502)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ status: 502, basis: 'none' }] })
})

t.test('an event without its blank line is passed on when the upstream breaks off, asked for usage or not', async t => {
  const { ask, first } = SPEECH.chat
  for (const stream_options of [{ include_usage: true }, undefined]) {
    const s = await open(t)
    const client = s.ask({ ...ask, body: { ...(ask.body as object), stream_options } })
    const call = await s.at('a').call()
    call.stream()
    call.chunk(first + first.slice(0, -1))
    await s.settled()
    call.reset()
    t.equal(await client.end(), 'cut')
    t.ok(client.text.startsWith(first + first.slice(0, -1)), client.text)
    t.match(client.text, ownWords(client.answer.headers.get('x-request-id')))
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ end: 'upstream_cut', basis: 'counted' }] })
  }
})

t.test(
  'silence for timeouts.idle ends a stream as a break, and the client has its own time for the last words',
  async t => {
    const s = await open(t, { config: { keepalive: { main: '0s' } } })
    const client = s.ask(SPEECH.chat.ask)
    const call = await s.at('a').call()
    call.stream()
    call.chunk(SPEECH.chat.first)
    await client.sees('Good morning')
    s.clock.advance(299_000)
    await s.settled()
    t.equal(call.closed, false)
    s.clock.advance(3_000)
    t.equal(await client.end(), 'cut')
    t.match(client.text, ownWords(client.answer.headers.get('x-request-id')))
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ end: 'upstream_cut', basis: 'counted' }] })
    t.equal(await s.metric('gateway_client_gone_total', { outcome: 'slow' }), 0)
  },
)

t.test('a channel whose answers break off again and again comes to rest', async t => {
  const { ask, first } = SPEECH.chat
  const s = await open(t, { channels: { a: { priority: 1 }, b: {} } })
  for (let i = 0; i < 5; i++) {
    const client = s.ask(ask)
    const call = await s.at('a').call(i)
    call.stream()
    call.chunk(first)
    await client.sees(first)
    call.reset()
    t.equal(await client.end(), 'cut')
  }
  s.ask(ask)
  await s.at('b').call()
  t.same(s.asked(), { a: 5, b: 1 })
})
