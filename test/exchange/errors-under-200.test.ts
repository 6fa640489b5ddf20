/**
 * A stream whose only event was an error was passed on as a 200 and charged what the error reported, where there was no other candidate
 * to ask.
 */
// The bug behind these rows: an error that was charged.
import t from 'tap'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { document, SPEECH } from './support/speech.ts'
import type { Call } from './support/upstream.ts'

const event = (data: object): string => `data: ${JSON.stringify(data)}\n\n`
const REPORTED = { prompt_tokens: 1_000, completion_tokens: 100 }

const ERRORS = {
  messages: SPEECH.messages.error.replace('}\n\n', ',"usage":{"input_tokens":1000,"output_tokens":100}}\n\n'),
  chat: event({ error: { message: 'no' }, usage: REPORTED }),
  responses: `event: response.failed\n${event({
    type: 'response.failed',
    response: { status: 'failed', error: { message: 'no' }, usage: { input_tokens: 1_000, output_tokens: 100 } },
  })}`,
  generate: event({
    error: { code: 500, message: 'no' },
    usageMetadata: { promptTokenCount: 1_000, candidatesTokenCount: 100 },
  }),
}
type Text = keyof typeof ERRORS

const sends =
  (...parts: string[]) =>
  (call: Call): void => {
    call.stream()
    for (const part of parts) call.chunk(part)
    call.end()
  }

for (const protocol of Object.keys(ERRORS) as Text[]) {
  const { ask, first, rest } = SPEECH[protocol]
  t.test(`${protocol}: taken back and free without another candidate`, async t => {
    const s = await open(t)
    for (const script of [
      sends(ERRORS[protocol]),
      sends(ERRORS[protocol].trimEnd()),
      sends(': wait\n\n', ERRORS[protocol]),
    ]) {
      s.at('a').script = script
      await s.ask(ask).end()
    }
    const client = s.ask(ask)
    t.equal(await client.end(), 'whole')
    t.equal(client.status, 502)
    const { rows, ...books } = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    for (const row of rows) t.match(row, { charge: 0, basis: 'none', end: 'upstream_error', input: 0, output: 0 })
    t.equal(rows.length, 4)
  })

  t.test(`${protocol}: with another candidate only that one is charged`, async t => {
    const s = await open(t, { channels: { a: {}, b: {} } })
    s.at('a').script = sends(ERRORS[protocol])
    s.at('b').script = sends(first, rest)
    const client = s.ask(ask)
    t.equal(await client.end(), 'whole')
    t.equal(client.status, 200)
    t.match((await s.books()).rows, [{ channel: 'b', charge: 280, basis: 'reported' }])
  })

  t.test(`${protocol}: wherever the event is cut it is taken back, and the next candidate is asked`, async t => {
    const s = await open(t, { channels: { a: {}, b: {} } })
    s.at('b').script = sends(first, rest)
    const bytes = Buffer.from(ERRORS[protocol])
    for (const at of [1, 7, bytes.length >> 1, bytes.length - 1]) {
      s.at('a').script = async call => {
        call.stream()
        call.chunk(bytes.subarray(0, at))
        await s.settled()
        call.chunk(bytes.subarray(at))
        call.end()
      }
      const client = s.ask(ask)
      t.equal(await client.end(), 'whole')
      t.match([client.status, client.text], [200, first + rest])
      s.at('b').script = sends(first, rest)
    }
    const { rows, ok } = await s.books()
    t.ok(ok)
    for (const row of rows) t.match(row, { channel: 'b', charge: 280 })
  })

  t.test(`${protocol}: an answer whose first event comes in pieces passes as it came`, async t => {
    const s = await open(t)
    const bytes = Buffer.from(first + rest)
    for (const at of [1, 7, first.length - 1, first.length, bytes.length - 1]) {
      s.at('a').script = async call => {
        call.stream()
        call.chunk(bytes.subarray(0, at))
        await s.settled()
        call.chunk(bytes.subarray(at))
        call.end()
      }
      const client = s.ask(ask)
      t.equal(await client.end(), 'whole')
      t.equal(client.text, bytes.toString(), `cut at ${at}`)
    }
    const { rows, ok } = await s.books()
    t.ok(ok)
    for (const row of rows) t.match(row, { charge: 280, basis: 'reported' })
  })

  t.test(`${protocol}: a first event without its end is told whole, and one that breaks off is taken back`, async t => {
    const s = await open(t)
    s.at('a').script = sends(first.trimEnd())
    const client = s.ask(ask)
    await client.end()
    t.match(client.text, first.trimEnd())
    s.at('a').script = call => {
      call.stream()
      call.chunk(first.slice(0, 9))
      call.reset()
    }
    const broken = s.ask(ask)
    await broken.end()
    t.equal(broken.status, 502)
    const { rows, ok } = await s.books()
    t.ok(ok)
    t.match(rows[1], { charge: 0, basis: 'none' })
  })

  t.test(`${protocol}: an error after something of an answer is charged as before`, async t => {
    const s = await open(t)
    s.at('a').script = sends(first, SPEECH[protocol].error)
    const client = s.ask(ask)
    await client.end()
    t.equal(client.status, 200)
    const [row] = (await s.books()).rows
    t.match(row, { basis: 'counted', end: 'upstream_error' })
    t.ok((row?.charge ?? 0) > 0)
  })
}

t.test('a document that is an error passes as it is, and is free whatever it reports', async t => {
  const s = await open(t)
  const body = { error: { message: 'no' }, usage: REPORTED }
  s.at('a').script = call => call.whole(200, body)
  const client = s.ask(document())
  await client.end()
  t.equal(client.status, 200)
  t.same(JSON.parse(client.text), body)
  t.match((await s.books()).rows, [{ charge: 0, basis: 'none', end: 'upstream_error' }])
})

t.test('a client that had its early head is told so in its stream', async t => {
  const s = await open(t, { config: { keepalive: { early: '80s' } } })
  const client = s.ask(SPEECH.chat.ask)
  const call = await s.at('a').call()
  s.clock.advance(81_000)
  sends(ERRORS.chat)(call)
  await client.end()
  t.equal(client.status, 200)
  t.match(client.text, /"type":"gateway_api_error"/)
  t.notMatch(client.text, /"message":"no"/)
  t.match((await s.books()).rows, [{ charge: 0, basis: 'none' }])
})
