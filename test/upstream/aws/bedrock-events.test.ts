import { readFileSync } from 'node:fs'
import t from 'tap'
import type { AnswersOf } from '../../../lib/protocols/words/kinds.ts'
import { BedrockEvents } from '../../../lib/upstream/aws/bedrock-answer.ts'
import { cut, seeded } from '../../support/random.ts'
import { chunkFrame, exceptionFrame, frameBytes } from './frames.ts'

function told(
  pieces: readonly Buffer[],
  form: AnswersOf = 'claude-on-bedrock',
): { events: string; broken: string | null } {
  const events = new BedrockEvents(form)
  const text = Buffer.concat(pieces.map(piece => events.push(piece))).toString()
  events.end()
  return { events: text, broken: events.broken?.message ?? null }
}

const START = '{"type":"message_start","message":{"id":"msg_bdrk_1","type":"message","role":"assistant","content":[]}}'
const DELTA = '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Grüße, 世界 🌍\\n"}}'
const METRICS = '"amazon-bedrock-invocationMetrics":{"inputTokenCount":12,"outputTokenCount":3,"invocationLatency":900}'
const STOP = `{"type":"message_stop",${METRICS}}`
const sse = (type: string, data: string): string => `event: ${type}\ndata: ${data}\n\n`
const error = (type: string, message: string): string =>
  sse('error', JSON.stringify({ type: 'error', error: { type, message } }))

const WHOLE = [START, DELTA, STOP].map(event => chunkFrame(event))
const TOLD =
  sse('message_start', START) + sse('content_block_delta', DELTA) + sse('message_stop', '{"type":"message_stop"}')

/** Recorded by vercel/ai: `model-stream-error-exception.eventstream.base64.txt` of its fixtures for Bedrock. */
const EXCEPTION =
  'AAAA3QAAAGfHkZB6DTptZXNzYWdlLXR5cGUHAAlleGNlcHRpb24POmV4Y2VwdGlvbi10eXBlBwAZbW9kZWxTdHJlYW1FcnJvckV4Y2VwdGlvbg06Y29udGVudC10eXBlBwAQYXBwbGljYXRpb24vanNvbnsibWVzc2FnZSI6Ik1vZGVsIFN0cmVhbSBFcnJvciIsIm9yaWdpbmFsU3RhdHVzQ29kZSI6NTAwLCJvcmlnaW5hbE1lc3NhZ2UiOiJUaGUgbW9kZWwgc3RyZWFtIGZhaWxlZC4ifVczQxM='

const CHUNK = JSON.stringify({ bytes: Buffer.from(DELTA).toString('base64') })

t.test('frames become the events of the messages protocol', async t => {
  t.same(told(WHOLE), { events: TOLD, broken: null })
  const unknown = frameBytes(
    [
      [':event-type', 'metadata'],
      [':message-type', 'event'],
    ],
    '{}',
  )
  t.same(told([unknown, ...WHOLE]), { events: TOLD, broken: null }, 'events of other types are passed over')
  t.same(told([chunkFrame('{}'), ...WHOLE]), { events: TOLD, broken: null }, 'and chunks without a type')
  const spaced = '{\n  "index": 0,\r\n  "type": "ping"\n}'
  t.same(told([chunkFrame(spaced)]).events, sse('ping', spaced.replace(/[\r\n]/g, ' ')), 'JSON over several lines')
  const escaped = frameBytes(
    [
      [':event-type', 'chunk'],
      [':message-type', 'event'],
    ],
    CHUNK.replaceAll('/', '\\/'),
  )
  t.same(told([escaped]).events, sse('content_block_delta', DELTA), 'base64 with escaped slashes')
})

t.test('exceptions become errors of the messages protocol', async t => {
  const rows: [exception: string, type: string][] = [
    ['internalServerException', 'api_error'],
    ['modelStreamErrorException', 'api_error'],
    ['modelTimeoutException', 'timeout_error'],
    ['serviceUnavailableException', 'overloaded_error'],
    ['throttlingException', 'rate_limit_error'],
    ['validationException', 'invalid_request_error'],
    ['ThrottlingException', 'rate_limit_error'],
    ['somethingNewException', 'api_error'],
    ['constructor', 'api_error'],
  ]
  for (const [exception, type] of rows) {
    const events = [chunkFrame(START), exceptionFrame(exception, '请稍后 "again"'), chunkFrame(DELTA)]
    const expected = { events: sse('message_start', START) + error(type, '请稍后 "again"'), broken: null }
    t.same(told(events), expected, exception)
  }
  const untyped = frameBytes(
    [
      [':message-type', 'error'],
      [':error-code', 'InternalFailure'],
      [':error-message', 'An internal server error occurred'],
    ],
    '',
  )
  t.same(told([untyped]).events, error('api_error', 'An internal server error occurred'), 'an error without a type')
  const bare = frameBytes(
    [
      [':message-type', 'exception'],
      [':exception-type', 'throttlingException'],
    ],
    '',
  )
  t.same(told([bare]).events, error('rate_limit_error', 'Bedrock broke off its answer (Throttling).'))
})

