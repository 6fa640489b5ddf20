/**
 * A request is served by upstreams that speak another protocol: who is asked, what is held and charged, and what the client is told.
 * All that a relay does for answers that it passes on, it does for those that are translated. One gateway for all, in which each
 * case has a model and channels of its own.
 */
import { gzipSync } from 'node:zlib'
import t, { type Test } from 'tap'
import type { Ask, Client } from './support/client.ts'
import { asks, FOUR, type Four, NEXT, SEEN, SENT, shown, streamed, TEXT, whole } from './support/four.ts'
import { HEADERS, MODEL, NOTHING_LEFT, open, POOR_KEY, type Scene } from './support/gateway.ts'
import type { Script, Upstream } from './support/upstream.ts'

type Json = Record<string, unknown>
/** A channel: the protocol that it speaks, and more of its row. */
type Way = Four | [Four, Json]

interface Case {
  what: string
  model: string
  ways: Way[]
  run: (t: Test, on: Running) => Promise<void>
}

/** What a case has at hand. */
interface Running {
  s: Scene
  model: string
  /** The upstream of the nth channel. */
  at(nth?: number): Upstream
  /** How often each was asked. */
  asked(): number[]
  /** The rows of its model, when nothing is under way and nothing is left. */
  rows(t: Test): Promise<Awaited<ReturnType<Scene['books']>>['rows']>
}

const CASES: Case[] = []
/** `client` = the case is one for each protocol of clients, by the next protocol. */
function add(what: string, ways: Way[], run: Case['run'], model = `model-${CASES.length}`): void {
  CASES.push({ what, model, ways, run })
}
const each = (make: (client: Four, via: Four, other: Four) => void): void => {
  for (const client of FOUR) make(client, NEXT[client], NEXT[NEXT[client]])
}

