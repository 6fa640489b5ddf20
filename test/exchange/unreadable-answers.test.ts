/**
 * A 200 that the meter could not read was free, became a 502 of ours, and five of them rested the channel for everybody: a
 * client could ask for one in its query. What is complete and not readable is charged by its bytes, and nobody's fault.
 */
// The bug behind these rows: an answer that cannot be read.
import { brotliCompressSync, deflateRawSync, gzipSync, zstdCompressSync } from 'node:zlib'
import t from 'tap'
import { NOTHING_LEFT, open } from './support/gateway.ts'
import { SPEECH } from './support/speech.ts'
import type { Call, Headers } from './support/upstream.ts'
import type { Talking } from '../support/talking.ts'

const PAGE = `<html><body>${'Hello. '.repeat(200)}</body></html>`
const OTHER = JSON.stringify({ result: { answer: 'word '.repeat(300) } })
const CHAT = {
  choices: [{ message: { content: 'word '.repeat(300) } }],
  usage: { prompt_tokens: 7, completion_tokens: 9 },
}
const PROTO = Buffer.from([0x0a, 0x80, 0x01, 0xff, 0xfe, ...Buffer.from('text '.repeat(200))])
const JSON_TYPE = { 'content-type': 'application/json' }
const STREAM_TYPE = { 'content-type': 'text/event-stream' }
const streamed = `data: ${JSON.stringify({ choices: [{ delta: { role: 'assistant', content: 'x'.repeat(900) } }] })}\n\n`

const asked = (protocol: Talking, stream: boolean) => {
  const { ask } = SPEECH[protocol]
  if (protocol === 'generate') return { ...ask, path: stream ? ask.path : '/v1beta/models/m:generateContent' }
  return { ...ask, body: { ...(ask.body as object), stream } }
}

/** Charged by bytes, unless the tokens are named. */
const ANSWERS: [string, Talking, boolean, Headers, string | Buffer, number?][] = [
  ['a page', 'chat', false, { 'content-type': 'text/html' }, PAGE],
  ['a page, where a stream was asked for', 'messages', true, { 'content-type': 'text/html' }, PAGE],
  ['a page under the name of a stream', 'responses', true, STREAM_TYPE, PAGE],
  ['protobuf', 'generate', false, { 'content-type': 'application/x-protobuf' }, PROTO],
  ['protobuf, where a stream was asked for', 'generate', true, { 'content-type': 'application/x-protobuf' }, PROTO],
  ['a callback', 'generate', false, { 'content-type': 'text/javascript' }, `f(${JSON.stringify(CHAT)})`],
  ['JSON of somebody else', 'chat', false, JSON_TYPE, OTHER],
  ['JSON of another protocol', 'messages', false, JSON_TYPE, JSON.stringify(CHAT)],
  ['an array', 'responses', false, JSON_TYPE, `[${OTHER}]`],
  ['lines of JSON', 'chat', false, JSON_TYPE, `${OTHER}\n${OTHER}`],
  ['a document that ends too early', 'chat', false, JSON_TYPE, JSON.stringify(CHAT).slice(0, -5)],
  ['a document with more behind it', 'chat', false, JSON_TYPE, `${JSON.stringify(CHAT)} more`],
  ['a stream of another protocol', 'generate', true, STREAM_TYPE, streamed],
  ['an encoding that we do not know', 'chat', false, { ...JSON_TYPE, 'content-encoding': 'compress' }, OTHER],
  [
    'two encodings',
    'chat',
    true,
    { ...STREAM_TYPE, 'content-encoding': 'gzip, br' },
    brotliCompressSync(gzipSync(OTHER)),
  ],
  ['no encoding that it says', 'chat', false, { ...JSON_TYPE, 'content-encoding': 'gzip' }, JSON.stringify(CHAT)],
  ['raw deflate', 'chat', false, { ...JSON_TYPE, 'content-encoding': 'deflate' }, deflateRawSync(OTHER)],
  ['gzip', 'chat', false, { ...JSON_TYPE, 'content-encoding': 'gzip' }, gzipSync(JSON.stringify(CHAT)), 9],
  ['zstd', 'chat', false, { ...JSON_TYPE, 'content-encoding': 'zstd' }, zstdCompressSync(JSON.stringify(CHAT)), 9],
  ['an empty encoding', 'chat', false, { ...JSON_TYPE, 'content-encoding': '' }, JSON.stringify(CHAT), 9],
  ['a document where a stream was asked for', 'chat', true, JSON_TYPE, JSON.stringify(CHAT), 9],
  [
    'a stream under another name',
    'chat',
    true,
    { 'content-type': 'text/plain' },
    `${SPEECH.chat.first}${SPEECH.chat.rest}`,
    10,
  ],
]

const send = (call: Call, headers: Headers, body: string | Buffer): void => {
  const bytes = Buffer.from(body)
  call.start(200, { 'content-length': String(bytes.length), ...headers })
  call.raw(bytes)
}

t.test('it passes as it came, is charged by its bytes, and rests no channel', async t => {
  const s = await open(t)
  for (const [what, protocol, stream, headers, body, tokens] of ANSWERS) {
    s.at('a').script = call => send(call, headers, body)
    const client = s.ask(asked(protocol, stream))
    t.equal(await client.end(), 'whole', what)
    t.equal(client.status, 200, what)
    const books = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    const row = books.rows.at(-1)!
    const basis = tokens === undefined ? 'counted' : 'reported'
    const output = tokens ?? Math.ceil(Buffer.byteLength(body) / 4)
    t.match(row, { basis, output, end: 'completed', status: 200 }, `${what}: ${JSON.stringify(row)}`)
    t.ok(row.input > 0 && row.charge > 0, what)
    t.equal(s.state('a'), 'closed')
  }
})

t.test('what breaks off and cannot be read is charged by its bytes too', async t => {
  const s = await open(t)
  const rows: [Headers, string | Buffer][] = [
    [{ 'content-type': 'text/html' }, PAGE],
    [{ ...STREAM_TYPE, 'content-encoding': 'compress' }, OTHER],
  ]
  for (const [i, [headers, body]] of rows.entries()) {
    const client = s.ask(asked('chat', true))
    const call = await s.at('a').call(i)
    call.start(200, { 'transfer-encoding': 'chunked', ...headers })
    call.chunk(body)
    await client.sees(body.slice(-20).toString())
    call.reset()
    t.equal(await client.end(), 'cut')
    const { rows, ok } = await s.books()
    t.ok(ok)
    t.match(rows.at(-1), { basis: 'counted', output: Math.ceil(body.length / 4), end: 'upstream_cut' })
  }
})

t.test('an error under 200 is no answer, whatever its form', async t => {
  const s = await open(t, { channels: { a: {}, b: {} } })
  for (const error of ['no such model', { message: 'no', code: 'input' }]) {
    s.at('a').script = call => call.whole(200, { error })
    s.at('b').script = call => call.whole(200, CHAT)
    const client = s.ask(asked('chat', false))
    t.equal(await client.end(), 'whole')
    t.match(JSON.parse(client.text), CHAT)
  }
  t.match(await s.books(), {
    ok: true,
    rows: [
      { basis: 'reported', output: 9 },
      { basis: 'reported', output: 9 },
    ],
  })
})