t.test('what is no event breaks the stream off, behind what was well', async t => {
  const event = (payload: string) =>
    frameBytes(
      [
        [':event-type', 'chunk'],
        [':message-type', 'event'],
      ],
      payload,
    )
  const rows: [what: string, frame: Buffer, broken: string][] = [
    ['half a frame', (WHOLE[1] as Buffer).subarray(0, 50), 'the stream ends inside a frame'],
    ['no JSON', event('bytes'), 'a chunk that is no JSON'],
    ['no bytes', event('{"p":"abc"}'), 'a chunk without bytes'],
    ['bytes that are no text', event('{"bytes":7}'), 'a chunk without bytes'],
    ['bytes that are no JSON', chunkFrame('hello'), 'a chunk that is no JSON'],
    ['a type that would be a line', chunkFrame('{"index":0,"type":"a\\nevent: b"}'), 'a frame that is no event'],
    [
      'another kind of message',
      frameBytes([[':message-type', 'hello']], ''),
      'a frame that is neither event nor error',
    ],
  ]
  for (const [what, frame, broken] of rows) {
    t.same(told([chunkFrame(START), frame]), { events: sse('message_start', START), broken }, what)
    t.same(
      told([Buffer.concat([chunkFrame(START), frame])]),
      { events: sse('message_start', START), broken },
      `${what}, in one chunk`,
    )
  }
  const events = new BedrockEvents('claude-on-bedrock')
  events.push(Buffer.from('no frames at all'))
  t.same([events.push(WHOLE[0] as Buffer).length, events.broken?.message], [0, 'the checksum of a length is wrong'])
})

t.test('however chunks are cut, the events are the same', async t => {
  const random = seeded(t)
  const bytes = Buffer.concat([...WHOLE.slice(0, 2), exceptionFrame('throttlingException', 'slow down'), ...WHOLE])
  const whole = told([bytes])
  for (let round = 0; round < 100; round++)
    t.same(told(cut(random, bytes, random.pick([1, 7, 100, 2000]))), whole, `round ${round}`)
})

t.test('frames of Converse become events under their own names, as they were recorded', async t => {
  const bytes = Buffer.from(readFileSync(new URL('converse-recorded.base64', import.meta.url), 'latin1'), 'base64')
  const { events, broken } = told([bytes], 'converse')
  t.equal(broken, null)
  const named = events
    .split('\n\n')
    .filter(one => one !== '')
    .map(one => /^event: (\w+)\ndata: (.*)$/.exec(one)?.slice(1))
  t.strictSame(
    named.map(one => one?.[0]),
    ['messageStart', 'contentBlockDelta', 'contentBlockDelta', 'contentBlockStop', 'messageStop', 'metadata'],
  )
  t.match(JSON.parse(named[1]?.[1] ?? ''), { contentBlockIndex: 0, delta: { text: 'OK' } })
  t.match(JSON.parse(named[5]?.[1] ?? ''), { usage: { inputTokens: 12, outputTokens: 5 } })
  const random = seeded(t)
  for (let round = 0; round < 100; round++) t.equal(told(cut(random, bytes), 'converse').events, events)
  const exception = Buffer.from(EXCEPTION, 'base64')
  t.strictSame(told([exception], 'converse'), { events: error('api_error', 'Model Stream Error'), broken: null })
  const lines = frameBytes(
    [
      [':event-type', 'messageStop'],
      [':message-type', 'event'],
    ],
    '{\n"stopReason":\r\n"end_turn"}',
  )
  t.equal(told([lines], 'converse').events, sse('messageStop', '{ "stopReason":  "end_turn"}'))
  const nameless = frameBytes([[':message-type', 'event']], '{}')
  t.strictSame(told([nameless], 'converse'), { events: '', broken: 'a frame that is no event' })
})
