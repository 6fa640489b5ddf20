import type { IncomingHttpHeaders } from 'node:http'
import { gzipSync } from 'node:zlib'
import t from 'tap'
import type { Claim } from '../../../lib/channels/health.ts'
import { Attempt } from '../../../lib/upstream/attempt.ts'
import { BedrockAnswer } from '../../../lib/upstream/aws/bedrock-answer.ts'
import { TestClock } from '../../support/clock.ts'
import { until } from '../../support/wait.ts'
import { chunkFrame } from './frames.ts'

const FRAMES = { 'content-type': 'application/vnd.amazon.eventstream' }
const START = '{"type":"message_start","message":{}}'
const TOLD = `event: message_start\ndata: ${START}\n\n`

/** An answer whose connection does as it is told, and all that the attempt hears of it. */
function answer(isCount = false) {
  const heard = { head: '', body: '', end: '' }
  const attempt = new Attempt({ release() {} } as unknown as Claim, new TestClock(), {
    onHead: ({ status, headers }) => (heard.head += `${status} ${headers['content-type']} ${headers['retry-after']}`),
    onData: one => (heard.body += one.take()),
    onEnd: () => (heard.end += 'end'),
    onError: (_, error) => (heard.end += error.message),
    onFault: error => t.fail(String(error)),
    onOver() {},
  })
  const handler = new BedrockAnswer(attempt, 'claude-on-bedrock', isCount)
  const connection = {
    aborted: false,
    paused: false,
    reason: null as Error | null,
    abort(reason: Error) {
      if (connection.aborted) return
      connection.aborted = true
      connection.reason = reason
      handler.onResponseError(connection, reason)
    },
    pause: () => void (connection.paused = true),
    resume: () => void (connection.paused = false),
  }
  const start = (status: number, headers: IncomingHttpHeaders) => handler.onResponseStart(connection, status, headers)
  const data = (bytes: string | Buffer) => handler.onResponseData(connection, Buffer.from(bytes))
  const end = () => handler.onResponseEnd(connection)
  const fail = (error: Error) => handler.onResponseError(connection, error)
  handler.onRequestStart(connection)
  return { attempt, connection, heard, start, data, end, fail }
}

const error = (type: string, message: string) => JSON.stringify({ type: 'error', error: { type, message } })

t.test('an error is told when it is whole, or as whole as it will be', async t => {
  const head = '429 application/json 7'
  const headers = { 'x-amzn-errortype': 'ThrottlingException', 'retry-after': '7', 'content-type': 'text/html' }
  const body = '{"message":"Too many tokens"}'
  const whole = answer()
  whole.start(429, headers)
  whole.data(body.slice(0, 9))
  t.same(whole.heard, { head: '', body: '', end: '' })
  whole.data(body.slice(9))
  whole.end()
  t.same(whole.heard, { head, body: error('rate_limit_error', 'Too many tokens'), end: 'end' })

  const cut = answer()
  cut.start(429, headers)
  cut.data(body.slice(0, 20))
  cut.fail(new Error('reset'))
  t.same(cut.heard, { head, body: error('rate_limit_error', body.slice(0, 20)), end: 'end' })

  const endless = answer()
  endless.start(503, {})
  for (let i = 0; i < 100 && !endless.connection.aborted; i++) endless.data('x'.repeat(1000))
  t.ok(endless.connection.aborted)
  t.same([endless.heard.head, endless.heard.end], ['503 application/json undefined', 'end'])

  const left = answer()
  left.start(403, {})
  left.attempt.abort(new Error('nobody waits for it'))
  t.same(left.heard, { head: '', body: '', end: 'nobody waits for it' })

  const packed = answer()
  packed.start(429, { ...headers, 'content-encoding': 'gzip' })
  packed.data(gzipSync(body))
  packed.end()
  t.same(packed.heard.body, error('rate_limit_error', 'Bedrock answered 429 (Throttling).'))

  const unwanted = answer()
  unwanted.attempt.discard()
  unwanted.start(429, headers)
  unwanted.data(body)
  unwanted.end()
  t.ok(unwanted.attempt.takeBack())
  t.same(String(unwanted.attempt.take()), error('rate_limit_error', 'Too many tokens'), 'it can be told later')
})

