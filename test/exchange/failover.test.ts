/** Which failures go on to the next channel, how far, and what the client sees when none is left. */
import t from 'tap'
import { until } from '../support/wait.ts'
import { NOTHING_LEFT, type Options, open, type Scene } from './support/gateway.ts'
import { answers, document, SPEECH, says } from './support/speech.ts'
import { type Script, silent } from './support/upstream.ts'

const good = answers(100, 10)
const reset: Script = call => call.reset()
const garbage: Script = call => call.raw('this is no HTTP\r\n\r\n')
const halfClosed: Script = call => call.halfClose()
const promises: Script = call => {
  call.start(200, { 'content-type': 'application/json', 'content-length': '10' })
  setImmediate(() => call.halfClose())
}
const talksOn: Script = call => {
  good(call)
  call.raw('{"more":true}')
}
const whole =
  (body: string): Script =>
  call =>
    call.whole(200, body)
const events =
  (text: string): Script =>
  call => {
    call.stream()
    if (text !== '') call.chunk(text)
    call.end()
  }
/** Closed after the head, before a byte of its body. */
const headOnly: Script = call => {
  call.stream()
  setImmediate(() => call.reset())
}

interface Row {
  a: Script | 'refuses'
  b?: Script
  c?: Script
  stream?: true
  options?: Options
  /** Asked of a, b and c. */
  asked: number[]
  status: number
  /** Channel, end, basis and charge as recorded. */
  row: [string, string, string, number]
  body?: RegExp
}

