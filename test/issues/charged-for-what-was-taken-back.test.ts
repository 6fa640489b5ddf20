/**
 * An answer that was taken back, because nothing of it had reached the client, was charged what it had reported: the client
 * got an error of ours, asked again, and paid twice.
 */
import t from 'tap'
import { NOTHING_LEFT, open } from '../exchange/support/gateway.ts'
import { answers, document } from '../exchange/support/speech.ts'

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
