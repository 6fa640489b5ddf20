/** A request is served by upstreams that speak another protocol: who is asked, what is held and charged, and what the client is told. */
import { gzipSync } from 'node:zlib'
import t from 'tap'
import type { Ask } from './support/client.ts'
import { HEADERS, MODEL, NOTHING_LEFT, type Options, open, PATHS } from './support/gateway.ts'
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
        message: {
          id: 'msg_u',
          role: 'assistant',
          model: 'u',
          content: [],
          usage: { input_tokens: 100, output_tokens: 1 },
        },
      }) + event('content_block_start', { index: 0, content_block: { type: 'text', text: '' } }),
    text: event('content_block_delta', { index: 0, delta: { type: 'text_delta', text: 'Good morning to you' } }),
    rest:
      event('content_block_stop', { index: 0 }) +
      event('message_delta', {
        delta: { stop_reason: 'end_turn', stop_sequence: null },
        usage: { output_tokens: 10 },
      }) +
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
    t.match(
      { status, type: headers.get('content-type'), via: headers.get('x-gateway-via') },
      { status: 200, type: 'application/json; charset=utf-8', via },
    )
    t.equal(Number(headers.get('content-length')), Buffer.byteLength(body))
    t.match(body, /Good morning to you/)
    t.match(
      JSON.parse(body),
      client === 'chat'
        ? { usage: { prompt_tokens: 100, completion_tokens: 10 } }
        : { usage: { input_tokens: 100, output_tokens: 10 } },
    )
    const call = await s.at('a').call()
    t.match(call.head, via === 'chat' ? /^POST \/v1\/chat\/completions / : /^POST \/v1\/messages /)
    t.equal(call.header('anthropic-version'), via === 'messages' ? '2023-06-01' : undefined)
    t.match(JSON.parse(call.body), { model: MODEL, max_tokens: 100 })
    const { rows, left, ok } = await s.books()
    t.match(rows, [
      { protocol: client, via, status: 200, end: 'completed', basis: 'reported', input: 100, output: 10, charge: 280 },
    ])
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
    t.match(
      asked.text,
      client === 'chat'
        ? /"prompt_tokens":100.*\n\ndata: \[DONE\]\n\n$/
        : /"output_tokens":10.*\n\nevent: message_stop\n.*\n\n$/,
    )
    const { rows, left, ok } = await s.books()
    t.match(rows, [
      { protocol: client, via, status: 200, end: 'completed', basis: 'reported', input: 100, output: 10, charge: 280 },
    ])
    t.same(left, NOTHING_LEFT)
    t.ok(ok)
  })

  t.test(
    `${client}: an upstream that speaks it is asked first, and a failure goes to one by ${via}, and back`,
    async t => {
      const channels = {
        a: { protocols: [via], priority: 5 },
        b: { protocols: [client] },
        c: { protocols: [client], priority: -9 },
      }
      const s = await open(t, { channels, config: { retry: { attempts: 3, budget: '100%' } } })
      s.at('a').script = streamed(via)
      s.at('b').script = s.at('c').script = call => call.whole(503, { error: { message: 'no' } })
      const asked = s.ask(streams(client))
      t.equal(await asked.end(), 'whole')
      t.match(asked.text, /Good morning to you/)
      t.same(s.asked(), { a: 1, b: 1, c: 1 })
      t.match((await s.books()).rows, [
        { channel: 'a', via, attempts: [{ channel: 'b' }, { channel: 'c' }, { channel: 'a' }] },
      ])
    },
  )
}

t.test(
  'errors of upstreams have the status and the words of the client, and blame no channel for what the client did',
  async t => {
    const rows: [sent: number, messages: [number, string], chat: [number, string]][] = [
      [400, [400, 'invalid_request_error'], [400, 'invalid_request_error']],
      [404, [404, 'not_found_error'], [404, 'invalid_request_error']],
      [429, [429, 'rate_limit_error'], [429, 'rate_limit_error']],
      [529, [529, 'overloaded_error'], [503, 'server_error']],
      [500, [500, 'api_error'], [500, 'server_error']],
    ]
    for (const client of PAIR)
      for (const [sent, ...told] of rows) {
        const [status, type] = told[PAIR.indexOf(client)] as [number, string]
        const s = await open(t, only(OTHER[client]))
        s.at('a').script = call =>
          call.whole(sent, { error: { message: 'so it is' } }, { 'retry-after': '7', 'x-should-retry': 'false' })
        for (const asked of [s.ask(asks(client)), s.ask(streams(client))]) {
          const name = `${client} ${sent}`
          t.equal(await asked.end(), 'whole', name)
          const { headers, body } = asked.answer
          t.equal(asked.status, status, name)
          t.match(JSON.parse(body), { error: { type, message: /so it is/ } }, name)
          t.match([headers.get('retry-after'), headers.get('x-should-retry')], ['7', 'false'], name)
          t.equal(headers.get('x-gateway-via'), OTHER[client], name)
          if (sent === 429 || sent === 529) break // its channel rests now
        }
        const { rows: booked, left } = await s.books()
        t.match(booked[0], { status, charge: 0, basis: 'none', via: OTHER[client] }, name(client, sent))
        t.same(left, NOTHING_LEFT)
        if (sent < 429) t.equal(s.state('a'), 'closed')
      }
  },
)
const name = (client: string, sent: number) => `${client} ${sent}`

