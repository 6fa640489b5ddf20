/** What an answer cost, as its client is told: in the head of a document, and in a stream that asks for it. */
import t, { type Test } from 'tap'
import { asks, FOUR, type Four, NEXT, SEEN, SENT, streamed, TEXT, whole } from './support/four.ts'
import { HEADERS, MODEL, NOTHING_LEFT, open, type Scene } from './support/gateway.ts'
import { until } from '../support/wait.ts'
import { PROTOCOLS } from '../../lib/protocols/names.ts'
import { randomCosts } from './support/random-costs.ts'
import type { Script } from './support/upstream.ts'

type Json = Record<string, unknown>
const CHARGE = '0.000280'
const MEMBERS = { cost: 0.00028, cost_currency: 'CNY' }
const ASKING = { 'x-gateway-cost': 'stream' }

/** The members of the last usage in a stream. */
function toldIn(protocol: Four, text: string): Json | undefined {
  const events = text.split('\n').flatMap(line => (/^data: ?\{/.test(line) ? [JSON.parse(line.slice(5)) as Json] : []))
  const usages = events.flatMap(event => {
    const usage = {
      messages: event['type'] === 'message_delta' ? event['usage'] : undefined,
      chat: event['usage'],
      responses: (event['response'] as Json | undefined)?.['usage'],
      generate: event['usageMetadata'],
    }[protocol]
    return usage === undefined || usage === null ? [] : [usage as Json]
  })
  return usages.at(-1)
}

/** The same without what was asked for. */
const withoutCost = (text: string): string =>
  text.replace(/,?"cost":[\d.e-]+,"cost_currency":"CNY"(,"cost_usd":[\d.e-]+)?/g, '')

/** Money for the beginning of a stream. */
const LITTLE = { config: { hold: { output_tokens: 16 } }, credit: 2_000, prices: { [MODEL]: { input: 2, output: 8 } } }

const scene = (t: Test, native: Four, more: Json = {}) =>
  open(t, { channels: { a: { protocols: [native] } }, config: more })

async function answered(s: Scene, ...args: Parameters<typeof asks>) {
  const client = s.ask(asks(...args))
  const end = await client.end()
  return { end, text: client.text, headers: client.answer.headers, status: client.status }
}

/** The stream of an upstream, cut anywhere. */
const inPieces =
  (protocol: Four, size: number): Script =>
  async call => {
    const { start, text, rest } = SENT[protocol]
    call.stream()
    const all = start + text + rest
    for (let at = 0; at < all.length; at += size) {
      call.chunk(all.slice(at, at + size))
      await new Promise(resolve => setImmediate(resolve))
    }
    call.end()
  }

for (const protocol of FOUR) {
  t.test(`${protocol}: the head of a document says what it cost`, async t => {
    for (const native of [protocol, NEXT[protocol]]) {
      const s = await scene(t, native)
      s.at('a').script = whole(native)
      const { headers, end } = await answered(s, protocol, MODEL)
      t.equal(end, 'whole')
      t.equal(headers.get('x-gateway-charge'), CHARGE, native)
      t.notOk(headers.has('x-gateway-held'))
      t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ charge: 280 }] })
      t.equal(s.services.buffered.bytes, 0)
    }
  })

  t.test(`${protocol}: a stream tells it only when asked, and its head says what is held`, async t => {
    for (const native of [protocol, NEXT[protocol]]) {
      const s = await scene(t, native)
      s.at('a').script = streamed(native)
      const plain = await answered(s, protocol, MODEL, { stream: true })
      t.notMatch(plain.text, /cost/)
      if (native === protocol) {
        const { start, text, rest } = SENT[native]
        t.equal(plain.text, start + text + rest, 'byte for byte')
      }
      t.match(plain.headers.get('x-gateway-held'), /^0\.\d{6}$/)
      t.notOk(plain.headers.has('x-gateway-charge'))
      const asked = await answered(s, protocol, MODEL, { stream: true, headers: ASKING })
      t.match(toldIn(protocol, asked.text), MEMBERS, `${protocol} by ${native}`)
      t.equal(asked.text.split('"cost"').length, 2, 'once')
      t.equal(asked.end, 'whole')
      if (native === protocol) t.equal(withoutCost(asked.text), plain.text, 'and nothing else is different')
      t.notMatch((await s.at('a').call(1)).head, /x-gateway-cost/i, 'the header goes no further')
      t.match(await s.books(), { ok: true, left: NOTHING_LEFT, rows: [{ charge: 280 }, { charge: 280 }] })
    }
  })

  t.test(`${protocol}: a stream in pieces of any size tells the same`, async t => {
    const s = await scene(t, protocol)
    const { start, text, rest } = SENT[protocol]
    for (const size of [1, 7, 50, 333, 10_000]) {
      s.at('a').script = inPieces(protocol, size)
      const asked = await answered(s, protocol, MODEL, { stream: true, headers: ASKING })
      t.equal(withoutCost(asked.text), start + text + rest, `pieces of ${size}`)
      t.match(toldIn(protocol, asked.text), MEMBERS)
    }
    t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
  })
}

