/**
 * An answer that was taken back, because nothing of it had reached the client, was charged what it had reported: the client
 * got an error of ours, asked again, and paid twice.
 */
// The bug behind these rows: charged for what was taken back.
import t from 'tap'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { answers, document, says } from './support/speech.ts'

const USAGE = { prompt_tokens: 100, completion_tokens: 5000 }
const BEGUN = `{"usage":${JSON.stringify(USAGE)},"choices":[{"message":{"content":"good morning`
const HEAD = 'HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n'

for (const outputTokens of [0, 20])
  t.test(`a document that breaks off at once, hold.output_tokens ${outputTokens}`, async t => {
    const s = await open(t, { config: { hold: { output_tokens: outputTokens } } })
    s.at('a').script = call => call.raw(`${HEAD}${BEGUN.length.toString(16)}\r\n${BEGUN}\r\nno size\r\n`)
    const client = s.ask(document({ stream: outputTokens > 0 }))
    t.equal(await client.end(), 'whole')
    t.equal(client.status, 502)
    t.match(await s.books(), {
      ok: true,
      left: NOTHING_LEFT,
      failures: [],
      rows: [{ status: 502, basis: 'none', charge: 0, end: 'upstream_error' }],
    })
  })

t.test('an answer that begins with an error, having reported: only the next one is charged', async t => {
  const s = await open(t, { channels: { a: {}, b: {} } })
  s.at('a').script = call => call.whole(200, { error: { message: 'no' }, usage: USAGE })
  s.at('b').script = answers(100, 10)
  t.equal(await s.ask(document()).end(), 'whole')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ channel: 'b', charge: 280 }] })
})

t.test('an answer that begins with an error, having reported: what it cost is a row of its own', async t => {
  const s = await open(t, { channels: { a: { cost: 0.5 }, b: { cost: 2 }, c: { cost: 1 } } })
  s.at('a').script = call => call.whole(200, { error: { message: 'no' }, usage: USAGE }, { 'x-request-id': 'up-7' })
  s.at('b').script = says(500)
  s.at('c').script = answers(100, 10)
  const client = s.ask(document({}, { 'x-client-request-id': 'mine' }))
  t.equal(await client.end(), 'whole')
  const id = client.answer.headers.get('x-request-id')
  const { rows, ok, left } = await s.books()
  t.ok(ok)
  t.same(left, NOTHING_LEFT)
  t.match(
    rows.sort((x, y) => (x.requestId < y.requestId ? -1 : 1)),
    [
      { requestId: id, channel: 'c', charge: 280, cost: 280, outcome: 'ok' },
      {
        requestId: `${id}.1`,
        channel: 'a',
        status: 200,
        end: 'upstream_error',
        outcome: 'attempt',
        basis: 'none',
        charge: 0,
        cost: (100 * 2 + 5000 * 8) / 2,
        input: 0,
        output: 0,
        lines: [],
        attempts: [{ channel: 'a', status: 200, error: 'answer' }],
        upstreamId: 'up-7',
        clientRequestId: 'mine',
      },
    ],
  )
  t.equal(rows.length, 2, 'an error status costs nothing')
})

t.test(
  'of several that begin with an error none is charged, and those before the last have rows of their own',
  async t => {
    const s = await open(t, { channels: { a: { cost: 0.5 }, b: { cost: 1 } } })
    for (const name of ['a', 'b'])
      s.at(name).script = call => call.whole(200, { error: { message: 'no' }, usage: USAGE })
    const client = s.ask(document())
    t.equal(await client.end(), 'whole')
    const { rows } = await s.books()
    t.same(
      rows
        .map(({ channel, charge, cost, outcome }) => ({ channel, charge, cost, outcome }))
        .sort((x, y) => (x.channel < y.channel ? -1 : 1)),
      [
        { channel: 'a', charge: 0, cost: 20_100, outcome: 'attempt' },
        { channel: 'b', charge: 0, cost: 40_200, outcome: 'upstream' },
      ],
    )
  },
)

t.test('where nobody knows what an upstream takes there is no such row', async t => {
  const s = await open(t, { channels: { a: {}, b: { cost: 1 } } })
  s.at('a').script = call => call.whole(200, { error: { message: 'no' }, usage: USAGE })
  s.at('b').script = answers(100, 10)
  await s.ask(document()).end()
  t.equal((await s.books()).rows.length, 1)
})