t.test(
  'upstreams that answer nothing that can be told: the next one, else an error, and nothing is charged',
  async t => {
    const broken: Record<string, (via: Pair) => Script> = {
      'no JSON': () => call => call.whole(200, 'hello', { 'content-type': 'application/json' }),
      'another protocol': via => whole(OTHER[via]),
      'an error as the first event': via => call => {
        call.stream()
        call.chunk(SENT[via].error)
        call.end()
      },
      'an unknown encoding': via => call => call.whole(200, SENT[via].document, { 'content-encoding': 'odd' }),
      'half a document': via => call => call.whole(200, JSON.stringify(SENT[via].document).slice(0, -9)),
      nothing: () => call => call.whole(200, ''),
    }
    for (const client of PAIR)
      for (const [what, script] of Object.entries(broken)) {
        const via = OTHER[client]
        const two = await open(t, { channels: { a: { protocols: [via] }, b: { protocols: [via] } } })
        two.at('a').script = script(via)
        two.at('b').script = whole(via)
        const asked = two.ask(asks(client))
        t.equal(await asked.end(), 'whole', `${client} ${what}`)
        t.equal(asked.status, 200, `${client} ${what}`)
        t.match((await two.books()).rows.at(-1), { channel: 'b', charge: 280 }, `${client} ${what}`)
        const one = await open(t, only(via))
        one.at('a').script = script(via)
        const failed = one.ask(asks(client))
        t.equal(await failed.end(), 'whole', `${client} ${what}`)
        t.ok(failed.status >= 500, `${client} ${what}: ${failed.status}`)
        const { rows, left } = await one.books()
        t.match(rows, [{ charge: 0, basis: 'none', end: 'upstream_error' }], `${client} ${what}`)
        t.same(left, NOTHING_LEFT)
      }
  },
)

t.test('an answer that breaks off is charged what was told, and never ends well', async t => {
  for (const client of PAIR)
    for (const how of ['reset', 'end', 'error'] as const) {
      const via = OTHER[client]
      const s = await open(t, only(via))
      const asked = s.ask(streams(client))
      const call = await s.at('a').call()
      call.stream()
      call.chunk(SENT[via].start + SENT[via].text)
      await asked.sees('Good morning')
      if (how === 'reset') call.reset()
      else if (how === 'end') call.end()
      else {
        call.chunk(SENT[via].error)
        call.end()
      }
      t.equal(await asked.end(), 'cut', `${client} ${how}`)
      t.match(asked.text, /"error":.*\(request id: \w{21}\)/, `${client} ${how}`)
      t.notMatch(asked.text, /message_stop|\[DONE\]/, `${client} ${how}`)
      const { rows, left, ok } = await s.books()
      t.match(
        rows,
        [{ basis: 'counted', output: 5, end: how === 'error' ? 'upstream_error' : 'upstream_cut', via }],
        `${client} ${how}`,
      )
      t.same(left, NOTHING_LEFT)
      t.ok(ok)
    }
})

t.test('a client that leaves: the upstream is read on and counted', async t => {
  for (const client of PAIR)
    for (const early of [true, false]) {
      const via = OTHER[client]
      const s = await open(t, only(via))
      const asked = s.ask(streams(client))
      const call = await s.at('a').call()
      if (!early) {
        call.stream()
        call.chunk(SENT[via].start + SENT[via].text)
        await asked.sees('Good morning')
      }
      asked.leave()
      await s.settled()
      if (early) {
        call.stream()
        call.chunk(SENT[via].start + SENT[via].text)
      }
      call.chunk(SENT[via].rest)
      call.end()
      const { rows, left, ok } = await s.books()
      t.match(
        rows,
        [
          {
            basis: 'reported',
            input: 100,
            output: 10,
            charge: 280,
            end: 'client_gone',
            status: early ? 499 : 200,
            via,
          },
        ],
        `${client} ${early}`,
      )
      t.same(left, NOTHING_LEFT)
      t.ok(ok)
    }
})