const OPTIONS: [string, Four, Json, Json][] = [
  ['include_cost', 'chat', { stream_options: { include_cost: true } }, { stream_options: { include_usage: true } }],
  [
    'include_cost beside others',
    'chat',
    { stream_options: { include_obfuscation: false, include_cost: true, include_usage: true } },
    { stream_options: { include_obfuscation: false, include_usage: true } },
  ],
  ['usage.include', 'chat', { usage: { include: true } }, { stream_options: { include_usage: true } }],
  ['include_cost', 'responses', { stream_options: { include_cost: true } }, { stream_options: {} }],
]
for (const [what, protocol, more, sent] of OPTIONS)
  t.test(`${protocol}: asked by the body (${what}), which goes upstream without it`, async t => {
    for (const native of [protocol, NEXT[protocol]]) {
      const s = await scene(t, native)
      s.at('a').script = streamed(native)
      const ask = asks(protocol, MODEL, { stream: true })
      const { stream_options: _own, ...body } = ask.body as Json
      const client = s.ask({ ...ask, body: { ...body, ...more } })
      t.equal(await client.end(), 'whole')
      t.equal(client.status, 200, client.text)
      t.match(toldIn(protocol, client.text), MEMBERS)
      const { body: asked } = await s.at('a').call()
      t.notMatch(asked, /include_cost|"usage":\{/)
      if (native === protocol) t.same(JSON.parse(asked), { ...body, ...sent })
    }
  })

t.test('kind openrouter reads usage.include, and what it says of its own charge is not told', async t => {
  const s = await open(t, { channels: { a: { protocols: ['chat'], kind: 'openrouter', paths: {} } } })
  s.at('a').script = call => {
    call.stream()
    const usage = {
      prompt_tokens: 100,
      completion_tokens: 10,
      cost: 0.123,
      cost_details: { upstream: 1 },
      is_byok: false,
    }
    call.chunk(
      `data: {"choices":[{"delta":{"content":"hi"},"finish_reason":"stop"}]}\n\ndata: ${JSON.stringify({ choices: [], usage })}\n\ndata: [DONE]\n\n`,
    )
    call.end()
  }
  const ask = asks('chat', MODEL, { stream: true, more: { usage: { include: true } } })
  const client = s.ask(ask)
  t.equal(await client.end(), 'whole')
  t.same(toldIn('chat', client.text), { prompt_tokens: 100, completion_tokens: 10, ...MEMBERS })
  t.match((await s.at('a').call()).body, '"usage":{"include":true}')
})

t.test('in USD too where the config has a rate', async t => {
  const s = await scene(t, 'chat', { billing: { usd_rate: '7' } })
  s.at('a').script = streamed('chat')
  const { text } = await answered(s, 'chat', MODEL, { stream: true, headers: ASKING })
  t.match(toldIn('chat', text), { ...MEMBERS, cost_usd: 0.00004 })
})

t.test('what asks in other words asks nothing, or is refused', async t => {
  const s = await scene(t, 'chat')
  s.at('a').script = streamed('chat')
  for (const value of ['streams', 'true', 'stream, stream', '']) {
    const { text } = await answered(s, 'chat', MODEL, { stream: true, headers: { 'x-gateway-cost': value } })
    t.notMatch(text, /"cost"/, value)
  }
  const more: [Json | string, number][] = [
    [{ stream_options: { include_cost: 'true' } }, 200],
    [{ stream_options: { include_cost: false } }, 200],
    [{ stream_options: { Include_Cost: true } }, 400],
    [{ stream_options: { include_cost: true, pad: 'x'.repeat(5000) } }, 400],
    [{ usage: { include: false } }, 200],
    [{ usage: true }, 200],
    [{ Usage: { include: true } }, 400],
  ]
  for (const [body, status] of more) {
    const client = s.ask(asks('chat', MODEL, { stream: true, more: body as Json }))
    await client.end()
    t.equal(client.status, status, JSON.stringify(body).slice(0, 80))
    t.notMatch(client.text, /"cost"/)
  }
  for (const call of s.at('a').calls) t.notMatch(call.body, /include_cost|"usage":[{t]/)
})

t.test('a document that is large, slow, binary or of no JSON says what is held instead', async t => {
  const s = await scene(t, 'chat')
  const document = (text: string) => JSON.stringify({ ...SENT.chat.document, pad: text })
  s.at('a').script = call => call.whole(200, document('x'.repeat(300_000)))
  const large = await answered(s, 'chat', MODEL)
  t.ok(large.headers.has('x-gateway-held') && !large.headers.has('x-gateway-charge'))
  s.at('a').script = call => call.whole(200, document('x'.repeat(200_000)))
  t.equal((await answered(s, 'chat', MODEL)).headers.get('x-gateway-charge'), CHARGE)
  s.at('a').script = call => call.whole(200, document(''), { 'content-type': 'text/plain' })
  t.ok((await answered(s, 'chat', MODEL)).headers.has('x-gateway-held'))

  const calls = s.at('a').calls.length
  s.at('a').script = () => {}
  const client = s.ask(asks('chat', MODEL))
  const call = await s.at('a').call(calls)
  call.start(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
  call.chunk('{"pad":"')
  await s.settled()
  t.equal(client.status, 0, 'it waits')
  t.equal(s.services.buffered.bytes, '{"pad":"'.length, 'and is counted')
  await s.goOn()
  await client.sees('pad')
  t.ok(client.answer.headers.has('x-gateway-held'))
  t.equal(s.services.buffered.bytes, 0)
  call.chunk(`",${JSON.stringify(SENT.chat.document).slice(1)}`)
  call.end()
  t.equal(await client.end(), 'whole')
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

t.test('an error of an upstream cost nothing, and a refusal says nothing', async t => {
  const s = await scene(t, 'chat')
  s.at('a').script = call => call.whole(400, { error: { message: 'no' } })
  t.equal((await answered(s, 'chat', MODEL)).headers.get('x-gateway-charge'), '0.000000')
  const { headers, status } = await answered(s, 'chat', 'unknown')
  t.equal(status, 400)
  t.notOk(headers.has('x-gateway-charge') || headers.has('x-gateway-held'))
})

t.test('a stream that asked and breaks off, or is stopped by its money, is whole up to there', async t => {
  const s = await scene(t, 'messages', { hold: { output_tokens: 4 } })
  s.at('a').script = call => {
    call.stream()
    call.chunk(SENT.messages.start + SENT.messages.text)
    call.reset()
  }
  const cut = await answered(s, 'messages', MODEL, { stream: true, headers: ASKING })
  t.notMatch(cut.text, /"cost"/)
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

for (const protocol of FOUR)
  t.test(
    `${protocol}: a stream that is stopped when its money ends tells what it cost, and drops what has no end`,
    async t => {
      const { start, text } = SENT[protocol]
      for (const halfEvent of ['', text.slice(0, 40)]) {
        const s = await open(t, { channels: { a: { protocols: [protocol] } }, ...LITTLE })
        s.at('a').script = async call => {
          call.stream()
          call.chunk(start + text + halfEvent)
          await s.settled()
          call.chunk(text.slice(halfEvent.length) + text.repeat(400))
        }
        const asked = await answered(s, protocol, MODEL, { stream: true, max: 5000, headers: ASKING })
        t.equal(asked.end, 'whole')
        t.match(asked.text, SEEN[protocol].length)
        const [row] = (await s.books()).rows
        t.ok(row!.charge > 0 && asked.text.includes(TEXT))
        t.equal(toldIn(protocol, asked.text)?.['cost'], row!.charge / 1_000_000)
        for (const line of asked.text.split('\n'))
          if (/^data: ?\{/.test(line)) t.doesNotThrow(() => JSON.parse(line.slice(5)))
        t.equal(s.services.buffered.bytes, 0)
      }
    },
  )

t.test(
  'chat: include_usage alone is answered with usage in a stream that is stopped, and without it none is told',
  async t => {
    for (const include_usage of [true, false]) {
      const s = await open(t, { channels: { a: { protocols: ['chat'] } }, ...LITTLE })
      s.at('a').script = call => {
        call.stream()
        for (let i = 0; i < 400; i++) call.chunk(SENT.chat.text)
      }
      const { text } = await answered(s, 'chat', MODEL, {
        stream: true,
        max: 5000,
        more: { stream_options: { include_usage } },
      })
      t.equal(toldIn('chat', text) !== undefined, include_usage)
      t.match(text, /"finish_reason":"length"[\s\S]*\[DONE\]/)
    }
  },
)

t.test(
  'generate: elements of a JSON array tell it in the last one, wherever they are cut, natively and by translation',
  async t => {
    const { document } = SENT.generate
    const part = {
      candidates: [{ content: { parts: [{ text: 'a "]}" \\ {[' }], role: 'model' } }],
      usageMetadata: { promptTokenCount: 100 },
    }
    const array = `[${JSON.stringify(part, null, 1)}\n,\r\n${JSON.stringify(document)}\n]\n`
    const ask = (headers: Record<string, string>) => ({
      ...asks('generate', MODEL, { headers }),
      path: `/v1beta/models/${MODEL}:streamGenerateContent`,
    })
    const s = await scene(t, 'generate')
    for (const size of [1, 3, 100, 10_000]) {
      s.at('a').script = async call => {
        call.start(200, { 'content-type': 'application/json', 'transfer-encoding': 'chunked' })
        for (let at = 0; at < array.length; at += size) {
          call.chunk(array.slice(at, at + size))
          await new Promise(resolve => setImmediate(resolve))
        }
        call.end()
      }
      const plain = s.ask(ask({}))
      await plain.end()
      t.equal(plain.text, array, 'byte for byte')
      const told = s.ask(ask(ASKING))
      t.equal(await told.end(), 'whole')
      const [first, last, ...none] = JSON.parse(told.text) as Json[]
      t.same([first, none], [part, []])
      t.match(last, { usageMetadata: { promptTokenCount: 100, ...MEMBERS } }, `pieces of ${size}`)
      t.equal(withoutCost(told.text), array)
    }
    const translated = await scene(t, 'messages')
    translated.at('a').script = streamed('messages')
    const told = translated.ask(ask(ASKING))
    await told.end()
    t.match((JSON.parse(told.text) as Json[]).at(-1), { usageMetadata: MEMBERS })
    t.equal(s.services.buffered.bytes, 0)
  },
)

t.test(
  'what waits for its cost is counted in limits.buffered, and passes as it came where there is no room',
  async t => {
    for (const [buffered, told] of [
      ['1MiB', true],
      ['4KiB', false],
    ] as const) {
      const s = await scene(t, 'responses', { limits: { buffered, body: '4KiB' } })
      const { start, text, rest } = SENT.responses
      const pad = 'x'.repeat(20_000)
      const end = rest.replace('"id":"resp_u"', `"id":"resp_u","pad":"${pad}"`)
      const [half, other] = [end.slice(0, -10_000), end.slice(-10_000)]
      s.at('a').script = () => {}
      const client = s.ask(asks('responses', MODEL, { stream: true, headers: ASKING }))
      const call = await s.at('a').call()
      call.stream()
      call.chunk(start + text + half)
      await client.sees('Good morning')
      await s.settled()
      t.equal(s.services.buffered.bytes > 10_000, told, `${s.services.buffered.bytes} bytes`)
      call.chunk(other)
      call.end()
      t.equal(await client.end(), 'whole')
      t.equal(toldIn('responses', client.text)?.['cost'] !== undefined, told)
      if (!told) t.equal(client.text, start + text + end, 'byte for byte')
      t.equal(s.services.buffered.bytes, 0)
      t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
    }
  },
)

t.test('requests in a row on one connection: each answer has its own charge, in the order of the requests', async t => {
  const s = await scene(t, 'chat')
  s.at('a').script = () => {}
  const ask = (content: string) => asks('chat', MODEL, { more: { messages: [{ role: 'user', content }] } })
  const client = s.ask(ask('0'))
  let raw = ''
  client.socket.on('data', data => (raw += data))
  for (let i = 1; i < 6; i++) client.ask(ask(String(i)))
  // each comes in two pieces, and its head waits
  for (let i = 0; i < 6; i++) {
    const call = await s.at('a').call(i)
    t.match(call.body, `"content":"${i}"`)
    const usage = { prompt_tokens: 100 + i, completion_tokens: 10 }
    const text = JSON.stringify({ ...SENT.chat.document, usage })
    call.start(200, { 'content-type': 'application/json', 'content-length': String(text.length) })
    call.raw(text.slice(0, 20))
    await s.settled()
    t.equal(raw.split('HTTP/1.1').length, i + 1, 'of the next answer nothing is out')
    call.raw(text.slice(20))
  }
  await until('all are answered', () => raw.split('"usage"').length === 7)
  client.leave()
  t.same(
    [...raw.matchAll(/x-gateway-charge: (\S+)/g)].map(([, charge]) => Number(charge) * 1e6),
    [0, 1, 2, 3, 4, 5].map(i => (100 + i) * 2 + 80),
  )
  t.same(
    [...raw.matchAll(/"prompt_tokens":(\d+)/g)].map(([, n]) => Number(n)),
    [100, 101, 102, 103, 104, 105],
  )
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
  t.equal(s.services.buffered.bytes, 0)
})

t.test(
  'clients that read nothing: what waits is counted, charged and given back, and the connections are cut',
  async t => {
    const s = await scene(t, 'chat', { timeouts: { idle: '60s' } })
    const text = JSON.stringify({ ...SENT.chat.document, pad: 'x'.repeat(200_000) })
    s.at('a').script = () => {}
    const requests = 40
    const clients = Array.from({ length: requests }, () => s.ask(asks('chat', MODEL)))
    for (const client of clients) client.socket.pause()
    for (let i = 0; i < requests; i++) {
      const call = await s.at('a').call(i)
      call.start(200, { 'content-type': 'application/json', 'content-length': String(text.length) })
      call.raw(text.slice(0, 100_000))
    }
    await until('the beginnings wait, and are counted', () => s.services.buffered.bytes >= requests * 50_000)
    const most = s.services.buffered.bytes
    t.ok(most <= requests * 100_000, `${most} bytes`)
    for (const call of s.at('a').calls) call.raw(text.slice(100_000))
    await until('what waited is given back', () => s.services.buffered.bytes === 0)
    await s.settled()
    for (let i = 0; i < 400 && s.services.openCount > 0; i++) {
      s.clock.advance(1_000)
      await s.settled()
    }
    for (const client of clients) client.leave()
    const { rows, ...books } = await s.books()
    t.match(books, { ok: true, left: NOTHING_LEFT, failures: [] })
    t.equal(rows.length, requests)
    for (const row of rows) if (row.charge !== 280) t.fail(`${row.charge} for an answer that came whole`)
  },
)

t.test('documents of every other protocol say it, too', async t => {
  const price = { input: 2, output: 8, image: 0.5, request: 0.01, second: 0.1, character: 3 }
  const s = await open(t, { prices: { [MODEL]: price }, channels: { a: { protocols: [...PROTOCOLS] } } })
  const usage = { prompt_tokens: 100, total_tokens: 100 }
  const rows: [path: string, body: Json, answer: Json][] = [
    ['/v1/embeddings', { input: 'x' }, { data: [{ embedding: [1] }], usage }],
    [`/v1beta/models/${MODEL}:embedContent`, { content: { parts: [{ text: 'x' }] } }, { embedding: { values: [1] } }],
    ['/v1/rerank', { query: 'x', documents: ['y'] }, { results: [{ index: 0, relevance_score: 1 }], usage }],
    ['/v1/moderations', { input: 'x' }, { id: 'm', results: [] }],
    ['/v1/images/generations', { prompt: 'x' }, { created: 1, data: [{ b64_json: 'AAAA' }] }],
    [
      '/v1/completions',
      { prompt: 'x' },
      { choices: [{ text: 'y', finish_reason: 'stop' }], usage: { ...usage, completion_tokens: 1 } },
    ],
    ['/v1/responses/compact', { input: 'x' }, { id: 'r', output: [], usage: { input_tokens: 100, output_tokens: 10 } }],
  ]
  for (const [path, body, document] of rows) {
    s.at('a').script = call => call.whole(200, document)
    const client = s.ask({ path, headers: HEADERS, body: path.includes(':') ? body : { model: MODEL, ...body } })
    await client.end()
    t.equal(client.status, 200, `${path} ${client.text}`)
    const [row] = (await s.books()).rows.slice(-1)
    t.ok(row!.charge > 0, path)
    t.equal(client.answer.headers.get('x-gateway-charge'), (row!.charge / 1e6).toFixed(6), path)
  }
  t.match(await s.books(), { ok: true, left: NOTHING_LEFT, failures: [] })
})

t.test('pages of other sites may read it', async t => {
  const s = await scene(t, 'chat')
  s.at('a').script = whole('chat')
  const client = s.ask(asks('chat', MODEL, { headers: { ...HEADERS, origin: 'https://page.example' } }))
  await client.end()
  t.equal(client.answer.headers.get('access-control-expose-headers'), '*')
  t.notOk(client.answer.headers.has('access-control-allow-credentials'))
})

t.test('head, stream, row, receipt and generation say the same, for random exchanges', t => randomCosts(t, 150))