const failed: Row['row'] = ['b', 'completed', 'reported', 280]
const ROWS: Record<string, Row> = {
  'a connection refused goes on': { a: 'refuses', b: good, asked: [0, 1, 0], status: 200, row: failed },
  'a reset before the head goes on': { a: reset, b: good, asked: [1, 1, 0], status: 200, row: failed },
  'what is no HTTP goes on': { a: garbage, b: good, asked: [1, 1, 0], status: 200, row: failed },
  'a reset after the head goes on': { a: headOnly, b: good, asked: [1, 1, 0], status: 200, row: failed },
  'half-closed before the head goes on': { a: halfClosed, b: good, asked: [1, 1, 0], status: 200, row: failed },
  'a length without a body goes on': { a: promises, b: good, asked: [1, 1, 0], status: 200, row: failed },
  'more than its length is left away': {
    a: talksOn,
    b: good,
    asked: [1, 0, 0],
    status: 200,
    row: ['a', 'completed', 'reported', 280],
    body: /hello"\}\}\],"usage":\{[^}]*\}\}$/,
  },
  'an empty stream goes on': { a: events(''), b: good, asked: [1, 1, 0], status: 200, row: failed },
  'an empty document goes on': { a: whole(''), b: good, asked: [1, 1, 0], status: 200, row: failed },
  'a 200 with an error object goes on': {
    a: whole('{"error":{"message":"no"}}'),
    b: good,
    asked: [1, 1, 0],
    status: 200,
    row: failed,
  },
  'a stream that begins with an error goes on': {
    a: events(SPEECH.chat.error),
    b: events(SPEECH.chat.first + SPEECH.chat.rest),
    stream: true,
    asked: [1, 1, 0],
    status: 200,
    row: failed,
    body: /Good morning/,
  },
  ...Object.fromEntries(
    [401, 403, 408, 429, 500, 502, 503, 504, 529].map(status => [
      `${status} goes on`,
      { a: says(status), b: good, asked: [1, 1, 0], status: 200, row: failed } satisfies Row,
    ]),
  ),
  ...Object.fromEntries(
    [400, 404, 409, 413, 422].map(status => [
      `${status} is the answer`,
      {
        a: says(status),
        b: good,
        asked: [1, 0, 0],
        status,
        row: ['a', 'upstream_error', 'none', 0],
        body: new RegExp(`upstream ${status}`),
      } satisfies Row,
    ]),
  ),
  'what answered is charged, not what was asked first': {
    a: says(500),
    b: reset,
    c: answers(7, 1),
    asked: [1, 1, 1],
    status: 200,
    row: ['c', 'completed', 'reported', 22],
  },
  'the last answer passes when none is left': {
    a: reset,
    b: says(500),
    c: says(529, { 'retry-after': '7' }),
    asked: [1, 1, 1],
    status: 529,
    row: ['c', 'upstream_error', 'none', 0],
    body: /upstream 529/,
  },
  'the last answer passes also when those asked after it give none': {
    a: says(500),
    b: says(429, { 'retry-after': '7' }),
    c: reset,
    asked: [1, 1, 1],
    status: 429,
    row: ['b', 'upstream_error', 'none', 0],
    body: /upstream 429/,
  },
  'so it does where the others cannot be reached': {
    a: 'refuses',
    b: says(503),
    c: garbage,
    asked: [0, 1, 1],
    status: 503,
    row: ['b', 'upstream_error', 'none', 0],
    body: /upstream 503/,
  },
  'an upstream 401 with none left, nor an answer, is a 502 of ours': {
    a: says(403),
    b: reset,
    c: reset,
    asked: [1, 1, 1],
    status: 502,
    row: ['c', 'upstream_error', 'none', 0],
    body: /上游请求失败 \(request id: /,
  },
  'an upstream 401 with none left is a 502 of ours': {
    a: says(500),
    b: says(500),
    c: says(401),
    asked: [1, 1, 1],
    status: 502,
    row: ['c', 'upstream_error', 'none', 0],
    body: /上游请求失败 \(request id: /,
  },
  'no answer from anybody is a 502': {
    a: reset,
    b: reset,
    c: reset,
    asked: [1, 1, 1],
    status: 502,
    row: ['c', 'upstream_error', 'none', 0],
    body: /上游请求失败/,
  },
  'attempts are limited': {
    a: says(500),
    b: says(503),
    c: good,
    options: { config: { retry: { attempts: 2 } } },
    asked: [1, 1, 0],
    status: 503,
    row: ['b', 'upstream_error', 'none', 0],
  },
  'an exhausted budget retries nothing': {
    a: says(500),
    b: good,
    options: { retriesFloor: 0 },
    asked: [1, 0, 0],
    status: 500,
    row: ['a', 'upstream_error', 'none', 0],
  },
  'another key of the channel after a 429': {
    a: call => (call.header('authorization') === 'Bearer k1' ? answers(1, 1) : says(429))(call),
    b: good,
    options: { channels: { a: { keys: [{ key: 'k0' }, { key: 'k1' }] }, b: {}, c: {} } },
    asked: [-1, 0, 0],
    status: 200,
    row: ['a', 'completed', 'reported', 10],
  },
  'no other key of the channel after a 500': {
    a: says(500),
    b: good,
    options: { channels: { a: { keys: [{ key: 'k0' }, { key: 'k1' }] }, b: {}, c: {} } },
    asked: [1, 1, 0],
    status: 200,
    row: failed,
  },
}

const openThree = (t: Parameters<typeof open>[0], options: Options = {}): Promise<Scene> =>
  open(t, { channels: { a: {}, b: {}, c: {} }, ...options })

for (const [name, row] of Object.entries(ROWS)) {
  t.test(name, async t => {
    const s = await openThree(t, row.options)
    if (row.a === 'refuses') await s.at('a').close()
    else s.at('a').script = row.a
    s.at('b').script = row.b ?? silent
    s.at('c').script = row.c ?? silent
    const client = s.ask(row.stream ? SPEECH.chat.ask : document())
    t.equal(await client.end(), 'whole')
    t.equal(client.status, row.status)
    if (row.body !== undefined) t.match(client.text, row.body)
    const { a, ...others } = s.asked()
    t.same(Object.values(others), row.asked.slice(1))
    if (row.asked[0] !== -1) t.equal(a, row.asked[0])
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    t.same(
      books.rows.map(r => [r.channel, r.end, r.basis, r.charge, r.status]),
      [[...row.row, row.status]],
    )
  })
}

t.test('silence until the first-byte time-out goes on, and 504 says so when none is left', async t => {
  const s = await open(t, {
    channels: { a: {}, b: {} },
    config: { timeouts: { main: '0s' }, retry: { deadline: '0s' } },
  })
  const client = s.ask(document())
  const first = await s.at('a').call()
  s.clock.advance(601_000)
  await first.cut()
  await s.at('b').call()
  s.clock.advance(601_000)
  t.equal(await client.end(), 'whole')
  t.equal(client.status, 504)
  t.match(client.text, /上游响应超时/)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ channel: 'b', status: 504, basis: 'none' }] })
})

t.test('after the total deadline no other attempt begins', async t => {
  const s = await open(t, {
    channels: { a: {}, b: {} },
    config: { timeouts: { main: '0s' }, retry: { deadline: '120s' } },
  })
  s.at('b').script = good
  for (const [waitMs, status] of [
    [119_000, 200],
    [121_000, 500],
  ] as const) {
    // the clock has passed the time after which a ledger without a life sign takes nothing new
    await until('the ledger has given its life sign', () => s.services.ledger.accepting)
    const nth = s.at('a').calls.length
    const client = s.ask(document())
    const call = await s.at('a').call(nth)
    s.clock.advance(waitMs)
    says(500)(call)
    t.equal(await client.end(), 'whole')
    t.equal(client.status, status)
  }
  t.same(s.asked(), { a: 2, b: 1 })
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT })
})

t.test('nothing is retried for a client that has left', async t => {
  const s = await openThree(t)
  const client = s.ask(document())
  const call = await s.at('a').call()
  client.leave()
  await s.settled()
  call.reset()
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ end: 'client_gone', status: 499, basis: 'none' }] })
  t.same(s.asked(), { a: 1, b: 0, c: 0 })
})
