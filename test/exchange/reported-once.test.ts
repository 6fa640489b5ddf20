/**
 * What became of an attempt is reported once: to the breaker of its channel and to the metrics. What is compressed or long is judged when
 * the upstream is done with it, and was reported by nobody then: an empty answer of a compressing proxy was no failure, and a probe whose
 * answer was translated did not close the breaker.
 */
// The bug behind these rows: never reported.
import { gzipSync } from 'node:zlib'
import t from 'tap'
import { HEADERS, MODEL, NOTHING_LEFT, open, PATHS, type Options, type Scene } from './support/gateway.ts'
import { answers, document as asksChat, says } from './support/speech.ts'
import type { Call } from './support/upstream.ts'

const GOOD = {
  id: 'c',
  choices: [{ index: 0, message: { role: 'assistant', content: 'Good morning' }, finish_reason: 'stop' }],
  usage: { prompt_tokens: 100, completion_tokens: 10 },
}
const BLAMES_ITSELF = { error: { message: 'overloaded', type: 'server_error' } }
const LONG = { ...GOOD, choices: [{ ...GOOD.choices[0], message: { content: 'so "it" is\n'.repeat(60_000) } }] }
const event = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const EVENTS = `${event({ id: 'c', choices: [{ index: 0, delta: { content: 'Good morning' }, finish_reason: 'stop' }] })}data: [DONE]\n\n`

/** Sends all of a document, compressed or not, in one piece behind its head. */
const gives =
  (body: string | object, packed: boolean) =>
  (call: Call): void => {
    const text = typeof body === 'string' ? body : JSON.stringify(body)
    const type = text.startsWith('data:') ? 'text/event-stream' : 'application/json'
    call.start(200, {
      'content-type': type,
      'transfer-encoding': 'chunked',
      ...(packed ? { 'content-encoding': 'gzip' } : {}),
    })
    if (text !== '') call.chunk(packed ? gzipSync(text) : text)
    call.end()
  }

interface Row {
  answer: (call: Call, s: Scene) => void
  /** What is asked; default: a message, which is translated. */
  path?: string
  heard: 'ok' | 'failed' | 'ignored'
  /** The channel whose answer counts. */
  by?: 'a' | 'b'
  leaves?: boolean
  config?: Options['config']
}

const ROWS: Record<string, Row> = {
  'nothing, compressed': { answer: gives('', true), path: PATHS.chat, heard: 'failed', by: 'b' },
  'nothing, compressed, which would be translated': { answer: gives('', true), heard: 'failed', by: 'b' },
  nothing: { answer: gives('', false), path: PATHS.chat, heard: 'failed', by: 'b' },
  'a document': { answer: gives(GOOD, false), heard: 'ok' },
  'a document, compressed': { answer: gives(GOOD, true), heard: 'ok' },
  'an error, compressed': { answer: gives(BLAMES_ITSELF, true), heard: 'failed', by: 'b' },
  'no document of its protocol, compressed': { answer: gives({ other: 1 }, true), heard: 'failed', by: 'b' },
  'events, compressed': { answer: gives(EVENTS, true), heard: 'ok' },
  'a long document': { answer: gives(LONG, false), heard: 'ok' },
  'a long document, compressed': { answer: gives(LONG, true), heard: 'ok' },
  'a long document for which there is no memory, which is no fault of its upstream': {
    answer: gives(LONG, false),
    heard: 'ignored',
    config: { limits: { buffered: '1MiB' } },
  },
  'a document whose client has left': { answer: gives(GOOD, false), heard: 'ok', leaves: true },
  'a compressed document whose client has left': { answer: gives(GOOD, true), heard: 'ok', leaves: true },
  'a document of another protocol whose client has left': {
    answer: gives({ other: 1 }, false),
    heard: 'failed',
    leaves: true,
  },
  'a first event that breaks off': {
    answer: call => {
      call.stream()
      call.chunk('data: {"id":')
      call.halfClose()
    },
    path: PATHS.chat,
    heard: 'failed',
  },
}

const RESULTS = ['ok', 'failed', 'ignored', 'busy', 'auth']

for (const [name, { answer, path = PATHS.messages, heard, by = 'a', leaves = false, config = {} }] of Object.entries(
  ROWS,
))
  t.test(name, async t => {
    const s = await open(t, { channels: { a: { protocols: ['chat'] }, b: { protocols: ['chat'] } }, config })
    s.at('b').script = gives(GOOD, false)
    const stream = answer === ROWS['events, compressed']?.answer || name === 'a first event that breaks off'
    const body = { model: MODEL, max_tokens: 100, stream, messages: [{ role: 'user', content: 'Hi' }] }
    const asked = s.ask({ path, headers: HEADERS, body })
    const call = await s.at('a').call()
    if (leaves) {
      asked.leave()
      await s.settled()
    }
    answer(call, s)
    if (!leaves) await asked.end()
    const { rows, left, ok } = await s.books()
    t.same([left, ok], [NOTHING_LEFT, true])
    t.match(rows, [{ channel: by }])
    const reports = async (channel: string): Promise<Record<string, number>> => {
      const of = await Promise.all(
        RESULTS.map(result => s.metric('gateway_upstream_attempts_total', { channel, result })),
      )
      return Object.fromEntries(RESULTS.flatMap((result, i) => (of[i] === undefined ? [] : [[result, of[i]]])))
    }
    t.same(await reports('a'), { [heard]: 1 })
    t.same(await reports('b'), by === 'b' ? { ok: 1 } : {})
  })

t.test(
  'a probe of a breaker closes it with a compressed answer that is translated, and opens it with none',
  async t => {
    for (const [answer, state] of [
      [gives(GOOD, true), 'closed'],
      [gives('', true), 'open'],
    ] as const) {
      const s = await open(t, { channels: { a: { protocols: ['chat'] } }, config: { retry: { attempts: 1 } } })
      const asks = { path: PATHS.messages, headers: HEADERS, body: { model: MODEL, max_tokens: 100, messages: [] } }
      s.at('a').script = says(500)
      while (s.state('a') === 'closed') await s.ask(asksChat()).end()
      s.clock.advance(10_000)
      t.equal(s.state('a'), 'half_open')
      s.at('a').script = answer
      await s.ask(asks).end()
      await s.books()
      t.equal(s.state('a'), state)
      s.at('a').script = answers(100, 10)
      s.clock.advance(20_000)
      const next = s.ask(asksChat())
      await next.end()
      t.equal(next.status, 200, 'the next probe may go')
    }
  },
)