t.test('a count is told in the form of the protocol, and what is none is a failed attempt', async t => {
  const json = { 'content-type': 'application/json', 'content-length': '17' }
  const rows: [what: string, answered: string, body: string, headers?: IncomingHttpHeaders][] = [
    ['a count', '{"inputTokens":21}', '{"input_tokens":21}'],
    ['nothing to count', '{"inputTokens":0}', '{"input_tokens":0}'],
    ['no number', '{"inputTokens":"21"}', ''],
    ['half a token', '{"inputTokens":1.5}', ''],
    ['below nothing', '{"inputTokens":-1}', ''],
    ['an answer of a model', '{"type":"message","usage":{"input_tokens":21}}', ''],
    ['no object', '[21]', ''],
    ['half an answer', '{"inputTok', ''],
    ['an answer without end', `{"inputTokens":21,"x":"${'x'.repeat(70_000)}`, ''],
    ['a compressed one', '{"inputTokens":21}', '', { 'content-encoding': 'gzip' }],
  ]
  for (const [what, answered, body, headers] of rows) {
    const count = answer(true)
    count.start(200, { ...json, ...headers })
    t.same(count.heard, { head: '', body: '', end: '' }, what)
    count.data(answered)
    if (!count.connection.aborted) count.end()
    const end = 'what was answered is no count of tokens'
    t.same(
      count.heard,
      body === '' ? { head: '', body, end } : { head: '200 application/json undefined', body, end: 'end' },
      what,
    )
  }
  const refused = answer(true)
  refused.start(400, { 'x-amzn-errortype': 'ValidationException' })
  refused.data('{"message":"The provided model doesn\'t support counting tokens."}')
  refused.end()
  t.match(refused.heard, { head: /^400/, body: /support counting tokens/, end: 'end' })
})

t.test('frames, plain and compressed', async t => {
  const plain = answer()
  plain.start(200, { ...FRAMES, 'content-length': '99' })
  plain.data(chunkFrame(START))
  plain.end()
  t.same(plain.heard, { head: '200 text/event-stream undefined', body: TOLD, end: 'end' })

  const unknown = answer()
  unknown.start(200, { ...FRAMES, 'content-encoding': 'pack200' })
  t.same(unknown.heard, { head: '', body: '', end: 'the stream is compressed in an unknown way' })

  const spoilt = answer()
  spoilt.start(200, FRAMES)
  spoilt.data(Buffer.concat([chunkFrame(START), Buffer.from('{"message":"not a frame"}')]))
  t.same(spoilt.heard.body, TOLD)
  t.equal(spoilt.heard.end, 'the checksum of a length is wrong')
  t.ok(spoilt.connection.aborted)

  for (const [cut, end] of [
    [0, 'end'],
    [9, 'the stream cannot be unpacked'],
  ] as const) {
    const packed = answer()
    packed.start(200, { ...FRAMES, 'content-encoding': 'gzip' })
    const bytes = gzipSync(chunkFrame(START))
    packed.data(bytes.subarray(0, bytes.length - cut))
    packed.end()
    await until('the decoder has ended', () => packed.heard.end !== '')
    t.equal(packed.heard.end, end)
    if (cut === 0) t.equal(packed.heard.body, TOLD)
  }
})

t.test('a compressed stream waits for the client and for the decoder', async t => {
  const { attempt, connection, heard, start, data, end } = answer()
  start(200, { ...FRAMES, 'content-encoding': 'gzip' })
  attempt.pause()
  t.ok(connection.paused)
  const many = Buffer.concat(Array.from({ length: 20_000 }, () => chunkFrame(START)))
  const bytes = gzipSync(many, { level: 0 })
  data(bytes.subarray(0, 100_000))
  attempt.resume()
  t.ok(connection.paused, 'the decoder is behind')
  await until('the decoder has caught up', () => !connection.paused)
  attempt.pause()
  t.ok(connection.paused)
  attempt.resume()
  t.notOk(connection.paused)
  for (let at = 100_000; at < bytes.length; at += 100_000) {
    await until('more may come', () => !connection.paused)
    data(bytes.subarray(at, at + 100_000))
  }
  end()
  await until('the end', () => heard.end !== '')
  t.equal(heard.body.length, 20_000 * TOLD.length)
})