t.test(
  'the money ends in mid-answer: the length stop of the client, the charge of the row, and no more than is there',
  async t => {
    for (const client of PAIR) {
      const via = OTHER[client]
      const s = await open(t, {
        ...only(via),
        prices: { m: { input: 2, output: 8 } },
        config: { hold: { output_tokens: 16 } },
        key: { cap: 0.001 },
      })
      const asked = s.ask(streams(client, { max_tokens: 5000 }))
      const call = await s.at('a').call()
      call.stream()
      // what is reported above the estimated input would be charged beyond the hold
      call.chunk(SENT[via].start.replace('"input_tokens":100', '"input_tokens":10'))
      const text = via === 'chat' ? chunk({ content: 'Good morning to you' }) : SENT.messages.text
      for (let i = 0; i < 60 && !call.closed; i++) {
        call.chunk(text)
        await s.settled()
      }
      t.equal(await asked.end(), 'whole', client)
      t.match(
        asked.text,
        client === 'chat' ? /"finish_reason":"length".*\[DONE\]/s : /"stop_reason":"max_tokens".*message_stop/s,
      )
      const { rows, left, ok } = await s.books()
      const [row] = rows
      t.match(row, { basis: 'counted', end: 'completed', via })
      t.ok((row?.charge ?? 0) > 0 && (row?.charge ?? 0) <= 1000, `${client}: ${row?.charge}`)
      const shown = client === 'chat' ? /"completion_tokens":(\d+)/ : /"output_tokens":(\d+)(?!.*output_tokens)/s
      t.equal(Number(shown.exec(asked.text)?.[1]), row?.output, 'what was shown is what was charged')
      t.same(left, NOTHING_LEFT)
      t.ok(ok)
    }
  },
)

t.test(
  'what cannot be said is refused where all translate, and goes to who speaks the protocol where one does',
  async t => {
    const rows: [Pair, object, string][] = [
      ['chat', { n: 2 }, 'n'],
      ['chat', { logprobs: true }, 'logprobs'],
      ['messages', { container: 'c' }, 'container'],
      ['messages', { inference_geo: 'us' }, 'inference_geo'],
    ]
    for (const [client, more, field] of rows) {
      const s = await open(t, only(OTHER[client]))
      const asked = s.ask(asks(client, more))
      await asked.end()
      const isField = asked.text.includes('请求体字段无效') // refused for every upstream alike
      t.match(
        [asked.status, asked.text],
        [400, isField ? field : `该模型经协议转换提供,不支持参数 ${field}`],
        `${client} ${field}`,
      )
      t.same(s.asked(), { a: 0 })
      t.same((await s.books()).left, NOTHING_LEFT)
    }
    const both = await open(t, { channels: { a: { protocols: ['messages'] }, b: { protocols: ['chat'] } } })
    both.at('b').script = whole('chat')
    const asked = both.ask(asks('chat', { n: 2 }))
    await asked.end()
    t.equal(asked.status, 200)
    t.equal(asked.answer.headers.get('x-gateway-via'), undefined)
  },
)

t.test('which channels translate', async t => {
  const rows: [unknown, number][] = [
    [false, 400],
    [['chat'], 400],
    [['messages'], 200],
    [true, 200],
  ]
  for (const [translate, status] of rows) {
    const s = await open(t, only('chat', { translate }))
    s.at('a').script = whole('chat')
    const asked = s.ask(asks('messages'))
    await asked.end()
    t.equal(asked.status, status, JSON.stringify(translate))
  }
})

t.test('what is dropped is named', async t => {
  const s = await open(t, only('messages'))
  s.at('a').script = whole('messages')
  const asked = s.ask(
    asks(
      'chat',
      { seed: 5, logit_bias: { 1: 2 }, made_up: 'x' },
      { origin: 'http://a.example', 'openai-beta': 'x', 'anthropic-beta': 'y' },
    ),
  )
  await asked.end()
  t.equal(asked.answer.headers.get('x-gateway-dropped'), 'logit_bias,other,seed')
  t.match(asked.answer.headers.get('access-control-expose-headers'), /x-gateway-via, x-gateway-dropped/)
  const call = await s.at('a').call()
  t.same(
    [call.header('openai-beta'), call.header('anthropic-beta'), call.header('x-api-key')],
    [undefined, undefined, 'up-a'],
  )
})

