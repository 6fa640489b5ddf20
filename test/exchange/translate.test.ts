/** A request is served by upstreams that speak another protocol: who is asked, what is held and charged, and what the client is told. */
import t from 'tap'
import type { Ask } from './support/client.ts'
import { HEADERS, MODEL, NOTHING_LEFT, type Options, open, PATHS } from './support/gateway.ts'
import { answers, SPEECH } from './support/speech.ts'
import type { Script } from './support/upstream.ts'

type Pair = 'messages' | 'chat'
const OTHER: Record<Pair, Pair> = { messages: 'chat', chat: 'messages' }
const PAIR = ['messages', 'chat'] as const

const asks = (protocol: Pair, more: object = {}, headers: Record<string, string> = {}): Ask => ({
  path: PATHS[protocol],
  headers: { ...HEADERS, ...headers },
  body: { model: MODEL, max_tokens: 100, messages: [{ role: 'user', content: 'Hi' }], ...more },
})
const streams = (protocol: Pair, more: object = {}): Ask =>
  asks(protocol, { stream: true, ...(protocol === 'chat' ? { stream_options: { include_usage: true } } : {}), ...more })

const event = (type: string, data: object): string => `event: ${type}\ndata: ${JSON.stringify({ type, ...data })}\n\n`
const data = (value: object): string => `data: ${JSON.stringify(value)}\n\n`
const chunk = (delta: object, finish_reason: string | null = null) =>
  data({ id: 'c', object: 'chat.completion.chunk', choices: [{ index: 0, delta, finish_reason }] })

/** What an upstream sends for 100 tokens in and 10 out: 280 micro-CNY. */
const SENT: Record<Pair, { start: string; text: string; rest: string; error: string; document: object }> = {
  messages: {
    start:
      event('message_start', {
        message: { id: 'msg_u', role: 'assistant', model: 'u', content: [], usage: { input_tokens: 100, output_tokens: 1 } },
      }) + event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    text: event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Good morning to you' } }),
    rest:
      event('content_block_stop', { index: 0 }) +
      event('message_delta', { delta: { stop_reason: 'end_turn', stop_sequence: null }, usage: { output_tokens: 10 } }) +
      event('message_stop', {}),
    error: event('error', { error: { type: 'overloaded_error', message: 'too busy' } }),
    document: {
      id: 'msg_u',
      type: 'message',
      role: 'assistant',
      model: 'u',
      content: [{ type: 'text', text: 'Good morning to you' }],
      stop_reason: 'end_turn',
      stop_sequence: null,
      usage: { input_tokens: 100, output_tokens: 10 },
    },
  },
  chat: {
    start: chunk({ role: 'assistant', content: '' }),
    text: chunk({ content: 'Good morning to you' }),
    rest: `${chunk({}, 'stop')}${data({ choices: [], usage: { prompt_tokens: 100, completion_tokens: 10 } })}data: [DONE]\n\n`,
    error: data({ error: { message: 'too busy', type: 'server_error' } }),
    document: {
      id: 'c',
      choices: [{ index: 0, message: { role: 'assistant', content: 'Good morning to you' }, finish_reason: 'stop' }],
      usage: { prompt_tokens: 100, completion_tokens: 10 },
    },
  },
}
const whole =
  (protocol: Pair): Script =>
  call =>
    call.whole(200, SENT[protocol].document)
const streamed =
  (protocol: Pair): Script =>
  call => {
    const { start, text, rest } = SENT[protocol]
    call.stream()
    for (const part of [start, text, rest]) call.chunk(part)
    call.end()
  }
const only = (protocol: Pair, more: object = {}): Options => ({ channels: { a: { protocols: [protocol], ...more } } })

for (const client of PAIR) {
  const via = OTHER[client]
  t.test(`${client} by ${via}: a document`, async t => {
    const s = await open(t, only(via))
    s.at('a').script = whole(via)
    const asked = s.ask(asks(client))
    t.equal(await asked.end(), 'whole')
    const { status, headers, body } = asked.answer
    t.match({ status, type: headers.get('content-type'), via: headers.get('x-gateway-via') }, { status: 200, type: 'application/json; charset=utf-8', via })
    t.equal(Number(headers.get('content-length')), Buffer.byteLength(body))
    t.match(body, /Good morning to you/)
    t.match(JSON.parse(body), client === 'chat' ? { usage: { prompt_tokens: 100, completion_tokens: 10 } } : { usage: { input_tokens: 100, output_tokens: 10 } })
    const call = await s.at('a').call()
    t.match(call.head, via === 'chat' ? /^POST \/v1\/chat\/completions / : /^POST \/v1\/messages /)
    t.equal(call.header('anthropic-version'), via === 'messages' ? '2023-06-01' : undefined)
    t.match(JSON.parse(call.body), { model: MODEL, max_tokens: 100 })
    const { rows, left, ok } = await s.books()
    t.match(rows, [{ protocol: client, via, status: 200, end: 'completed', basis: 'reported', input: 100, output: 10, charge: 280 }])
    t.same(left, NOTHING_LEFT)
    t.ok(ok)
  })

  t.test(`${client} by ${via}: a stream`, async t => {
    const s = await open(t, only(via))
    const asked = s.ask(streams(client))
    const call = await s.at('a').call()
    call.stream()
    call.chunk(SENT[via].start)
    call.chunk(SENT[via].text)
    await asked.sees('Good morning to you')
    t.notMatch(asked.text, /message_stop|DONE|finish_reason":"/)
    call.chunk(SENT[via].rest)
    call.end()
    t.equal(await asked.end(), 'whole')
    t.equal(asked.answer.headers.get('x-gateway-via'), via)
    t.match(asked.text, client === 'chat' ? /"prompt_tokens":100.*\n\ndata: \[DONE\]\n\n$/ : /"output_tokens":10.*\n\nevent: message_stop\n.*\n\n$/)
    const { rows, left, ok } = await s.books()
    t.match(rows, [{ protocol: client, via, status: 200, end: 'completed', basis: 'reported', input: 100, output: 10, charge: 280 }])
    t.same(left, NOTHING_LEFT)
    t.ok(ok)
  })

  t.test(`${client}: an upstream that speaks it is asked first, and a failure goes to one by ${via}, and back`, async t => {
    const channels = { a: { protocols: [via], priority: 5 }, b: { protocols: [client] }, c: { protocols: [client], priority: -9 } }
    const s = await open(t, { channels, config: { retry: { attempts: 3, budget: '100%' } } })
    s.at('a').script = streamed(via)
    s.at('b').script = s.at('c').script = call => call.whole(503, { error: { message: 'no' } })
    const asked = s.ask(streams(client))
    t.equal(await asked.end(), 'whole')
    t.match(asked.text, /Good morning to you/)
    t.same(s.asked(), { a: 1, b: 1, c: 1 })
    t.match((await s.books()).rows, [{ channel: 'a', via, attempts: [{ channel: 'b' }, { channel: 'c' }, { channel: 'a' }] }])
  })
}

void SPEECH
void answers