const keyOf = (secret: string) => ({
  authorization: `Bearer ${secret}`,
  'x-api-key': secret,
  'x-goog-api-key': secret,
})
const capped = (client: Four): string => `sk-scenario-capped-${client}`
const SMALL_KEY = 'sk-scenario-with-a-small-cap'
/** Words of the gateway's own are ASCII where they stand in a translated answer. */
const unescaped = (text: string): string =>
  text.replace(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
const only = async (asked: Client): Promise<Client> => {
  await asked.end()
  return asked
}

// --- who is asked, and what comes of it

for (const client of FOUR)
  for (const via of FOUR)
    if (client !== via)
      add(`${client} by ${via}: a document and a stream, and the row is what was shown`, [via], async (t, on) => {
        const { s, model } = on
        on.at().script = whole(via)
        const document = await only(s.ask(asks(client, model)))
        const { status, headers, body } = document.answer
        const type = 'application/json; charset=utf-8'
        t.match({ status, type: headers.get('content-type') }, { status: 200, type })
        t.equal(headers.get('x-gateway-via'), via)
        t.equal(Number(headers.get('content-length')), Buffer.byteLength(body))
        t.match(JSON.stringify(JSON.parse(body)), TEXT)
        t.same(shown(client, document), [100, 10])
        const call = await on.at().call()
        t.equal(call.header('anthropic-version'), via === 'messages' ? '2023-06-01' : undefined)
        on.at().script = () => {}
        const stream = s.ask(asks(client, model, { stream: true }))
        const second = await on.at().call(1)
        second.stream()
        second.chunk(SENT[via].start)
        second.chunk(SENT[via].text)
        await stream.sees(TEXT)
        t.notMatch(stream.text, SEEN[client].end, 'the end waits for the charge')
        second.chunk(SENT[via].rest)
        second.end()
        t.equal(await stream.end(), 'whole')
        t.match(stream.text, SEEN[client].end)
        t.same(shown(client, stream), [100, 10])
        const row = { protocol: client, via, status: 200, end: 'completed', basis: 'reported', charge: 280 }
        t.match(await on.rows(t), [row, row])
      })

each((client, via) =>
  add(
    `${client}: who speaks it is asked first, and a failure goes to who translates, and back`,
    [[via, { priority: 5 }], client, client],
    async (t, on) => {
      on.at(0).script = streamed(via)
      on.at(1).script = on.at(2).script = call => call.whole(503, { error: { message: 'no' } })
      const asked = await only(on.s.ask(asks(client, on.model, { stream: true })))
      t.match(asked.text, TEXT)
      t.same(on.asked(), [1, 1, 1])
      const [first, second, third] = [1, 2, 0].map(n => ({ channel: `${on.model}-${n}` }))
      t.match(await on.rows(t), [{ channel: third?.channel, via, attempts: [first, second, third] }])
    },
  ),
)

const TOLD: Record<number, Record<Four, [status: number, type: string]>> = {
  400: same([400, 'invalid_request_error'], [400, 'invalid_request_error'], [400, 'INVALID_ARGUMENT']),
  404: same([404, 'not_found_error'], [404, 'invalid_request_error'], [404, 'NOT_FOUND']),
  429: same([429, 'rate_limit_error'], [429, 'rate_limit_error'], [429, 'RESOURCE_EXHAUSTED']),
  529: same([529, 'overloaded_error'], [503, 'server_error'], [503, 'UNAVAILABLE']),
  500: same([500, 'api_error'], [500, 'server_error'], [500, 'INTERNAL']),
}
function same<T>(messages: T, chat: T, generate: T): Record<Four, T> {
  return { messages, chat, responses: chat, generate }
}

for (const [sent, told] of Object.entries(TOLD))
  each((client, via) =>
    add(`${client}: ${sent} of an upstream has the status and the words of the client`, [via], async (t, on) => {
      const [status, type] = told[client]
      on.at().script = call =>
        call.whole(Number(sent), { error: { message: 'so it is' } }, { 'retry-after': '7', 'x-should-retry': 'false' })
      for (const stream of [false, true]) {
        const asked = await only(on.s.ask(asks(client, on.model, { stream })))
        const { headers, body } = asked.answer
        t.equal(asked.status, status)
        const { error } = JSON.parse(body)
        t.match([error.type ?? error.status, error.message], [type, /so it is/])
        t.match([headers.get('retry-after'), headers.get('x-should-retry')], ['7', 'false'])
        t.equal(headers.get('x-gateway-via'), via)
        if (Number(sent) >= 429) break // its channel may rest now
      }
      t.match((await on.rows(t))[0], { status, charge: 0, basis: 'none', via })
      if (Number(sent) < 429) t.equal(on.s.state(`${on.model}-0`), 'closed', 'no channel is to blame')
    }),
  )

const NO_ANSWER: Record<string, (via: Four) => Script> = {
  'no JSON': () => call => call.whole(200, 'hello', { 'content-type': 'application/json' }),
  'another protocol': via => whole(NEXT[via]),
  'an error as the first event': via => call => {
    call.stream()
    call.chunk(SENT[via].error)
    call.end()
  },
  'an unknown encoding': via => call => call.whole(200, SENT[via].document, { 'content-encoding': 'odd' }),
  'half a document': via => call => call.whole(200, JSON.stringify(SENT[via].document).slice(0, -9)),
  nothing: () => call => call.whole(200, ''),
}

for (const [what, script] of Object.entries(NO_ANSWER))
  each((client, via, other) =>
    add(
      `${client}: 2xx with ${what}, and the next one is asked; an error where there is none`,
      [via, other],
      async (t, on) => {
        on.at(0).script = script(via)
        on.at(1).script = whole(other)
        const asked = await only(on.s.ask(asks(client, on.model)))
        t.equal(asked.status, 200)
        on.at(1).script = script(other)
        const failed = await only(on.s.ask(asks(client, on.model)))
        t.ok(failed.status >= 500, `${failed.status}`)
        t.match(await on.rows(t), [
          { channel: `${on.model}-1`, via: other, charge: 280 },
          { charge: 0, basis: 'none', end: 'upstream_error' },
        ])
      },
    ),
  )

each((client, via, other) => {
  add(
    `${client}: a document for who asked for a stream, and a stream for who asked for a document`,
    [via],
    async (t, on) => {
      on.at().script = whole(via)
      const stream = await only(on.s.ask(asks(client, on.model, { stream: true })))
      t.equal(stream.answer.headers.get('content-type'), 'text/event-stream; charset=utf-8')
      t.match(stream.text, SEEN[client].end)
      on.at().script = streamed(via)
      const document = await only(on.s.ask(asks(client, on.model)))
      t.equal(document.answer.headers.get('content-type'), 'application/json; charset=utf-8')
      t.doesNotThrow(() => JSON.parse(document.text))
      for (const asked of [stream, document]) {
        t.match(asked.text, TEXT)
        t.same(shown(client, asked), [100, 10])
      }
      const row = { basis: 'reported', charge: 280, end: 'completed' }
      t.match(await on.rows(t), [row, row])
    },
  )

  add(
    `${client}: an error that was kept is told when who was asked after it says nothing`,
    [via, other],
    async (t, on) => {
      on.at(0).script = call => call.whole(500, { error: { message: 'so it is' } })
      on.at(1).script = call => call.reset()
      const asked = await only(on.s.ask(asks(client, on.model)))
      t.equal(asked.status, 500)
      t.match(JSON.parse(asked.text).error.message, /so it is/)
      t.equal(asked.answer.headers.get('x-gateway-via'), via)
      t.match(await on.rows(t), [{ charge: 0, via, attempts: [{ status: 500 }, { status: 0 }] }])
    },
  )
})

const MIXED: Record<Exclude<Four, 'chat'>, (text: string) => [string, unknown][]> = {
  messages: text =>
    [...text.matchAll(/"index":(\d),"content_block":\{"type":"tool_use".*?"name":"(\w)"/g)].map(([, index, name]) => {
      const pieces = text.matchAll(
        new RegExp(`"index":${index},"delta":\\{"type":"input_json_delta","partial_json":(".*?")\\}\\}`, 'g'),
      )
      return [name as string, JSON.parse([...pieces].map(([, piece]) => JSON.parse(piece as string)).join(''))]
    }),
  responses: text => {
    const { response } = JSON.parse(/^data: (.*"type":"response.completed".*)$/m.exec(text)?.[1] ?? '')
    return response.output.map((item: Json) => [item['name'], JSON.parse(item['arguments'] as string)])
  },
  generate: text => {
    const calls = [...text.matchAll(/"functionCall":\{.*?"name":"(\w)","args":(\{.*?\})\}/g)]
    return calls.map(([, name, args]) => [name as string, JSON.parse(args as string)])
  },
}
for (const [client, callsIn] of Object.entries(MIXED) as [Four, (text: string) => unknown][])
  add(`${client} by chat: parallel calls whose pieces are mixed`, ['chat'], async (t, on) => {
    const call = (index: number, args: string, name?: string): object => ({
      index,
      ...(name === undefined ? {} : { id: `call_${name}` }),
      function: { name, arguments: args },
    })
    const pieces = [
      [call(0, '', 'f'), call(1, '{"y"', 'g')],
      [call(1, ':2'), call(0, '{"x":')],
      [call(0, '1}'), call(1, '}')],
    ]
    const asked = on.s.ask(asks(client, on.model, { stream: true }))
    const upstream = await on.at().call()
    upstream.stream()
    upstream.chunk(SENT.chat.start)
    for (const tool_calls of pieces)
      upstream.chunk(`data: ${JSON.stringify({ choices: [{ index: 0, delta: { tool_calls } }] })}\n\n`)
    upstream.chunk(SENT.chat.rest)
    upstream.end()
    t.equal(await asked.end(), 'whole')
    t.same(callsIn(asked.text), [
      ['f', { x: 1 }],
      ['g', { y: 2 }],
    ])
    t.match(await on.rows(t), [{ charge: 280, via: 'chat' }])
  })

add(
  'a hold has what it costs to write the cache that the client asks for',
  ['messages'],
  async (t, on) => {
    on.at().script = whole('messages')
    const text = { type: 'text', text: 'x'.repeat(4000) }
    for (const part of [text, { ...text, cache_control: { type: 'ephemeral' } }])
      await only(on.s.ask(asks('chat', on.model, { more: { messages: [{ role: 'user', content: [part] }] } })))
    const [plain, cached] = await on.rows(t)
    t.ok((cached?.held ?? 0) > 2 * (plain?.held ?? 0), `${cached?.held} and ${plain?.held}`)
    t.match((await on.at().call(1)).body, '"cache_control":{"type":"ephemeral"}')
  },
  'dear-caches',
)

// --- answers that are not whole

each((client, via) => {
  for (const how of ['reset', 'end', 'error'] as const)
    add(
      `${client}: a stream that breaks off (${how}) is charged what was told, and never ends well`,
      [via],
      async (t, on) => {
        const asked = on.s.ask(asks(client, on.model, { stream: true }))
        const call = await on.at().call()
        call.stream()
        call.chunk(SENT[via].start + SENT[via].text)
        await asked.sees(TEXT)
        if (how === 'reset') call.reset()
        else {
          if (how === 'error') call.chunk(SENT[via].error)
          call.end()
        }
        t.equal(await asked.end(), 'cut')
        t.match(asked.text, /"error":.*\(request id: \w{21}\)/)
        t.notMatch(asked.text, SEEN[client].end)
        const end = how === 'error' ? 'upstream_error' : 'upstream_cut'
        t.match(await on.rows(t), [{ basis: 'counted', output: 5, end, via }])
      },
    )

  for (const isEarly of [true, false])
    add(
      `${client}: the client leaves${isEarly ? ' before the answer' : ''}, and the meter reads on`,
      [via],
      async (t, on) => {
        const asked = on.s.ask(asks(client, on.model, { stream: true }))
        const call = await on.at().call()
        const begin = (): void => {
          call.stream()
          call.chunk(SENT[via].start + SENT[via].text)
        }
        if (!isEarly) {
          begin()
          await asked.sees(TEXT)
        }
        asked.leave()
        await on.s.settled()
        if (isEarly) begin()
        call.chunk(SENT[via].rest)
        call.end()
        const row = { basis: 'reported', input: 100, output: 10, charge: 280, end: 'client_gone', via }
        t.match(await on.rows(t), [{ ...row, status: isEarly ? 499 : 200 }])
      },
    )

  add(`${client}: the money ends in mid-answer, and no more is charged than is there`, [via], async (t, on) => {
    const headers = keyOf(capped(client))
    const asked = on.s.ask(asks(client, on.model, { stream: true, max: 5000, headers }))
    const call = await on.at().call()
    call.stream()
    // what is reported above the estimated input would be charged beyond the hold
    call.chunk(SENT[via].start.replace('"input_tokens":100', '"input_tokens":10'))
    for (let n = 0; n < 60 && !call.closed; n++) {
      call.chunk(SENT[via].text)
      await on.s.settled()
    }
    t.equal(await asked.end(), 'whole')
    t.match(asked.text, SEEN[client].length)
    const [row] = await on.rows(t)
    t.match(row, { basis: 'counted', end: 'completed', via })
    t.ok((row?.charge ?? 0) > 0 && (row?.charge ?? 0) <= 1000, `${row?.charge}`)
    t.equal(shown(client, asked)[1], row?.output, 'what was shown is what was charged')
  })
})

// --- refusals

const UNSAID: Record<Four, [field: string, more: Json]> = {
  messages: [
    'messages',
    {
      messages: [
        { role: 'user', content: 'Hi' },
        { role: 'assistant', content: 'Good' },
      ],
    },
  ],
  chat: ['top_logprobs', { top_logprobs: 21 }],
  responses: ['top_logprobs', { top_logprobs: 21 }],
  generate: ['generationConfig.logprobs', { generationConfig: { logprobs: 21 } }],
}

add('an answer cannot be continued where all translate, whoever got it', ['chat'], async (t, on) => {
  const asked = await only(on.s.ask(asks('responses', on.model, { more: { previous_response_id: 'resp_x' } })))
  t.equal(asked.status, 400)
  t.match(asked.text, '该模型经协议转换提供,不支持参数 previous_response_id')
})

each((client, via, other) => {
  const [field, more] = UNSAID[client]
  const text = `该模型经协议转换提供,不支持参数 ${field}`
  add(
    `${client}: what cannot be said is refused where all translate, before every question of money`,
    [via, other],
    async (t, on) => {
      for (const headers of [{}, keyOf(POOR_KEY)]) {
        const asked = await only(on.s.ask(asks(client, on.model, { more, headers })))
        t.match([asked.status, asked.text], [400, text])
      }
      const poor = await only(on.s.ask(asks(client, on.model, { headers: keyOf(POOR_KEY) })))
      t.match([poor.status, poor.text], [403, '额度'])
      t.same(on.asked(), [0, 0])
    },
  )
  add(
    `${client}: the same where there is no price`,
    [via],
    async (t, on) => {
      const headers = keyOf(POOR_KEY)
      t.match((await only(on.s.ask(asks(client, on.model, { more, headers })))).text, text)
      t.match((await only(on.s.ask(asks(client, on.model, { headers })))).text, '价格尚未由管理员配置')
      t.match((await only(on.s.ask(asks(client, `${on.model}-nowhere`, { more, headers })))).text, '无可用渠道')
    },
    `unpriced-${client}`,
  )
  add(`${client}: what cannot be said goes to who speaks the protocol where one does`, [via, client], async (t, on) => {
    on.at(1).script = whole(client)
    const asked = await only(on.s.ask(asks(client, on.model, { more })))
    t.equal(asked.status, 200)
    t.equal(asked.answer.headers.get('x-gateway-via'), undefined)
    t.same(on.asked(), [0, 1])
  })
  const rows: [translate: unknown, status: number][] = [
    [false, 400],
    [[via], 400],
    [[client], 200],
    [true, 200],
  ]
  for (const [translate, status] of rows)
    add(`${client}: a channel with translate: ${JSON.stringify(translate)}`, [[via, { translate }]], async (t, on) => {
      on.at().script = whole(via)
      t.equal((await only(on.s.ask(asks(client, on.model)))).status, status)
    })
})

add('what is dropped is named, and no header of the client goes along', ['messages'], async (t, on) => {
  on.at().script = whole('messages')
  const headers = { origin: 'http://a.example', 'openai-beta': 'x', 'anthropic-beta': 'y' }
  const more = { seed: 5, logit_bias: { 1: 2 }, 'x\r\nx-made-up: yes': 'x' }
  const asked = await only(on.s.ask(asks('chat', on.model, { more, headers })))
  t.equal(asked.answer.headers.get('x-gateway-dropped'), 'logit_bias,other,seed')
  t.equal(asked.answer.headers.get('x-made-up'), undefined)
  t.equal(asked.answer.headers.get('access-control-expose-headers'), '*')
  const call = await on.at().call()
  t.same(
    [call.header('openai-beta'), call.header('anthropic-beta'), call.header('x-api-key')],
    [undefined, undefined, `up-${on.model}-0`],
  )
})

// --- what a relay does besides

each((client, via, other) => {
  add(`${client}: an answer that was compressed all the same`, [via], async (t, on) => {
    on.at().script = call => {
      const packed = gzipSync(JSON.stringify(SENT[via].document))
      const length = String(packed.length)
      call.start(200, { 'content-type': 'application/json', 'content-encoding': 'gzip', 'content-length': length })
      call.raw(packed)
    }
    t.match((await only(on.s.ask(asks(client, on.model)))).text, TEXT)
    on.at().script = call => {
      const { start, text, rest } = SENT[via]
      call.stream({ 'content-encoding': 'gzip' })
      call.chunk(gzipSync(start + text + rest))
      call.end()
    }
    const stream = await only(on.s.ask(asks(client, on.model, { stream: true })))
    t.match(stream.text, TEXT)
    t.match(stream.text, SEEN[client].end)
    const row = { basis: 'reported', charge: 280 }
    t.match(await on.rows(t), [row, row])
  })

  add(`${client}: two at once, of the same protocol`, [via, via], async (t, on) => {
    const asked = on.s.ask(asks(client, on.model, { stream: true }))
    const first = await on.at(0).call()
    on.s.clock.advance(6_000)
    const second = await on.at(1).call()
    streamed(via)(second)
    t.equal(await asked.end(), 'whole')
    t.match(asked.text, SEEN[client].end)
    await first.cut()
    t.match(await on.rows(t), [{ channel: `${on.model}-1`, via, charge: 280 }])
  })

  for (const ways of [
    [via, other],
    [client, via],
  ])
    add(`${client}: a second one is not asked beside ${ways[0]} when it speaks ${ways[1]}`, ways, async (t, on) => {
      const asked = on.s.ask(asks(client, on.model, { stream: true }))
      const call = await on.at(0).call()
      on.s.clock.advance(6_000)
      await on.s.settled()
      t.same(on.asked(), [1, 0])
      streamed(ways[0] as Four)(call)
      t.equal(await asked.end(), 'whole')
    })

  add(
    `${client}: keep-alive bytes are those of the client, and an early start is ended by its upstream`,
    [via],
    async (t, on) => {
      const asked = on.s.ask(asks(client, on.model, { stream: true }))
      const call = await on.at().call()
      on.s.clock.advance(11_000)
      await asked.sees('\n')
      t.equal(asked.answer.headers.get('x-gateway-via'), undefined)
      call.stream()
      call.chunk(SENT[via].start + SENT[via].text)
      await asked.sees(TEXT)
      on.s.clock.advance(16_000)
      await asked.sees(client === 'messages' ? 'event: ping' : '\n\n\n')
      call.chunk(SENT[via].rest)
      call.end()
      t.equal(await asked.end(), 'whole')
      t.match(await on.rows(t), [{ charge: 280, via }])
    },
  )

  add(`${client}: the process ends in mid-answer`, [via], async (t, on) => {
    const asked = on.s.ask(asks(client, on.model, { stream: true }))
    const call = await on.at().call()
    call.stream()
    call.chunk(SENT[via].start + SENT[via].text)
    await asked.sees(TEXT)
    on.s.services.sweeper.each(relay => relay.stop('unavailable'))
    t.equal(await asked.end(), 'cut')
    t.notMatch(asked.text, SEEN[client].end)
    t.match(await on.rows(t), [{ basis: 'counted', output: 5, via }])
  })

  add(
    `${client}: no memory is left for the request, or for the answer, and no channel is to blame`,
    [via],
    async (t, on) => {
      const long = 'x'.repeat(1_200_000)
      const body = JSON.stringify(asks(client, on.model).body).replace('"Hi"', `"${long}"`)
      const asked = await only(on.s.ask({ ...asks(client, on.model), body } satisfies Ask))
      t.equal(asked.status, 503)
      t.same(on.asked(), [0])
      on.at().script = call => call.whole(200, JSON.stringify(SENT[via].document).replace(TEXT, long.repeat(2)))
      const answered = await only(on.s.ask(asks(client, on.model)))
      t.equal(answered.status, 503)
      t.equal(on.s.state(`${on.model}-0`), 'closed')
      t.match(await on.rows(t), [{ charge: 0, basis: 'none' }])
    },
  )
})

/** An event whose end does not come as long as there is memory for it. */
const ENDLESS = `data: {"x":"${'x'.repeat(2_200_000)}`
const ERROR: Record<Four, RegExp> = {
  messages: /event: error\ndata: \{"type":"error","error":\{"type":"api_error","message":"服务暂时不可用/,
  chat: /\ndata: \{"error":\{"message":"服务暂时不可用/,
  responses: /event: response\.failed\ndata: .*"status":"failed".*服务暂时不可用/,
  generate: /\ndata: \{"error":\{"code":503,"message":"服务暂时不可用/,
}
each((client, via) =>
  add(`${client}: no memory is left in the middle of a stream, or before its first word`, [via], async (t, on) => {
    const asked = on.s.ask(asks(client, on.model, { stream: true }))
    const call = await on.at().call()
    call.stream()
    call.chunk(SENT[via].start + SENT[via].text)
    await asked.sees(TEXT)
    call.chunk(ENDLESS)
    t.equal(await asked.end(), 'cut')
    await call.cut()
    t.match(unescaped(asked.text), ERROR[client])
    t.notMatch(asked.text, SEEN[client].end)
    const unseen = on.s.ask(asks(client, on.model, { stream: true }))
    const second = await on.at().call(1)
    second.stream()
    second.chunk(ENDLESS)
    t.equal(await unseen.end(), 'whole')
    t.equal(unseen.status, 503)
    t.match(unseen.text, /服务暂时不可用/)
    t.equal(on.s.state(`${on.model}-0`), 'closed')
    const attempts = [{ channel: `${on.model}-0`, status: 200, error: 'memory' }]
    t.match(await on.rows(t), [
      { end: 'upstream_cut', basis: 'counted', output: 5, status: 200, attempts },
      { end: 'upstream_error', basis: 'none', charge: 0, status: 503, attempts },
    ])
    const lines = on.s.logged.filter(line => line['msg'] === 'no memory for an answer' && line['error'] === 'memory')
    t.equal(lines.filter(line => line['channel'] === `${on.model}-0`).length, 2)
    t.equal(on.s.services.buffered.bytes, 0)
  }),
)

const LONG = 'x'.repeat(60_000)
const input = (partial_json: string) => ({ index: 1, delta: { type: 'input_json_delta', partial_json } })
const calls = (...tool_calls: object[]) => ({ choices: [{ index: 0, delta: { tool_calls }, finish_reason: null }] })
const called = (index: number, text: string) => ({ index, id: `c${index}`, function: { name: 'f', arguments: text } })
const ofMessages = (type: string, value: object) => `event: ${type}\ndata: ${JSON.stringify({ type, ...value })}\n\n`
const plain = (value: object) => `data: ${JSON.stringify(value)}\n\n`
const TOOL = { type: 'tool_use', id: 'c', name: 'f', input: {} }
/** What a writer keeps: a call that is told whole, one that waits for another, the whole answer. `output`: what was told. */
const KEPT: [client: Four, first: string, again: string, output: (tokens: number) => boolean][] = [
  [
    'generate',
    ofMessages('content_block_stop', { index: 0 }) +
      ofMessages('content_block_start', { index: 1, content_block: TOOL }) +
      ofMessages('content_block_delta', input('{"a":"')),
    ofMessages('content_block_delta', input(LONG)),
    tokens => tokens === 5,
  ],
  [
    'messages',
    plain(calls(called(0, '{"a":1'), called(1, '{"a":"'))),
    plain(calls({ index: 1, function: { arguments: LONG } })),
    tokens => tokens > 5 && tokens < 20,
  ],
  [
    'responses',
    '',
    plain({ candidates: [{ index: 0, content: { role: 'model', parts: [{ text: LONG }] } }] }),
    tokens => tokens > 100_000,
  ],
]
for (const [client, first, again, output] of KEPT)
  add(
    `${client}: no memory is left for what its writer keeps: what was told is charged`,
    [NEXT[client]],
    async (t, on) => {
      const asked = on.s.ask(asks(client, on.model, { stream: true, max: 2_000_000 }))
      const call = await on.at().call()
      const { start, text } = SENT[NEXT[client]]
      call.stream()
      call.chunk(start + text + first)
      await asked.sees(TEXT)
      for (let i = 0; i < 50; i++) call.chunk(again)
      t.equal(await asked.end(), 'cut')
      t.match(unescaped(asked.text.slice(-2000)), ERROR[client])
      const rows = await on.rows(t)
      t.match(rows, [{ end: 'upstream_cut', basis: 'counted', attempts: [{ error: 'memory' }] }])
      t.ok(output(rows[0]?.output ?? 0), `${rows[0]?.output} tokens`)
      t.equal(on.s.services.buffered.bytes, 0)
    },
  )

const LOST: [via: Four, client: Four, document: object, dropped: string | undefined][] = (() => {
  const said = { text: TEXT, thoughtSignature: 'c2ln' }
  const signed = { candidates: [{ content: { role: 'model', parts: [said] }, finishReason: 'STOP' }] }
  const url_citation = { start_index: 0, end_index: 4, url: 'https://a.example', title: 'a' }
  const message = { role: 'assistant', content: TEXT, annotations: [{ type: 'url_citation', url_citation }] }
  const cited = { choices: [{ index: 0, message, finish_reason: 'stop' }] }
  const usage = { ...(SENT.chat.document as Json), ...cited }
  const counted = { ...(SENT.generate.document as Json), ...signed }
  return [
    ['generate', 'messages', counted, 'thinking'],
    ['generate', 'chat', counted, undefined],
    ['generate', 'responses', counted, undefined],
    ['chat', 'messages', usage, 'citations'],
    ['chat', 'generate', usage, 'citations'],
    ['chat', 'responses', usage, undefined],
  ]
})()
for (const [via, client, document, dropped] of LOST)
  add(`${client} by ${via}: what a document loses of the answer is named`, [via], async (t, on) => {
    on.at().script = call => call.whole(200, document)
    const asked = await only(on.s.ask(asks(client, on.model)))
    t.match(asked.text, TEXT)
    t.equal(asked.answer.headers.get('x-gateway-dropped'), dropped)
  })

add(
  'what an early start did not name is not dropped later',
  ['messages', 'messages', 'responses', 'messages'],
  async (t, on) => {
    const asked = on.s.ask(asks('chat', on.model, { stream: true, more: { seed: 5, stop: ['x'] } }))
    on.at(3).script = streamed('messages')
    const first = await on.at(0).call()
    on.s.clock.advance(11_000)
    await asked.sees('\n')
    t.equal(asked.answer.headers.get('x-gateway-dropped'), 'seed')
    const second = await on.at(1).call() // beside the first
    first.whole(503, {})
    await on.s.settled()
    second.whole(503, {})
    await asked.end()
    t.match(asked.text, TEXT)
    t.same(on.asked(), [1, 1, 0, 1], 'the third would also drop `stop`')
    t.match(await on.rows(t), [{ channel: `${on.model}-3`, charge: 280 }])
  },
)

add(
  'a candidate that needs more than can be held is passed over',
  ['responses', 'messages', 'generate'],
  async (t, on) => {
    on.at(0).script = call => call.whole(503, {})
    on.at(2).script = whole('generate')
    const { max_tokens: _, ...body } = asks('chat', on.model).body as Json
    const headers = { ...HEADERS, ...keyOf(SMALL_KEY) }
    const asked = await only(on.s.ask({ path: '/v1/chat/completions', headers, body }))
    t.equal(asked.status, 200)
    t.same(on.asked(), [1, 0, 1])
    const [row] = await on.rows(t)
    t.match(row, { via: 'generate', charge: 280, attempts: [{}, { error: 'money', status: 0 }, {}] })
    on.at(1).script = whole('messages')
    const rich = await only(on.s.ask({ path: '/v1/chat/completions', headers: HEADERS, body }))
    t.equal(rich.status, 200)
    t.same(on.asked(), [2, 1, 1], 'what more it needs is held where there is money')
  },
  MODEL,
)

// --- a client that wants events as an array

const array = (model: string): Ask => {
  const ask = asks('generate', model)
  return { ...ask, path: ask.path.replace(':generateContent', ':streamGenerateContent') }
}

for (const via of ['messages', 'chat', 'responses'] as const)
  add(`generate by ${via}: an array whose elements come one by one`, [via], async (t, on) => {
    const asked = on.s.ask(array(on.model))
    const call = await on.at().call()
    t.match(JSON.parse(call.body), { stream: true })
    call.stream()
    call.chunk(SENT[via].start + SENT[via].text)
    await asked.sees(TEXT)
    t.match(asked.text, /^\[\{[\s\S]*\}$/)
    on.s.clock.advance(16_000)
    await asked.sees('\n')
    call.chunk(SENT[via].text)
    call.chunk(SENT[via].rest)
    call.end()
    t.equal(await asked.end(), 'whole')
    t.equal(asked.answer.headers.get('content-type'), 'application/json; charset=utf-8')
    t.match(asked.text, /\},\r\n\{/)
    const chunks = JSON.parse(asked.text)
    t.equal(chunks.length, 3)
    t.match(chunks.at(-1), { candidates: [{ finishReason: 'STOP' }], usageMetadata: { candidatesTokenCount: 10 } })

    const broken = on.s.ask(array(on.model))
    const second = await on.at().call(1)
    second.stream()
    second.chunk(SENT[via].start + SENT[via].text)
    await broken.sees(TEXT)
    second.reset()
    t.equal(await broken.end(), 'cut')
    t.match(broken.text, /,\r\n\{"error":\{"code":502,.*\(request id: \w{21}\).*\}\}$/)
    t.throws(() => JSON.parse(broken.text), 'nothing that looks whole')
    t.match(await on.rows(t), [
      { charge: 280, via },
      { basis: 'counted', end: 'upstream_cut' },
    ])
  })

const channels: Record<string, Json> = {}
for (const { model, ways } of CASES)
  for (const [n, way] of ways.entries()) {
    const [protocol, more] = typeof way === 'string' ? [way, {}] : way
    channels[`${model}-${n}`] = { protocols: [protocol], models: [model], priority: -n, ...more }
  }
const s = await open(t, {
  channels,
  model: { default_output: 100 },
  prices: Object.fromEntries(
    CASES.map(({ model }) => {
      const more = model === 'dear-caches' ? { cache_write_5m: 20 } : {}
      return [model, model.startsWith('unpriced') ? { image: 0.5 } : { input: 2, output: 8, ...more }]
    }),
  ),
  hedge: '5s',
  keys: [
    ...FOUR.map(client => ({ name: client, secret: capped(client), cap: 0.001 })),
    { name: 'small', secret: SMALL_KEY, cap: 0.21 },
  ],
  config: {
    hold: { output_tokens: 16 },
    keepalive: { main: '15s', early: '10s' },
    limits: { buffered: '2MiB' },
    retry: { attempts: 3, budget: '100%' },
    timeouts: { main: '100s' },
  },
})

for (const { what, model, ways, run } of CASES)
  t.test(what, t =>
    run(t, {
      s,
      model,
      at: (nth = 0) => s.at(`${model}-${nth}`),
      asked: () => ways.map((_, n) => s.at(`${model}-${n}`).calls.length),
      rows: async t => {
        const { rows, left, ok } = await s.books()
        t.same(left, NOTHING_LEFT)
        t.ok(ok)
        return rows.filter(row => row.model === model && row.outcome !== 'attempt')
      },
    }),
  )