t.test('an answer that was compressed all the same', async t => {
  for (const client of PAIR) {
    const via = OTHER[client]
    const s = await open(t, only(via))
    s.at('a').script = call => {
      const packed = gzipSync(JSON.stringify(SENT[via].document))
      call.start(200, {
        'content-type': 'application/json',
        'content-encoding': 'gzip',
        'content-length': String(packed.length),
      })
      call.raw(packed)
    }
    const asked = s.ask(asks(client))
    t.equal(await asked.end(), 'whole')
    t.match(asked.text, /Good morning to you/)
    t.match((await s.books()).rows, [{ basis: 'reported', charge: 280 }])
    s.at('a').script = call => {
      const { start, text, rest } = SENT[via]
      call.stream({ 'content-encoding': 'gzip' })
      call.chunk(gzipSync(start + text + rest))
      call.end()
    }
    const stream = s.ask(streams(client))
    t.equal(await stream.end(), 'whole')
    t.match(stream.text, /Good morning to you/)
    t.match((await s.books()).rows.at(-1), { basis: 'reported', charge: 280 })
  }
})

t.test(
  'a hold is that of the body, the maximum and the protocol that the upstream gets; what more a later candidate needs is held',
  async t => {
    const channels = { a: { protocols: ['messages'] }, b: { protocols: ['chat'] } }
    const config = { retry: { attempts: 3, budget: '100%' } }
    const ask = asks('messages', { max_tokens: 5000 })
    const rich = await open(t, { channels, config })
    rich.at('a').script = call => call.whole(503, {})
    rich.at('b').script = whole('chat')
    await rich.ask(ask).end()
    const [row] = (await rich.books()).rows
    t.match(row, { channel: 'b', via: 'chat', charge: 280 })
    t.ok((row?.held ?? 0) > 8 * 5000)
  },
)

t.test('a turn by another upstream, then one by an upstream of the protocol: it gets no envelope of ours', async t => {
  const mark = 'gw1.abcdefghijkl.s..abc'
  const s = await open(t, { channels: { a: {} } })
  const rows: [Pair, object[], object[]][] = [
    [
      'messages',
      [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: 'é', signature: mark },
            { type: 'text', text: 'a' },
            { type: 'redacted_thinking', data: mark },
            { type: 'tool_use', id: 't', name: 'f', input: {} },
          ],
        },
        { role: 'assistant', content: [{ type: 'thinking', thinking: '', signature: mark }] },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: mark }] },
      ],
      [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: [
            { type: 'text', text: 'a' },
            { type: 'tool_use', id: 't', name: 'f', input: {} },
          ],
        },
        { role: 'user', content: [{ type: 'tool_result', tool_use_id: 't', content: mark }] },
      ],
    ],
    [
      'chat',
      [
        {
          role: 'assistant',
          reasoning_details: [{ type: 'reasoning.encrypted', data: mark }, { type: 'x' }],
          tool_calls: [{ id: 'c', extra_content: { google: { thought_signature: mark } } }],
        },
      ],
      [{ role: 'assistant', reasoning_details: [{ type: 'x' }], tool_calls: [{ id: 'c' }] }],
    ],
  ]
  for (const [i, [client, messages, sent]] of rows.entries()) {
    s.at('a').script = whole(client)
    const asked = s.ask(asks(client, { messages }))
    await asked.end()
    t.equal(asked.status, 200)
    t.same(JSON.parse((await s.at('a').call(i)).body), { model: MODEL, max_tokens: 100, messages: sent }, client)
  }
})

t.test('keep-alive bytes are those of the client, and an early start is ended by its upstream', async t => {
  for (const client of PAIR) {
    const via = OTHER[client]
    const s = await open(t, {
      ...only(via),
      config: { keepalive: { main: '15s', early: '10s' }, timeouts: { main: '100s' } },
    })
    const asked = s.ask(streams(client))
    const call = await s.at('a').call()
    s.clock.advance(11_000)
    await asked.sees('\n')
    t.equal(asked.answer.headers.get('x-gateway-via'), undefined)
    call.stream()
    call.chunk(SENT[via].start + SENT[via].text)
    await asked.sees('Good morning')
    s.clock.advance(16_000)
    await asked.sees(client === 'messages' ? 'event: ping' : '\n\n\n')
    call.chunk(SENT[via].rest)
    call.end()
    t.equal(await asked.end(), 'whole')
    t.match((await s.books()).rows, [{ charge: 280, via }])
  }
})
